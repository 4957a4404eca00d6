// Values and host copies of the operands of a case (see case.h).
#include "support/case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/rng.h"

void test_case_init(test_case_t *c, bpt_op_t op) {
    memset(c, 0, sizeof *c);
    c->call.op = op;
    c->tolerance = TEST_EXACT;
}

void test_case_name(test_case_t *c, const char *format, ...) {
    int used = snprintf(c->name, sizeof c->name, "%s/", bpt_op_name(c->call.op));
    va_list args;
    va_start(args, format);
    vsnprintf(c->name + used, sizeof c->name - (size_t)used, format, args);
    va_end(args);
}

void test_in(test_case_t *c, int slot, bpt_dtype_t dtype, bpt_shape_t shape, test_fill_kind_t kind, double a, double b) {
    c->call.in[slot] = (bpt_operand_t){.dtype = dtype, .shape = shape, .present = true};
    c->fill[slot] = (test_fill_t){kind, a, b};
}

void test_out(test_case_t *c, int slot, bpt_dtype_t dtype, bpt_shape_t shape) {
    c->call.out[slot] = (bpt_operand_t){.dtype = dtype, .shape = shape, .present = true};
}

void test_random(test_case_t *c, int64_t rows) {
    test_in(c, BPT_IN_ROW_KEYS, BPT_U32, bpt_shape2(rows, 2), TEST_ROW_KEYS, 0, 0);
    test_in(c, BPT_IN_RNG, BPT_U32, bpt_shape1(2), TEST_RNG, 0, 0);
}

void test_steps(test_case_t *c, const bpt_pointwise_attrs_t *steps, bpt_dtype_t extra, bpt_shape_t shape, double range) {
    for (int i = 0; i < steps->n_steps; ++i) {
        const bpt_pointwise_step_t *step = &steps->step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(step->code);
        if (form->constant == BPT_CONSTANT_RATE && step->c > 0) test_random(c, bpt_shape_rows(&shape));
        switch (form->operand) {
        case BPT_OPERAND_NONE: break;
        case BPT_OPERAND_ELEMENTS: test_in(c, step->arg, extra, shape, TEST_SIGNS, -range, range); break;
        case BPT_OPERAND_ROW: test_in(c, step->arg, extra, bpt_shape1(bpt_shape_columns(&shape)), TEST_UNIFORM, -range, range); break;
        case BPT_OPERAND_SCALAR: test_in(c, step->arg, BPT_F32, bpt_shape1(1), TEST_UNIFORM, -range, range); break;
        }
    }
}

static int64_t longest_size(const bpt_operand_t *operands, int count) {
    int64_t longest = 1;
    for (int i = 0; i < count; ++i)
        for (int j = 0; operands[i].present && j < operands[i].shape.rank; ++j)
            if (operands[i].shape.dim[j] > longest) longest = operands[i].shape.dim[j];
    return longest;
}

void test_case_of_line(test_case_t *c, const bpt_op_line_t *line) {
    bpt_strbuf_t text = {.data = NULL};
    test_case_init(c, line->call.op);
    c->call = line->call;
    c->line = line;
    c->changed = bpt_line_changes(line);
    c->shares_input = line->in_place >= 0;
    c->shared_input = line->in_place;
    c->tolerance = 64 + test_sum_tolerance(longest_size(c->call.in, BPT_MAX_INPUTS));
    c->least = 1;
    if (c->call.op == BPT_OP_ATTENTION || c->call.op == BPT_OP_ATTENTION_GRAD)
        for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) c->more[i] = test_factor_tolerance(c->call.in[0].dtype);
    if (bpt_line_print(line, &text) == BPT_OK) snprintf(c->name, sizeof c->name, "%s", text.data);
    bpt_strbuf_free(&text);
}

bpt_op_line_t test_line_of_case(const test_case_t *c) {
    if (c->line) return *c->line;
    bpt_op_line_t line = bpt_line_of(&c->call);
    if (c->shares_input) line.in_place = c->shared_input;
    return line;
}

double test_sum_tolerance(int64_t terms) { return 8 + 8 * sqrt((double)terms); }

double test_factor_tolerance(bpt_dtype_t dtype) { return dtype == BPT_BF16 ? 0x1p16 : dtype == BPT_F16 ? 0x1p13 : 0; }

size_t test_operand_bytes(const bpt_operand_t *operand) {
    return operand->present ? (size_t)bpt_shape_count(&operand->shape) * bpt_dtype_size(operand->dtype) : 0;
}

double test_load(const bpt_operand_t *operand, const void *data, int64_t i) {
    switch (operand->dtype) {
    case BPT_F32: return (double)((const float *)data)[i];
    case BPT_BF16: return (double)bpt_from_bf16(((const uint16_t *)data)[i]);
    case BPT_F16: return (double)bpt_from_f16(((const uint16_t *)data)[i]);
    case BPT_U32: break;
    }
    return ((const uint32_t *)data)[i];
}

void test_store(const bpt_operand_t *operand, void *data, int64_t i, double x) {
    switch (operand->dtype) {
    case BPT_F32: ((float *)data)[i] = (float)x; break;
    case BPT_BF16: ((uint16_t *)data)[i] = bpt_to_bf16((float)x); break;
    case BPT_F16: ((uint16_t *)data)[i] = bpt_to_f16((float)x); break;
    case BPT_U32: ((uint32_t *)data)[i] = (uint32_t)x; break;
    }
}

static uint32_t random_word(int slot, int64_t i) {
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)slot, 0}, key[2] = {0x6270742du, 0x74657374u};
    uint32_t out[4];
    bpt_philox(counter, key, out);
    return out[0];
}

static double random_unit(int slot, int64_t i) { return ((double)random_word(slot, i) + 0.5) * 0x1p-32; }

static void fill_float(const bpt_operand_t *operand, const test_fill_t *fill, int slot, void *data) {
    const int64_t count = bpt_shape_count(&operand->shape);
    for (int64_t i = 0; i < count; ++i) {
        double x = fill->a + (fill->b - fill->a) * random_unit(slot, i);
        if (fill->kind == TEST_AWAY) x += (x < 0 ? -0.1 : 0.1) * (fill->b - fill->a);
        if (fill->kind == TEST_CONSTANT) x = fill->a;
        if (fill->kind == TEST_SIGNS && random_word(slot + 100, i) % 3 == 0) x = 0;
        if (fill->kind == TEST_WEIGHTS) x = fill->b > 0 && random_word(slot + 100, i) % 3 == 0 ? 0 : 0.25 + 1.25 * random_unit(slot, i);
        test_store(operand, data, i, fill->kind == TEST_PREPARED ? 0 : x);
    }
}

// An id that names no row of a table of `rows` rows: mostly BPT_NO_ROW, else the first one behind the table or one far behind it.
static uint32_t no_row(uint32_t rows, uint32_t random) {
    return random % 4 == 0 ? rows : random % 4 == 1 ? rows + (random & 0x7FFFFFFFu) : BPT_NO_ROW;
}

static void fill_u32(const bpt_operand_t *operand, const test_fill_t *fill, int slot, uint32_t *data) {
    const int64_t count = bpt_shape_count(&operand->shape);
    const uint32_t range = fill->a > 0 ? (uint32_t)fill->a : 0;
    for (int64_t i = 0; i < count; ++i) {
        const bool hole = fill->b > 0 && random_word(slot + 100, i) % 8 == 0;
        switch (fill->kind) {
        case TEST_IDS: data[i] = hole ? no_row(range, random_word(slot + 200, i)) : random_word(slot, i) % range; break;
        // 7919 is a prime: its multiples modulo a range that it does not divide are all different
        case TEST_DISTINCT_IDS: data[i] = hole ? no_row(range, random_word(slot + 200, i)) : (uint32_t)((uint64_t)i * 7919 % range); break;
        case TEST_ROW_KEYS: data[i] = i & 1 ? (uint32_t)(i / 2) / 5 + 3 : (uint32_t)(i / 2) % 5 << 26 | (uint32_t)(i / 2); break;
        case TEST_CONSTANT: data[i] = range; break;
        case TEST_PREPARED: data[i] = 0; break;
        default: data[i] = random_word(slot, i);
        }
    }
}

void test_poison(const bpt_operand_t *operand, void *data) {
    const int64_t count = bpt_shape_count(&operand->shape);
    for (int64_t i = 0; i < count; ++i) switch (operand->dtype) {
        case BPT_F32: ((uint32_t *)data)[i] = 0x7FC0BEEFu; break;
        case BPT_BF16: ((uint16_t *)data)[i] = 0x7FC1u; break;
        case BPT_F16: ((uint16_t *)data)[i] = 0x7E01u; break;
        case BPT_U32: ((uint32_t *)data)[i] = 0xDEADBEEFu; break;
        }
}

static void *allocate(const bpt_operand_t *operand) {
    if (!operand->present) return NULL;
    void *data = malloc(test_operand_bytes(operand) + 1);
    if (!data) abort();
    test_poison(operand, data);
    return data;
}

void test_data_allocate(const bpt_op_call_t *call, test_data_t *data) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) data->in[i] = allocate(&call->in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) data->out[i] = allocate(&call->out[i]);
}

void test_data_create(const test_case_t *c, test_data_t *data) {
    test_data_allocate(&c->call, data);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        const bpt_operand_t *operand = &c->call.in[i];
        if (!operand->present) continue;
        if (c->line) {
            if (bpt_line_fill(c->line, i, data->in[i]) != BPT_OK) abort();
        } else if (operand->dtype == BPT_U32)
            fill_u32(operand, &c->fill[i], i, data->in[i]);
        else
            fill_float(operand, &c->fill[i], i, data->in[i]);
    }
    if (test_is_packed(&c->call)) memcpy(data->in[1], data->in[0], test_operand_bytes(&c->call.in[0]));
    if (c->prepare) c->prepare(c, data->in);
}

void test_data_destroy(test_data_t *data) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) free(data->in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) free(data->out[i]);
    memset(data, 0, sizeof *data);
}
