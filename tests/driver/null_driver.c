// The driver that only takes notes (see null_driver.h), a skeleton to copy. Comments say what a real driver must do.
#include "driver/null_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"

// What an API holds for each of these is its own business; the rest of the library sees pointers only.
struct bpt_gpu_memory {
    size_t bytes;
    uint32_t canary;
};
struct bpt_gpu_program {
    bpt_gpu_kernel_t kernel;
};
struct bpt_gpu_commands {
    int64_t groups;  // of all kernels but the canary
    int marks;
    int64_t groups_at[256];  // each mark
    bool canary;
};

null_notes_t null_notes;

// ---- Devices -----------------------------------------------------------------------------------------------------------

// Lists all devices, those that cannot be used with a sentence in `reason`; *count may be more than fit. Loads the API's library when it is
// called first. Fills bpt_gpu_info_t with bpt_gpu_info_set. Must not fail because one of several devices does.
static bpt_status_t null_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    *count = 1;
    if (capacity < 1) return BPT_OK;
    infos[0] = (bpt_device_info_t){.name = "a device of notes", .usable = true};
    memcpy(infos[0].type, null_notes.type, sizeof null_notes.type);
    return BPT_OK;
}

// Makes a context, a queue and whatever else the device needs, and fills in `driver` and `limits`: at least what is here, as the device
// says. The struct that it allocates begins with bpt_gpu_api_t.
static bpt_status_t null_open(int index, bpt_gpu_api_t **out) {
    (void)index;
    null_notes.api = (bpt_gpu_api_t){.driver = &null_driver,
                                     .limits = {.max_group_size = 128,
                                                .local_bytes = 16384,
                                                .max_binding_bytes = UINT64_C(1) << 34,
                                                .max_allocation_bytes = UINT64_C(1) << 34,
                                                .memory_bytes = UINT64_C(1) << 34,
                                                .offset_alignment = 64}};
    memcpy(null_notes.api.limits.max_groups, null_notes.max_groups, sizeof null_notes.max_groups);
    *out = &null_notes.api;
    return BPT_OK;
}

// Frees everything that `open` made. Also after the device was lost, when calls of the API fail or never return.
static void null_close(bpt_gpu_api_t *api) { (void)api; }

// ---- Memory ------------------------------------------------------------------------------------------------------------

// Device memory that kernels read and write, all zero. BPT_ERR_NO_MEMORY when there is too little.
static bpt_status_t null_memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out) {
    (void)api;
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->bytes = bytes;
    if (!null_notes.canary) null_notes.canary = *out;  // the first memory of a device
    return BPT_OK;
}

static void null_memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory) {
    (void)api;
    bpt_free(memory);
}

// Copies from the host. The source may be freed when it returns, and every later submission sees the bytes.
static bpt_status_t null_write(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes) {
    (void)api, (void)memory, (void)offset, (void)source, (void)bytes;
    return BPT_OK;
}

// Copies to the host, after all that was submitted; the bytes are there when it returns.
static bpt_status_t null_read(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes) {
    const bool wrong = null_notes.library_ran && null_notes.library_is_wrong && bytes > sizeof memory->canary;
    (void)api, (void)offset;
    memset(target, wrong ? 0x41 : 0, bytes);  // numbers of about 12
    if (bytes == sizeof memory->canary) memcpy(target, &memory->canary, bytes);
    return BPT_OK;
}

// ---- Kernels -----------------------------------------------------------------------------------------------------------

// Compiles a kernel with its group size, its constants and the element types of its bindings (bpt_gpu_kernels says which there are). A
// kernel that cannot be compiled is BPT_ERR_UNSUPPORTED with the first line of the compiler's log. Called once per variant; results are
// kept by the caller, and from one process to the next by the driver (backends/gpu/cache.h).
static bpt_status_t null_program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    (void)api;
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->kernel = variant->kernel;
    return BPT_OK;
}

static void null_program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program) {
    (void)api;
    bpt_free(program);
}

// ---- Command lists -----------------------------------------------------------------------------------------------------

// An empty list of commands, recorded once and submitted many times.
static bpt_status_t null_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    (void)api;
    return bpt_alloc(1, sizeof **out, out);
}

static void null_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands) {
    (void)api;
    bpt_free(commands);
}

// Records one dispatch: copies the parameter block and binds the ranges (memory NULL: something harmless). Groups are within
// limits.max_groups, offsets multiples of limits.offset_alignment: the caller has seen to it. Dispatches between two barriers may run at
// once.
static bpt_status_t null_dispatch(bpt_gpu_commands_t *c, const bpt_gpu_dispatch_t *d) {
    if (d->program->kernel == BPT_GPU_canary) {
        c->canary = true;
        return BPT_OK;
    }
    for (int axis = 0; axis < 3; ++axis) assert_in_range(d->groups[axis], 1, null_notes.max_groups[axis]);
    assert_true(null_notes.n_boxes < NULL_MOST_BOXES);
    memcpy(&null_notes.box[null_notes.n_boxes].first, d->params, sizeof(uint32_t));
    memcpy(null_notes.box[null_notes.n_boxes++].groups, d->groups, sizeof d->groups);
    null_notes.library_ran = false;
    c->groups += (int64_t)d->groups[0] * d->groups[1] * d->groups[2];
    return BPT_OK;
}

// Everything recorded before it is finished, and visible, before anything after it begins.
static bpt_status_t null_barrier(bpt_gpu_commands_t *c) {
    (void)c;
    return BPT_OK;
}

// Records a time stamp behind all dispatches so far.
static bpt_status_t null_mark(bpt_gpu_commands_t *c) {
    assert_true(c->marks < (int)BPT_COUNT(c->groups_at));
    c->groups_at[c->marks++] = c->groups;
    return BPT_OK;
}

// Nothing more is recorded: the list may be closed, or made into a graph.
static bpt_status_t null_finish(bpt_gpu_commands_t *c) {
    assert_true(c->canary);  // every submission ends with it
    if (c->groups > null_notes.longest) null_notes.longest = c->groups;
    return BPT_OK;
}

// Starts the commands behind all that was submitted before, and returns at once. Tickets count up from 1.
static bpt_status_t null_submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *c, uint64_t *ticket) {
    (void)api, (void)c;
    if (!null_notes.drops_work) null_notes.canary->canary++;
    null_notes.n_submits++;
    *ticket = ++null_notes.tickets;
    return BPT_OK;
}

// Returns when the submission has finished, or with BPT_ERR_DEVICE_LOST when the API reports an error or the time is over: never later.
static bpt_status_t null_wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns) {
    (void)api;
    assert_true(timeout_ns < UINT64_C(4000000000000));  // never for ever
    assert_int_equal(ticket, null_notes.waited + 1);    // and for one submission, not for all of a list
    null_notes.waited += !null_notes.times_out;
    return null_notes.times_out ? bpt_fail(BPT_ERR_DEVICE_LOST, "no answer") : BPT_OK;
}

// The time stamps of the last submission that has finished, in seconds. Here each group takes the same time, one after the other.
static bpt_status_t null_marks(bpt_gpu_commands_t *c, double *seconds, int capacity, int *count) {
    *count = c->marks;
    for (int i = 0; i < c->marks && i < capacity; ++i) seconds[i] = (double)c->groups_at[i] * null_notes.seconds_per_group;
    return BPT_OK;
}

// ---- Products by a library -------------------------------------------------------------------------------------------------
// Where the API has none, leave these out: all of them NULL.

// Its name and version, or why it is not there.
static bool null_library(char *text, size_t bytes) {
    strncpy(text, null_notes.has_library ? "a library of notes" : "no library here", bytes);
    return null_notes.has_library;
}

static bool null_product_can(bpt_gpu_api_t *api, const bpt_gpu_product_t *p) {
    (void)api;
    return p->operands == BPT_F32 && p->result == BPT_F32 && !p->has_bias && !p->relu && !p->tf32;
}

static bpt_status_t null_product_scratch(bpt_gpu_api_t *api, const bpt_gpu_product_t *product, size_t *bytes) {
    (void)api;
    *bytes = (size_t)product->m * product->n * sizeof(float);
    null_notes.n_scratches++;
    return BPT_OK;
}

// Recorded like a dispatch. What it computes must follow from the fields of the product alone, whenever and however often it runs.
static bpt_status_t null_product(bpt_gpu_commands_t *c, const bpt_gpu_product_t *p) {
    null_notes.library_ran = true;
    c->groups++;
    assert_true(p->scratch.bytes >= (size_t)p->m * p->n * sizeof(float));
    if (null_notes.n_products < (int)BPT_COUNT(null_notes.product)) {
        null_notes.product[null_notes.n_products].m = p->m;
        null_notes.product[null_notes.n_products].a = p->a.offset_bytes;
        null_notes.product[null_notes.n_products].c = p->c.offset_bytes;
    }
    null_notes.n_products++;
    return BPT_OK;
}

const bpt_gpu_driver_t null_driver = {
    .enumerate = null_enumerate,
    .open = null_open,
    .close = null_close,
    .memory_create = null_memory_create,
    .memory_destroy = null_memory_destroy,
    .write = null_write,
    .read = null_read,
    .program_create = null_program_create,
    .program_destroy = null_program_destroy,
    .commands_create = null_commands_create,
    .commands_destroy = null_commands_destroy,
    .dispatch = null_dispatch,
    .barrier = null_barrier,
    .mark = null_mark,
    .finish = null_finish,
    .submit = null_submit,
    .wait = null_wait,
    .marks = null_marks,
    .library = null_library,
    .product_flops = 4294967296.0,
    .product_can = null_product_can,
    .product_scratch = null_product_scratch,
    .product = null_product,
};
