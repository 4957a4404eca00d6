// What the examples or tokens of each class count in the loss that is trained.
#ifndef BPT_DATA_CLASS_WEIGHTS_H
#define BPT_DATA_CLASS_WEIGHTS_H

#include "bpt/strbuf.h"
#include "data/examples/examples.h"

// n / (classes * count of the class), so that each class counts as much as every other and their mean over the data is 1 (the heuristic of
// King and Zeng 2001, as in scikit-learn's class_weight="balanced"). out [classes]. A class that the data do not have gets 1.
bpt_status_t bpt_class_weights_balance(const bpt_examples_t *examples, size_t classes, float *out) BPT_MUST_USE;
// Lines of `label<TAB>weight`, one for each label; a weight is a finite number above 0. out [labels->count]. BPT_ERR_INPUT with file and
// line.
bpt_status_t bpt_class_weights_read(const char *path, const bpt_labels_t *labels, float *out) BPT_MUST_USE;
// Numbers between commas, which read back to the same bits; BPT_ERR_INPUT: they are not `count` such numbers.
bpt_status_t bpt_class_weights_format(const float *weights, size_t count, bpt_strbuf_t *out) BPT_MUST_USE;
bpt_status_t bpt_class_weights_parse(const char *text, size_t count, float *out) BPT_MUST_USE;

#endif
