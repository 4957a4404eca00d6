// Gradient of a chain of pointwise steps, shared by the ops that carry one.
#ifndef BPT_OPS_STEPS_H
#define BPT_OPS_STEPS_H

#include "core/graph/internal.h"

bpt_status_t bpt_steps_gradient(bpt_graph_t *g, const bpt_pointwise_attrs_t *a, const bpt_value_t *in, bpt_value_t y, bpt_value_t dy,
                                const bool *need, bpt_value_t *din, bpt_value_t *dx);

#endif
