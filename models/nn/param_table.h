// Filling in a table of parameters, with the initial values of the released code: PyTorch's defaults outside the layers, Glorot & Bengio
// 2010 inside.
#ifndef BPT_MODELS_NN_PARAM_TABLE_H
#define BPT_MODELS_NN_PARAM_TABLE_H

#include "models/nn/params.h"

typedef struct {
    bpt_params_t *params;
    bpt_status_t status;  // the first failure; nothing is added after it
} bpt_param_table_t;

// What all parameters of one sort have in common: bpt_param_t without name and shape.
typedef struct {
    bpt_param_group_t group;
    bpt_param_init_t init;
    bpt_param_rows_t rows;
    double bound;
    bool hidden;
    bool joined;
} bpt_param_sort_t;

bpt_param_sort_t bpt_param_normal(void);                           // N(0, 1)
bpt_param_sort_t bpt_param_linear(int64_t fan_in);                 // a weight, U(+-1 / sqrt(fan_in))
bpt_param_sort_t bpt_param_bias(int64_t fan_in);                   // its bias: the same, without decay
bpt_param_sort_t bpt_param_zero(void);                             // a bias, 0
bpt_param_sort_t bpt_param_glorot(int64_t rows, int64_t columns);  // U(+-sqrt(6 / (rows + columns))): tables inside of layers
bpt_param_sort_t bpt_param_hidden(int64_t rows, int64_t columns);  // the same: weights of products there

// A matrix, a vector, the two vectors of a LayerNorm, named PREFIX NAME.
void bpt_param_table_matrix(bpt_param_table_t *table, bpt_param_sort_t sort, int64_t rows, int64_t columns, const char *prefix,
                            const char *name);
void bpt_param_table_vector(bpt_param_table_t *table, bpt_param_sort_t sort, int64_t columns, const char *prefix, const char *name);
// The gains of a LayerNorm, and its biases.
void bpt_param_table_norm(bpt_param_table_t *table, int64_t columns, bool biases, const char *prefix, const char *name);

#endif
