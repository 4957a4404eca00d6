// Which examples two models answer rightly, and whether that differs by more than chance (McNemar's exact test), for `bpt eval A B`.
#ifndef BPT_TOOLS_ANSWERS_RIGHT_H
#define BPT_TOOLS_ANSWERS_RIGHT_H

#include <jansson.h>

#include "models/tasks/task.h"

// Of an example of the file.
typedef struct {
    uint64_t labels;  // a hash of the names of its labels in the data
    bool counted, right;
} cli_answer_right_t;

typedef struct {
    cli_answer_right_t *of;
    size_t count, room;
} cli_answers_right_t;  // zeroed: none

// Adds a batch; a sequence of tags is right when all of them are. `labels`: the names of all labels.
bpt_status_t cli_answers_right_add(cli_answers_right_t *answers, const bpt_task_spec_t *task, const char *const *labels,
                                   const bpt_batch_t *batch, const uint32_t *best) BPT_MUST_USE;
// A JSON list with 1, 0 or null (not counted) for each example of the file.
bpt_status_t cli_answers_right_write(const cli_answers_right_t *answers, const char *path) BPT_MUST_USE;
void cli_answers_right_free(cli_answers_right_t *answers);

// Examples by who has them right.
typedef struct {
    int64_t both, first_only, second_only, neither;
    double p;
} cli_mcnemar_t;

// BPT_ERR_INPUT unless both were asked the same; `runs` for the message.
bpt_status_t cli_mcnemar(const cli_answers_right_t *first, const cli_answers_right_t *second, const char *const runs[2],
                         cli_mcnemar_t *out) BPT_MUST_USE;
// What is counted, in the plural.
const char *cli_mcnemar_unit(const bpt_task_spec_t *task);
void cli_mcnemar_print(const cli_mcnemar_t *found, const bpt_task_spec_t *task);
bpt_status_t cli_mcnemar_to_json(const cli_mcnemar_t *found, const bpt_task_spec_t *task, const char *const runs[2],
                                 json_t *object) BPT_MUST_USE;

#endif
