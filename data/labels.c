// Label strings (examples.h): collected, found, written and read.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/readers/reader.h"

typedef bpt_word_t word_t;

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool bpt_labels_find(const bpt_labels_t *labels, const word_t *label, uint32_t *index) {
    for (size_t i = 0; i < labels->count; ++i)
        if (strlen(labels->name[i]) == label->bytes && !memcmp(labels->name[i], label->data, label->bytes)) {
            *index = (uint32_t)i;
            return true;
        }
    return false;
}

bpt_status_t bpt_labels_add(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    uint32_t index;
    if (bpt_labels_find(labels, label, &index)) return BPT_OK;
    for (size_t i = 0; i < label->bytes; ++i)
        if ((unsigned char)label->data[i] < 0x20) return bpt_reader_fail(where, "a control character in the label");
    if (labels->count == 10000) return bpt_reader_fail(where, "more than 10,000 different labels; is this label<TAB>text?");
    BPT_TRY(bpt_grow(&labels->name, labels->count, &labels->capacity, sizeof *labels->name));
    char *name;
    BPT_TRY(bpt_alloc(label->bytes + 1, 1, &name));
    memcpy(name, label->data, label->bytes);
    labels->name[labels->count++] = name;
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
    for (size_t i = 0; i < labels->count; ++i) bpt_free(labels->name[i]);
    bpt_free(labels->name);
    *labels = (bpt_labels_t){0};
}
