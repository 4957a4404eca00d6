// The table of types of spans (see span_table.h).
#include "tools/bpt/report/span_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/json.h"

bpt_status_t cli_span_table_open(const bpt_task_spec_t *task, const char *const *labels, int64_t count, int64_t others,
                                 cli_span_table_t *out) {
    *out = (cli_span_table_t){.labels = labels};
    if (!task->labelled || !task->per_token || !bpt_spans_are_tags(labels, count)) return BPT_OK;
    return bpt_span_types(labels, count + others, &out->types, &out->n_types);
}

void cli_span_table_close(cli_span_table_t *t) {
    bpt_free(t->types);
    bpt_free(t->tags);
    *t = (cli_span_table_t){0};
}

// A label of the data that is no tag of a span is as O.
static void parse(const cli_span_table_t *t, uint32_t label, bpt_span_tag_t *tag) {
    if (!bpt_span_tag_parse(t->labels[label], strlen(t->labels[label]), tag)) (void)bpt_span_tag_parse("O", 1, tag);
}

bpt_status_t cli_span_table_add(cli_span_table_t *t, const bpt_batch_t *batch, const uint32_t *best) {
    for (int64_t s = 0; t->types && s < batch->n_real; ++s) {
        const size_t first = batch->side[0].start[s], length = batch->side[0].lengths[s];
        while (t->room < 2 * length) BPT_TRY(bpt_grow(&t->tags, t->room, &t->room, sizeof *t->tags));
        for (size_t i = 0; i < length; ++i) {
            parse(t, bpt_batch_label(batch, (int64_t)(first + i)), &t->tags[i]);
            parse(t, best[first + i], &t->tags[length + i]);
        }
        bpt_spans_count_types(t->tags, t->tags + length, (int64_t)length, t->types, t->n_types);
    }
    return BPT_OK;
}

static bool is_empty(const bpt_span_counts_t *c) { return !c->wanted && !c->found; }

void cli_span_table_print(const cli_span_table_t *t) {
    bool titled = false;
    for (size_t i = 0; i < t->n_types; ++i) {
        const bpt_span_counts_t *c = &t->types[i].counts;
        if (is_empty(c)) continue;
        if (!titled) printf("%-12s %9s %9s %9s %8s %8s\n", "type", "precision", "recall", "f1", "count", "support");
        titled = true;
        printf("%-12s %7.2f %% %7.2f %% %7.2f %% %8" PRId64 " %8" PRId64 "\n", t->types[i].name, 100 * bpt_spans_precision(c),
               100 * bpt_spans_recall(c), 100 * bpt_spans_f1(c), c->found, c->wanted);
    }
}

static bpt_status_t counts_to_json(const bpt_span_counts_t *c, json_t *object) {
    BPT_TRY(bpt_json_set_real(object, "precision", bpt_spans_precision(c)));
    BPT_TRY(bpt_json_set_real(object, "recall", bpt_spans_recall(c)));
    BPT_TRY(bpt_json_set_real(object, "f1", bpt_spans_f1(c)));
    BPT_TRY(bpt_json_set_int(object, "count", c->found));
    return bpt_json_set_int(object, "support", c->wanted);
}

bpt_status_t cli_span_table_to_json(const cli_span_table_t *t, json_t *object) {
    json_t *types = json_object();
    if (!t->types) {
        json_decref(types);
        return BPT_OK;
    }
    bpt_status_t status = json_object_set_new(object, "types", types) ? BPT_ERR_NO_MEMORY : BPT_OK;
    for (size_t i = 0; i < t->n_types && status == BPT_OK; ++i) {
        json_t *of_type = json_object();
        if (is_empty(&t->types[i].counts))
            json_decref(of_type);
        else if (json_object_set_new(types, t->types[i].name, of_type))
            status = BPT_ERR_NO_MEMORY;
        else
            status = counts_to_json(&t->types[i].counts, of_type);
    }
    return status == BPT_ERR_NO_MEMORY ? bpt_fail(status, "out of host memory while writing the result") : status;
}
