// The list of tasks (see task.h).
#include "models/tasks/task.h"

#include <string.h>

#include "bpt/alloc.h"
#include "models/train/evaluate.h"

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

int bpt_task_metric(const bpt_task_spec_t *task, const char *name) {
    for (int i = 0; task->metrics && task->metrics[i].name; ++i)
        if (!strcmp(task->metrics[i].name, name)) return i;
    return -1;
}

bpt_status_t bpt_task_decode(bpt_runner_t *runner, const bpt_batch_t *batch, const float *logits, uint32_t *best) {
    const bpt_model_config_t *config = bpt_runner_config(runner);
    const int64_t outputs = bpt_task_of(config)->outputs(config);
    if (bpt_task_of(config)->decode) return bpt_task_of(config)->decode(runner, batch, logits, best);
    for (int64_t i = 0; i < batch->n_targets; ++i) {
        int64_t place;
        (void)bpt_log_sum_exp(logits + i * outputs, outputs, &place);
        best[i] = (uint32_t)place;
    }
    return BPT_OK;
}

bpt_status_t bpt_measure_loss(bpt_runner_t *r, const bpt_batch_t *batch, bpt_measure_t *m) {
    double loss;
    BPT_TRY(bpt_runner_evaluate(r, batch, m->nll, &loss));
    m->loss += loss;
    return BPT_OK;
}

bpt_status_t bpt_measure_reserve(float **array, size_t *room, int64_t wanted) {
    if ((size_t)wanted <= *room) return BPT_OK;
    BPT_TRY(bpt_realloc(array, (size_t)wanted, sizeof **array));
    *room = (size_t)wanted;
    return BPT_OK;
}
