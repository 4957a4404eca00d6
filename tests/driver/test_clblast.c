// Products by CLBlast through OpenCL: the same as our own kernels', the same bits however submissions are cut, timed, their scratch
// planned. Skipped where CLBlast or an OpenCL device is missing; BPT_REQUIRE_CLBLAST=1 makes that a failure.
#include <math.h>
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

static const bpt_backend_t *backend;

static bool is_there(char *why, size_t bytes) {
    bpt_device_info_t infos[8];
    int count = 0;
    backend = bpt_backend_find("opencl");
    snprintf(why, bytes, "the backend is not built in");
    if (!backend || !backend->library(why, bytes)) return false;
    if (backend->enumerate(infos, (int)BPT_COUNT(infos), &count) == BPT_OK && count && infos[0].usable) return true;
    snprintf(why, bytes, "no usable OpenCL device");
    return false;
}

static void need_clblast(void) {
    const char *required = getenv("BPT_REQUIRE_CLBLAST");
    char why[256];
    if (is_there(why, sizeof why)) return;
    if (required && !strcmp(required, "1")) fail_msg("CLBlast is required, but: %s", why);
    print_message("not tested: %s\n", why);
    skip();
}

static bpt_device_t *open_ruled(const char *products, double submit_ms) {
    const bpt_device_options_t options = {.products = products, .submit_ms = submit_ms};
    bpt_device_t *device;
    if (backend->open(0, &options, &device) != BPT_OK) fail_msg("%s", bpt_error_message());
    return device;
}

typedef struct {
    int64_t m, n, k;
    bool transpose_a, transpose_b, acc, bias, relu;
} case_t;

static bpt_operand_t place(bpt_buffer_t *buffer, size_t *used, int64_t rows, int64_t columns) {
    const bpt_operand_t o = {.buffer = buffer, .offset_bytes = *used, .dtype = BPT_F32, .shape = {2, {rows, columns}}, .present = true};
    *used += (size_t)(rows * columns) * sizeof(float);
    return o;
}

static float *random_values(size_t count) {
    float *values;
    uint32_t seed = 7;
    assert_int_equal(bpt_alloc(count, sizeof *values, &values), BPT_OK);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return values;
}

// c, which is not a number before; runs twice. The operands lie at odd multiples of four bytes.
static float *multiply(bpt_device_t *device, const case_t *t, double *seconds, size_t *scratch_bytes) {
    bpt_op_call_t call = {.op = BPT_OP_MATMUL, .attrs.matmul = {.transpose_a = t->transpose_a, .transpose_b = t->transpose_b}};
    if (t->relu) call.attrs.matmul.epilogue = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {{.code = BPT_POINTWISE_RELU}}};
    const size_t count = (size_t)(t->m * t->k + t->k * t->n + 2 * t->m * t->n + t->n + 8);
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    bpt_ticket_t ticket;
    assert_int_equal(backend->buffer_create(device, count * sizeof(float), &buffer), BPT_OK);
    float *values = random_values(count), *result;
    size_t used = sizeof(float);
    call.in[0] = t->transpose_a ? place(buffer, &used, t->k, t->m) : place(buffer, &used, t->m, t->k);
    call.in[1] = t->transpose_b ? place(buffer, &used, t->n, t->k) : place(buffer, &used, t->k, t->n);
    if (t->acc) call.in[2] = place(buffer, &used, t->m, t->n);
    if (t->bias) call.in[3] = place(buffer, &used, 1, t->n), call.in[3].shape = (bpt_shape_t){1, {t->n}};
    call.out[0] = place(buffer, &used, t->m, t->n);
    for (size_t i = call.out[0].offset_bytes / sizeof(float); i < count; ++i) values[i] = NAN;
    assert_int_equal(backend->write(device, buffer, 0, values, count * sizeof(float)), BPT_OK);
    if (backend->op(device, &call, NULL, scratch_bytes) != BPT_OK) fail_msg("%s", bpt_error_message());
    if (*scratch_bytes) assert_int_equal(backend->buffer_create(device, *scratch_bytes, &call.scratch.buffer), BPT_OK);
    assert_int_equal(backend->list_create(device, &list), BPT_OK);
    if (backend->op(device, &call, list, NULL) != BPT_OK) fail_msg("%s", bpt_error_message());
    assert_int_equal(backend->timings_enable(list, true), BPT_OK);
    assert_int_equal(backend->list_seal(list), BPT_OK);
    for (int i = 0; i < 2; ++i) {
        if (backend->submit(device, list, &ticket) != BPT_OK || backend->wait(device, ticket, UINT64_MAX) != BPT_OK)
            fail_msg("%s", bpt_error_message());
    }
    int timed = 0;
    assert_int_equal(backend->timings(list, seconds, 1, &timed), BPT_OK);
    assert_int_equal(timed, 1);
    assert_int_equal(bpt_alloc((size_t)(t->m * t->n), sizeof *result, &result), BPT_OK);
    assert_int_equal(backend->read(device, buffer, call.out[0].offset_bytes, result, (size_t)(t->m * t->n) * sizeof(float)), BPT_OK);
    backend->list_destroy(device, list);
    backend->buffer_destroy(device, call.scratch.buffer);
    backend->buffer_destroy(device, buffer);
    bpt_free(values);
    return result;
}

static void it_computes_what_our_own_kernels_do(void **state) {
    (void)state;
    need_clblast();
    static const case_t cases[] = {{3, 5, 7, false, false, false, false, false},    {33, 65, 17, true, false, true, true, true},
                                   {130, 70, 50, false, true, false, true, false},  {64, 64, 64, true, true, true, false, false},
                                   {520, 470, 500, false, true, true, true, true},  {512, 512, 512, true, false, false, false, false},
                                   {1, 600, 900, false, false, false, false, true}, {700, 1, 900, true, false, false, true, false}};
    bpt_device_t *own = open_ruled("tiles", 0), *library = open_ruled("library", 0);
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const case_t *t = &cases[i];
        double seconds;
        size_t scratch;
        float *a = multiply(own, t, &seconds, &scratch), *b = multiply(library, t, &seconds, &scratch);
        for (int64_t e = 0; e < t->m * t->n; ++e)
            if (!(fabsf(a[e] - b[e]) <= (float)(t->k + 8) * 0x1p-22f))
                fail_msg("case %zu, element %lld: %g, not %g", i, (long long)e, b[e], a[e]);
        assert_true(seconds > 0 && seconds < 100);
        bpt_free(a);
        bpt_free(b);
    }
    backend->close(own);
    backend->close(library);
}

static void the_budget_of_submissions_changes_no_bit(void **state) {
    (void)state;
    need_clblast();
    const case_t t = {600, 2048, 2048, false, true, false, false, false};  // two pieces
    double seconds, cut_seconds;
    size_t scratch = 0, cut_scratch = 0;
    bpt_device_t *device = open_ruled("library", 0);
    float *whole = multiply(device, &t, &seconds, &scratch);
    backend->close(device);
    device = open_ruled("library", 1);
    float *cut = multiply(device, &t, &cut_seconds, &cut_scratch);
    backend->close(device);
    assert_memory_equal(whole, cut, (size_t)(t.m * t.n) * sizeof(float));
    assert_true(scratch > 0 && scratch == cut_scratch);
    assert_true(seconds > 0 && cut_seconds > 0);
    bpt_free(whole);
    bpt_free(cut);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_computes_what_our_own_kernels_do),
        cmocka_unit_test(the_budget_of_submissions_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
