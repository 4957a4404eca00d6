// Weights of classes (see class_weights.h).
#include "data/examples/class_weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/readers/reader.h"

bpt_status_t bpt_class_weights_balance(const bpt_examples_t *e, size_t classes, float *out) {
    const uint64_t n = e->labels.per_token ? e->n_tokens : e->count;
    uint64_t *count, all = 0;
    BPT_TRY(bpt_alloc(classes, sizeof *count, &count));
    for (uint64_t i = 0; i < n; ++i)
        if (e->labels.of[i] < classes) ++count[e->labels.of[i]], ++all;
    for (size_t c = 0; c < classes; ++c) out[c] = count[c] ? (float)((double)all / ((double)classes * (double)count[c])) : 1;
    bpt_free(count);
    return BPT_OK;
}

// ---- A file

static bpt_status_t read_line(const bpt_range_t *line, const bpt_labels_t *labels, float *out) {
    const char *tab = line->bytes ? memchr(line->data, '\t', line->bytes) : NULL;
    const bpt_word_t label = bpt_reader_trim((bpt_word_t){line->data, tab ? (size_t)(tab - line->data) : line->bytes});
    uint32_t class;
    if (!label.bytes && !tab) return BPT_OK;
    if (!tab) return bpt_reader_fail(line, "no tab; a line is label<TAB>weight");
    const bpt_word_t number = bpt_reader_trim((bpt_word_t){tab + 1, (size_t)(line->data + line->bytes - tab - 1)});
    if (!bpt_labels_find(labels, &label, &class) || class >= labels->count)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": label '%s' is not one of the %zu of the training data", line->path,
                        line->line, bpt_show(label.data, label.bytes).text, labels->count);
    if (out[class] > 0)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": a second weight of label '%s'", line->path, line->line,
                        bpt_show(label.data, label.bytes).text);
    if (bpt_reader_number(&number, &out[class]) && out[class] > 0) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ": '%s' is no weight; a weight is a finite number above 0", line->path, line->line,
                    bpt_show(number.data, number.bytes).text);
}

static bpt_status_t read_lines(const bpt_range_t *text, const bpt_labels_t *labels, float *out) {
    bpt_range_t rest = *text, line;
    BPT_TRY(bpt_range_check_utf8(text));
    while (bpt_range_next_line(&rest, &line)) BPT_TRY(read_line(&line, labels, out));
    for (size_t c = 0; c < labels->count; ++c)
        if (!(out[c] > 0))
            return bpt_fail(BPT_ERR_INPUT, "%s: no weight of label '%s'; every label of the training data needs a line label<TAB>weight",
                            text->path, labels->name[c]);
    return BPT_OK;
}

bpt_status_t bpt_class_weights_read(const char *path, const bpt_labels_t *labels, float *out) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    for (size_t c = 0; c < labels->count; ++c) out[c] = 0;
    const bpt_status_t status = read_lines(&range, labels, out);
    bpt_text_close(text);
    return status;
}

// ---- As text

bpt_status_t bpt_class_weights_format(const float *weights, size_t count, bpt_strbuf_t *out) {
    for (size_t c = 0; c < count; ++c) BPT_TRY(bpt_strbuf_printf(out, "%s%.9g", c ? "," : "", (double)weights[c]));
    return BPT_OK;
}

bpt_status_t bpt_class_weights_parse(const char *text, size_t count, float *out) {
    const char *p = text;
    for (size_t c = 0; c < count; ++c) {
        const size_t bytes = strcspn(p, ",");
        if (!bpt_reader_number(&(bpt_word_t){p, bytes}, &out[c]) || !(out[c] > 0) || p[bytes] != (c + 1 < count ? ',' : 0))
            return bpt_fail(BPT_ERR_INPUT, "the weights of %zu classes are not %zu numbers above 0 with commas between them: '%.60s'",
                            count, count, text);
        p += bytes + 1;
    }
    return BPT_OK;
}
