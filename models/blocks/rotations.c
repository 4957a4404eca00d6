// Rotary positions (see rotations.h).
#include "models/blocks/rotations.h"

#include <math.h>

double bpt_rotary_position(const bpt_intervals_t *graph, int64_t node) {
    int level;
    int64_t index;
    if (node < graph->n) return (double)node;
    if (!bpt_intervals_has_spans(graph)) return 0;
    bpt_node_position(graph, node, &level, &index);
    const double leaves = ldexp(1, level);
    return (double)index * leaves + (leaves - 1) / 2;
}

void bpt_rotary_angles(double position, int64_t head_dim, float *out) {
    const int64_t pairs = head_dim / 2;
    for (int64_t i = 0; i < pairs; ++i) {
        const double angle = position * pow(10000, -(double)i / (double)pairs);
        out[i] = (float)cos(angle);
        out[pairs + i] = (float)sin(angle);
    }
}

bpt_value_t bpt_rotations_input(bpt_graph_t *g, const bpt_model_config_t *config, const char *name, int64_t rows) {
    if (config->positions != BPT_POSITIONS_ROTARY) return BPT_NO_VALUE;
    return bpt_input(g, name, BPT_F32, bpt_shape2(rows, config->d_model / config->heads));
}

bpt_value_t bpt_rotate(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, int turned) {
    if (x == BPT_NO_VALUE || rotations == BPT_NO_VALUE) return x;
    const int32_t d = b->config->d_model, groups = b->head_groups > 1 ? b->head_groups : 1;
    const int64_t rows = bpt_shape_rows(&bpt_graph_value(b->g, x)->shape);
    return bpt_rotary(b->g, x, bpt_rows(b->g, rotations, 0, rows), d / b->config->heads, turned * d / groups);
}
