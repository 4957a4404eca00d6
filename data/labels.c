// Label strings (examples.h): collected, found, written and read.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/readers/reader.h"

typedef bpt_word_t word_t;

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool find(const bpt_labels_t *labels, size_t first, size_t end, const word_t *label, uint32_t *index) {
    for (size_t i = first; i < end; ++i)
        if (strlen(labels->name[i]) == label->bytes && !memcmp(labels->name[i], label->data, label->bytes)) {
            *index = (uint32_t)i;
            return true;
        }
    return false;
}

bool bpt_labels_find(const bpt_labels_t *labels, const word_t *label, uint32_t *index) {
    return find(labels, 0, labels->count, label, index);
}

// A name behind all others.
static bpt_status_t append(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    for (size_t i = 0; i < label->bytes; ++i)
        if ((unsigned char)label->data[i] < 0x20) return bpt_reader_fail(where, "a control character in the label");
    const size_t count = labels->count + labels->others;
    if (count == 10000) return bpt_reader_fail(where, "more than 10,000 different labels; is this label<TAB>text?");
    BPT_TRY(bpt_grow(&labels->name, count, &labels->capacity, sizeof *labels->name));
    BPT_TRY(bpt_alloc(label->bytes + 1, 1, &labels->name[count]));
    memcpy(labels->name[count], label->data, label->bytes);
    return BPT_OK;
}

bpt_status_t bpt_labels_add(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    uint32_t index;
    if (bpt_labels_find(labels, label, &index)) return BPT_OK;
    BPT_TRY(append(labels, where, label));
    ++labels->count;
    return BPT_OK;
}

bpt_status_t bpt_labels_other(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label, uint32_t *index) {
    if (find(labels, labels->count, labels->count + labels->others, label, index)) return BPT_OK;
    BPT_TRY(append(labels, where, label));
    *index = (uint32_t)(labels->count + labels->others++);
    return BPT_OK;
}

void bpt_labels_freeze(bpt_labels_t *labels) {
    if (labels->count) qsort(labels->name, labels->count, sizeof *labels->name, compare_names);
}

// ---- labels.txt
bpt_status_t bpt_labels_write(const bpt_labels_t *labels, const char *path) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < labels->count && status == BPT_OK; ++i) status = bpt_strbuf_printf(&text, "%s\n", labels->name[i]);
    if (status == BPT_OK) status = bpt_file_write(path, text.length ? text.data : "", text.length);
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t bpt_labels_parse(const bpt_range_t *text, bpt_labels_t *out) {
    *out = (bpt_labels_t){0};
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        const size_t before = out->count;
        if ((status = bpt_range_check_line(&line)) != BPT_OK) break;
        status =
            line.bytes ? bpt_labels_add(out, &line, &(word_t){line.data, line.bytes}) : bpt_reader_fail(&line, "a label cannot be empty");
        if (status == BPT_OK && out->count == before) status = bpt_reader_fail(&line, "this label is there twice");
        if (status == BPT_OK && before && strcmp(out->name[before - 1], out->name[before]) > 0)
            status = bpt_reader_fail(&line, "labels must be sorted");
    }
    if (status != BPT_OK) bpt_labels_free(out);
    return status;
}

void bpt_labels_free(bpt_labels_t *labels) {
    for (size_t i = 0; i < labels->count + labels->others; ++i) bpt_free(labels->name[i]);
    bpt_free(labels->name);
    *labels = (bpt_labels_t){0};
}
