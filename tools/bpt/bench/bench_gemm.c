// `bpt bench gemm`: the products of a training step at the backend's own rate, and beside them at its library's.
#include <string.h>

#include "backends/gpu/info.h"
#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/log.h"
#include "tools/bpt/bench/bench_model.h"
#include "tools/bpt/devices/device.h"

enum { MAX_PRODUCTS = 2 * BPT_PRODUCT_FORMS * CLI_LAYER_PRODUCTS };

typedef struct {
    bpt_device_t *own, *library;  // library NULL: there is none
    cli_bench_product_t result[MAX_PRODUCTS];
    int count;
} gemm_t;

// The device with our own kernels, and with its library, each opened anew where the rule says something else.
static bpt_status_t open_gemm(const cli_bench_t *b, gemm_t *g) {
    const bpt_backend_t *backend = b->device->backend;
    bpt_device_info_t info = b->device->info;
    bpt_gpu_tuning_t rule;
    char text[BPT_TUNING_TEXT], library[256];
    g->own = b->device;
    if (!backend->library) return BPT_OK;
    const bool there = backend->library(library, sizeof library);
    bpt_gpu_info_t gpu = bpt_gpu_info(&info);
    const bool all = gpu.library;  // in every precision
    gpu.library = false;
    bpt_gpu_info_set(&info, &gpu);
    if (bpt_gpu_tuning_parse(gpu.rule, &rule) && bpt_gpu_tuning_has(&rule, BPT_BLUEPRINT_LIBRARY)) {
        bpt_gpu_tuning_shipped(&info, &rule);
        bpt_gpu_tuning_text(&rule, text);
        BPT_TRY(cli_device_open_with(b->o, text, &g->own));
    }
    if (there && (all || b->o->train.precision == BPT_F32)) return cli_device_open_with(b->o, "library", &g->library);
    bpt_info("products by a library are not measured: %s", there ? "it is for f32" : library);
    return BPT_OK;
}

static bpt_status_t time_on(const cli_bench_t *b, bpt_device_t *device, const cli_product_t *product, gemm_t *g) {
    cli_bench_product_t *r = &g->result[g->count++];
    *r = (cli_bench_product_t){.product = *product};
    snprintf(r->rule, sizeof r->rule, "%s", bpt_gpu_info(&device->info).rule);
    return cli_time_product(device, product, b->o->train.precision, cli_bench_timing(b), &r->seconds);
}

static bpt_status_t time_products(const cli_bench_t *b, gemm_t *g) {
    const cli_bench_place_t place = cli_bench_place(b);
    for (int form = 0; form < BPT_PRODUCT_FORMS; ++form) {
        cli_product_t products[CLI_LAYER_PRODUCTS];
        cli_layer_products((bpt_product_form_t)form, 2 * b->o->tool.n, b->o->model.d_model, b->o->model.d_ff, products);
        for (int i = 0; i < CLI_LAYER_PRODUCTS; ++i) {
            BPT_TRY(time_on(b, g->own, &products[i], g));
            if (g->library) BPT_TRY(time_on(b, g->library, &products[i], g));
        }
    }
    return cli_bench_print_products(&place, g->result, g->count);
}

bpt_status_t cli_bench_gemm(const cli_bench_t *b) {
    gemm_t *g;
    BPT_TRY(bpt_alloc(1, sizeof *g, &g));
    bpt_status_t status = open_gemm(b, g);
    if (status == BPT_OK) status = time_products(b, g);
    cli_device_close(g->library);
    if (g->own != b->device) cli_device_close(g->own);
    bpt_free(g);
    return status;
}
