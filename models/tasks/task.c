// The list of tasks (see task.h).
#include "models/tasks/task.h"

#include <stdio.h>
#include <string.h>

#include "models/nn/softmax.h"

#define BPT_TASK(id, name) extern const bpt_task_spec_t bpt_task_##name;
#include "models/tasks/tasks.def"
#undef BPT_TASK

const bpt_task_spec_t *const bpt_tasks[] = {
#define BPT_TASK(id, name) [BPT_TASK_##id] = &bpt_task_##name,
#include "models/tasks/tasks.def"
#undef BPT_TASK
};

const bpt_task_spec_t *bpt_task_find(const char *name) {
    for (int i = 0; i < BPT_N_TASKS; ++i)
        if (!strcmp(bpt_tasks[i]->name, name)) return bpt_tasks[i];
    return NULL;
}

int bpt_task_list(char *text, size_t bytes) {
    size_t used = 0;
    for (int i = 0; i < BPT_N_TASKS && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s (%s)",
                                 !i                    ? ""
                                 : i + 1 < BPT_N_TASKS ? ", "
                                                       : " or ",
                                 bpt_tasks[i]->model, bpt_tasks[i]->name);
    return (int)used;
}

int bpt_task_metric(const bpt_task_spec_t *task, const char *name) {
    for (int i = 0; task->metrics && task->metrics[i].name; ++i)
        if (!strcmp(task->metrics[i].name, name)) return i;
    return -1;
}

bpt_status_t bpt_task_decode(const bpt_task_model_t *model, const bpt_batch_t *batch, const float *logits, uint32_t *best) {
    const bpt_task_spec_t *task = bpt_task_of(model->config);
    const int64_t outputs = task->outputs(model->config);
    if (model->weights) return task->decode(model, batch, logits, best);
    for (int64_t i = 0; i < batch->n_targets; ++i) best[i] = (uint32_t)bpt_largest(logits + i * outputs, outputs);
    return BPT_OK;
}
