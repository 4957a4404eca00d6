// Timed programs of one op (see rates.h).
#include "tools/bpt/bench/rates.h"

#include "bpt/clock.h"
#include "bpt/program.h"
#include "tools/bpt/report/sort.h"

const char *const cli_product_forms[BPT_PRODUCT_FORMS] = {"forward", "backward", "weights"};

void cli_layer_products(bpt_product_form_t form, int64_t rows, int64_t d, int64_t ff, cli_product_t out[CLI_LAYER_PRODUCTS]) {
    const int64_t weights[CLI_LAYER_PRODUCTS][2] = {{3 * d, d}, {d, d}, {ff, d}, {d, ff}};  // [outputs, inputs]
    for (int i = 0; i < CLI_LAYER_PRODUCTS; ++i) {
        const int64_t outputs = weights[i][0], inputs = weights[i][1];
        out[i] = form == BPT_PRODUCT_FORWARD    ? (cli_product_t){form, rows, outputs, inputs}
                 : form == BPT_PRODUCT_BACKWARD ? (cli_product_t){form, rows, inputs, outputs}
                                                : (cli_product_t){form, outputs, inputs, rows};
    }
}

// Takes the graph.
static bpt_status_t time_graph(bpt_device_t *device, bpt_graph_t *graph, cli_timing_t timing, double *seconds) {
    bpt_workspace_t *workspace = NULL;
    bpt_program_t *program = NULL;
    double each[CLI_MAX_REPEAT];
    bpt_status_t status = bpt_workspace_create(device, &workspace);
    if (status != BPT_OK) bpt_graph_destroy(graph);
    if (status == BPT_OK) status = bpt_program_compile(graph, workspace, NULL, 0, &program);
    for (int i = -1; i < timing.repeat && status == BPT_OK; ++i) {
        const double start = bpt_clock_seconds();
        status = bpt_program_run(program);
        if (i >= 0) each[i] = bpt_clock_seconds() - start;
    }
    if (status == BPT_OK) *seconds = cli_quantile(each, (size_t)timing.repeat, timing.quantile);
    bpt_program_destroy(program);
    bpt_workspace_destroy(workspace);
    return status;
}

bpt_status_t cli_time_product(bpt_device_t *device, const cli_product_t *p, bpt_dtype_t dtype, cli_timing_t timing, double *seconds) {
    const bool ta = p->form == BPT_PRODUCT_WEIGHTS, tb = p->form == BPT_PRODUCT_FORWARD;
    bpt_graph_t *g;
    BPT_TRY(bpt_graph_create(&g));
    const bpt_value_t a = bpt_input(g, "a", dtype, ta ? bpt_shape2(p->k, p->m) : bpt_shape2(p->m, p->k));
    const bpt_value_t b = bpt_input(g, "b", dtype, tb ? bpt_shape2(p->n, p->k) : bpt_shape2(p->k, p->n));
    bpt_graph_keep(
        g, bpt_matmul(g, a, b,
                      (bpt_matmul_options_t){
                          .transpose_a = ta, .transpose_b = tb, .acc = BPT_NO_VALUE, .bias = BPT_NO_VALUE, .dtype = ta ? BPT_F32 : dtype}));
    return time_graph(device, g, timing, seconds);
}

bpt_status_t cli_time_copy(bpt_device_t *device, int64_t count, cli_timing_t timing, double *seconds) {
    bpt_graph_t *g;
    BPT_TRY(bpt_graph_create(&g));
    bpt_graph_keep(g, bpt_copy(g, bpt_input(g, "x", BPT_F32, bpt_shape2(1, count))));
    return time_graph(device, g, timing, seconds);
}
