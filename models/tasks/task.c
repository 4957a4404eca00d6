// The list of tasks (see task.h).
#include "models/tasks/task.h"

#include <string.h>

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
