// A device in parts: they share its memory, work at the same time, and say what failed.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/buffer.h"
#include "bpt/graph.h"
#include "bpt/parts.h"
#include "bpt/program.h"
#include "support/check.h"

enum { THREADS = 3, N = 1000 };

typedef struct {
    bpt_parts_t *parts;
    bpt_buffer_t *numbers;  // of the whole device
    float doubled[THREADS][N];
    atomic_int arrived;
    int fails;  // bits of the parts that fail
} work_t;

static bpt_device_t *open_whole(int threads) {
    bpt_device_t *device;
    assert_ok(bpt_backend_find("cpu")->open(0, &(bpt_device_options_t){.threads = threads}, &device));
    return device;
}

// Twice the numbers of the whole device, by a program of the part.
static bpt_status_t double_numbers(work_t *w, int part) {
    bpt_workspace_t *workspace;
    bpt_graph_t *graph;
    bpt_program_t *program;
    BPT_TRY(bpt_workspace_create(bpt_parts_device(w->parts, part), &workspace));
    BPT_TRY(bpt_graph_create(&graph));
    const bpt_value_t twice = bpt_scale(graph, bpt_state(graph, "numbers", 0, BPT_F32, bpt_shape1(N)), 2);
    bpt_graph_keep(graph, twice);
    BPT_TRY(bpt_program_compile(graph, workspace, &w->numbers, 1, &program));
    BPT_TRY(bpt_program_run(program));
    const float *view = bpt_program_view(program, twice);
    BPT_TRY(bpt_program_read(program, twice, w->doubled[part]));
    const bool same = view && !memcmp(view, w->doubled[part], sizeof w->doubled[part]);
    bpt_program_destroy(program);
    bpt_workspace_destroy(workspace);
    return same ? BPT_OK : bpt_fail(BPT_ERR_INTERNAL, "the view shows other numbers");
}

// Waits for all others, so that it ends only if they run at the same time.
static bpt_status_t work(void *user, int part) {
    work_t *w = user;
    atomic_fetch_add(&w->arrived, 1);
    while (atomic_load(&w->arrived) < bpt_parts_count(w->parts)) {
    }
    if (w->fails >> part & 1) return bpt_fail(BPT_ERR_INPUT, "part %d does not like it", part);
    return double_numbers(w, part);
}

static void parts_work_at_the_same_time_on_the_memory_of_the_whole(void **state) {
    (void)state;
    static float numbers[N];
    static work_t w;
    bpt_device_t *whole = open_whole(THREADS);
    assert_int_equal(bpt_parts_most(whole), THREADS);
    assert_ok(bpt_buffer_create(whole, sizeof numbers, &w.numbers));
    for (int i = 0; i < N; ++i) numbers[i] = (float)i;
    assert_ok(bpt_buffer_write(whole, w.numbers, 0, numbers, sizeof numbers));
    for (int count = 1; count <= THREADS; ++count) {
        int threads = 0;
        memset(w.doubled, 0, sizeof w.doubled);
        atomic_store(&w.arrived, 0);
        assert_ok(bpt_parts_open(whole, count, &w.parts));
        assert_int_equal(bpt_parts_count(w.parts), count);
        for (int i = 0; i < count; ++i) threads += bpt_parts_device(w.parts, i)->info.units;
        assert_int_equal(threads, THREADS);  // all of them, each in one part
        assert_ok(bpt_parts_run(w.parts, work, &w));
        for (int part = 0; part < count; ++part)
            for (int i = 0; i < N; ++i) assert_true(w.doubled[part][i] == 2 * (float)i);
        bpt_parts_close(w.parts);
    }
    bpt_buffer_destroy(whole, w.numbers);
    whole->backend->close(whole);
}

static void the_failure_of_a_part_is_said_with_its_message(void **state) {
    (void)state;
    static work_t w;
    bpt_device_t *whole = open_whole(THREADS);
    assert_ok(bpt_buffer_create(whole, N * sizeof(float), &w.numbers));
    assert_ok(bpt_parts_open(whole, THREADS, &w.parts));
    for (w.fails = 1; w.fails < 1 << THREADS; ++w.fails) {
        char wanted[40];
        const int first = w.fails & 1 ? 0 : w.fails & 2 ? 1 : 2;
        atomic_store(&w.arrived, 0);
        snprintf(wanted, sizeof wanted, "part %d does not like it", first);
        assert_fails(bpt_parts_run(w.parts, work, &w), BPT_ERR_INPUT, wanted);
    }
    w.fails = 0, atomic_store(&w.arrived, 0);
    assert_ok(bpt_parts_run(w.parts, work, &w));  // what failed before is over
    bpt_parts_close(w.parts);
    bpt_buffer_destroy(whole, w.numbers);
    whole->backend->close(whole);
}

// ---- Products in 16 bits, for which a library keeps something for each thread

enum { ROWS = 48, WIDTH = 64, TURNS = 300 };
typedef struct {
    bpt_parts_t *parts;
    bpt_buffer_t *operands;  // of the whole device: [ROWS, WIDTH], [WIDTH, WIDTH]
    float wanted[ROWS * WIDTH], found[THREADS][ROWS * WIDTH];
} products_t;

// The product of `rows` rows on a device, `turns` times.
static bpt_status_t multiply(const products_t *w, bpt_device_t *device, int64_t rows, int turns, float *out) {
    bpt_workspace_t *workspace;
    bpt_graph_t *graph;
    bpt_program_t *program;
    BPT_TRY(bpt_workspace_create(device, &workspace));
    BPT_TRY(bpt_graph_create(&graph));
    const bpt_value_t all = bpt_state(graph, "operands", 0, BPT_BF16, bpt_shape2(ROWS + WIDTH, WIDTH));
    const bpt_matmul_options_t options = {.transpose_b = true, .acc = BPT_NO_VALUE, .bias = BPT_NO_VALUE, .dtype = BPT_F32};
    const bpt_value_t product = bpt_matmul(graph, bpt_rows(graph, all, 0, rows), bpt_rows(graph, all, ROWS, WIDTH), options);
    bpt_graph_keep(graph, product);
    BPT_TRY(bpt_program_compile(graph, workspace, &w->operands, 1, &program));
    for (int i = 0; i < turns; ++i) BPT_TRY(bpt_program_run(program));
    BPT_TRY(bpt_program_read(program, product, out));
    bpt_program_destroy(program);
    bpt_workspace_destroy(workspace);
    return BPT_OK;
}

static bpt_status_t multiply_part(void *user, int part) {
    products_t *w = user;
    return multiply(w, bpt_parts_device(w->parts, part), ROWS - 8 * part, TURNS, w->found[part]);
}

static void products_of_parts_do_not_disturb_each_other(void **state) {
    (void)state;
    static products_t w;
    static uint16_t numbers[(ROWS + WIDTH) * WIDTH];
    bpt_device_t *whole = open_whole(THREADS);
    for (int i = 0; i < (ROWS + WIDTH) * WIDTH; ++i) numbers[i] = bpt_to_bf16((float)(i * 37 % 101 - 50) / 64);
    assert_ok(bpt_buffer_create(whole, sizeof numbers, &w.operands));
    assert_ok(bpt_buffer_write(whole, w.operands, 0, numbers, sizeof numbers));
    assert_ok(bpt_parts_open(whole, THREADS, &w.parts));
    assert_ok(bpt_parts_run(w.parts, multiply_part, &w));
    for (int part = 0; part < THREADS; ++part) {
        const int64_t rows = ROWS - 8 * part;
        assert_ok(multiply(&w, whole, rows, 1, w.wanted));
        assert_memory_equal(w.found[part], w.wanted, (size_t)(rows * WIDTH) * sizeof *w.wanted);
    }
    bpt_parts_close(w.parts);
    bpt_buffer_destroy(whole, w.operands);
    whole->backend->close(whole);
}

static void one_thread_is_one_part(void **state) {
    (void)state;
    bpt_device_t *device = open_whole(1);
    assert_int_equal(bpt_parts_most(device), 1);
    device->backend->close(device);
    assert_ok(bpt_backend_find("ref")->open(0, NULL, &device));
    assert_int_equal(bpt_parts_most(device), 1);
    device->backend->close(device);
}

static void no_memory_leaves_nothing_open(void **state) {
    (void)state;
    bpt_device_t *whole = open_whole(THREADS);
    const size_t before = bpt_alloc_live();
    size_t nth = 1;
    for (bpt_status_t status = BPT_ERR_NO_MEMORY; status != BPT_OK; ++nth) {
        bpt_parts_t *parts = NULL;
        bpt_alloc_fail_after(nth);
        status = bpt_parts_open(whole, THREADS, &parts);
        bpt_alloc_fail_after(0);
        if (status != BPT_OK) assert_int_equal(status, BPT_ERR_NO_MEMORY);
        bpt_parts_close(parts);
        assert_int_equal(bpt_alloc_live(), before);
    }
    assert_true(nth > THREADS);
    whole->backend->close(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_work_at_the_same_time_on_the_memory_of_the_whole),
        cmocka_unit_test(the_failure_of_a_part_is_said_with_its_message),
        cmocka_unit_test(products_of_parts_do_not_disturb_each_other),
        cmocka_unit_test(one_thread_is_one_part),
        cmocka_unit_test(no_memory_leaves_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
