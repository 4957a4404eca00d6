// What all lowerings share (see lower.h): views of operands, scratch, and the way of a kernel call into a list.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/list.h"
#include "backends/gpu/lower/lower.h"

enum { ALIGNMENT = 256 };

uint32_t bpt_lower_threshold(float p) { return (uint32_t)(p * 65536.0f + 0.5f); }

bpt_view_t bpt_lower_view(const bpt_operand_t *o) {
    if (!o->present) return (bpt_view_t){0};
    return (bpt_view_t){o->buffer, o->offset_bytes, (size_t)bpt_count(o) * bpt_dtype_size(o->dtype), o->dtype, true};
}

bpt_view_t bpt_lower_part(const bpt_view_t *view, int64_t first, int64_t count) {
    bpt_view_t part = *view;
    if (!view->present) return part;
    const size_t size = bpt_dtype_size(view->dtype);
    part.offset_bytes += (size_t)first * size;
    part.bytes = (size_t)count * size;
    return part;
}

bpt_view_t bpt_lower_scratch(bpt_lower_t *l, bpt_dtype_t dtype, int64_t count) {
    const size_t bytes = (size_t)count * bpt_dtype_size(dtype);
    const bpt_view_t view = {l->list ? l->call->scratch.buffer : NULL, l->call->scratch.offset_bytes + l->scratch_bytes, bytes, dtype,
                             true};
    l->scratch_bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return view;
}

void bpt_lower_refuse(bpt_lower_t *l, const char *format, ...) {
    if (l->status != BPT_OK) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    l->status = bpt_fail(BPT_ERR_UNSUPPORTED, "%s: %s", bpt_op_name(l->call->op), text);
}

bpt_kernel_call_t bpt_lower_kernel(const bpt_lower_t *l, bpt_gpu_kernel_t kernel) {
    const uint32_t most = l->device->api->limits.max_group_size;
    return (bpt_kernel_call_t){.kernel = kernel, .group_size = most < 64 ? most : 64};
}

// The largest multiple of the alignment before the view, and what is left to its first element.
static void bind(const bpt_gpu_limits_t *limits, const bpt_view_t *view, bpt_gpu_binding_t *binding, uint8_t *skew) {
    const size_t rest = view->offset_bytes % limits->offset_alignment;
    *binding = (bpt_gpu_binding_t){view->buffer->memory, view->offset_bytes - rest, view->bytes + rest};
    *skew = (uint8_t)(rest / bpt_dtype_size(view->dtype));
}

static bool fits(bpt_lower_t *l, const bpt_kernel_call_t *k) {
    const bpt_gpu_limits_t *limits = &l->device->api->limits;
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS; ++i)
        if (k->bindings[i].present && k->bindings[i].bytes + limits->offset_alignment > limits->max_binding_bytes) {
            bpt_lower_refuse(l, "operand '%s' has %.1f MiB; the device binds at most %.1f MiB at once: lower --batch-tokens or --context",
                             bpt_gpu_kernels[k->kernel].bindings[i].name, (double)k->bindings[i].bytes / 1048576,
                             (double)limits->max_binding_bytes / 1048576);
            return false;
        }
    return true;
}

static double estimate(const bpt_gpu_device_t *g, const bpt_kernel_call_t *k) {
    double bytes = k->bytes;
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS && k->bytes <= 0; ++i) bytes += k->bindings[i].present ? (double)k->bindings[i].bytes : 0;
    const double arithmetic = k->flops / g->flops, memory = bytes / g->bytes_s;
    return arithmetic > memory ? arithmetic : memory;
}

// Does the kernel read texels? All of its bindings that may be texels must be, and the variants that do know f32 alone.
static bool reads_texels(const bpt_gpu_limits_t *limits, const bpt_kernel_call_t *k) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[k->kernel];
    int count = 0;
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS; ++i) {
        const bpt_view_t *view = &k->bindings[i];
        if (!view->present) continue;
        if (bpt_gpu_binding_is_typed(info->bindings[i].kind) && view->dtype != BPT_F32) return false;
        if (!bpt_gpu_binding_has_texels(info->bindings[i].kind)) continue;
        if ((view->bytes + limits->offset_alignment) / sizeof(float) > limits->max_texels) return false;
        ++count;
    }
    return count > 0;
}

void bpt_lower_emit(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t groups) {
    if (l->status != BPT_OK || groups <= 0 || !fits(l, k) || !l->list) return;
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[k->kernel];
    bpt_gpu_variant_t variant = {.kernel = k->kernel, .group_size = k->group_size, .texels = reads_texels(&l->device->api->limits, k)};
    bpt_gpu_dispatch_t dispatch = {.params_bytes = info->params_bytes};
    memcpy(variant.constants, k->constants, sizeof variant.constants);
    memcpy(dispatch.params, params, info->params_bytes);
    uint8_t *skew = dispatch.params + sizeof(uint32_t);
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS; ++i) {
        skew[i] = 0;
        if (!k->bindings[i].present) continue;
        if (bpt_gpu_binding_is_typed(info->bindings[i].kind)) variant.dtypes[i] = (uint8_t)k->bindings[i].dtype;
        bind(&l->device->api->limits, &k->bindings[i], &dispatch.bindings[i], &skew[i]);
    }
    l->status = bpt_gpu_program(l->device, &variant, &dispatch.program);
    if (l->status == BPT_OK) l->status = bpt_gpu_list_dispatch(l->list, &dispatch, groups, estimate(l->device, k));
}

static bpt_gpu_binding_t whole(const bpt_view_t *view) {
    return (bpt_gpu_binding_t){view->buffer ? view->buffer->memory : NULL, view->offset_bytes, view->bytes};
}

// A piece is within the budget of a submission also on slow devices, and never cut.
static int64_t rows_of_piece(const bpt_gpu_product_t *p, double most) {
    const double row = 2.0 * p->n * p->k;
    const int64_t rows = (int64_t)(most / row) / 64 * 64;
    return rows < 64 ? 64 : bpt_min(rows, p->m);
}

void bpt_lower_product(bpt_lower_t *l, const bpt_view_t *a, const bpt_view_t *b, const bpt_view_t *bias, const bpt_view_t *mask,
                       const bpt_view_t *c, bpt_gpu_product_t *p) {
    bpt_gpu_api_t *api = l->device->api;
    const int64_t rows = rows_of_piece(p, api->driver->product_flops);
    bpt_gpu_product_t piece = *p;
    size_t bytes = 0;
    piece.m = (uint32_t)bpt_min(rows, p->m);
    if (l->status == BPT_OK) l->status = api->driver->product_scratch(api, &piece, &bytes);
    const bpt_view_t scratch = bpt_lower_scratch(l, BPT_F32, bpt_ceil_div((int64_t)bytes, sizeof(float)));
    if (l->status != BPT_OK || !l->list) return;
    p->a = whole(a), p->b = whole(b), p->c = whole(c), p->bias = whole(bias), p->mask = whole(mask);
    if (bytes) p->scratch = whole(&scratch);
    l->status = bpt_gpu_list_product(l->list, p, rows, 2.0 * p->m * p->n * p->k / l->device->flops);
}

// Groups of 256: a GPU starts so many groups in a time, whatever their size, and these items have little to do.
void bpt_lower_emit_items(bpt_lower_t *l, const bpt_kernel_call_t *k, void *params, int64_t count) {
    enum { WANTED = 256 };
    bpt_kernel_call_t wide = *k;
    if (!bpt_lower_in_software(l)) wide.group_size = bpt_min(WANTED, l->device->api->limits.max_group_size);
    bpt_lower_emit(l, &wide, params, bpt_ceil_div(count, wide.group_size));
}

void bpt_lower_barrier(bpt_lower_t *l) {
    if (l->status == BPT_OK && l->list) l->status = bpt_gpu_list_barrier(l->list);
}

void bpt_lower_barrier_of_rows(bpt_lower_t *l) {
    if (!l->device->api->limits.disjoint_writes) bpt_lower_barrier(l);
}
