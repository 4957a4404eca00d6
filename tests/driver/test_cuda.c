// The host side of the CUDA driver, on one without a GPU (tests/emulator), which takes notes: what is launched, graphs and replay, times,
// errors and their consequences, what is said where something is missing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef CUDA_EMULATOR
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/internal.h"
#include "backends/gpu/backend.h"
#include "bpt/alloc.h"
#include "bpt/graph.h"
#include "bpt/log.h"
#include "emulator/emulator.h"
#include "support/check.h"

extern const bpt_gpu_driver_t bpt_cuda_driver;
extern const bpt_backend_t bpt_cuda_backend;

static emulator_t *fake;
static const uint64_t PATIENCE_NS = 60000000000;

// ---- What is missing -------------------------------------------------------------------------------------------------

// Libraries are opened once in a process, so each of these runs in a child, before the parent opens any.
static bool says(void (*prepare)(void), bpt_status_t status, const char *part) {
    const pid_t child = fork();
    if (child == 0) {
        bpt_device_info_t info = {.usable = true};
        int count = -1;
        prepare();
        const bpt_status_t got = bpt_cuda_driver.enumerate(&info, 1, &count);
        const char *text = got == BPT_OK ? info.reason : bpt_error_message();
        const bool ok = got == status && strstr(text, part) && (got == BPT_OK ? count == 1 && !info.usable : count == 0);
        if (!ok) print_error("%s, %d devices: \"%s\"\n", bpt_status_name(got), count, text);
        _exit(ok ? 0 : 1);
    }
    int ended = 1;
    return child > 0 && waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

static void open_fake(void) {
    void *library = dlopen(CUDA_EMULATOR, RTLD_NOW | RTLD_LOCAL);
    fake = library ? dlsym(library, "emulator") : NULL;
    if (!fake) fail_msg("%s", dlerror());
}
static void no_library(void) { setenv("BPT_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1); }
static void an_old_library(void) { setenv("BPT_CUDA_LIBRARY", "libm.so.6", 1); }
static void no_gpu(void) {
    open_fake();
    fake->fails = "cuInit";
    fake->fails_with = CUDA_ERROR_NO_DEVICE;
}
static void a_broken_driver(void) {
    open_fake();
    fake->fails = "cuInit";
    fake->fails_with = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
}
static void no_compiler(void) { setenv("BPT_NVRTC_LIBRARY", "/nonexistent/libnvrtc.so.13", 1); }
static void an_old_gpu(void) {
    open_fake();
    fake->capability = 61;
}
static void a_forbidden_gpu(void) {
    open_fake();
    fake->compute_mode = CU_COMPUTEMODE_PROHIBITED;
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    assert_true(says(no_library, BPT_ERR_UNAVAILABLE, "libcuda"));
    assert_true(says(an_old_library, BPT_ERR_UNAVAILABLE, "cuInit"));
    assert_true(says(no_gpu, BPT_ERR_UNAVAILABLE, "no GPU"));
    assert_true(says(a_broken_driver, BPT_ERR_UNAVAILABLE, "restart the machine"));
    assert_true(says(no_compiler, BPT_OK, "BPT_NVRTC_LIBRARY"));
    assert_true(says(an_old_gpu, BPT_OK, "6.1"));
    assert_true(says(a_forbidden_gpu, BPT_OK, "nvidia-smi"));
}

// ---- A device with something to launch -------------------------------------------------------------------------------

typedef struct {
    bpt_gpu_api_t *api;
    bpt_gpu_memory_t *memory;
    bpt_gpu_program_t *program;
    bpt_gpu_commands_t *commands;
} device_t;

static int set_up(void **state) {
    (void)state;
    if (!fake) open_fake();
    *fake = (emulator_t)EMULATOR_AT_START;
    fake->memory_bytes = (size_t)1 << 30;
    fake->most_threads = 512;
    fake->group_seconds = 1e-3;
    setenv("BPT_DISABLE", "cache", 1);
    return 0;
}

// Nothing is left on device or host.
static int tear_down(void **state) {
    (void)state;
    const int left =
        fake->contexts + fake->streams + fake->events + fake->modules + fake->graphs + fake->execs + fake->blocks + fake->pinned;
    if (left) print_error("%d objects left on the device\n", left);
    if (bpt_alloc_live()) print_error("%zu blocks left on the host\n", bpt_alloc_live());
    return left || bpt_alloc_live() ? -1 : 0;
}

static device_t open_device(void) {
    const bpt_gpu_variant_t variant = {.kernel = BPT_GPU_fill, .group_size = 64, .dtypes = {[fill_result] = 2}};
    device_t d = {NULL};
    assert_ok(bpt_cuda_driver.open(0, &d.api));
    assert_ok(bpt_cuda_driver.memory_create(d.api, 4096, &d.memory));
    assert_ok(bpt_cuda_driver.program_create(d.api, &variant, &d.program));
    assert_ok(bpt_cuda_driver.commands_create(d.api, &d.commands));
    return d;
}

static void close_device(device_t *d) {
    bpt_cuda_driver.commands_destroy(d->api, d->commands);
    bpt_cuda_driver.program_destroy(d->api, d->program);
    bpt_cuda_driver.memory_destroy(d->api, d->memory);
    bpt_cuda_driver.close(d->api);
}

static void dispatch(device_t *d, uint32_t groups, size_t offset, float value) {
    fill_params_t params = {.first_group = 7, .count = 100, .value = value};
    bpt_gpu_dispatch_t dispatch = {.program = d->program, .groups = {groups, 2, 1}, .params_bytes = sizeof params};
    dispatch.bindings[fill_result] = (bpt_gpu_binding_t){d->memory, offset, 200};
    memcpy(dispatch.params, &params, sizeof params);
    assert_ok(bpt_cuda_driver.dispatch(d->commands, &dispatch));
}

// Mark, launch of 3 x 2 groups, mark, launch of 1 x 2 groups, mark.
static void record(device_t *d) {
    assert_ok(bpt_cuda_driver.mark(d->commands));
    dispatch(d, 3, 0, 1.5f);
    assert_ok(bpt_cuda_driver.mark(d->commands));
    assert_ok(bpt_cuda_driver.barrier(d->commands));
    dispatch(d, 1, 256, -2);
    assert_ok(bpt_cuda_driver.mark(d->commands));
    assert_ok(bpt_cuda_driver.finish(d->commands));
}

static void check_launches(const device_t *d, int times, bool in_graph) {
    uint64_t base = 0;
    assert_int_equal(fake->n_launches, 2 * times);
    for (int i = 0; i < fake->n_launches; ++i) {
        const emulator_launch_t *l = &fake->launches[i];
        fill_params_t params;
        memcpy(&params, l->params, sizeof params);
        if (i == 0) base = l->bindings[fill_result];
        assert_string_equal(l->kernel, "fill");
        assert_int_equal(l->group_size, 64);
        assert_int_equal(l->groups[0], i % 2 ? 1 : 3);
        assert_int_equal(l->groups[1], 2);
        assert_int_equal(l->groups[2], 1);
        assert_true(l->bindings[fill_result] == base + (i % 2 ? 256 : 0));
        assert_int_equal(params.first_group, 7);
        assert_int_equal(params.count, 100);
        assert_true(params.value == (i % 2 ? -2 : 1.5f));
        assert_int_equal(l->in_graph, in_graph);
    }
    assert_true(base == d->memory->address);
}

static void submit(device_t *d, int times) {
    uint64_t ticket = 0, before = 0;
    for (int i = 0; i < times; ++i) {
        assert_ok(bpt_cuda_driver.submit(d->api, d->commands, &ticket));
        assert_true(ticket > before);
        before = ticket;
    }
    assert_ok(bpt_cuda_driver.wait(d->api, ticket, PATIENCE_NS));
    assert_ok(bpt_cuda_driver.wait(d->api, 1, PATIENCE_NS));
}

static void check_marks(device_t *d) {
    double seconds[4] = {-1, -1, -1, -1};
    int count = 0;
    assert_ok(bpt_cuda_driver.marks(d->commands, seconds, 4, &count));
    assert_int_equal(count, 3);
    assert_true(seconds[0] == 0);
    assert_true(seconds[1] > 0.0059 && seconds[1] < 0.0061);  // a millisecond a group
    assert_true(seconds[2] > 0.0079 && seconds[2] < 0.0081);
    assert_true(seconds[3] == -1);
}

// ---- Tests -----------------------------------------------------------------------------------------------------------

static void lists_are_replayed_as_graphs(void **state) {
    (void)state;
    device_t d = open_device();
    record(&d);
    assert_int_equal(fake->n_launches, 0);  // nothing runs while it is recorded
    submit(&d, 3);
    check_launches(&d, 3, true);
    check_marks(&d);
    assert_int_equal(fake->n_graphs_built, 1);
    assert_int_equal(fake->n_graph_launches, 3);
    close_device(&d);
}

static void without_graphs_launches_are_replayed(void **state) {
    (void)state;
    setenv("BPT_DISABLE", "cache,cuda-graph", 1);
    device_t d = open_device();
    record(&d);
    assert_int_equal(fake->n_launches, 0);
    submit(&d, 3);
    check_launches(&d, 3, false);
    check_marks(&d);
    assert_int_equal(fake->n_graphs_built, 0);
    close_device(&d);
}

static void options_hold_architecture_and_constants(void **state) {
    (void)state;
    bpt_gpu_api_t *api;
    bpt_gpu_program_t *program;
    bpt_gpu_variant_t variant = {.kernel = BPT_GPU_gather, .group_size = 128, .dtypes = {[gather_table] = 1, [gather_y] = 2}};
    variant.constants[gather_CLEAR] = 3;
    assert_ok(bpt_cuda_driver.open(0, &api));
    assert_ok(bpt_cuda_driver.program_create(api, &variant, &program));
    static const char *const parts[] = {"--gpu-architecture=sm_90 ", "-DWG=128u ", "-DCLEAR=3u ", "-DDT_table=1u ", "-DDT_y=2u "};
    for (size_t i = 0; i < BPT_COUNT(parts); ++i)
        if (!strstr(fake->options, parts[i])) fail_msg("'%s' is not among the options %s", parts[i], fake->options);
    assert_null(strstr(fake->options, "DT_ids"));
    bpt_cuda_driver.program_destroy(api, program);
    bpt_cuda_driver.close(api);
}

static void a_device_newer_than_the_compiler_gets_assembly(void **state) {
    (void)state;
    fake->capability = 121;
    device_t d = open_device();
    assert_non_null(strstr(fake->options, "compute_90 "));
    close_device(&d);
}

static void what_does_not_compile_is_refused_with_the_reason(void **state) {
    (void)state;
    const bpt_gpu_variant_t variant = {.kernel = BPT_GPU_fill, .group_size = 64};
    bpt_gpu_variant_t large = variant;
    bpt_gpu_program_t *program;
    bpt_gpu_api_t *api;
    assert_ok(bpt_cuda_driver.open(0, &api));
    fake->compile_log = "cl/rows/fill.cl(1): warning: first\ncl/rows/fill.cl(2): error: second\ncl/rows/fill.cl(3): error: third\n";
    assert_fails(bpt_cuda_driver.program_create(api, &variant, &program), BPT_ERR_UNSUPPORTED, "cl/rows/fill.cl(2): error: second");
    assert_null(strstr(bpt_error_message(), "third"));
    fake->compile_log = NULL;
    fake->fails = "cuModuleLoadData";
    fake->fails_with = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    assert_fails(bpt_cuda_driver.program_create(api, &variant, &program), BPT_ERR_UNSUPPORTED, "update the driver");
    fake->fails = NULL;
    large.group_size = 1024;
    assert_fails(bpt_cuda_driver.program_create(api, &large, &program), BPT_ERR_UNSUPPORTED, "at most 512");
    bpt_cuda_driver.close(api);
}

static void memory_that_is_not_there_is_no_loss(void **state) {
    (void)state;
    for (int pools = 0; pools < 2; ++pools) {
        fake->has_pools = pools;
        bpt_gpu_memory_t *memory;
        device_t d = open_device();
        assert_fails(bpt_cuda_driver.memory_create(d.api, ((size_t)1 << 30) + 1, &memory), BPT_ERR_NO_MEMORY, "1024.0 MiB");
        record(&d);
        submit(&d, 1);
        close_device(&d);
    }
}

// In the order of the stream where the device can: then neither is waited for.
static void memory_comes_and_goes_with_and_without_pools(void **state) {
    (void)state;
    for (int pools = 0; pools < 2; ++pools) {
        unsigned char bytes[500];
        bpt_gpu_memory_t *memory;
        fake->has_pools = pools;
        device_t d = open_device();
        const int blocks = fake->blocks;
        fake->fails = "cuStreamSynchronize";
        fake->fails_with = CUDA_ERROR_UNKNOWN;
        assert_ok(bpt_cuda_driver.memory_create(d.api, sizeof bytes, &memory));
        fake->fails = NULL;
        memset(bytes, 1, sizeof bytes);
        assert_ok(bpt_cuda_driver.read(d.api, memory, 0, bytes, sizeof bytes));
        for (size_t i = 0; i < sizeof bytes; ++i) assert_int_equal(bytes[i], 0);
        assert_int_equal(fake->blocks, blocks + 1);
        bpt_cuda_driver.memory_destroy(d.api, memory);
        assert_int_equal(fake->blocks, blocks);
        close_device(&d);
    }
}

// Each is done with its source when it returns, though the device reads it later; what follows sees the bytes.
static void writes_do_not_wait(void **state) {
    (void)state;
    enum { N = 100, WORDS = 50000, LARGE = 5 << 20 };  // more than the pinned memory holds at once
    device_t d = open_device();
    bpt_gpu_memory_t *memory;
    uint32_t *words;
    assert_ok(bpt_alloc(LARGE, 1, &words));
    assert_ok(bpt_cuda_driver.memory_create(d.api, (size_t)N * WORDS * 4 + LARGE, &memory));
    for (uint32_t i = 0; i < N; ++i) {
        for (uint32_t w = 0; w < WORDS; ++w) words[w] = i * WORDS + w;
        assert_ok(bpt_cuda_driver.write(d.api, memory, (size_t)i * WORDS * 4, words, WORDS * 4));
    }
    assert_int_equal(fake->pinned, 1);
    for (uint32_t w = 0; w < LARGE / 4; ++w) words[w] = N * WORDS + w;
    assert_ok(bpt_cuda_driver.write(d.api, memory, (size_t)N * WORDS * 4, words, LARGE));
    memset(words, 0, LARGE);
    for (uint32_t i = 0; i < N + LARGE / (WORDS * 4); ++i) {
        assert_ok(bpt_cuda_driver.read(d.api, memory, (size_t)i * WORDS * 4, words, WORDS * 4));
        for (uint32_t w = 0; w < WORDS; ++w)
            if (words[w] != i * WORDS + w) fail_msg("write %u, word %u: %u", i, w, words[w]);
    }
    bpt_cuda_driver.memory_destroy(d.api, memory);
    bpt_free(words);
    close_device(&d);
}

static void without_pinned_memory_a_write_fails(void **state) {
    (void)state;
    uint32_t word = 1;
    device_t d = open_device();
    fake->fails = "cuMemHostAlloc";
    fake->fails_with = CUDA_ERROR_OUT_OF_MEMORY;
    assert_fails(bpt_cuda_driver.write(d.api, d.memory, 0, &word, 4), BPT_ERR_NO_MEMORY, "allocating pinned memory");
    fake->fails = NULL;
    assert_ok(bpt_cuda_driver.write(d.api, d.memory, 0, &word, 4));
    close_device(&d);
}

static void more_submissions_than_events_wait_for_the_oldest(void **state) {
    (void)state;
    device_t d = open_device();
    record(&d);
    submit(&d, 2 * BPT_CUDA_MOST_PENDING + 3);
    assert_int_equal(fake->n_graph_launches, 2 * BPT_CUDA_MOST_PENDING + 3);
    assert_in_range(fake->events, 4, 3 + BPT_CUDA_MOST_PENDING + 1 + BPT_CUDA_BRANCHES);
    close_device(&d);
}

// After an error of a kernel nothing more is submitted; everything can be destroyed, and the device be opened again.
static void an_error_of_a_kernel_loses_the_device(void **state) {
    static const char *const moments[] = {"cuEventQuery", "cuGraphLaunch", "cuStreamSynchronize"};
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(moments); ++i) {
        uint64_t ticket = 0;
        uint32_t word;
        device_t d = open_device();
        record(&d);
        if (i == 0) assert_ok(bpt_cuda_driver.submit(d.api, d.commands, &ticket));
        fake->fails = moments[i];
        fake->fails_with = CUDA_ERROR_ILLEGAL_ADDRESS;
        if (i == 0) assert_fails(bpt_cuda_driver.wait(d.api, ticket, PATIENCE_NS), BPT_ERR_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        if (i == 1) assert_fails(bpt_cuda_driver.submit(d.api, d.commands, &ticket), BPT_ERR_DEVICE_LOST, "700");
        if (i == 2) assert_fails(bpt_cuda_driver.read(d.api, d.memory, 0, &word, 4), BPT_ERR_DEVICE_LOST, "700");
        fake->fails = NULL;
        assert_fails(bpt_cuda_driver.submit(d.api, d.commands, &ticket), BPT_ERR_DEVICE_LOST, "open it again");
        assert_fails(bpt_cuda_driver.write(d.api, d.memory, 0, &word, 4), BPT_ERR_DEVICE_LOST, "open it again");
        close_device(&d);
        d = open_device();
        record(&d);
        submit(&d, 1);
        close_device(&d);
    }
}

static void a_failure_in_a_capture_leaves_the_stream_free(void **state) {
    (void)state;
    device_t d = open_device();
    dispatch(&d, 1, 0, 1);
    fake->fails = "cuLaunchKernel";
    fake->fails_with = CUDA_ERROR_INVALID_VALUE;
    assert_fails(bpt_cuda_driver.finish(d.commands), BPT_ERR_INTERNAL, "starting a kernel");
    fake->fails = NULL;
    assert_ok(bpt_cuda_driver.finish(d.commands));
    submit(&d, 1);
    assert_int_equal(fake->n_launches, 1);
    close_device(&d);
}

// Only what no barrier orders runs side by side, in as many branches as there are; a mark waits for all.
static void dispatches_without_a_barrier_are_branches(void **state) {
    enum { MANY = BPT_CUDA_BRANCHES + 3 };
    (void)state;
    device_t d = open_device();
    dispatch(&d, 1, 0, 1);
    assert_ok(bpt_cuda_driver.barrier(d.commands));
    dispatch(&d, 1, 0, 1);
    assert_ok(bpt_cuda_driver.mark(d.commands));
    assert_ok(bpt_cuda_driver.finish(d.commands));
    assert_int_equal(fake->n_branches, 0);
    bpt_cuda_driver.commands_destroy(d.api, d.commands);
    assert_ok(bpt_cuda_driver.commands_create(d.api, &d.commands));
    for (int i = 0; i < MANY; ++i) dispatch(&d, 1, 256 * (size_t)(i % 8), (float)i);
    assert_ok(bpt_cuda_driver.barrier(d.commands));
    for (int i = 0; i < 2; ++i) dispatch(&d, 1, 256 * (size_t)i, 1);
    assert_ok(bpt_cuda_driver.mark(d.commands));
    assert_ok(bpt_cuda_driver.finish(d.commands));
    assert_int_equal(fake->n_branches, BPT_CUDA_BRANCHES + 2);
    submit(&d, 2);
    assert_int_equal(fake->n_launches, 2 * (MANY + 2));
    close_device(&d);
}

static void a_failure_in_a_branch_leaves_the_stream_free(void **state) {
    (void)state;
    device_t d = open_device();
    for (int i = 0; i < 3; ++i) dispatch(&d, 1, 256 * (size_t)i, 1);
    fake->fails = "cuLaunchKernel";
    fake->fails_with = CUDA_ERROR_INVALID_VALUE;
    assert_fails(bpt_cuda_driver.finish(d.commands), BPT_ERR_INTERNAL, "starting a kernel");
    fake->fails = NULL;
    assert_ok(bpt_cuda_driver.finish(d.commands));
    submit(&d, 1);
    assert_int_equal(fake->n_launches, 3);
    close_device(&d);
}

// What still runs is neither freed nor waited for without end.
static void a_device_that_hangs_is_left_alone(void **state) {
    (void)state;
    uint64_t ticket;
    device_t d = open_device();
    record(&d);
    assert_ok(bpt_cuda_driver.submit(d.api, d.commands, &ticket));
    fake->hung = true;
    assert_fails(bpt_cuda_driver.wait(d.api, ticket, 2000000), BPT_ERR_DEVICE_LOST, "within 0.002 s");
    assert_fails(bpt_cuda_driver.submit(d.api, d.commands, &ticket), BPT_ERR_DEVICE_LOST, "open it again");
    bpt_log_set_level(BPT_LOG_OFF);
    close_device(&d);
    bpt_log_set_level(BPT_LOG_INFO);
    assert_int_equal(fake->n_frees, 0);
    assert_int_equal(fake->contexts, 1);
    *fake = (emulator_t)EMULATOR_AT_START;  // what was left is forgotten
}

static void a_device_in_use_by_another_is_unavailable(void **state) {
    (void)state;
    bpt_gpu_api_t *api = NULL;
    fake->fails = "cuDevicePrimaryCtxRetain";
    fake->fails_with = CUDA_ERROR_DEVICE_UNAVAILABLE;
    assert_fails(bpt_cuda_driver.open(0, &api), BPT_ERR_UNAVAILABLE, "another program");
    assert_fails(bpt_cuda_driver.open(1, &api), BPT_ERR_UNAVAILABLE, "device 1");
    assert_null(api);
}

// Through the whole backend: an op is lowered, submitted, timed, and the canary is counted.
static void an_op_goes_through_the_backend(void **state) {
    (void)state;
    bpt_op_call_t call = {.op = BPT_OP_POINTWISE};
    bpt_device_t *device;
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    bpt_ticket_t ticket;
    double seconds[2];
    int count;
    call.attrs.pointwise.n_steps = 1;
    call.attrs.pointwise.step[0] = (bpt_pointwise_step_t){.code = BPT_POINTWISE_SCALE, .c = 2};
    assert_ok(bpt_cuda_backend.open(0, NULL, &device));
    assert_true(device->info.bf16 && device->info.f16);
    assert_string_equal(device->info.type, "discrete");
    assert_ok(bpt_cuda_backend.buffer_create(device, 4096, &buffer));
    call.in[0] = (bpt_operand_t){buffer, 0, BPT_BF16, bpt_shape2(10, 50), true};
    call.out[0] = (bpt_operand_t){buffer, 1024, BPT_F32, bpt_shape2(10, 50), true};
    assert_ok(bpt_cuda_backend.list_create(device, &list));
    assert_ok(bpt_cuda_backend.op(device, &call, list, NULL));
    assert_ok(bpt_cuda_backend.timings_enable(list, true));
    assert_ok(bpt_cuda_backend.list_seal(list));
    for (int i = 0; i < 2; ++i) {
        assert_ok(bpt_cuda_backend.submit(device, list, &ticket));
        assert_ok(bpt_cuda_backend.wait(device, ticket, PATIENCE_NS));
    }
    assert_ok(bpt_cuda_backend.timings(list, seconds, 2, &count));
    assert_int_equal(count, 1);
    assert_true(seconds[0] > 0.0019 && seconds[0] < 0.0021);  // 500 items in 2 groups
    assert_int_equal(fake->n_launches, 4);
    assert_string_equal(fake->launches[0].kernel, "pointwise");
    assert_true(fake->launches[0].bindings[pointwise_y] == fake->launches[0].bindings[pointwise_x] + 1024);
    assert_true(fake->launches[0].bindings[pointwise_extra1] == 0);
    assert_string_equal(fake->launches[1].kernel, "canary");
    bpt_cuda_backend.list_destroy(device, list);
    bpt_cuda_backend.buffer_destroy(device, buffer);
    bpt_cuda_backend.close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_named),  // first: see there
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(lists_are_replayed_as_graphs),
        TEST(without_graphs_launches_are_replayed),
        TEST(options_hold_architecture_and_constants),
        TEST(a_device_newer_than_the_compiler_gets_assembly),
        TEST(what_does_not_compile_is_refused_with_the_reason),
        TEST(memory_that_is_not_there_is_no_loss),
        TEST(memory_comes_and_goes_with_and_without_pools),
        TEST(writes_do_not_wait),
        TEST(without_pinned_memory_a_write_fails),
        TEST(more_submissions_than_events_wait_for_the_oldest),
        TEST(an_error_of_a_kernel_loses_the_device),
        TEST(a_failure_in_a_capture_leaves_the_stream_free),
        TEST(dispatches_without_a_barrier_are_branches),
        TEST(a_failure_in_a_branch_leaves_the_stream_free),
        TEST(a_device_that_hangs_is_left_alone),
        TEST(a_device_in_use_by_another_is_unavailable),
        TEST(an_op_goes_through_the_backend),
    };
    setenv("BPT_CUDA_LIBRARY", CUDA_EMULATOR, 1);
    setenv("BPT_NVRTC_LIBRARY", CUDA_EMULATOR, 1);
    setenv("BPT_CUBLASLT_LIBRARY", "none", 1);
    setenv("BPT_DISABLE", "cache", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program(NO_CUDA_EMULATOR); }
#endif
