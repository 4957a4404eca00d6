// How fast an open device does what a training step is made of: its products, and a copy. Shared by `bpt bench` and `bpt tune`. Knows no
// command and prints nothing.
#ifndef BPT_TOOLS_RATES_H
#define BPT_TOOLS_RATES_H

#include "backends/gpu/tuning.h"
#include "bpt/backend.h"

// m x n is the size of the result, k the depth.
typedef struct {
    bpt_product_form_t form;
    int64_t m, n, k;
} cli_product_t;

enum { CLI_LAYER_PRODUCTS = 4, CLI_MAX_REPEAT = 1000 };
extern const char *const cli_product_forms[BPT_PRODUCT_FORMS];  // "forward", "backward", "weights"

// What one layer of a model multiplies for `rows` nodes: the products of queries, keys and values, of what attention gives, and the two of
// the feed-forward layer.
void cli_layer_products(bpt_product_form_t form, int64_t rows, int64_t d_model, int64_t d_ff, cli_product_t out[CLI_LAYER_PRODUCTS]);
static inline double cli_product_flops(const cli_product_t *p) { return 2.0 * (double)p->m * (double)p->n * (double)p->k; }

// How often something is timed after a run that warms up, and which of the times counts (0: the least, 0.5: the median).
typedef struct {
    int repeat;  // at most CLI_MAX_REPEAT
    double quantile;
} cli_timing_t;

bpt_status_t cli_time_product(bpt_device_t *device, const cli_product_t *product, bpt_dtype_t dtype, cli_timing_t timing,
                              double *seconds) BPT_MUST_USE;
// The same of copying so many f32.
bpt_status_t cli_time_copy(bpt_device_t *device, int64_t count, cli_timing_t timing, double *seconds) BPT_MUST_USE;

#endif
