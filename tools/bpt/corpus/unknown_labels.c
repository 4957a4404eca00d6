// Labels of validation and test data that the model does not know (see unknown_labels.h).
#include "tools/bpt/corpus/unknown_labels.h"

#include <inttypes.h>

#include "bpt/log.h"

void cli_unknown_labels_warn(const char *path, const bpt_task_spec_t *task, const bpt_labels_t *labels, const bpt_examples_t *e) {
    if (!e->labels.n_unknown) return;
    bpt_warn("%s: line %" PRIu64 ": label '%s' is not one of the %zu that the model knows; "
             "%s with such labels count as wrong: %" PRIu64,
             path, e->labels.unknown_line, labels->name[e->labels.first_unknown], labels->count, task->counted, e->labels.n_unknown);
}

bpt_status_t cli_unknown_labels_check(const cli_options_t *o, const char *path, const bpt_labels_t *labels, const bpt_examples_t *e) {
    if (!e->labels.n_unknown || (!*o->use.nll && !*o->use.grad)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %" PRIu64 ": label '%s' is not one of the %zu that the model knows, so it has no likelihood for --%s; leave "
                    "the option out, or such lines",
                    path, e->labels.unknown_line, labels->name[e->labels.first_unknown], labels->count,
                    *o->use.nll ? "nll-out" : "grad-out");
}
