// Precision, recall and F1 of each type of span, as conlleval prints them, for `bpt eval` of a tagger.
#ifndef BPT_TOOLS_SPAN_TABLE_H
#define BPT_TOOLS_SPAN_TABLE_H

#include <jansson.h>

#include "data/score/spans.h"
#include "models/tasks/task.h"

typedef struct {
    const char *const *labels;
    bpt_span_type_t *types;  // NULL: the labels are no tags of spans, and there is nothing to show
    size_t n_types;
    bpt_span_tag_t *tags;  // of a sequence: those of the data, those of the model
    size_t room;
} cli_span_table_t;

// `labels` [count], and behind them the `others` of the data that the model does not know, stay the caller's.
bpt_status_t cli_span_table_open(const bpt_task_spec_t *task, const char *const *labels, int64_t count, int64_t others,
                                 cli_span_table_t *out) BPT_MUST_USE;
void cli_span_table_close(cli_span_table_t *table);
// Adds the sequences of a batch; `best` as bpt_measure_t has it.
bpt_status_t cli_span_table_add(cli_span_table_t *table, const bpt_batch_t *batch, const uint32_t *best) BPT_MUST_USE;
// Types without a span, in the data and of the model, are left out.
void cli_span_table_print(const cli_span_table_t *table, bool means);
// "types": {"PER": {"precision": .., "recall": .., "f1": .., "count": .., "support": ..}, ..}, and their means: "macro_f1" and so on.
bpt_status_t cli_span_table_to_json(const cli_span_table_t *table, json_t *object) BPT_MUST_USE;

#endif
