// Trust in a driver's library of products: before the first use on a device it multiplies a few awkward shapes, and so do our own kernels.
// What was found is remembered with the device's other verdicts. Knows no API.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "backends/gpu/library.h"
#include "bpt/alloc.h"

typedef struct {
    int64_t m, n, k;
    bool add;
} shape_t;

// What is in the matrices: of the operands, and of the result; whether it is added to, gets a bias, a relu, the gradient of one.
typedef struct {
    bpt_dtype_t operands, result;
    bool add, bias, relu, mask;
} kind_t;

// Below and above the size from which libraries copy operands into padded ones; no dimension suits any tile.
static const shape_t shapes[] = {{1, 1, 1, false}, {37, 53, 29, true}, {5, 301, 130, false}, {515, 463, 507, true}, {517, 512, 461, false}};
// Every further kind on rows that begin anywhere, and on such as hardware for matrices likes. Few, as each needs kernels of ours too.
static const shape_t few_shapes[] = {{131, 77, 203, false}, {256, 384, 192, false}};
static const shape_t masked_shapes[] = {{131, 200, 72, false}, {256, 384, 192, false}};  // rows of bits with and without some to spare
_Static_assert(sizeof few_shapes == sizeof masked_shapes, "as many of each");
static const kind_t kinds[] = {
    {BPT_F32, BPT_F32, false, true, true, false},  {BPT_BF16, BPT_BF16, false, false, true, false},
    {BPT_BF16, BPT_F32, true, true, false, false}, {BPT_F16, BPT_F16, false, false, true, false},
    {BPT_F16, BPT_F32, true, true, false, false},  {BPT_BF16, BPT_BF16, false, false, false, true},
    {BPT_F16, BPT_F16, false, false, false, true},
};

typedef struct {
    bpt_gpu_device_t *device;
    bpt_blueprint_t rule;  // of the library
    bpt_buffer_t *buffer;  // all operands
    float *values, *results[2];
    int64_t capacity;  // elements of a, b, c and of the bias or the mask each
    bool masks;        // it is about masked products, or about all others
} check_t;

// ---- One product, twice ----------------------------------------------------------------------------------------------

static void fill(float *values, int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

static bpt_operand_t operand(const check_t *c, int place, bpt_dtype_t dtype, int64_t rows, int64_t columns) {
    return (bpt_operand_t){.buffer = c->buffer,
                           .offset_bytes = (size_t)(place * c->capacity) * sizeof(float),
                           .dtype = dtype,
                           .shape = {2, {rows, columns}},
                           .present = true};
}

// c = op(a) op(b) and what the kind adds; a, b, c and the bias or the mask lie one behind the other.
static bpt_op_call_t call_of(const check_t *c, const shape_t *s, const kind_t *kind, bpt_product_form_t form) {
    const bool ta = form == BPT_PRODUCT_WEIGHTS, tb = form == BPT_PRODUCT_FORWARD;
    bpt_op_call_t call = {.op = BPT_OP_MATMUL, .attrs.matmul = {.transpose_a = ta, .transpose_b = tb}};
    call.in[0] = ta ? operand(c, 0, kind->operands, s->k, s->m) : operand(c, 0, kind->operands, s->m, s->k);
    call.in[1] = tb ? operand(c, 1, kind->operands, s->n, s->k) : operand(c, 1, kind->operands, s->k, s->n);
    call.out[0] = operand(c, 2, kind->result, s->m, s->n);
    if (kind->add) call.in[2] = call.out[0];
    if (kind->bias) call.in[3] = operand(c, 3, BPT_F32, 1, s->n);
    if (kind->bias) call.in[3].shape = (bpt_shape_t){1, {s->n}};
    if (kind->mask) {
        call.in[4] = operand(c, 3, kind->result, s->m, s->n);
        call.attrs.matmul.epilogue = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {{.code = BPT_POINTWISE_MASK, .arg = 4, .c = 1.25f}}};
    }
    if (kind->relu) call.attrs.matmul.epilogue = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {{.code = BPT_POINTWISE_RELU}}};
    return call;
}

static float value_of(const void *values, bpt_dtype_t dtype, int64_t i) {
    if (dtype == BPT_F32) return ((const float *)values)[i];
    const uint16_t half = ((const uint16_t *)values)[i];
    return dtype == BPT_BF16 ? bpt_from_bf16(half) : bpt_from_f16(half);
}

static bpt_status_t write_operand(const check_t *c, const bpt_operand_t *o) {
    const int64_t count = bpt_count(o), first = (int64_t)(o->offset_bytes / sizeof(float));
    uint16_t *halves;
    if (o->dtype == BPT_F32)
        return bpt_gpu_write(&c->device->base, c->buffer, o->offset_bytes, c->values + first, (size_t)count * sizeof(float));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *halves, &halves));
    for (int64_t i = 0; i < count; ++i)
        halves[i] = o->dtype == BPT_BF16 ? bpt_to_bf16(c->values[first + i]) : bpt_to_f16(c->values[first + i]);
    const bpt_status_t status = bpt_gpu_write(&c->device->base, c->buffer, o->offset_bytes, halves, (size_t)count * sizeof *halves);
    bpt_free(halves);
    return status;
}

static bpt_status_t run(const check_t *c, bpt_op_call_t *call, const bpt_blueprint_t *rule, float *result) {
    bpt_device_t *device = &c->device->base;
    size_t scratch_bytes = 0;
    bpt_list_t *list = NULL;
    bpt_ticket_t ticket = 0;
    bpt_status_t status;
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) c->device->tuning.form[f] = c->device->tuning.half[f] = *rule;
    BPT_TRY(bpt_gpu_op(device, call, NULL, &scratch_bytes));
    if (scratch_bytes) BPT_TRY(bpt_gpu_buffer_create(device, scratch_bytes, &call->scratch.buffer));
    call->scratch.present = scratch_bytes > 0;
    const bpt_operand_t *const operands[] = {&call->in[0], &call->in[1], &call->out[0], &call->in[3], &call->in[4]};
    for (size_t i = 0; i < BPT_COUNT(operands); ++i)
        if (operands[i]->present) BPT_TRY_GOTO(write_operand(c, operands[i]), done);
    BPT_TRY_GOTO(bpt_gpu_list_create(device, &list), done);
    BPT_TRY_GOTO(bpt_gpu_op(device, call, list, NULL), done);
    BPT_TRY_GOTO(bpt_gpu_list_seal(list), done);
    BPT_TRY_GOTO(bpt_gpu_submit(device, list, &ticket), done);
    BPT_TRY_GOTO(bpt_gpu_wait(device, ticket, UINT64_MAX), done);
    status = bpt_gpu_read(device, c->buffer, call->out[0].offset_bytes, result,
                          (size_t)bpt_count(&call->out[0]) * bpt_dtype_size(call->out[0].dtype));
done:
    bpt_gpu_list_destroy(device, list);
    bpt_gpu_buffer_destroy(device, call->scratch.buffer);
    call->scratch = (bpt_operand_t){0};
    return status;
}

// Two orders of summing k products of numbers below 1 differ by far less than this; a wrong element by far more. Low precision rounds the
// result.
static bool agree(const check_t *c, const bpt_operand_t *o, int64_t k) {
    const float last_bit = o->dtype == BPT_F32 ? 0 : o->dtype == BPT_BF16 ? 0x1p-8f : 0x1p-11f;
    const float each = c->rule.size[BPT_LIBRARY_TF32] ? 0x1p-10f : 0x1p-22f;
    for (int64_t i = 0; i < bpt_count(o); ++i) {
        const float own = value_of(c->results[0], o->dtype, i), other = value_of(c->results[1], o->dtype, i);
        if (!(fabsf(own - other) <= (float)(k + 8) * each + last_bit * 2 * fabsf(own))) return false;
    }
    return true;
}

static bpt_status_t compare(const check_t *c, const shape_t *s, const kind_t *kind, bpt_product_form_t form) {
    static const char *const names[BPT_PRODUCT_FORMS] = {"b transposed", "plain", "a transposed"};
    static const bpt_blueprint_t own = {.kind = BPT_BLUEPRINT_TILES, .size = {64, 64, 16, 8, 8}};
    bpt_op_call_t call = call_of(c, s, kind, form);
    fill(c->values, 4 * c->capacity, (uint32_t)(s->m * BPT_PRODUCT_FORMS) + (uint32_t)form);
    for (int64_t i = 3 * c->capacity; kind->mask && i < 4 * c->capacity; ++i) c->values[i] = fmaxf(c->values[i], 0);
    BPT_TRY(run(c, &call, &own, c->results[0]));
    BPT_TRY(run(c, &call, &c->rule, c->results[1]));
    if (agree(c, &call.out[0], s->k)) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED,
                    "its product of %lld x %lld by %lld x %lld (%s, %s to %s%s%s%s%s) is not what our own kernel computes", (long long)s->m,
                    (long long)s->k, (long long)s->k, (long long)s->n, names[form], bpt_dtype_name(kind->operands),
                    bpt_dtype_name(kind->result), kind->add ? ", added up" : "", kind->bias ? ", bias" : "", kind->relu ? ", relu" : "",
                    kind->mask ? ", masked" : "");
}

static bool is_offered(const check_t *c, const kind_t *kind) {
    const bpt_gpu_product_t product = {.operands = kind->operands,
                                       .result = kind->result,
                                       .add = kind->add,
                                       .has_bias = kind->bias,
                                       .relu = kind->relu,
                                       .masked = kind->mask,
                                       .tf32 = c->rule.size[BPT_LIBRARY_TF32] && kind->operands == BPT_F32};
    if (kind->operands == BPT_BF16 && !c->device->base.info.bf16) return false;
    if (kind->operands == BPT_F16 && !c->device->base.info.f16) return false;
    return c->device->api->driver->product_can(c->device->api, &product);
}

static bpt_status_t compare_all(const check_t *c) {
    for (int form = 0; form < BPT_PRODUCT_FORMS; ++form) {
        for (size_t i = 0; i < BPT_COUNT(shapes) && !c->masks; ++i)
            BPT_TRY(compare(c, &shapes[i], &(kind_t){BPT_F32, BPT_F32, .add = shapes[i].add}, (bpt_product_form_t)form));
        for (size_t i = 0; i < BPT_COUNT(kinds) * BPT_COUNT(few_shapes); ++i) {
            const kind_t *kind = &kinds[i / BPT_COUNT(few_shapes)];
            if (kind->mask == c->masks && is_offered(c, kind))
                BPT_TRY(compare(c, &(c->masks ? masked_shapes : few_shapes)[i % BPT_COUNT(few_shapes)], kind, (bpt_product_form_t)form));
        }
    }
    return BPT_OK;
}

static bpt_status_t self_check(bpt_gpu_device_t *device, const bpt_blueprint_t *rule, bool masks) {
    check_t c = {.device = device, .rule = *rule, .masks = masks};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < BPT_COUNT(shapes); ++i) {
        const shape_t *s = &shapes[i];
        const int64_t largest = s->m * s->n * s->k / bpt_min(s->m, bpt_min(s->n, s->k));
        if (largest > c.capacity) c.capacity = largest;
    }
    BPT_TRY_GOTO(bpt_alloc((size_t)(4 * c.capacity), sizeof(float), &c.values), done);
    for (int i = 0; i < 2; ++i) BPT_TRY_GOTO(bpt_alloc((size_t)c.capacity, sizeof(float), &c.results[i]), done);
    BPT_TRY_GOTO(bpt_gpu_buffer_create(&device->base, (size_t)(4 * c.capacity) * sizeof(float), &c.buffer), done);
    status = compare_all(&c);
done:
    bpt_gpu_buffer_destroy(&device->base, c.buffer);
    for (int i = 0; i < 2; ++i) bpt_free(c.results[i]);
    bpt_free(c.values);
    return status;
}

// ---- The verdict -----------------------------------------------------------------------------------------------------

static bpt_cache_key_t verdict_key(const bpt_gpu_device_t *g, const char *library, const char *use) {
    const bpt_device_info_t *info = &g->base.info;
    const char *limits = getenv("BPT_LIMITS");
    const char *const parts[] = {g->base.backend->name, info->name, info->pci, info->driver, library, limits ? limits : "", use};
    return bpt_cache_key("verdict", parts, (int)BPT_COUNT(parts));
}

// `problem`: "" when the library may be used, or may for masked products. Fails only where no verdict can be had.
static bpt_status_t judge(bpt_gpu_device_t *g, const char *library, const bpt_blueprint_t *rule, bool masks, char *problem, size_t bytes) {
    const bool tf32 = rule->size[BPT_LIBRARY_TF32];
    const bpt_cache_key_t key = verdict_key(g, library, masks ? "masks" : tf32 ? "tf32" : "");
    void *known;
    size_t length;
    if (tf32 && !g->api->driver->product_can(g->api, &(bpt_gpu_product_t){.operands = BPT_F32, .result = BPT_F32, .tf32 = true})) {
        snprintf(problem, bytes, "it has no TF32; BPT_TUNING=library does without");
        return BPT_OK;
    }
    if (bpt_cache_get(&key, &known, &length)) {
        snprintf(problem, bytes, "%s", (const char *)known);
        bpt_free(known);
        return BPT_OK;
    }
    const bpt_status_t status = self_check(g, rule, masks);
    if (status == BPT_ERR_NO_MEMORY) return status;
    snprintf(problem, bytes, "%s", status == BPT_OK ? "" : bpt_error_message());
    bpt_cache_put(&key, problem, strlen(problem));
    if (status == BPT_ERR_DEVICE_LOST) return status;
    bpt_error_clear();
    return BPT_OK;
}

// The rule's product by the library, the TF32 one where both are in it. NULL: none.
static const bpt_blueprint_t *library_rule(const bpt_gpu_tuning_t *t) {
    const bpt_blueprint_t *found = NULL;
    for (int f = 0; f < 2 * BPT_PRODUCT_FORMS; ++f) {
        const bpt_blueprint_t *r = f < BPT_PRODUCT_FORMS ? &t->form[f] : &t->half[f - BPT_PRODUCT_FORMS];
        if (r->kind == BPT_BLUEPRINT_LIBRARY && (!found || r->size[BPT_LIBRARY_TF32])) found = r;
    }
    return found;
}

// A library whose masked products are wrong, or that has none, is used for all others.
static bpt_status_t check_masks(bpt_gpu_device_t *g, const char *library, const bpt_blueprint_t *wanted, bpt_gpu_rule_t *rule) {
    const bpt_gpu_product_t masked = {.operands = BPT_F16, .result = BPT_F16, .masked = true};
    char problem[200] = "";
    if (g->api->limits.max_group_size < 8 || !g->api->driver->product_can(g->api, &masked)) return BPT_OK;  // see cl/matmul/mask_bits.inc
    g->library_masks = true;
    const bpt_status_t status = judge(g, library, wanted, true, problem, sizeof problem);
    g->library_masks = status == BPT_OK && !*problem;
    if (*problem) snprintf(rule->note, sizeof rule->note, "%s computes no gradients of relu: %s", library, problem);
    return bpt_context(status, "the self-check of %s", library);
}

bpt_status_t bpt_gpu_library_check(bpt_gpu_device_t *g, bpt_gpu_rule_t *rule) {
    const bpt_gpu_driver_t *driver = g->api->driver;
    const bpt_blueprint_t *wanted = library_rule(&rule->tuning);
    char library[200] = "this backend knows no library of products", problem[200] = "";
    if (!wanted) return BPT_OK;
    const bool there = driver->library && driver->library(library, sizeof library);
    if (there) BPT_TRY(bpt_context(judge(g, library, wanted, false, problem, sizeof problem), "the self-check of %s", library));
    if (there && !*problem) return check_masks(g, library, wanted, rule);
    if (strcmp(rule->origin, "tuned") && strcmp(rule->origin, "shipped"))
        return bpt_fail(BPT_ERR_UNAVAILABLE, "%s: no products by a library: %s%s%s", rule->origin, library, *problem ? ": " : "", problem);
    snprintf(rule->note, sizeof rule->note, "%s%s%s; %s", library, *problem ? " is not used: " : "", problem,
             strcmp(rule->origin, "tuned") ? "products run on our own kernels"
                                           : "the shipped rule for products is used in place of the tuned one, `bpt tune` finds another");
    rule->origin = "shipped";
    bpt_gpu_info_t gpu = bpt_gpu_info(&g->base.info);
    gpu.library = false;
    bpt_gpu_info_set(&g->base.info, &gpu);
    bpt_gpu_tuning_t own;
    bpt_gpu_tuning_shipped(&g->base.info, &own);
    memcpy(own.other, rule->tuning.other, sizeof own.other);
    rule->tuning = own;
    return BPT_OK;
}
