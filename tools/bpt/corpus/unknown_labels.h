// Labels of validation and test data that the model does not know: answers to them count as wrong, and they have no loss.
#ifndef BPT_TOOLS_UNKNOWN_LABELS_H
#define BPT_TOOLS_UNKNOWN_LABELS_H

#include "data/examples/examples.h"
#include "models/tasks/task.h"
#include "tools/bpt/options/options.h"

// One warning that counts them and names the first one's line in the file `path`; none where there are none.
void cli_unknown_labels_warn(const char *path, const bpt_task_spec_t *task, const bpt_labels_t *labels, const bpt_examples_t *examples);
// BPT_ERR_INPUT where there are some and the options ask for a file of likelihoods or gradients: what has none has no place there.
bpt_status_t cli_unknown_labels_check(const cli_options_t *o, const char *path, const bpt_labels_t *labels,
                                      const bpt_examples_t *examples) BPT_MUST_USE;

#endif
