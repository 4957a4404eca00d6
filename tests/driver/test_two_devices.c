// Two devices in one process, of one backend or of two: their work is interleaved, neither sees the other's, and they are closed in any
// order while the other goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "support/check.h"
#include "support/support.h"

enum { M = 37, K = 19, N = 53, ROUNDS = 5 };
static const uint64_t PATIENCE_NS = 600000000000;

// c = a b, recorded once, run with other values each time. Whole numbers, so that every order of summation gives the same.
typedef struct {
    bpt_device_t *device;
    bpt_buffer_t *a, *b, *c, *scratch;
    bpt_list_t *list;
    bpt_ticket_t ticket;
    float a_values[M * K], b_values[K * N];
} side_t;

static bpt_operand_t matrix(bpt_buffer_t *buffer, int64_t rows, int64_t columns) {
    return (bpt_operand_t){.buffer = buffer, .dtype = BPT_F32, .shape = {.rank = 2, .dim = {rows, columns}}, .present = true};
}

static void open_side(side_t *s, const char *backend_name, int index) {
    const bpt_backend_t *backend = bpt_backend_find(backend_name);
    size_t scratch_bytes = 0;
    assert_ok(backend->open(index, NULL, &s->device));
    assert_ok(backend->buffer_create(s->device, sizeof s->a_values, &s->a));
    assert_ok(backend->buffer_create(s->device, sizeof s->b_values, &s->b));
    assert_ok(backend->buffer_create(s->device, M * N * sizeof(float), &s->c));
    bpt_op_call_t call = {.op = BPT_OP_MATMUL, .in = {matrix(s->a, M, K), matrix(s->b, K, N)}, .out = {matrix(s->c, M, N)}};
    assert_ok(backend->op(s->device, &call, NULL, &scratch_bytes));
    assert_ok(backend->buffer_create(s->device, scratch_bytes, &s->scratch));
    if (scratch_bytes) call.scratch = matrix(s->scratch, 1, (int64_t)(scratch_bytes / sizeof(float)));
    assert_ok(backend->list_create(s->device, &s->list));
    assert_ok(backend->op(s->device, &call, s->list, NULL));
    assert_ok(backend->list_seal(s->list));
}

static void close_side(side_t *s) {
    const bpt_backend_t *backend = s->device->backend;
    backend->list_destroy(s->device, s->list);
    backend->buffer_destroy(s->device, s->a);
    backend->buffer_destroy(s->device, s->b);
    backend->buffer_destroy(s->device, s->c);
    backend->buffer_destroy(s->device, s->scratch);
    backend->close(s->device);
    s->device = NULL;
}

static void start(side_t *s, int seed) {
    const bpt_backend_t *backend = s->device->backend;
    for (int i = 0; i < M * K; ++i) s->a_values[i] = (float)((i * 7 + seed) % 11 - 5);
    for (int i = 0; i < K * N; ++i) s->b_values[i] = (float)((i * 5 + 3 * seed) % 13 - 6);
    assert_ok(backend->write(s->device, s->a, 0, s->a_values, sizeof s->a_values));
    assert_ok(backend->write(s->device, s->b, 0, s->b_values, sizeof s->b_values));
    assert_ok(backend->submit(s->device, s->list, &s->ticket));
}

static void check(side_t *s) {
    float c[M * N];
    assert_ok(s->device->backend->wait(s->device, s->ticket, PATIENCE_NS));
    assert_ok(s->device->backend->read(s->device, s->c, 0, c, sizeof c));
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += s->a_values[i * K + k] * s->b_values[k * N + j];
            if (c[i * N + j] != sum) fail_msg("%s: [%d,%d] is %g, not %g", s->device->info.name, i, j, (double)c[i * N + j], (double)sum);
        }
}

static void run_pair(const char *first, int first_index, const char *second, int second_index) {
    static side_t sides[2];
    const size_t live = bpt_alloc_live();
    for (int closed_first = 0; closed_first < 2; ++closed_first) {
        open_side(&sides[0], first, first_index);
        open_side(&sides[1], second, second_index);
        if (!closed_first) print_message("%s: %s; %s: %s\n", first, sides[0].device->info.name, second, sides[1].device->info.name);
        for (int round = 0; round < ROUNDS; ++round) {
            start(&sides[round % 2], round);  // both at work
            start(&sides[1 - round % 2], 100 + round);
            check(&sides[0]);
            check(&sides[1]);
        }
        start(&sides[1 - closed_first], 7);
        close_side(&sides[closed_first]);  // while the other works
        check(&sides[1 - closed_first]);
        start(&sides[1 - closed_first], 8);
        check(&sides[1 - closed_first]);
        close_side(&sides[1 - closed_first]);
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void two_opencl_devices(void **state) {
    (void)state;
    bpt_device_info_t infos[8];
    int count = 0;
    if (!test_backend_usable("opencl")) skip();
    assert_ok(bpt_backend_find("opencl")->enumerate(infos, (int)BPT_COUNT(infos), &count));
    if (count < 2 || !infos[0].usable || !infos[1].usable) {
        if (getenv("BPT_REQUIRE_BACKENDS") && strstr(infos[0].driver, "Portable Computing Language"))
            fail_msg("PoCL offers one device only");
        skip();
    }
    assert_string_not_equal(infos[0].name, infos[1].name);
    run_pair("opencl", 0, "opencl", 1);
}

static void one_opencl_device_twice(void **state) {
    (void)state;
    if (!test_backend_usable("opencl")) skip();
    run_pair("opencl", 0, "opencl", 0);
}

static void one_vulkan_device_twice(void **state) {
    (void)state;
    if (!test_backend_usable("vulkan")) skip();
    run_pair("vulkan", 0, "vulkan", 0);
}

static void two_backends(void **state) {
    (void)state;
    if (!test_backend_usable("vulkan") || !test_backend_usable("opencl")) skip();
    run_pair("vulkan", 0, "opencl", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_opencl_devices),
        cmocka_unit_test(one_opencl_device_twice),
        cmocka_unit_test(one_vulkan_device_twice),
        cmocka_unit_test(two_backends),
    };
    setenv("POCL_DEVICES", "pthread basic", 0);  // before the driver is loaded
    return cmocka_run_group_tests(tests, NULL, NULL);
}
