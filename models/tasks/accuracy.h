// Loss and accuracy of tasks with one label for each example, from one forward pass (classify.c): classify and pair share them.
#ifndef BPT_MODELS_TASKS_ACCURACY_H
#define BPT_MODELS_TASKS_ACCURACY_H

#include "models/tasks/task.h"

extern const bpt_metric_t bpt_accuracy_metrics[];
bpt_status_t bpt_accuracy_measure(const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *measure) BPT_MUST_USE;
void bpt_accuracy_finish(const bpt_measure_t *measure, int64_t scored, double value[BPT_MOST_METRICS]);

#endif
