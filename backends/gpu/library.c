// Trust in a driver's library of products: before the first use on a device it multiplies a few awkward shapes, and so do our own kernels.
// What was found is remembered with the device's other verdicts. Knows no API.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/backend.h"
#include "backends/gpu/cache.h"
#include "backends/gpu/gpu.h"
#include "bpt/alloc.h"

typedef struct {
    int64_t m, n, k;
    bool add;
} shape_t;

// Below and above the size from which libraries copy operands into padded ones; no dimension suits any tile.
static const shape_t shapes[] = {{1, 1, 1, false}, {37, 53, 29, true}, {5, 301, 130, false}, {515, 463, 507, true}, {517, 512, 461, false}};

typedef struct {
    bpt_gpu_device_t *device;
    bpt_buffer_t *buffer;  // all operands
    float *values, *results[2];
    int64_t capacity;  // elements of a, b and c each
} check_t;

// ---- One product, twice ----------------------------------------------------------------------------------------------

static void fill(float *values, int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

static bpt_operand_t operand(const check_t *c, int place, int64_t rows, int64_t columns) {
    return (bpt_operand_t){.buffer = c->buffer,
                           .offset_bytes = (size_t)(place * c->capacity) * sizeof(float),
                           .dtype = BPT_F32,
                           .shape = {2, {rows, columns}},
                           .present = true};
}

// c = op(a) op(b), with what c holds added; a, b, c and scratch lie one behind the other.
static bpt_status_t multiply(const check_t *c, const shape_t *s, bpt_product_form_t form, bpt_product_kind_t kind, float *result) {
    bpt_device_t *device = &c->device->base;
    const bool ta = form == BPT_PRODUCT_WEIGHTS, tb = form == BPT_PRODUCT_FORWARD;
    bpt_op_call_t call = {.op = BPT_OP_MATMUL, .attrs.matmul = {.transpose_a = ta, .transpose_b = tb}};
    call.in[0] = ta ? operand(c, 0, s->k, s->m) : operand(c, 0, s->m, s->k);
    call.in[1] = tb ? operand(c, 1, s->n, s->k) : operand(c, 1, s->k, s->n);
    call.out[0] = operand(c, 2, s->m, s->n);
    if (s->add) call.in[2] = call.out[0];
    const bpt_product_rule_t own = {.kind = BPT_PRODUCT_TILES, .size = {64, 64, 16, 8, 8}}, library = {.kind = BPT_PRODUCT_LIBRARY};
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) c->device->tuning.form[f] = kind == BPT_PRODUCT_LIBRARY ? library : own;

    size_t scratch_bytes = 0;
    bpt_list_t *list = NULL;
    bpt_ticket_t ticket = 0;
    bpt_status_t status;
    BPT_TRY(bpt_gpu_op(device, &call, NULL, &scratch_bytes));
    if (scratch_bytes) BPT_TRY(bpt_gpu_buffer_create(device, scratch_bytes, &call.scratch.buffer));
    call.scratch.present = scratch_bytes > 0;
    const size_t bytes = (size_t)(3 * c->capacity) * sizeof(float);
    BPT_TRY_GOTO(bpt_gpu_write(device, c->buffer, 0, c->values, bytes), done);
    BPT_TRY_GOTO(bpt_gpu_list_create(device, &list), done);
    BPT_TRY_GOTO(bpt_gpu_op(device, &call, list, NULL), done);
    BPT_TRY_GOTO(bpt_gpu_list_seal(list), done);
    BPT_TRY_GOTO(bpt_gpu_submit(device, list, &ticket), done);
    BPT_TRY_GOTO(bpt_gpu_wait(device, ticket, UINT64_MAX), done);
    status = bpt_gpu_read(device, c->buffer, call.out[0].offset_bytes, result, (size_t)(s->m * s->n) * sizeof(float));
done:
    bpt_gpu_list_destroy(device, list);
    bpt_gpu_buffer_destroy(device, call.scratch.buffer);
    return status;
}

// Two orders of summing k products of numbers below 1 differ by far less than this; a wrong element by far more.
static bool agree(const float *a, const float *b, int64_t count, int64_t k) {
    const float most = (float)(k + 8) * 0x1p-22f;
    for (int64_t i = 0; i < count; ++i)
        if (!(fabsf(a[i] - b[i]) <= most)) return false;
    return true;
}

static bpt_status_t compare(const check_t *c) {
    static const char *const names[BPT_PRODUCT_FORMS] = {"b transposed", "plain", "a transposed"};
    for (size_t i = 0; i < BPT_COUNT(shapes); ++i)
        for (int form = 0; form < BPT_PRODUCT_FORMS; ++form) {
            const shape_t *s = &shapes[i];
            fill(c->values, 3 * c->capacity, (uint32_t)(i * BPT_PRODUCT_FORMS) + (uint32_t)form);
            BPT_TRY(multiply(c, s, (bpt_product_form_t)form, BPT_PRODUCT_TILES, c->results[0]));
            BPT_TRY(multiply(c, s, (bpt_product_form_t)form, BPT_PRODUCT_LIBRARY, c->results[1]));
            if (!agree(c->results[0], c->results[1], s->m * s->n, s->k))
                return bpt_fail(BPT_ERR_UNSUPPORTED, "its product of %lld x %lld by %lld x %lld (%s) is not what our own kernel computes",
                                (long long)s->m, (long long)s->k, (long long)s->k, (long long)s->n, names[form]);
        }
    return BPT_OK;
}

static bpt_status_t self_check(bpt_gpu_device_t *device) {
    check_t c = {.device = device};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < BPT_COUNT(shapes); ++i) {
        const shape_t *s = &shapes[i];
        const int64_t largest = bpt_min(s->m, bpt_min(s->n, s->k)) ? s->m * s->n * s->k / bpt_min(s->m, bpt_min(s->n, s->k)) : 0;
        if (largest > c.capacity) c.capacity = largest;
    }
    BPT_TRY_GOTO(bpt_alloc((size_t)(3 * c.capacity), sizeof(float), &c.values), done);
    for (int i = 0; i < 2; ++i) BPT_TRY_GOTO(bpt_alloc((size_t)c.capacity, sizeof(float), &c.results[i]), done);
    BPT_TRY_GOTO(bpt_gpu_buffer_create(&device->base, (size_t)(3 * c.capacity) * sizeof(float), &c.buffer), done);
    status = compare(&c);
done:
    bpt_gpu_buffer_destroy(&device->base, c.buffer);
    for (int i = 0; i < 2; ++i) bpt_free(c.results[i]);
    bpt_free(c.values);
    return status;
}

// ---- The verdict -----------------------------------------------------------------------------------------------------

static bpt_cache_key_t verdict_key(const bpt_gpu_device_t *g, const char *library) {
    const bpt_device_info_t *info = &g->base.info;
    const char *limits = getenv("BPT_LIMITS");
    const char *const parts[] = {g->base.backend->name, info->name, info->pci, info->driver, library, limits ? limits : ""};
    return bpt_cache_key("verdict", parts, (int)BPT_COUNT(parts));
}

// `problem`: "" when the library may be used. Fails only where no verdict can be had.
static bpt_status_t judge(bpt_gpu_device_t *g, const char *library, char *problem, size_t bytes) {
    const bpt_cache_key_t key = verdict_key(g, library);
    void *known;
    size_t length;
    if (bpt_cache_get(&key, &known, &length)) {
        snprintf(problem, bytes, "%s", (const char *)known);
        bpt_free(known);
        return BPT_OK;
    }
    const bpt_status_t status = self_check(g);
    if (status == BPT_ERR_NO_MEMORY) return status;
    snprintf(problem, bytes, "%s", status == BPT_OK ? "" : bpt_error_message());
    bpt_cache_put(&key, problem, strlen(problem));
    if (status == BPT_ERR_DEVICE_LOST) return status;
    bpt_error_clear();
    return BPT_OK;
}

bpt_status_t bpt_gpu_library_check(bpt_gpu_device_t *g, bpt_gpu_rule_t *rule) {
    const bpt_gpu_driver_t *driver = g->api->driver;
    char library[200] = "this backend knows no library of products", problem[200] = "";
    const bool there = driver->library && driver->library(library, sizeof library);
    if (there) BPT_TRY(bpt_context(judge(g, library, problem, sizeof problem), "the self-check of %s", library));
    if (there && !*problem) return BPT_OK;
    if (strcmp(rule->origin, "tuned"))
        return bpt_fail(BPT_ERR_UNAVAILABLE, "%s: no products by a library: %s%s%s", rule->origin, library, *problem ? ": " : "", problem);
    snprintf(rule->note, sizeof rule->note,
             "%s%s%s; the shipped rule for products is used in place of the tuned one, `bpt tune` finds another", library,
             *problem ? " is not used: " : "", problem);
    rule->origin = "shipped";
    bpt_gpu_tuning_shipped(&g->base.info, &rule->tuning);
    return BPT_OK;
}
