// Classification of whole texts: the state of a sequence gives the logits of the classes (Ye et al. 2019, 4.1).
#include "models/tasks/task.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

const bpt_task_spec_t bpt_task_classify = {
    .name = "classify",
    .model = "a classifier",
    .counted = "examples",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_POOLED,
    .labelled = true,
    .outputs = outputs,
};
