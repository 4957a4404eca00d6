// Whether the tags of training data are those of spans, as precision, recall and F1 need them; what is said where they are not.
#ifndef BPT_TOOLS_SPAN_CHECK_H
#define BPT_TOOLS_SPAN_CHECK_H

#include "data/examples/examples.h"
#include "tools/bpt/options/options.h"

// The tags of the training text, whose labels are known: where --best-by needs spans, a tag that is none is BPT_ERR_INPUT with its file and
// line (of a resumed run a warning, as it was begun so). Where most tags are those of spans and one is not, a warning says why there is no
// F1.
bpt_status_t cli_spans_check(const cli_options_t *o, const bpt_range_t *text, const bpt_examples_options_t *options,
                             const bpt_labels_t *labels) BPT_MUST_USE;
// The validation part, where --best-by needs spans: one without a span is BPT_ERR_INPUT.
bpt_status_t cli_spans_check_valid(const cli_options_t *o, const char *path, const bpt_examples_t *examples,
                                   const bpt_labels_t *labels) BPT_MUST_USE;
// The same warning for a model whose data are not there.
void cli_spans_explain(const bpt_task_spec_t *task, const bpt_labels_t *labels);

#endif
