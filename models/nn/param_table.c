// Filling in a table of parameters (see param_table.h).
#include "models/nn/param_table.h"

#include <math.h>
#include <stdio.h>

#include "models/nn/names.h"

static void add(bpt_param_table_t *t, bpt_param_sort_t sort, const bpt_param_t *shape, const char *prefix, const char *name,
                const char *suffix) {
    if (t->status != BPT_OK) return;
    bpt_param_t p = *shape;
    p.group = sort.group;
    p.init = sort.init;
    p.rows = sort.rows;
    p.bound = sort.bound;
    p.hidden = sort.hidden;
    p.joined = sort.joined;
    snprintf(p.name, sizeof p.name, "%s%s%s", prefix, name, suffix);
    t->status = bpt_params_add(t->params, &p);
}

static bpt_param_sort_t uniform(bpt_param_group_t group, double bound) {
    return (bpt_param_sort_t){.group = group, .init = BPT_INIT_UNIFORM, .bound = bound};
}

bpt_param_sort_t bpt_param_normal(void) { return (bpt_param_sort_t){.group = BPT_GROUP_DECAY, .init = BPT_INIT_NORMAL}; }
bpt_param_sort_t bpt_param_linear(int64_t fan_in) { return uniform(BPT_GROUP_DECAY, 1 / sqrt((double)fan_in)); }
bpt_param_sort_t bpt_param_bias(int64_t fan_in) { return uniform(BPT_GROUP_NO_DECAY, 1 / sqrt((double)fan_in)); }
bpt_param_sort_t bpt_param_zero(void) { return (bpt_param_sort_t){.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_ZERO}; }
bpt_param_sort_t bpt_param_glorot(int64_t rows, int64_t columns) { return uniform(BPT_GROUP_DECAY, sqrt(6.0 / (double)(rows + columns))); }
bpt_param_sort_t bpt_param_hidden(int64_t rows, int64_t columns) {
    bpt_param_sort_t sort = bpt_param_glorot(rows, columns);
    sort.hidden = true;
    return sort;
}

void bpt_param_table_matrix(bpt_param_table_t *t, bpt_param_sort_t sort, int64_t rows, int64_t columns, const char *prefix,
                            const char *name) {
    add(t, sort, &(bpt_param_t){.rank = 2, .shape = {rows, columns}}, prefix, name, "");
}

void bpt_param_table_vector(bpt_param_table_t *t, bpt_param_sort_t sort, int64_t columns, const char *prefix, const char *name) {
    add(t, sort, &(bpt_param_t){.rank = 1, .shape = {columns}}, prefix, name, "");
}

void bpt_param_table_norm(bpt_param_table_t *t, int64_t d, bool biases, const char *prefix, const char *name) {
    const bpt_param_t shape = {.rank = 1, .shape = {d}};
    add(t, (bpt_param_sort_t){.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_ONE}, &shape, prefix, name, BPT_NAME_NORM_GAMMA);
    if (biases) add(t, (bpt_param_sort_t){.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_ZERO}, &shape, prefix, name, BPT_NAME_NORM_BETA);
}
