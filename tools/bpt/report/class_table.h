// Scores of each label, and which one was given in place of which, for `bpt eval` of classifiers and taggers.
#ifndef BPT_TOOLS_CLASS_TABLE_H
#define BPT_TOOLS_CLASS_TABLE_H

#include <jansson.h>

#include "data/score/confusion.h"
#include "models/tasks/task.h"

typedef struct {
    bpt_confusion_t confusion;  // of no label: the task has none
    const bpt_task_spec_t *task;
} cli_class_table_t;

// `labels` [count], those of the data that the model does not know among them, stay the caller's.
bpt_status_t cli_class_table_open(const bpt_task_spec_t *task, const char *const *labels, size_t count,
                                  cli_class_table_t *out) BPT_MUST_USE;
void cli_class_table_close(cli_class_table_t *table);
// Adds the targets of a batch; `best` as bpt_measure_t has it.
void cli_class_table_add(cli_class_table_t *table, const bpt_batch_t *batch, const uint32_t *best);
// The scores, with their means, and the confusion: of few labels a table, of many the most frequent mistakes.
bpt_status_t cli_class_table_print(const cli_class_table_t *table, bool means) BPT_MUST_USE;
// "classes": as cli_type_rows_to_json; "confusion": {"labels": ["neg", ..], "counts": [[of the first label in the data, how often each
// was given], ..]}, of labels that occur. `means`: and their means.
bpt_status_t cli_class_table_to_json(const cli_class_table_t *table, bool means, json_t *object) BPT_MUST_USE;

#endif
