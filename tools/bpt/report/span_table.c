// The table of types of spans (see span_table.h).
#include "tools/bpt/report/span_table.h"

#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/report/type_rows.h"

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

void cli_span_table_print(const cli_span_table_t *t, bool means) { cli_type_rows_print("type", t->types, t->n_types, means); }

bpt_status_t cli_span_table_to_json(const cli_span_table_t *t, json_t *object) {
    if (!t->types) return BPT_OK;
    BPT_TRY(cli_type_rows_to_json("types", t->types, t->n_types, object));
    return cli_type_means_to_json(t->types, t->n_types, object);
}
