// The list of tasks (see task.h).
#include "models/tasks/task.h"

#include <string.h>

#include "bpt/alloc.h"

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

bpt_status_t bpt_measure_reserve(float **array, size_t *room, int64_t wanted) {
    if ((size_t)wanted <= *room) return BPT_OK;
    BPT_TRY(bpt_realloc(array, (size_t)wanted, sizeof **array));
    *room = (size_t)wanted;
    return BPT_OK;
}
