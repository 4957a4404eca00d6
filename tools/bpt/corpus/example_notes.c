// What is said of a file of examples (see example_notes.h).
#include "tools/bpt/corpus/example_notes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bpt/alloc.h"
#include "bpt/log.h"

bpt_status_t cli_examples_warn(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_labels_t *labels,
                               const bpt_examples_t *e) {
    bpt_header_t header;
    bpt_shown_t label;
    BPT_TRY(bpt_examples_check_header(text, options, labels, &header, &label));
    if (header == BPT_HEADER_SUSPECTED)
        bpt_warn("%s: line 1: this looks like the names of columns, and no other line has '%s'; --header leaves such a line out",
                 text->path, label.text);
    if (header == BPT_HEADER_DOUBTFUL)
        bpt_warn("%s: line 1: left out because of --header, though it looks like an example of '%s'; --no-header takes it", text->path,
                 label.text);
    if (e->n_empty)
        bpt_warn("%s: line %" PRIu64 ": no text; %" PRIu64 " such line%s left out (--skip-empty)", text->path, e->empty_line, e->n_empty,
                 e->n_empty == 1 ? " is" : "s are");
    return BPT_OK;
}

// ---- How many there are

enum { MOST_SHOWN = 8 };  // classes; of more the largest and the smallest ones are

typedef struct {
    const char *name;
    uint64_t count;
} class_t;

static int by_count(const void *a, const void *b) {
    const class_t *x = a, *y = b;
    return x->count > y->count ? -1 : x->count < y->count;
}

static bpt_status_t list(const class_t *classes, size_t first, size_t end, bpt_strbuf_t *text) {
    for (size_t c = first; c < end; ++c)
        BPT_TRY(bpt_strbuf_printf(text, "%s%s: %" PRIu64, c > first ? ", " : "", classes[c].name, classes[c].count));
    return BPT_OK;
}

static bpt_status_t list_classes(class_t *classes, size_t n, bpt_strbuf_t *text) {
    if (n <= MOST_SHOWN) return list(classes, 0, n, text);
    qsort(classes, n, sizeof *classes, by_count);
    BPT_TRY(bpt_strbuf_printf(text, "largest "));
    BPT_TRY(list(classes, 0, 3, text));
    BPT_TRY(bpt_strbuf_printf(text, "; smallest "));
    return list(classes, n - 2, n, text);
}

static bpt_status_t count_classes(const bpt_labels_t *labels, const bpt_examples_t *e, bpt_strbuf_t *text) {
    const uint64_t n = e->labels.per_token ? e->n_tokens : e->count;
    class_t *classes;
    BPT_TRY(bpt_alloc(labels->count, sizeof *classes, &classes));
    for (size_t c = 0; c < labels->count; ++c) classes[c].name = labels->name[c];
    for (uint64_t i = 0; i < n; ++i)
        if (e->labels.of[i] < labels->count) ++classes[e->labels.of[i]].count;
    bpt_status_t status = bpt_strbuf_printf(text, " %s %zu %s (", e->labels.per_token ? "with" : "of", labels->count,
                                            e->labels.per_token ? "tags" : "classes");
    if (status == BPT_OK) status = list_classes(classes, labels->count, text);
    if (status == BPT_OK) status = bpt_strbuf_printf(text, ")");
    bpt_free(classes);
    return status;
}

static bpt_status_t find_range(const bpt_examples_t *e, bpt_strbuf_t *text) {
    float least = e->values.of[0], most = e->values.of[0];
    for (uint64_t i = 0; i < e->count * (uint64_t)e->values.columns; ++i) {
        if (e->values.of[i] < least) least = e->values.of[i];
        if (e->values.of[i] > most) most = e->values.of[i];
    }
    return bpt_strbuf_printf(text, " with numbers from %g to %g", (double)least, (double)most);
}

bpt_status_t cli_examples_describe(const cli_corpus_t *c) {
    const bpt_examples_t *e = &c->examples[BPT_TRAIN];
    bpt_strbuf_t text = {0};
    if (!e->count || (!e->labels.has && !e->values.has)) return BPT_OK;
    bpt_status_t status = e->values.has ? find_range(e, &text) : count_classes(&c->labels, e, &text);
    if (status == BPT_OK)
        bpt_info("data: %" PRIu64 " training %s%s, %" PRIu64 " for validation, %" PRIu64 " for test", e->count,
                 e->labels.per_token ? "sentences" : "examples", text.data, c->examples[BPT_VALID].count, c->examples[BPT_TEST].count);
    bpt_strbuf_free(&text);
    return status;
}
