// See compile.h: a driver whose kernels are notes. It knows no API; the compiler of the real driver is asked at the end.
#include "backends/gpu/compile.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/device.h"
#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "bpt/dtype.h"

struct bpt_gpu_memory {
    char nothing;
};
struct bpt_gpu_program {
    char nothing;
};
struct bpt_gpu_commands {
    int marks;
};

typedef struct {
    bpt_gpu_api_t base;
    const bpt_gpu_compiler_t *compiler;
    bpt_gpu_api_t *real;  // of the compiler
    bpt_gpu_memory_t *canary;
    uint32_t submissions;
    bpt_gpu_variant_t *variants;
    size_t count, capacity;
} notes_t;

static bpt_status_t memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out) {
    notes_t *notes = (notes_t *)api;
    (void)bytes;
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    if (!notes->canary) notes->canary = *out;  // the first memory of a device (gpu.c)
    return BPT_OK;
}

static void memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory) {
    (void)api;
    bpt_free(memory);
}

static bpt_status_t write_nothing(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes) {
    (void)api, (void)memory, (void)offset, (void)source, (void)bytes;
    return BPT_OK;
}

// Zeros; of the canary what it would have counted.
static bpt_status_t read_zeros(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes) {
    const notes_t *notes = (const notes_t *)api;
    (void)offset;
    memset(target, 0, bytes);
    if (memory == notes->canary && bytes == sizeof notes->submissions) memcpy(target, &notes->submissions, bytes);
    return BPT_OK;
}

static bpt_status_t note(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    notes_t *notes = (notes_t *)api;
    BPT_TRY(bpt_grow(&notes->variants, notes->count, &notes->capacity, sizeof *notes->variants));
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    notes->variants[notes->count++] = *variant;
    return BPT_OK;
}

static void program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program) {
    (void)api;
    bpt_free(program);
}

static bpt_status_t commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    (void)api;
    return bpt_alloc(1, sizeof **out, out);
}

static void commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands) {
    (void)api;
    bpt_free(commands);
}

static bpt_status_t dispatch(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *d) {
    (void)commands, (void)d;
    return BPT_OK;
}

static bpt_status_t nothing(bpt_gpu_commands_t *commands) {
    (void)commands;
    return BPT_OK;
}

static bpt_status_t mark(bpt_gpu_commands_t *commands) {
    commands->marks++;
    return BPT_OK;
}

static bpt_status_t submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands, uint64_t *ticket) {
    (void)commands;
    *ticket = ++((notes_t *)api)->submissions;
    return BPT_OK;
}

static bpt_status_t wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns) {
    (void)api, (void)ticket, (void)timeout_ns;
    return BPT_OK;
}

static bpt_status_t marks(bpt_gpu_commands_t *commands, double *seconds, int capacity, int *count) {
    *count = commands->marks;
    for (int i = 0; i < *count && i < capacity; ++i) seconds[i] = 0;
    return BPT_OK;
}

static void close_notes(bpt_gpu_api_t *api) {
    notes_t *notes = (notes_t *)api;
    notes->compiler->close(notes->real);
    bpt_free(notes->variants);
    bpt_free(notes);
}

// No library of products: its kernels are not ours.
static const bpt_gpu_driver_t notes_driver = {
    .close = close_notes,
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .write = write_nothing,
    .read = read_zeros,
    .program_create = note,
    .program_destroy = program_destroy,
    .commands_create = commands_create,
    .commands_destroy = commands_destroy,
    .dispatch = dispatch,
    .barrier = nothing,
    .mark = mark,
    .finish = nothing,
    .submit = submit,
    .wait = wait,
    .marks = marks,
};

bpt_status_t bpt_gpu_compile_only(const bpt_gpu_driver_t *driver, int index, const char *target, bpt_gpu_api_t **out) {
    notes_t *notes;
    if (!driver->compiler) return bpt_fail(BPT_ERR_UNSUPPORTED, "this backend has no compiler that works without the device");
    BPT_TRY(bpt_alloc(1, sizeof *notes, &notes));
    const bpt_status_t status = driver->compiler->open(index, target, &notes->real);
    if (status != BPT_OK) {
        bpt_free(notes);
        return status;
    }
    notes->base = (bpt_gpu_api_t){&notes_driver, notes->real->limits};
    notes->base.limits.memory_bytes = notes->base.limits.max_allocation_bytes = UINT64_MAX / 4;  // nothing is allocated
    notes->compiler = driver->compiler;
    *out = &notes->base;
    return BPT_OK;
}

void bpt_gpu_noted(bpt_device_t *device, const bpt_gpu_variant_t **variants, size_t *count) {
    const notes_t *notes = (const notes_t *)((bpt_gpu_device_t *)device)->api;
    *variants = notes->variants;
    *count = notes->count;
}

bpt_status_t bpt_gpu_compiler_name(bpt_device_t *device, char *text, size_t bytes) {
    const notes_t *notes = (const notes_t *)((bpt_gpu_device_t *)device)->api;
    return notes->compiler->name(notes->real, text, bytes);
}

bpt_status_t bpt_gpu_source_hash(bpt_device_t *device, const bpt_gpu_variant_t *variant, uint64_t *out) {
    const notes_t *notes = (const notes_t *)((bpt_gpu_device_t *)device)->api;
    void *source;
    size_t bytes;
    BPT_TRY(
        bpt_context(notes->compiler->source(notes->real, variant, &source, &bytes), "kernel %s", bpt_gpu_kernels[variant->kernel].name));
    *out = bpt_checksum_of(source, bytes).xxh3;
    bpt_free(source);
    return BPT_OK;
}

bpt_status_t bpt_gpu_compile(bpt_device_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out) {
    notes_t *notes = (notes_t *)((bpt_gpu_device_t *)device)->api;
    *out = BPT_GPU_NOTHING_SAID;
    return bpt_context(notes->compiler->compile(notes->real, variant, out), "kernel %s", bpt_gpu_kernels[variant->kernel].name);
}

void bpt_gpu_variant_text(const bpt_gpu_variant_t *v, char *text, size_t bytes) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[v->kernel];
    size_t used = (size_t)snprintf(text, bytes, "group %u%s", v->group_size, v->texels ? ", texels" : "");
    for (int c = 0; c < BPT_GPU_MAX_CONSTANTS && info->constants[c] && used < bytes; ++c)
        if (v->constants[c]) used += (size_t)snprintf(text + used, bytes - used, ", %s %u", info->constants[c], v->constants[c]);
    for (int b = 0; b < BPT_GPU_MAX_BINDINGS && info->bindings[b].name && used < bytes; ++b)
        if (bpt_gpu_binding_is_typed(info->bindings[b].kind) && v->dtypes[b] != BPT_F32)
            used +=
                (size_t)snprintf(text + used, bytes - used, ", %s %s", info->bindings[b].name, bpt_dtype_name((bpt_dtype_t)v->dtypes[b]));
}
