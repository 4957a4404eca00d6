// What every GPU driver (backends/gpu/driver.h) must do, on the first usable device of each that is compiled in. A driver without one is
// skipped, or a failure when BPT_REQUIRE_BACKENDS names it; BPT_CASE=text chooses tests by name.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/driver.h"
#include "bpt/alloc.h"
#include "bpt/dtype.h"
#include "bpt/ops.h"
#include "support/check.h"
#ifdef BPT_WITH_VULKAN
#include "backends/vulkan/vulkan.h"
#endif

enum { WG = 64 };
static const uint64_t PATIENCE_NS = 120000000000;

typedef struct {
    const char *name;
    const bpt_gpu_driver_t *driver;
    unsigned (*complaints)(void);  // of a layer that watches the driver's calls
    bool destroys_in_use;          // what still runs may be destroyed: that waits, and leaves nothing behind
    int long_work;                 // fills of 8 MiB: longer than a test is kept from its next call, far shorter than the grace at closing
    int index;                     // of the device
    bpt_gpu_api_t *api;            // open during a test
    char reason[1024];             // why there is no device
    size_t live;                   // blocks of host memory before it was opened
} subject_t;

extern const bpt_gpu_driver_t bpt_opencl_driver, bpt_cuda_driver;

static subject_t subjects[] = {
    {.name = "opencl", .driver = &bpt_opencl_driver, .long_work = 64},
#ifdef BPT_WITH_VULKAN
    {.name = "vulkan", .driver = &bpt_vulkan_driver, .complaints = bpt_vulkan_validation_messages, .destroys_in_use = true, .long_work = 4},
#endif
#ifdef BPT_WITH_CUDA
    {.name = "cuda", .driver = &bpt_cuda_driver, .destroys_in_use = true, .long_work = 8},
#endif
    {.name = NULL},
};

// ---- Set-up ----------------------------------------------------------------------------------------------------------

static bool required(const char *name) {
    const char *names = getenv("BPT_REQUIRE_BACKENDS");
    const size_t length = strlen(name);
    for (const char *at = names; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == length && !strncmp(at, name, length)) return true;
    return false;
}

static void find_device(subject_t *s) {
    bpt_device_info_t infos[8];
    int count = 0;
    s->index = -1;
    if (s->driver->enumerate(infos, (int)BPT_COUNT(infos), &count) != BPT_OK) {
        snprintf(s->reason, sizeof s->reason, "%s", bpt_error_message());
        return;
    }
    snprintf(s->reason, sizeof s->reason, "no device");
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos) && s->index < 0; ++i) {
        if (infos[i].usable) s->index = i;
        snprintf(s->reason, sizeof s->reason, "%s", infos[i].reason);
        if (s->index >= 0) print_message("%s: %s, %s, %s\n", s->name, infos[i].name, infos[i].driver, infos[i].features);
    }
}

static int set_up(void **state) {
    subject_t *s = *state;
    if (s->index < 0) return 0;
    s->live = bpt_alloc_live();
    if (s->driver->open(s->index, &s->api) == BPT_OK) return 0;
    print_error("%s: %s\n", s->name, bpt_error_message());
    return -1;
}

static int tear_down(void **state) {
    subject_t *s = *state;
    const unsigned before = s->complaints ? s->complaints() : 0;
    if (s->index < 0) return 0;
    if (s->api) s->driver->close(s->api);
    s->api = NULL;
    if (s->complaints && s->complaints() != before) {
        print_error("%s: complaints at closing the device\n", s->name);
        return -1;
    }
    if (bpt_alloc_live() == s->live) return 0;
    print_error("%s: %d blocks of host memory left\n", s->name, (int)(bpt_alloc_live() - s->live));
    return -1;
}

// ---- Short forms of the calls ----------------------------------------------------------------------------------------

static subject_t *subject_of(void **state) {
    subject_t *s = *state;
    if (s->index < 0 && required(s->name)) fail_msg("backend %s is required, but: %s", s->name, s->reason);
    if (s->index < 0) {
        print_message("%s: not tested (%s)\n", s->name, s->reason);
        skip();
    }
    return s;
}

static bpt_gpu_memory_t *make_memory(bpt_gpu_api_t *api, size_t bytes) {
    bpt_gpu_memory_t *memory;
    assert_ok(api->driver->memory_create(api, bytes, &memory));
    return memory;
}

static float *make_floats(size_t count, float first, float step) {
    float *x;
    assert_ok(bpt_alloc(count, sizeof *x, &x));
    for (size_t i = 0; i < count; ++i) x[i] = first + step * (float)(i % 1000);
    return x;
}

static bpt_gpu_program_t *make_program(bpt_gpu_api_t *api, bpt_gpu_variant_t variant) {
    bpt_gpu_program_t *program;
    if (!variant.group_size) variant.group_size = WG;
    assert_ok(api->driver->program_create(api, &variant, &program));
    return program;
}

static bpt_gpu_commands_t *make_commands(bpt_gpu_api_t *api) {
    bpt_gpu_commands_t *commands;
    assert_ok(api->driver->commands_create(api, &commands));
    return commands;
}

static void run(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands) {
    uint64_t ticket;
    assert_ok(api->driver->submit(api, commands, &ticket));
    assert_ok(api->driver->wait(api, ticket, PATIENCE_NS));
}

// Binds `count` elements from number `first` on: at the last offset that the device allows, and the rest as skew.
static void bind(const bpt_gpu_api_t *api, bpt_gpu_dispatch_t *d, int binding, bpt_gpu_memory_t *memory, size_t element, size_t first,
                 size_t count) {
    const size_t alignment = api->limits.offset_alignment, offset = first * element / alignment * alignment;
    const size_t skew = first - offset / element;
    assert_true(skew <= UINT8_MAX);
    d->bindings[binding] = (bpt_gpu_binding_t){memory, offset, (skew + count) * element};
    d->params[sizeof(uint32_t) + (size_t)binding] = (uint8_t)skew;
}

static void set_params(bpt_gpu_dispatch_t *d, const void *own, size_t bytes) {  // those behind the head
    enum { HEAD = sizeof(uint32_t) + BPT_GPU_MAX_BINDINGS };
    if (bytes) memcpy(d->params + HEAD, own, bytes);
    d->params_bytes = (uint32_t)(HEAD + bytes);
}

static void set_groups(bpt_gpu_dispatch_t *d, uint32_t x, uint32_t y, uint32_t first) {
    d->groups[0] = x;
    d->groups[1] = y;
    d->groups[2] = 1;
    memcpy(d->params, &first, sizeof first);
}

static bpt_gpu_dispatch_t fill_dispatch(const bpt_gpu_api_t *api, bpt_gpu_program_t *program, bpt_gpu_memory_t *memory, size_t element,
                                        size_t first, uint32_t count, float value) {
    const struct {
        uint32_t count;
        float value;
    } own = {count, value};
    bpt_gpu_dispatch_t d = {.program = program};
    bind(api, &d, fill_result, memory, element, first, count);
    set_params(&d, &own, sizeof own);
    set_groups(&d, (count + WG - 1) / WG, 1, 0);
    return d;
}

// y = steps(x) on `count` f32 elements, in one row; extra1 may be NULL.
static bpt_gpu_dispatch_t pointwise_dispatch(const bpt_gpu_api_t *api, bpt_gpu_program_t *program, bpt_gpu_memory_t *x,
                                             bpt_gpu_memory_t *extra1, bpt_gpu_memory_t *y, size_t element, uint32_t count,
                                             const float c[6]) {
    struct {
        uint32_t count, columns;
        float c[6];
        uint32_t uid[6];
    } own = {.count = count, .columns = count};
    bpt_gpu_dispatch_t d = {.program = program};
    memcpy(own.c, c, sizeof own.c);
    bind(api, &d, pointwise_x, x, element, 0, count);
    if (extra1) bind(api, &d, pointwise_extra1, extra1, element, 0, count);
    bind(api, &d, pointwise_y, y, element, 0, count);
    set_params(&d, &own, sizeof own);
    set_groups(&d, (count + WG - 1) / WG, 1, 0);
    return d;
}

static void expect_equal(const float *got, size_t count, float value, const char *where) {
    for (size_t i = 0; i < count; ++i)
        if (got[i] != value) fail_msg("%s: element %zu is %g, not %g", where, i, (double)got[i], (double)value);
}

// ---- Tests -----------------------------------------------------------------------------------------------------------

static void limits_are_filled(void **state) {
    const bpt_gpu_limits_t *l = &subject_of(state)->api->limits;
    assert_true(l->max_groups[0] >= 65535 && l->max_groups[1] >= 1 && l->max_groups[2] >= 1);
    assert_true(l->max_group_size >= WG && l->local_bytes >= 16384);
    assert_true(l->max_binding_bytes >= 1 << 20 && l->max_allocation_bytes >= 1 << 20 && l->memory_bytes >= 1 << 20);
    assert_true(l->offset_alignment >= 1 && (l->offset_alignment & (l->offset_alignment - 1)) == 0);
}

static void memory_is_zeroed_written_and_read(void **state) {
    enum { BYTES = (33 << 20) + 13 };  // more than two pieces of a copy
    bpt_gpu_api_t *api = subject_of(state)->api;
    uint8_t *host, *back;
    assert_ok(bpt_alloc(BYTES, 1, &host));
    assert_ok(bpt_alloc(BYTES, 1, &back));
    for (int round = 0; round < 2; ++round) {  // the second time in memory that was used before
        bpt_gpu_memory_t *memory = make_memory(api, BYTES);
        memset(back, 1, BYTES);
        memset(host, 0, BYTES);
        assert_ok(api->driver->read(api, memory, 0, back, BYTES));
        assert_memory_equal(host, back, BYTES);
        for (size_t i = 0; i < BYTES; ++i) host[i] = (uint8_t)(i * 2654435761u >> 24);
        assert_ok(api->driver->write(api, memory, 0, host, BYTES));
        assert_ok(api->driver->write(api, memory, 5, "12345", 3));
        memcpy(host + 5, "123", 3);
        assert_ok(api->driver->read(api, memory, 0, back, BYTES));
        assert_memory_equal(host, back, BYTES);
        assert_ok(api->driver->read(api, memory, BYTES - 7, back, 7));
        assert_memory_equal(host + BYTES - 7, back, 7);
        assert_ok(api->driver->read(api, memory, BYTES, back, 0));
        api->driver->memory_destroy(api, memory);
    }
    bpt_free(host);
    bpt_free(back);
}

static void memory_beyond_the_limit_is_refused(void **state) {
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_memory_t *memory;
    assert_fails(api->driver->memory_create(api, api->limits.max_allocation_bytes + 1, &memory), BPT_ERR_NO_MEMORY, "MiB");
}

static void fill_writes_what_it_shall_and_no_more(void **state) {
    static const uint32_t counts[] = {1, 2, 31, 33, 63, 64, 65, 127, 129, 1025, 70001};
    enum { GUARD = 300 };
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
    for (size_t n = 0; n < BPT_COUNT(counts); ++n)
        for (size_t first = GUARD; first < GUARD + 9; first += 4) {  // bindings at whole and broken multiples of the alignment
            const size_t all = first + counts[n] + GUARD;
            bpt_gpu_memory_t *memory = make_memory(api, all * sizeof(float));
            bpt_gpu_commands_t *commands = make_commands(api);
            const bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, sizeof(float), first, counts[n], 2.5f);
            float *got = make_floats(all, 0, 0);
            assert_ok(api->driver->dispatch(commands, &d));
            assert_ok(api->driver->finish(commands));
            run(api, commands);
            assert_ok(api->driver->read(api, memory, 0, got, all * sizeof(float)));
            expect_equal(got, first, 0, "before");
            expect_equal(got + first, counts[n], 2.5f, "inside");
            expect_equal(got + first + counts[n], GUARD, 0, "behind");
            bpt_free(got);
            api->driver->commands_destroy(api, commands);
            api->driver->memory_destroy(api, memory);
        }
    api->driver->program_destroy(api, program);
}

static void fill_in_16_bits(void **state) {
    enum { COUNT = 1025, FIRST = 131 };
    bpt_gpu_api_t *api = subject_of(state)->api;
    if (!api->limits.f16) {
        bpt_gpu_program_t *none;
        assert_fails(
            api->driver->program_create(api, &(bpt_gpu_variant_t){.kernel = BPT_GPU_fill, .group_size = WG, .dtypes = {BPT_F16}}, &none),
            BPT_ERR_UNSUPPORTED, "f16");
        return;
    }
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill, .dtypes = {BPT_F16}});
    bpt_gpu_memory_t *memory = make_memory(api, 2 * (FIRST + COUNT + 10));
    bpt_gpu_commands_t *commands = make_commands(api);
    const bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, 2, FIRST, COUNT, -0.375f);
    uint16_t got[FIRST + COUNT + 10];
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    run(api, commands);
    assert_ok(api->driver->read(api, memory, 0, got, sizeof got));
    for (int i = 0; i < FIRST + COUNT + 10; ++i) assert_int_equal(got[i], i >= FIRST && i < FIRST + COUNT ? bpt_to_f16(-0.375f) : 0);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, program);
}

// More work-groups than an axis of some devices has, folded over two axes and split in two dispatches.
static void many_groups_are_folded_and_split(void **state) {
    enum { COUNT = 70000 * WG + 3, SPLIT = 300 };
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
    bpt_gpu_memory_t *memory = make_memory(api, (size_t)COUNT * sizeof(float));
    bpt_gpu_commands_t *commands = make_commands(api);
    float *got = make_floats(COUNT, 0, 0);
    bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, sizeof(float), 0, COUNT, 7);
    set_groups(&d, SPLIT, 1, 0);
    assert_ok(api->driver->dispatch(commands, &d));
    set_groups(&d, 1000, 70, SPLIT);
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    run(api, commands);
    assert_ok(api->driver->read(api, memory, 0, got, (size_t)COUNT * sizeof(float)));
    expect_equal(got, COUNT, 7, "folded");
    bpt_free(got);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, program);
}

static bpt_gpu_program_t *make_chain(bpt_gpu_api_t *api) {  // y = max(0, x + extra1) * c2
    bpt_gpu_variant_t v = {.kernel = BPT_GPU_pointwise};
    v.constants[pointwise_N_STEPS] = 3;
    v.constants[pointwise_STEP0] = BPT_POINTWISE_ADD | 1u << 8;
    v.constants[pointwise_STEP1] = BPT_POINTWISE_RELU;
    v.constants[pointwise_STEP2] = BPT_POINTWISE_SCALE;
    return make_program(api, v);
}

static bpt_gpu_program_t *make_scale(bpt_gpu_api_t *api) {  // y = x * c0; every extra binding stays empty
    bpt_gpu_variant_t v = {.kernel = BPT_GPU_pointwise};
    v.constants[pointwise_N_STEPS] = 1;
    v.constants[pointwise_STEP0] = BPT_POINTWISE_SCALE;
    return make_program(api, v);
}

static void pointwise_runs_its_chain(void **state) {
    enum { COUNT = 4099 };
    static const float c[6] = {0, 0, 0.5f};
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_chain(api);
    bpt_gpu_memory_t *x = make_memory(api, COUNT * 4), *e = make_memory(api, COUNT * 4), *y = make_memory(api, COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    float *hx = make_floats(COUNT, -300, 0.75f), *he = make_floats(COUNT, 20, -0.125f), *got = make_floats(COUNT, 0, 0);
    const bpt_gpu_dispatch_t d = pointwise_dispatch(api, program, x, e, y, 4, COUNT, c);
    assert_ok(api->driver->write(api, x, 0, hx, COUNT * 4));
    assert_ok(api->driver->write(api, e, 0, he, COUNT * 4));
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    run(api, commands);
    assert_ok(api->driver->read(api, y, 0, got, COUNT * 4));
    for (int i = 0; i < COUNT; ++i) {
        const float sum = hx[i] + he[i], wanted = sum < 0 ? 0 : sum * 0.5f;  // exact in f32
        if (got[i] != wanted) fail_msg("element %d is %g, not %g", i, (double)got[i], (double)wanted);
    }
    bpt_free(hx);
    bpt_free(he);
    bpt_free(got);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, x);
    api->driver->memory_destroy(api, e);
    api->driver->memory_destroy(api, y);
    api->driver->program_destroy(api, program);
}

// a -> b -> a -> b, doubled each time, with barriers; submitted three times before the first wait.
static void barriers_and_submissions_keep_their_order(void **state) {
    enum { COUNT = 200003 };
    static const float two[6] = {2};
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *scale = make_scale(api);
    bpt_gpu_memory_t *a = make_memory(api, COUNT * 4), *b = make_memory(api, COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    float *host = make_floats(COUNT, 1, 0);
    uint64_t ticket = 0, before = 0;
    assert_ok(api->driver->write(api, a, 0, host, COUNT * 4));
    for (int i = 0; i < 4; ++i) {
        const bpt_gpu_dispatch_t d = pointwise_dispatch(api, scale, i % 2 ? b : a, NULL, i % 2 ? a : b, 4, COUNT, two);
        assert_ok(api->driver->dispatch(commands, &d));
        if (i < 3) assert_ok(api->driver->barrier(commands));
    }
    assert_ok(api->driver->finish(commands));
    for (int i = 0; i < 3; ++i) {
        assert_ok(api->driver->submit(api, commands, &ticket));
        assert_true(ticket > before);
        before = ticket;
    }
    assert_ok(api->driver->wait(api, ticket, PATIENCE_NS));
    assert_ok(api->driver->wait(api, ticket - 1, PATIENCE_NS));
    assert_ok(api->driver->read(api, a, 0, host, COUNT * 4));
    expect_equal(host, COUNT, 4096, "a");
    assert_ok(api->driver->read(api, b, 0, host, COUNT * 4));
    expect_equal(host, COUNT, 2048, "b");
    run(api, commands);  // the host's reading in between changes nothing
    assert_ok(api->driver->read(api, a, 0, host, COUNT * 4));
    expect_equal(host, COUNT, 65536, "a again");
    bpt_free(host);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, a);
    api->driver->memory_destroy(api, b);
    api->driver->program_destroy(api, scale);
}

// A discrete device whose memory the host cannot reach would else have a copy and a wait of its own for the word that every wait asks for.
static void reading_a_word_submits_nothing(void **state) {
    enum { COUNT = 4 };
    static const float c[6] = {2};
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *scale = make_scale(api);
    bpt_gpu_memory_t *memory = make_memory(api, COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    float *host = make_floats(COUNT, 1, 0);
    uint64_t ticket = 0, next = 0;
    const bpt_gpu_dispatch_t d = pointwise_dispatch(api, scale, memory, NULL, memory, 4, COUNT, c);  // in place
    assert_ok(api->driver->write(api, memory, 0, host, COUNT * 4));
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    assert_ok(api->driver->submit(api, commands, &ticket));
    assert_ok(api->driver->wait(api, ticket, PATIENCE_NS));
    assert_ok(api->driver->read(api, memory, 0, host, COUNT * 4));
    expect_equal(host, COUNT, 2, "once");
    assert_ok(api->driver->submit(api, commands, &next));
    assert_int_equal(next, ticket + 1);
    assert_ok(api->driver->wait(api, next, PATIENCE_NS));
    assert_ok(api->driver->read(api, memory, 0, host, COUNT * 4));
    expect_equal(host, COUNT, 4, "twice");
    bpt_free(host);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, scale);
}

static void what_the_host_writes_reaches_the_next_submission(void **state) {
    enum { COUNT = 1000 };
    static const float c[6] = {3};
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *scale = make_scale(api);
    bpt_gpu_memory_t *memory = make_memory(api, COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    const bpt_gpu_dispatch_t d = pointwise_dispatch(api, scale, memory, NULL, memory, 4, COUNT, c);  // in place
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    for (int round = 1; round < 6; ++round) {
        float *host = make_floats(COUNT, (float)round, 0);
        assert_ok(api->driver->write(api, memory, 0, host, COUNT * 4));
        run(api, commands);
        assert_ok(api->driver->read(api, memory, 0, host, COUNT * 4));
        expect_equal(host, COUNT, 3 * (float)round, "in place");
        bpt_free(host);
    }
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, scale);
}

static void canary_counts_submissions(void **state) {
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_canary});
    bpt_gpu_memory_t *counter = make_memory(api, 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    bpt_gpu_dispatch_t d = {.program = program};
    uint32_t value = 0;
    uint64_t ticket = 0;
    bind(api, &d, canary_counter, counter, 4, 0, 1);
    set_params(&d, NULL, 0);
    set_groups(&d, 1, 1, 0);
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    for (int i = 0; i < 50; ++i) assert_ok(api->driver->submit(api, commands, &ticket));
    assert_ok(api->driver->wait(api, ticket, PATIENCE_NS));
    assert_ok(api->driver->read(api, counter, 0, &value, 4));
    assert_int_equal(value, 50);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, counter);
    api->driver->program_destroy(api, program);
}

static void marks_increase(void **state) {
    enum { COUNT = 1 << 18, MARKS = 600 };
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
    bpt_gpu_memory_t *memory = make_memory(api, (size_t)COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    double seconds[MARKS];
    int count = 0;
    for (int i = 0; i < MARKS; ++i) {
        const bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, 4, 0, i % 100 ? 64 : COUNT, (float)i);
        assert_ok(api->driver->mark(commands));
        if (i == MARKS - 1) break;
        assert_ok(api->driver->dispatch(commands, &d));
        assert_ok(api->driver->barrier(commands));
    }
    assert_ok(api->driver->finish(commands));
    for (int round = 0; round < 2; ++round) {
        run(api, commands);
        memset(seconds, 0xFF, sizeof seconds);
        assert_ok(api->driver->marks(commands, seconds, MARKS, &count));
        assert_int_equal(count, MARKS);
        for (int i = 1; i < MARKS; ++i)
            if (!(seconds[i] >= seconds[i - 1])) fail_msg("mark %d is at %g s, the one before at %g s", i, seconds[i], seconds[i - 1]);
        assert_true(seconds[MARKS - 1] > seconds[0] && seconds[MARKS - 1] - seconds[0] < 100);
    }
    double few[3] = {-1, -1, -1};
    assert_ok(api->driver->marks(commands, few, 2, &count));
    assert_int_equal(count, MARKS);
    assert_true(few[1] >= few[0] && few[2] == -1);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, program);
}

// Different memory in many dispatches: every one needs bindings of its own.
static void many_dispatches_of_one_list(void **state) {
    enum { PARTS = 1500, PART = 128 };
    bpt_gpu_api_t *api = subject_of(state)->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
    bpt_gpu_memory_t *memory = make_memory(api, (size_t)PARTS * PART * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    float *got = make_floats((size_t)PARTS * PART, 0, 0);
    for (int i = 0; i < PARTS; ++i) {
        const bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, 4, (size_t)i * PART, PART, (float)i);
        assert_ok(api->driver->dispatch(commands, &d));
    }
    assert_ok(api->driver->finish(commands));
    run(api, commands);
    assert_ok(api->driver->read(api, memory, 0, got, (size_t)PARTS * PART * 4));
    for (int i = 0; i < PARTS; ++i) expect_equal(got + (size_t)i * PART, PART, (float)i, "part");
    bpt_free(got);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, program);
}

// nll of ROWS rows of logits, in groups of so many items: a maximum and a sum of each row, by whatever way the device is given.
enum { ROWS = 40, COLUMNS = 301 };
static void reduce_rows(bpt_gpu_api_t *api, uint32_t group_size, float nll[ROWS]) {
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_xent_rows, .group_size = group_size});
    bpt_gpu_memory_t *logits = make_memory(api, sizeof(float) * ROWS * COLUMNS), *numbers = make_memory(api, sizeof(float) * 4 * ROWS);
    bpt_gpu_commands_t *commands = make_commands(api);
    bpt_gpu_dispatch_t d = {.program = program};
    float *values = make_floats((size_t)ROWS * COLUMNS, -3.7f, 0.0123f), *ones = make_floats(ROWS, 1, 0);
    const xent_rows_params_t params = {.columns = COLUMNS, .target_share = 1};
    const uint8_t *own = (const uint8_t *)&params + offsetof(xent_rows_params_t, columns);  // set_params writes what stands before
    values[2 * COLUMNS + 17] = NAN;
    assert_ok(api->driver->write(api, logits, 0, values, sizeof(float) * ROWS * COLUMNS));
    assert_ok(api->driver->write(api, numbers, sizeof(float) * ROWS, ones, sizeof(float) * ROWS));
    bind(api, &d, xent_rows_logits, logits, sizeof(float), 0, (size_t)ROWS * COLUMNS);
    bind(api, &d, xent_rows_targets, numbers, sizeof(float), 0, ROWS);
    bind(api, &d, xent_rows_weights, numbers, sizeof(float), ROWS, ROWS);
    bind(api, &d, xent_rows_nll, numbers, sizeof(float), 2 * ROWS, ROWS);
    bind(api, &d, xent_rows_terms, numbers, sizeof(float), 3 * ROWS, ROWS);
    set_params(&d, own, sizeof params - offsetof(xent_rows_params_t, columns));
    set_groups(&d, ROWS, 1, 0);
    assert_ok(api->driver->dispatch(commands, &d));
    assert_ok(api->driver->finish(commands));
    run(api, commands);
    assert_ok(api->driver->read(api, numbers, sizeof(float) * 2 * ROWS, nll, sizeof(float) * ROWS));
    bpt_free(values);
    bpt_free(ones);
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, logits);
    api->driver->memory_destroy(api, numbers);
    api->driver->program_destroy(api, program);
}

static void reductions_have_the_same_bits_without_subgroups(void **state) {
    subject_t *s = subject_of(state);
    bpt_gpu_api_t *plain;
    const char *given = getenv("BPT_DISABLE");
    char before[64];
    snprintf(before, sizeof before, "%s", given ? given : "");
    setenv("BPT_DISABLE", "subgroup", 1);
    assert_ok(s->driver->open(s->index, &plain));
    setenv("BPT_DISABLE", before, 1);
    for (uint32_t group_size = 1; group_size <= 128; group_size *= 2) {
        float with[ROWS], without[ROWS];
        reduce_rows(s->api, group_size, with);
        reduce_rows(plain, group_size, without);
        if (memcmp(with, without, sizeof with)) fail_msg("groups of %u", group_size);
        assert_true(isnan(with[2]) && with[3] > 4 && with[3] < 20);
    }
    s->driver->close(plain);
}

static void two_devices_do_not_meet(void **state) {
    enum { COUNT = 5000 };
    subject_t *s = subject_of(state);
    bpt_gpu_api_t *api[2] = {s->api, NULL};
    bpt_gpu_memory_t *memory[2];
    bpt_gpu_program_t *program[2];
    bpt_gpu_commands_t *commands[2];
    uint64_t ticket[2];
    assert_ok(s->driver->open(s->index, &api[1]));
    for (int i = 0; i < 2; ++i) {
        memory[i] = make_memory(api[i], COUNT * 4);
        program[i] = make_program(api[i], (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
        commands[i] = make_commands(api[i]);
        const bpt_gpu_dispatch_t d = fill_dispatch(api[i], program[i], memory[i], 4, 0, COUNT, (float)(i + 1));
        assert_ok(s->driver->dispatch(commands[i], &d));
        assert_ok(s->driver->finish(commands[i]));
    }
    for (int i = 0; i < 2; ++i) assert_ok(s->driver->submit(api[i], commands[i], &ticket[i]));
    for (int i = 1; i >= 0; --i) {
        float *got = make_floats(COUNT, 0, 0);
        assert_ok(s->driver->wait(api[i], ticket[i], PATIENCE_NS));
        assert_ok(s->driver->read(api[i], memory[i], 0, got, COUNT * 4));
        expect_equal(got, COUNT, (float)(i + 1), "a device");
        bpt_free(got);
        s->driver->commands_destroy(api[i], commands[i]);
        s->driver->program_destroy(api[i], program[i]);
        s->driver->memory_destroy(api[i], memory[i]);
    }
    s->driver->close(api[1]);
}

static void a_wait_that_is_given_up_loses_the_device(void **state) {
    enum { COUNT = 1 << 21 };
    subject_t *s = subject_of(state);
    bpt_gpu_api_t *api = s->api;
    bpt_gpu_program_t *program = make_program(api, (bpt_gpu_variant_t){.kernel = BPT_GPU_fill});
    bpt_gpu_memory_t *memory = make_memory(api, (size_t)COUNT * 4);
    bpt_gpu_commands_t *commands = make_commands(api);
    const bpt_gpu_dispatch_t d = fill_dispatch(api, program, memory, 4, 0, COUNT, 1);
    uint64_t ticket;
    for (int i = 0; i < s->long_work; ++i) {
        assert_ok(api->driver->dispatch(commands, &d));
        assert_ok(api->driver->barrier(commands));
    }
    assert_ok(api->driver->finish(commands));
    assert_ok(api->driver->submit(api, commands, &ticket));
    assert_fails(api->driver->wait(api, ticket, 1), BPT_ERR_DEVICE_LOST, "within");
    if (s->destroys_in_use)
        assert_fails(api->driver->submit(api, commands, &ticket), BPT_ERR_DEVICE_LOST, "open it again");
    else
        assert_ok(api->driver->wait(api, ticket, PATIENCE_NS));
    api->driver->commands_destroy(api, commands);
    api->driver->memory_destroy(api, memory);
    api->driver->program_destroy(api, program);
}

static void a_device_that_is_not_there_is_refused(void **state) {
    subject_t *s = subject_of(state);
    bpt_gpu_api_t *none = NULL;
    assert_fails(s->driver->open(1000, &none), BPT_ERR_UNAVAILABLE, "1000");
    assert_fails(s->driver->open(-1, &none), BPT_ERR_UNAVAILABLE, "-1");
    assert_null(none);
}

#define TEST(function) \
    { #function, function }
static const struct {
    const char *name;
    CMUnitTestFunction function;
} tests[] = {
    TEST(limits_are_filled),
    TEST(memory_is_zeroed_written_and_read),
    TEST(memory_beyond_the_limit_is_refused),
    TEST(fill_writes_what_it_shall_and_no_more),
    TEST(fill_in_16_bits),
    TEST(many_groups_are_folded_and_split),
    TEST(pointwise_runs_its_chain),
    TEST(barriers_and_submissions_keep_their_order),
    TEST(reading_a_word_submits_nothing),
    TEST(what_the_host_writes_reaches_the_next_submission),
    TEST(canary_counts_submissions),
    TEST(marks_increase),
    TEST(many_dispatches_of_one_list),
    TEST(reductions_have_the_same_bits_without_subgroups),
    TEST(two_devices_do_not_meet),
    TEST(a_wait_that_is_given_up_loses_the_device),
    TEST(a_device_that_is_not_there_is_refused),
};

int main(void) {
    static char names[BPT_COUNT(subjects) * BPT_COUNT(tests)][128];
    static struct CMUnitTest list[BPT_COUNT(names)];
    const char *wanted = getenv("BPT_CASE");
    size_t count = 0;
    for (subject_t *s = subjects; s->name; ++s) {
        find_device(s);
        for (size_t t = 0; t < BPT_COUNT(tests); ++t) {
            snprintf(names[count], sizeof names[count], "%s/%s", s->name, tests[t].name);
            if (wanted && !strstr(names[count], wanted)) continue;
            list[count] = (struct CMUnitTest){
                .name = names[count], .test_func = tests[t].function, .setup_func = set_up, .teardown_func = tear_down, .initial_state = s};
            ++count;
        }
    }
    return _cmocka_run_group_tests("driver", list, count, NULL, NULL);
}
