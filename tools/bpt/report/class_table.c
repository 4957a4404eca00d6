// Scores of labels and their confusion (see class_table.h).
#include "tools/bpt/report/class_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/report/type_rows.h"

enum { TABLE_LABELS = 12, MISTAKES = 20, COLUMN = 9 };

bpt_status_t cli_class_table_open(const bpt_task_spec_t *task, const char *const *labels, size_t count, cli_class_table_t *out) {
    *out = (cli_class_table_t){.task = task};
    return task->labelled ? bpt_confusion_create(labels, count, &out->confusion) : BPT_OK;
}

void cli_class_table_close(cli_class_table_t *t) { bpt_confusion_free(&t->confusion); }

static void add(cli_class_table_t *t, const bpt_batch_t *batch, const uint32_t *best, int64_t target) {
    bpt_confusion_add(&t->confusion, bpt_batch_label(batch, target), best[target]);
}

// Those that accuracy counts: the tokens of all sequences, or the examples that are scored or have labels that the model does not know.
void cli_class_table_add(cli_class_table_t *t, const bpt_batch_t *batch, const uint32_t *best) {
    if (!t->confusion.labels) return;
    for (int64_t s = 0; s < batch->n_real && t->task->per_token; ++s)
        for (uint32_t i = 0; i < batch->side[0].lengths[s]; ++i) add(t, batch, best, (int64_t)batch->side[0].start[s] + i);
    for (int64_t e = 0; e < batch->n_targets && !t->task->per_token; ++e)
        if (batch->weights[e] > 0 || !bpt_batch_knows(batch, e)) add(t, batch, best, e);
}

// ---- Text

typedef struct {
    size_t wanted, found;
    int64_t count;
} mistake_t;

static int by_count(const void *a, const void *b) {
    const mistake_t *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->wanted != y->wanted) return x->wanted < y->wanted ? -1 : 1;
    return x->found < y->found ? -1 : x->found > y->found;
}

static size_t occurring(const bpt_confusion_t *c) {
    size_t n = 0;
    for (size_t l = 0; l < c->labels; ++l) n += bpt_class_occurs(&c->classes[l]);
    return n;
}

// The bytes of a label that fit into a column: whole characters.
static int fitting(const char *label) {
    size_t n = 0, bytes = 0;
    while (label[bytes]) {
        size_t next = bytes + 1;
        while ((label[next] & 0xc0) == 0x80) ++next;
        if (++n > COLUMN - 1) break;
        bytes = next;
    }
    return (int)bytes;
}

static int characters(const char *label, int bytes) {
    int n = 0;
    for (int i = 0; i < bytes; ++i) n += (label[i] & 0xc0) != 0x80;
    return n;
}

static void print_cut(const char *label, int width) {
    const int bytes = fitting(label);
    printf("%*s%.*s", width - characters(label, bytes), "", bytes, label);
}

static void print_pairs(const bpt_confusion_t *c) {
    printf("confusion    the label of the data, and how often each label was given\n%-*s", CLI_LABEL_COLUMNS, "");
    for (size_t l = 0; l < c->labels; ++l)
        if (bpt_class_occurs(&c->classes[l])) print_cut(c->classes[l].name, COLUMN);
    printf("\n");
    for (size_t w = 0; w < c->labels; ++w) {
        if (!bpt_class_occurs(&c->classes[w])) continue;
        cli_print_label(c->classes[w].name);
        for (size_t f = 0; f < c->labels; ++f)
            if (bpt_class_occurs(&c->classes[f])) printf("%*" PRId64, COLUMN, c->pairs[w * c->labels + f]);
        printf("\n");
    }
}

static bpt_status_t print_mistakes(const bpt_confusion_t *c) {
    mistake_t *all = NULL;
    size_t count = 0, capacity = 0;
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < c->labels * c->labels && status == BPT_OK; ++i) {
        if (!c->pairs[i] || i / c->labels == i % c->labels) continue;
        status = bpt_grow(&all, count, &capacity, sizeof *all);
        if (status == BPT_OK) all[count++] = (mistake_t){i / c->labels, i % c->labels, c->pairs[i]};
    }
    if (status == BPT_OK && count) {
        qsort(all, count, sizeof *all, by_count);
        printf("confusion    the most frequent of %zu kinds of mistakes: the label of the data, the one that was given\n", count);
        for (size_t i = 0; i < count && i < MISTAKES; ++i) {
            cli_print_label(c->classes[all[i].wanted].name);
            printf(" ");
            cli_print_label(c->classes[all[i].found].name);
            printf(" %8" PRId64 "\n", all[i].count);
        }
    }
    bpt_free(all);
    return status;
}

bpt_status_t cli_class_table_print(const cli_class_table_t *t, bool means) {
    const bpt_confusion_t *c = &t->confusion;
    cli_type_rows_print(t->task->per_token ? "tag" : "class", c->classes, c->labels, means);
    if (c->pairs && occurring(c) > TABLE_LABELS) return print_mistakes(c);
    if (c->pairs)
        print_pairs(c);
    else
        printf("confusion    left out: pairs are counted of at most %d labels, and there are %zu\n", BPT_CONFUSION_MOST, c->labels);
    return BPT_OK;
}

// ---- JSON

static int append_row(json_t *counts, const bpt_confusion_t *c, size_t wanted) {
    json_t *row = json_array();
    int failed = json_array_append_new(counts, row);
    for (size_t f = 0; f < c->labels && !failed; ++f)
        if (bpt_class_occurs(&c->classes[f])) failed = json_array_append_new(row, json_integer(c->pairs[wanted * c->labels + f]));
    return failed;
}

static int fill_pairs(json_t *confusion, const bpt_confusion_t *c) {
    json_t *labels = json_array(), *counts = NULL;
    int failed = json_object_set_new(confusion, "labels", labels) || json_object_set_new(confusion, "counts", counts = json_array());
    for (size_t w = 0; w < c->labels && !failed; ++w) {
        if (!bpt_class_occurs(&c->classes[w])) continue;
        failed = json_array_append_new(labels, json_string(c->classes[w].name)) || append_row(counts, c, w);
    }
    return failed;
}

static bpt_status_t pairs_to_json(const bpt_confusion_t *c, json_t *object) {
    json_t *confusion = json_object();
    const int failed = json_object_set_new(object, "confusion", confusion) || fill_pairs(confusion, c);
    return failed ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the result") : BPT_OK;
}

bpt_status_t cli_class_table_to_json(const cli_class_table_t *t, bool means, json_t *object) {
    const bpt_confusion_t *c = &t->confusion;
    if (!c->labels) return BPT_OK;
    BPT_TRY(cli_type_rows_to_json("classes", c->classes, c->labels, object));
    if (means) BPT_TRY(cli_type_means_to_json(c->classes, c->labels, object));
    return c->pairs ? pairs_to_json(c, object) : BPT_OK;
}
