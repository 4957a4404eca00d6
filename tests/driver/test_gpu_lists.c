// The op level of GPU backends on a driver that only takes notes (null_driver.h): every work-group is dispatched once within every limit of
// the grid, submissions stay within their budget and learn from what they took, lost work is noticed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/backend.h"
#include "backends/gpu/limits.h"
#include "backends/gpu/lower/gemm.h"
#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/file.h"
#include "bpt/lists.h"
#include "driver/null_driver.h"
#include "support/scratch.h"

// ---- A device --------------------------------------------------------------------------------------------------------

static const bpt_backend_t null_backend = {.version = BPT_BACKEND_VERSION, .name = "null"};

static bpt_device_t *open_null(const char *type, uint32_t x, uint32_t y, uint32_t z) {
    bpt_device_t *device;
    memset(&null_notes, 0, sizeof null_notes);
    strncpy(null_notes.type, type, sizeof null_notes.type - 1);
    null_notes.max_groups[0] = x, null_notes.max_groups[1] = y, null_notes.max_groups[2] = z;
    null_notes.seconds_per_group = 1e-9;
    assert_int_equal(bpt_gpu_open(&null_backend, &null_driver, 0, NULL, &device), BPT_OK);
    return device;
}

typedef struct {
    bpt_buffer_t *buffer;
    bpt_list_t *list;
} recorded_t;

// A list with one op: a fill of so many elements.
static recorded_t record_fill(bpt_device_t *device, int64_t elements) {
    recorded_t r;
    const bpt_op_call_t call = {.op = BPT_OP_FILL, .out[0] = {.dtype = BPT_F32, .shape = {1, {elements}}, .present = true}};
    bpt_op_call_t real = call;
    assert_int_equal(bpt_gpu_buffer_create(device, (size_t)elements * 4, &r.buffer), BPT_OK);
    real.out[0].buffer = r.buffer;
    assert_int_equal(bpt_gpu_list_create(device, &r.list), BPT_OK);
    assert_int_equal(bpt_gpu_op(device, &real, r.list, NULL), BPT_OK);
    assert_int_equal(bpt_gpu_list_seal(r.list), BPT_OK);
    return r;
}

// The bytes of a kernel's LOCALS, by numbers that NVRTC 13.0 gives for the same constants.
static void local_memory_is_what_a_kernel_lists(void **state) {
    static const struct {
        bpt_gpu_kernel_t kernel;
        uint32_t group, constants[BPT_GPU_MAX_CONSTANTS];
        uint64_t bytes;
    } cases[] = {
        {BPT_GPU_copy, 64, {0}, 0},
        {BPT_GPU_layernorm, 128, {0}, 512},
        {BPT_GPU_layernorm_grad, 64, {0}, 512},
        {BPT_GPU_crf_beta, 64, {0}, 3072},
        {BPT_GPU_sort_move, 64, {[sort_move_CHUNK] = 256}, 2048},
        {BPT_GPU_matmul, 64, {[matmul_BM] = 64, [matmul_BN] = 64, [matmul_BK] = 16}, 8192},
        {BPT_GPU_attention_rows, 64, {[attention_rows_COLUMNS] = 512, [attention_rows_HEADS] = 32, [attention_rows_SCORES] = 1024}, 11588},
        {BPT_GPU_attention_dq, 64, {[attention_dq_COLUMNS] = 512, [attention_dq_HEADS] = 32, [attention_dq_SCORES] = 1024}, 13252},
    };
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i)
        assert_int_equal(bpt_gpu_kernels[cases[i].kernel].local_bytes(cases[i].group, cases[i].constants), cases[i].bytes);
}

static void release(bpt_device_t *device, const recorded_t *r) {
    bpt_gpu_list_destroy(device, r->list);
    bpt_gpu_buffer_destroy(device, r->buffer);
}

// Elements that a group of the null device fills: as many as it has items, if it is no processor.
enum { GROUP = 128 };

static bpt_status_t run(bpt_device_t *device, const recorded_t *r) {
    bpt_ticket_t ticket;
    BPT_TRY(bpt_gpu_submit(device, r->list, &ticket));
    return bpt_gpu_wait(device, ticket, UINT64_MAX);
}

// ---- Tests -----------------------------------------------------------------------------------------------------------

// The boxes in their order hold 0, 1, .. groups - 1.
static void check_cover(int64_t groups) {
    int64_t next = 0;
    for (int i = 0; i < null_notes.n_boxes; ++i) {
        assert_int_equal(null_notes.box[i].first, next);
        next += (int64_t)null_notes.box[i].groups[0] * null_notes.box[i].groups[1] * null_notes.box[i].groups[2];
    }
    assert_int_equal(next, groups);
}

static void every_group_is_dispatched_once_within_the_grid(void **state) {
    (void)state;
    static const uint32_t grids[][3] = {{65535, 65535, 65535}, {7, 5, 3}, {4, 4, 4}, {1000, 2, 1}};
    static const int64_t groups[] = {1, 6, 7, 8, 34, 35, 36, 104, 105, 106, 211, 1000, 65535, 65536, 200000};
    for (size_t g = 0; g < BPT_COUNT(grids); ++g)
        for (size_t i = 0; i < BPT_COUNT(groups); ++i) {
            if (groups[i] / ((int64_t)grids[g][0] * grids[g][1] * grids[g][2]) > 1000) continue;
            bpt_device_t *device = open_null("software", grids[g][0], grids[g][1], grids[g][2]);
            const recorded_t r = record_fill(device, groups[i] * 64);
            check_cover(groups[i]);
            release(device, &r);
            bpt_gpu_close(device);
        }
}

static void long_work_is_cut_into_submissions_within_the_budget(void **state) {
    (void)state;
    bpt_device_t *device = open_null("integrated", 65535, 65535, 65535);
    const int64_t groups = (16 << 20) * 64 / GROUP;  // 4 GiB at an assumed 10 GB/s: over 0.4 s, four times the budget
    const recorded_t r = record_fill(device, groups * GROUP);
    check_cover(groups);
    assert_int_equal(run(device, &r), BPT_OK);
    assert_in_range(null_notes.n_submits, 4, 8);
    assert_int_equal(null_notes.waited, null_notes.tickets);
    release(device, &r);
    bpt_gpu_close(device);
}

static void a_slow_device_gets_shorter_submissions(void **state) {
    (void)state;
    bpt_device_t *device = open_null("integrated", 65535, 65535, 65535);
    const int64_t groups = (1 << 20) * 64 / GROUP;
    null_notes.seconds_per_group = 2e-6;  // one second in all, forty times the estimate
    const recorded_t r = record_fill(device, groups * GROUP);
    assert_int_equal(run(device, &r), BPT_OK);
    assert_int_equal(null_notes.n_submits, 1);
    null_notes.n_boxes = null_notes.n_submits = 0;
    null_notes.longest = 0;
    assert_int_equal(run(device, &r), BPT_OK);
    check_cover(groups);
    assert_in_range(null_notes.n_submits, 10, 15);
    assert_true((double)null_notes.longest * null_notes.seconds_per_group <= 0.11);
    release(device, &r);
    bpt_gpu_close(device);
}

static void a_fast_device_gets_fewer_submissions(void **state) {
    (void)state;
    bpt_device_t *device = open_null("integrated", 65535, 65535, 65535);
    const recorded_t r = record_fill(device, (int64_t)(16 << 20) * 64);
    assert_int_equal(run(device, &r), BPT_OK);
    assert_true(null_notes.n_submits >= 4);
    null_notes.n_submits = null_notes.n_boxes = 0;
    assert_int_equal(run(device, &r), BPT_OK);
    assert_int_equal(null_notes.n_submits, 1);
    release(device, &r);
    bpt_gpu_close(device);
}

// An op that is cut into submissions, and a short one behind it: both levels of timing tell when the device was at them.
static void events_follow_each_other_across_submissions(void **state) {
    (void)state;
    static const bpt_timing_t levels[] = {BPT_TIMING_OPS, BPT_TIMING_KERNELS};
    bpt_device_t *device = open_null("integrated", 65535, 65535, 65535);
    const int64_t groups[2] = {(int64_t)(16 << 20) * 64 / GROUP, 10};
    bpt_list_event_t events[64];
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    int count;
    assert_int_equal(bpt_gpu_buffer_create(device, (size_t)groups[0] * GROUP * 4, &buffer), BPT_OK);
    assert_int_equal(bpt_gpu_list_create(device, &list), BPT_OK);
    for (int op = 0; op < 2; ++op) {
        const bpt_op_call_t fill = {.op = BPT_OP_FILL, .out[0] = {buffer, 0, BPT_F32, {1, {groups[op] * GROUP}}, true}};
        assert_int_equal(bpt_gpu_op(device, &fill, list, NULL), BPT_OK);
    }
    assert_int_equal(bpt_gpu_list_seal(list), BPT_OK);
    null_notes.seconds_per_group = 5e-8;  // as is assumed: 0.4 s in all
    assert_int_equal(bpt_gpu_events(list, events, (int)BPT_COUNT(events), &count), BPT_ERR_INTERNAL);
    for (size_t level = 0; level < BPT_COUNT(levels); ++level) {
        double seconds[2], sum[2] = {0}, end = 0;
        int pieces[2] = {0};
        bpt_ticket_t ticket;
        null_notes.n_boxes = null_notes.n_submits = 0;
        assert_int_equal(bpt_gpu_timings_enable(list, levels[level]), BPT_OK);
        assert_int_equal(bpt_gpu_submit(device, list, &ticket), BPT_OK);
        assert_int_equal(bpt_gpu_wait(device, ticket, UINT64_MAX), BPT_OK);
        assert_int_equal(bpt_gpu_timings(list, seconds, 2, &count), BPT_OK);
        assert_int_equal(count, 2);
        assert_int_equal(bpt_gpu_events(list, events, (int)BPT_COUNT(events), &count), BPT_OK);
        assert_in_range(count, 4, BPT_COUNT(events));
        for (int i = 0; i < count; ++i) {
            assert_true(fabs(events[i].begin - end) < 1e-9);
            end = events[i].begin + events[i].seconds;
            sum[events[i].op] += events[i].seconds;
            pieces[events[i].op] += events[i].seconds > 0;
            if (levels[level] == BPT_TIMING_KERNELS)
                assert_string_equal(events[i].kernel, "fill");
            else
                assert_null(events[i].kernel);
        }
        for (int op = 0; op < 2; ++op) {
            assert_true(fabs(sum[op] - seconds[op]) < 1e-9);
            assert_true(fabs(sum[op] - (double)groups[op] * null_notes.seconds_per_group) < 1e-9);
        }
        assert_true(pieces[0] >= 3 && pieces[0] == null_notes.n_submits && pieces[1] == 1);
        int all = count;
        assert_int_equal(bpt_gpu_events(list, events, 1, &count), BPT_OK);  // no room for the others
        assert_int_equal(count, all);
    }
    bpt_gpu_list_destroy(device, list);
    bpt_gpu_buffer_destroy(device, buffer);
    bpt_gpu_close(device);
}

static void the_user_sets_the_budget(void **state) {
    (void)state;
    bpt_device_t *device;
    bpt_device_options_t options = {.submit_ms = 5};
    bpt_gpu_close(open_null("software", 65535, 65535, 65535));
    null_notes.canary = NULL;
    assert_int_equal(bpt_gpu_open(&null_backend, &null_driver, 0, &options, &device), BPT_OK);
    const recorded_t r = record_fill(device, (int64_t)(1 << 20) * 64);  // 256 MiB at an assumed 5 GB/s: 54 ms
    assert_int_equal(run(device, &r), BPT_OK);
    assert_in_range(null_notes.n_submits, 10, 12);
    release(device, &r);
    bpt_gpu_close(device);
}

static void work_that_a_driver_drops_is_noticed(void **state) {
    (void)state;
    bpt_device_t *device = open_null("discrete", 65535, 65535, 65535);
    const recorded_t r = record_fill(device, 1000);
    assert_int_equal(run(device, &r), BPT_OK);
    null_notes.drops_work = true;
    assert_int_equal(run(device, &r), BPT_ERR_DEVICE_LOST);
    assert_non_null(strstr(bpt_error_message(), "1 of 2 submissions"));
    release(device, &r);
    bpt_gpu_close(device);
}

static void a_device_that_does_not_answer_is_lost(void **state) {
    (void)state;
    bpt_device_t *device = open_null("discrete", 65535, 65535, 65535);
    const recorded_t r = record_fill(device, 1000);
    null_notes.times_out = true;
    assert_int_equal(run(device, &r), BPT_ERR_DEVICE_LOST);
    assert_non_null(strstr(bpt_error_message(), "a device of notes"));
    release(device, &r);
    bpt_gpu_close(device);
}

static void limits_can_be_faked_downwards_only(void **state) {
    (void)state;
    setenv("BPT_LIMITS", "groups=100,local=1024,binding=4096", 1);
    bpt_device_t *device = open_null("software", 65535, 50, 65535);
    unsetenv("BPT_LIMITS");
    assert_int_equal(null_notes.api.limits.max_groups[0], 100);
    assert_int_equal(null_notes.api.limits.max_groups[1], 50);
    assert_int_equal(null_notes.api.limits.local_bytes, 1024);
    assert_int_equal(null_notes.api.limits.max_binding_bytes, 4096);
    bpt_gpu_close(device);
    static const char *const wrong[] = {"colour=3", "groups",     "groups=many", "groups=3x",    "groups=-1", "local= 1",
                                        "local=0",  "subgroup=3", "f16=2",       "software=yes", "loc=4",     "local=99999999999999999999",
                                        "local=+5"};
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        setenv("BPT_LIMITS", wrong[i], 1);
        null_notes.canary = NULL;
        assert_int_equal(bpt_gpu_open(&null_backend, &null_driver, 0, NULL, &device), BPT_ERR_USAGE);
    }
    unsetenv("BPT_LIMITS");
}

static void features_are_switched_off_by_whole_words(void **state) {
    (void)state;
    static const struct {
        const char *words;
        bool f16, matrix, subgroup;
    } cases[] = {{"f16", true, false, false},
                 {"matrix", false, true, false},
                 {",subgroup,,f16,", true, false, true},
                 {"unified", false, false, false},
                 {"", false, false, false}};
    bpt_device_t *device;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        setenv("BPT_DISABLE", cases[i].words, 1);
        assert_int_equal(bpt_env_disabled("f16"), cases[i].f16);
        assert_int_equal(bpt_env_disabled("matrix"), cases[i].matrix);
        assert_int_equal(bpt_env_disabled("subgroup"), cases[i].subgroup);
    }
    static const char *const wrong[] = {"bf16", "f16x", "matri", "f16 ", "unified;f16"};
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        setenv("BPT_DISABLE", wrong[i], 1);
        null_notes.canary = NULL;
        assert_int_equal(bpt_gpu_open(&null_backend, &null_driver, 0, NULL, &device), BPT_ERR_USAGE);
        assert_non_null(strstr(bpt_error_message(), "known are f16, matrix, subgroup, unified"));
    }
    unsetenv("BPT_DISABLE");
}

static void known_faults_of_drivers_are_limits(void **state) {
    (void)state;
    static const struct {
        const char *backend, *driver, *disabled;
        uint32_t loops;
    } cases[] = {
        {"vulkan", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", NULL, 65535},     {"vulkan", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", "f16", 65535},
        {"vulkan", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", "f16,quirks", 0}, {"vulkan", "radv Mesa 24.0", NULL, 0},
        {"opencl", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", NULL, 0},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_device_info_t info = {.features = "vulkan-1.3"};
        bpt_gpu_limits_t limits = {0};
        snprintf(info.driver, sizeof info.driver, "%s", cases[i].driver);
        if (cases[i].disabled) setenv("BPT_DISABLE", cases[i].disabled, 1);
        assert_int_equal(bpt_gpu_quirks_apply(cases[i].backend, &info, &limits), BPT_OK);
        bpt_gpu_quirks_describe(cases[i].backend, &info);
        unsetenv("BPT_DISABLE");
        assert_int_equal(limits.max_loops, cases[i].loops);
        assert_string_equal(info.features, cases[i].loops ? "vulkan-1.3 quirk:loops=65535" : "vulkan-1.3");
    }
}

static void a_tensor_beyond_one_binding_goes_window_by_window(void **state) {
    (void)state;
    setenv("BPT_LIMITS", "binding=4096", 1);
    bpt_device_t *device = open_null("software", 65535, 65535, 65535);
    unsetenv("BPT_LIMITS");
    const recorded_t r = record_fill(device, 10000);
    assert_true(null_notes.n_boxes >= 10);
    release(device, &r);
    bpt_gpu_close(device);
}

// ---- Rows of a table that are cut into parts ---------------------------------------------------------------------------

// Scratch of attention over a ring of n satellites and a relay (bpt/lists.h), or of its gradient.
static size_t scratch_of_ring(bpt_device_t *device, int64_t n, bool gradient, bool bounded) {
    enum { HEADS = 4, HEAD_DIM = 8, WIDTH = HEADS * HEAD_DIM };
    const int64_t keys = 2 * n + 1;
    const bpt_operand_t q = {.dtype = BPT_F32, .shape = {2, {n, WIDTH}}, .present = true},
                        kv = {.dtype = BPT_F32, .shape = {2, {keys, 2 * WIDTH}}, .present = true},
                        lse = {.dtype = BPT_F32, .shape = {2, {n, HEADS}}, .present = true},
                        table = {.dtype = BPT_U32, .shape = {3, {n, BPT_LISTS_RING_SLOTS, 4}}, .present = true},
                        back = {.dtype = BPT_U32, .shape = {3, {keys, BPT_LISTS_RING_BACK_SLOTS, 2}}, .present = true};
    bpt_op_call_t call = {.op = BPT_OP_ATTENTION, .in = {[0] = q, [1] = kv, [6] = table, [10] = back}, .out = {q, lse}};
    call.attrs.attention = (bpt_attention_attrs_t){
        .graph.kind = BPT_INTERVALS_TABLE, .batch = 1, .heads = HEADS, .head_dim = HEAD_DIM, .scale = 1 / sqrtf(HEAD_DIM)};
    if (bounded) call.attrs.attention.bounds = bpt_lists_ring_bounds(n, n);
    if (gradient) call.op = BPT_OP_ATTENTION_GRAD, call.in[7] = call.in[8] = q, call.in[9] = lse, call.out[1] = kv;
    size_t bytes = 0;
    assert_int_equal(bpt_gpu_op(device, &call, NULL, &bytes), BPT_OK);
    return bytes;
}

// Satellites have few edges, and parts are for those who have many: without the bounds of the call, memory grows as n squared.
static void rows_of_few_edges_are_not_cut_for_those_of_many(void **state) {
    (void)state;
    enum { SHORT = 4096, LONG = 131072 };
    setenv("BPT_LIMITS", "loops=65535", 1);
    bpt_device_t *device = open_null("software", 65535, 65535, 65535);
    unsetenv("BPT_LIMITS");
    assert_int_equal(scratch_of_ring(device, LONG, false, true), 0);
    const size_t few = scratch_of_ring(device, SHORT, true, true), many = scratch_of_ring(device, LONG, true, true);
    assert_true(few > 0 && many <= few * (LONG / SHORT));
    assert_true(scratch_of_ring(device, SHORT, false, false) > 0);
    assert_true(scratch_of_ring(device, SHORT, true, false) > 100 * few);
    bpt_gpu_close(device);
}

// ---- Products by a library -------------------------------------------------------------------------------------------

static bpt_status_t open_ruled(const char *products, double submit_ms, bpt_device_t **device) {
    const bpt_device_options_t options = {.products = products, .submit_ms = submit_ms};
    return bpt_gpu_open(&null_backend, &null_driver, 0, &options, device);
}

static void prepare_library(const char *type) {
    memset(&null_notes, 0, sizeof null_notes);
    strncpy(null_notes.type, type, sizeof null_notes.type - 1);
    for (int axis = 0; axis < 3; ++axis) null_notes.max_groups[axis] = 65535;
    null_notes.has_library = true;
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    assert_int_equal(bpt_path_remove(test_path("cache")), BPT_OK);
}

typedef struct {
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    size_t scratch_bytes;
} product_t;

static bpt_operand_t matrix(int64_t rows, int64_t columns, bpt_buffer_t *buffer, size_t offset) {
    return (bpt_operand_t){.buffer = buffer, .offset_bytes = offset, .dtype = BPT_F32, .shape = {2, {rows, columns}}, .present = true};
}

static product_t record_product(bpt_device_t *device, int64_t m, int64_t n, int64_t k, bool transpose_a) {
    product_t r;
    const size_t a = (size_t)(m * k) * 4, b = (size_t)(k * n) * 4, c = (size_t)(m * n) * 4, scratch = (a + b + c + 255) / 256 * 256;
    bpt_op_call_t call = {.op = BPT_OP_MATMUL, .attrs.matmul.transpose_a = transpose_a};
    call.in[0] = transpose_a ? matrix(k, m, NULL, 0) : matrix(m, k, NULL, 0);
    call.in[1] = matrix(k, n, NULL, a);
    call.out[0] = matrix(m, n, NULL, a + b);
    assert_int_equal(bpt_gpu_op(device, &call, NULL, &r.scratch_bytes), BPT_OK);
    assert_int_equal(bpt_gpu_buffer_create(device, scratch + r.scratch_bytes, &r.buffer), BPT_OK);
    call.in[0].buffer = call.in[1].buffer = call.out[0].buffer = r.buffer;
    call.scratch = (bpt_operand_t){.buffer = r.buffer, .offset_bytes = scratch, .present = true};
    assert_int_equal(bpt_gpu_list_create(device, &r.list), BPT_OK);
    null_notes.n_products = null_notes.n_boxes = 0;
    assert_int_equal(bpt_gpu_op(device, &call, r.list, NULL), BPT_OK);
    assert_int_equal(bpt_gpu_list_seal(r.list), BPT_OK);
    return r;
}

static void a_library_multiplies_in_pieces_that_follow_from_the_shape(void **state) {
    (void)state;
    static const double budgets[] = {0, 1, 10000};
    for (size_t i = 0; i < BPT_COUNT(budgets); ++i)
        for (int transpose = 0; transpose < 2; ++transpose) {
            bpt_device_t *device;
            prepare_library("integrated");
            assert_int_equal(open_ruled("library", budgets[i], &device), BPT_OK);
            const product_t r = record_product(device, 1000, 2048, 2048, transpose);  // 8.4 GFLOP
            assert_int_equal(r.scratch_bytes, 512 * 2048 * 4);                        // of one piece
            assert_int_equal(null_notes.n_products, 2);
            assert_int_equal(null_notes.n_boxes, 0);
            assert_int_equal(null_notes.product[0].m, 512);
            assert_int_equal(null_notes.product[1].m, 488);
            assert_int_equal(null_notes.product[1].a - null_notes.product[0].a, transpose ? 512 * 4 : 512 * 2048 * 4);
            assert_int_equal(null_notes.product[1].c - null_notes.product[0].c, 512 * 2048 * 4);
            bpt_gpu_list_destroy(device, r.list);
            bpt_gpu_buffer_destroy(device, r.buffer);
            bpt_gpu_close(device);
        }
}

static void a_submission_takes_whole_pieces_within_its_budget(void **state) {
    (void)state;
    bpt_device_t *device;
    prepare_library("integrated");
    assert_int_equal(open_ruled("library", 90, &device), BPT_OK);
    const product_t r = record_product(device, 512 * 6, 2048, 2048, false);  // six pieces of 43 ms at an assumed 100 GFLOP/s
    null_notes.n_submits = 0;
    bpt_ticket_t ticket;
    assert_int_equal(bpt_gpu_submit(device, r.list, &ticket), BPT_OK);
    assert_int_equal(bpt_gpu_wait(device, ticket, UINT64_MAX), BPT_OK);
    assert_int_equal(null_notes.n_submits, 3);
    assert_int_equal(null_notes.n_products, 6);
    bpt_gpu_list_destroy(device, r.list);
    bpt_gpu_buffer_destroy(device, r.buffer);
    bpt_gpu_close(device);
}

static void a_library_that_agrees_is_checked_once(void **state) {
    (void)state;
    bpt_device_t *device;
    prepare_library("discrete");
    assert_int_equal(open_ruled("library", 0, &device), BPT_OK);
    assert_true(null_notes.n_products >= 3);
    assert_string_equal(bpt_gpu_info(&device->info).rule, "library");
    bpt_gpu_close(device);
    null_notes.n_products = 0;
    null_notes.canary = NULL;
    assert_int_equal(open_ruled("library", 0, &device), BPT_OK);
    assert_int_equal(null_notes.n_products, 0);
    bpt_gpu_close(device);
}

static void a_library_that_computes_something_else_is_not_used(void **state) {
    (void)state;
    bpt_device_t *device;
    prepare_library("discrete");
    null_notes.library_is_wrong = true;
    assert_int_equal(open_ruled("library", 0, &device), BPT_ERR_UNAVAILABLE);
    assert_non_null(strstr(bpt_error_message(), "a library of notes: its product of"));
    // The verdict stays, and a tuned rule gives way to the shipped one.
    null_notes.library_is_wrong = false;
    null_notes.n_products = 0;
    null_notes.canary = NULL;
    bpt_gpu_tuning_t tuning;
    bpt_device_info_t info;
    int count;
    const double gflops[BPT_PRODUCT_FORMS] = {1, 1, 1};
    setenv("BPT_CONFIG_DIR", test_path("config"), 1);
    assert_int_equal(null_driver.enumerate(&info, 1, &count), BPT_OK);
    assert_true(bpt_gpu_tuning_parse("tiles/tiles/library", &tuning));
    assert_int_equal(bpt_gpu_tuning_write("null", &info, &tuning, gflops), BPT_OK);
    assert_int_equal(open_ruled(NULL, 0, &device), BPT_OK);
    assert_int_equal(null_notes.n_products, 0);
    assert_string_equal(bpt_gpu_info(&device->info).rule, "tiles:64,64,16,8,8");
    assert_string_equal(bpt_gpu_info(&device->info).rule_origin, "shipped");
    assert_non_null(strstr(bpt_gpu_info(&device->info).rule_note, "a library of notes is not used: its product of"));
    bpt_gpu_close(device);
    null_notes.canary = NULL;
    null_notes.has_library = false;
    assert_int_equal(open_ruled(NULL, 0, &device), BPT_OK);
    assert_non_null(strstr(bpt_gpu_info(&device->info).rule_note, "no library here"));
    bpt_gpu_close(device);
    unsetenv("BPT_CONFIG_DIR");
}

// ---- Products whose depth is split -------------------------------------------------------------------------------------

static int64_t groups_of_box(int i) {
    return (int64_t)null_notes.box[i].groups[0] * null_notes.box[i].groups[1] * null_notes.box[i].groups[2];
}

// Work-groups of a^T b, whose parts a second dispatch adds up.
static int64_t groups_of_product(const char *type, int64_t m, int64_t n, int64_t k, size_t *scratch_bytes) {
    bpt_device_t *device;
    prepare_library(type);
    assert_int_equal(open_ruled("tiles", 0, &device), BPT_OK);
    const product_t r = record_product(device, m, n, k, true);
    const int64_t groups = groups_of_box(0);
    assert_int_equal(null_notes.n_boxes, r.scratch_bytes ? 2 : 1);
    *scratch_bytes = r.scratch_bytes;
    bpt_gpu_list_destroy(device, r.list);
    bpt_gpu_buffer_destroy(device, r.buffer);
    bpt_gpu_close(device);
    return groups;
}

static void a_deep_product_of_few_tiles_is_split_on_gpus(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int64_t m, n, k, tiles, parts;
    } products[] = {
        {"discrete", 512, 512, 16337, 64, 16},  // as many as make 1,024 groups
        {"discrete", 512, 512, 1000, 64, 3},    // of 256 or more
        {"discrete", 64, 64, 512, 1, 2},        {"discrete", 64, 64, 511, 1, 1},
        {"discrete", 2048, 2048, 600, 1024, 1}, {"software", 512, 512, 16337, 64, 1},
    };
    for (size_t i = 0; i < BPT_COUNT(products); ++i) {
        const int64_t m = products[i].m, n = products[i].n, parts = products[i].parts;
        size_t scratch_bytes;
        const int64_t groups = groups_of_product(products[i].type, m, n, products[i].k, &scratch_bytes);
        assert_int_equal(groups, products[i].tiles * parts);
        assert_int_equal(scratch_bytes, parts > 1 ? parts * m * n * 4 : 0);
    }
}

static void a_split_keeps_within_a_binding(void **state) {
    (void)state;
    size_t scratch_bytes;
    setenv("BPT_LIMITS", "binding=67108864", 1);
    const int64_t groups = groups_of_product("discrete", 1024, 1280, 2048, &scratch_bytes);  // 4 parts of 5 MiB
    assert_int_equal(groups, 320 * 4);
    setenv("BPT_LIMITS", "binding=22000000", 1);
    assert_int_equal(groups_of_product("discrete", 1024, 1280, 2048, &scratch_bytes), groups);
    setenv("BPT_LIMITS", "binding=20971520", 1);  // as much as 4 parts, but for the room of alignment
    assert_int_equal(groups_of_product("discrete", 1024, 1280, 2048, &scratch_bytes), 320 * 3);
    unsetenv("BPT_LIMITS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_memory_is_what_a_kernel_lists),
        cmocka_unit_test(every_group_is_dispatched_once_within_the_grid),
        cmocka_unit_test(long_work_is_cut_into_submissions_within_the_budget),
        cmocka_unit_test(a_slow_device_gets_shorter_submissions),
        cmocka_unit_test(a_fast_device_gets_fewer_submissions),
        cmocka_unit_test(events_follow_each_other_across_submissions),
        cmocka_unit_test(the_user_sets_the_budget),
        cmocka_unit_test(work_that_a_driver_drops_is_noticed),
        cmocka_unit_test(a_device_that_does_not_answer_is_lost),
        cmocka_unit_test(limits_can_be_faked_downwards_only),
        cmocka_unit_test(features_are_switched_off_by_whole_words),
        cmocka_unit_test(known_faults_of_drivers_are_limits),
        cmocka_unit_test(a_tensor_beyond_one_binding_goes_window_by_window),
        cmocka_unit_test(rows_of_few_edges_are_not_cut_for_those_of_many),
        cmocka_unit_test(a_library_multiplies_in_pieces_that_follow_from_the_shape),
        cmocka_unit_test(a_submission_takes_whole_pieces_within_its_budget),
        cmocka_unit_test(a_deep_product_of_few_tiles_is_split_on_gpus),
        cmocka_unit_test(a_split_keeps_within_a_binding),
        cmocka_unit_test(a_library_that_agrees_is_checked_once),
        cmocka_unit_test(a_library_that_computes_something_else_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
