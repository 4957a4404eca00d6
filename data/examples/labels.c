// Label strings (examples.h): collected, found, written and read.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/readers/reader.h"

typedef bpt_word_t word_t;

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

// ---- Names in the order of their bytes, for the search

static int compare(const char *name, const word_t *label) {
    const size_t bytes = strlen(name);
    const int first = memcmp(name, label->data, bytes < label->bytes ? bytes : label->bytes);
    return first ? first : (bytes > label->bytes) - (bytes < label->bytes);
}

// The place of the label among the sorted names, or the one where it would be.
static bool search(const bpt_labels_t *labels, const word_t *label, size_t *place) {
    size_t first = 0, end = labels->count + labels->others;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = compare(labels->name[labels->sorted[middle]], label);
        if (order == 0) return *place = middle, true;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    *place = first;
    return false;
}

bool bpt_labels_find(const bpt_labels_t *labels, const word_t *label, uint32_t *index) {
    size_t place;
    if (!search(labels, label, &place) || labels->sorted[place] >= labels->count) return false;
    *index = labels->sorted[place];
    return true;
}

// ---- Names behind all others

static bpt_status_t append(bpt_labels_t *labels, const word_t *label, size_t place) {
    const size_t count = labels->count + labels->others;
    size_t room = labels->capacity;
    BPT_TRY(bpt_grow(&labels->sorted, count, &room, sizeof *labels->sorted));
    BPT_TRY(bpt_grow(&labels->name, count, &labels->capacity, sizeof *labels->name));
    BPT_TRY(bpt_alloc(label->bytes + 1, 1, &labels->name[count]));
    memcpy(labels->name[count], label->data, label->bytes);
    memmove(labels->sorted + place + 1, labels->sorted + place, (count - place) * sizeof *labels->sorted);
    labels->sorted[place] = (uint32_t)count;
    return BPT_OK;
}

static bpt_status_t check(const bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    for (size_t i = 0; i < label->bytes; ++i)
        if ((unsigned char)label->data[i] < 0x20) return bpt_reader_fail(where, "a control character in the label");
    if (labels->count + labels->others < 10000) return BPT_OK;
    return bpt_reader_fail(where, "more than 10,000 different labels; is this label<TAB>text?");
}

bpt_status_t bpt_labels_add(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label) {
    size_t place;
    if (search(labels, label, &place)) return BPT_OK;
    BPT_TRY(check(labels, where, label));
    BPT_TRY(append(labels, label, place));
    ++labels->count;
    return BPT_OK;
}

bpt_status_t bpt_labels_other(bpt_labels_t *labels, const bpt_range_t *where, const word_t *label, uint32_t *index) {
    size_t place;
    if (search(labels, label, &place)) return *index = labels->sorted[place], BPT_OK;
    BPT_TRY(check(labels, where, label));
    BPT_TRY(append(labels, label, place));
    *index = (uint32_t)(labels->count + labels->others++);
    return BPT_OK;
}

bpt_status_t bpt_labels_numbers(bpt_labels_t *labels, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        char name[24];
        size_t place;
        const word_t label = {name, (size_t)snprintf(name, sizeof name, "%" PRId64, i)};
        if (search(labels, &label, &place)) continue;
        BPT_TRY(append(labels, &label, place));
        ++labels->count;
    }
    return BPT_OK;
}

void bpt_labels_freeze(bpt_labels_t *labels) {
    if (labels->count) qsort(labels->name, labels->count, sizeof *labels->name, compare_names);
    for (size_t i = 0; i < labels->count; ++i) labels->sorted[i] = (uint32_t)i;
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
    bpt_free(labels->sorted);
    *labels = (bpt_labels_t){0};
}
