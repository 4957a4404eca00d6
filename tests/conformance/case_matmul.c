// Products: shapes around block sizes, all transpositions, types, addends, biases and epilogues.
#include <stdlib.h>
#include <string.h>

#include "bpt/q8.h"
#include "support/case.h"

static const int64_t sizes[][3] = {
    // M, K, N
    {1, 1, 1},
    {2, 31, 33},
    {31, 2, 129},
    {33, 127, 1},
    {127, 129, 31},
    {129, 33, 127},
    {1025, 31, 2},
    {2, 1025, 33},
    {31, 33, 1025},
    {0, 5, 7},
    {5, 0, 7},
    {7, 5, 0},
    {65537, 3, 2},
    {40, 8200, 33},  // an inner dimension long enough to be
                     // summed in parts
    {700, 40, 530},
    {1, 300, 2100},
    {1030, 20, 2100},  // more than one tile each way
    {36, 2060, 44},
    {33, 6, 36},    // more than one block of the depth; blocks that are not full
    {3, 0, 50},     // no product: only what happens to it
    {130, 65, 96},  // for the epilogues and types
};

// Products of two f16 matrices, which some devices have units for: whole vectors and fragments, whole vectors only, neither.
static const int64_t half_sizes[][3] = {{64, 96, 128}, {136, 72, 152}, {75, 50, 133}};

// Products of f32 matrices whose rows devices in software read where they are: more than one block of the depth, of rows.
static const int64_t f32_sizes[][3] = {{45, 2064, 40}, {4130, 24, 68}, {50, 2072, 48}};

// Few tiles and a long depth, which GPUs split into parts; the last part is not full.
static const int64_t deep_sizes[][3] = {{24, 700, 40}, {70, 1000, 65}, {50, 2500, 36}};

static const struct {
    const char *name;
    bpt_dtype_t a, b, out;
} types[] = {
    {"f32", BPT_F32, BPT_F32, BPT_F32},           {"bf16", BPT_BF16, BPT_BF16, BPT_BF16},    {"bf16_to_f32", BPT_BF16, BPT_BF16, BPT_F32},
    {"f16", BPT_F16, BPT_F16, BPT_F16},           {"f16_to_f32", BPT_F16, BPT_F16, BPT_F32}, {"f32_to_bf16", BPT_F32, BPT_F32, BPT_BF16},
    {"bf16_and_f32", BPT_BF16, BPT_F32, BPT_F32},
};

// What happens to the product; the extras of the steps are in slots 4 and 5.
static const struct {
    const char *name;
    bool acc, shared, bias;
    int n_steps;
    bpt_pointwise_step_t step[3];
} epilogues[] = {
    {"plain", false, false, false, 0, {{0}}},
    {"bias", false, false, true, 0, {{0}}},
    {"acc", true, false, false, 0, {{0}}},
    {"acc_in_place", true, true, false, 0, {{0}}},
    {"acc_bias", true, false, true, 0, {{0}}},
    {"bias_relu", false, false, true, 1, {{BPT_POINTWISE_RELU}}},
    {"bias_relu_dropout", false, false, true, 2, {{BPT_POINTWISE_RELU}, {BPT_POINTWISE_DROPOUT, .c = 0.25f, .uid = 4}}},
    {"mask", false, false, false, 1, {{BPT_POINTWISE_MASK, 4, 1.25f}}},
    {"bias_relu_mask", false, false, true, 2, {{BPT_POINTWISE_RELU}, {BPT_POINTWISE_MASK, 4, 1}}},
    {"bias_dropout_add", false, false, true, 2, {{BPT_POINTWISE_DROPOUT, .c = 0.1f, .uid = 5}, {BPT_POINTWISE_ADD, 5}}},
    {"scale_mul_add_row", false, false, false, 3, {{BPT_POINTWISE_SCALE, .c = 0.5f}, {BPT_POINTWISE_MUL, 4}, {BPT_POINTWISE_ADD_ROW, 5}}},
};

enum { N_SIZES = BPT_COUNT(sizes) - 1, N_TYPES = BPT_COUNT(types), N_EPILOGUES = BPT_COUNT(epilogues) };
enum { N_PLAIN = 4 * N_SIZES + N_EPILOGUES * N_TYPES, N_HALF = 4 * 2 * BPT_COUNT(half_sizes), F16 = 3 };
enum { N_F32 = 4 * BPT_COUNT(f32_sizes), FIRST_DEEP = N_PLAIN + N_HALF + N_F32 };

// Deep products, most of them with a transposed. Names of their own, so that the covering cases have one of each.
static const struct {
    const char *name;
    int epilogue, type, transpose;
} deep[] = {
    {"deep_plain", 0, 0, 1},          {"deep_acc_in_place", 3, 0, 1},     {"deep_plain", 0, 0, 2},
    {"deep_bf16", 0, 2, 1},           {"deep_f16_acc_in_place", 3, 4, 1}, {"deep_f16", 0, 4, 2},
    {"deep_not_split_acc", 2, 0, 1},  {"deep_not_split_bias", 1, 0, 1},   {"deep_not_split_mask", 7, 0, 1},
    {"deep_not_split_bf16", 0, 1, 1},
};

// With B as numbers of 8 bits: rows below and above what a kernel takes at once, depths that end within a block and within a unit.
static const struct {
    int64_t m, k, n;
    bpt_dtype_t a;
    int epilogue;
} packed[] = {
    {1, 512, 70, BPT_F32, 0}, {1, 31, 5, BPT_F32, 1},      {8, 100, 37, BPT_BF16, 4}, {16, 64, 1, BPT_F16, 2},
    {17, 96, 33, BPT_F32, 3}, {70, 1100, 30, BPT_BF16, 0}, {3, 1, 9, BPT_F32, 4},
};

// Every size in every transposition (types and epilogues in turn), then every epilogue in every type, then the sizes for f16 in every
// transposition with results in f16 and in f32, then those for f32, then the deep ones, then those of 8 bits.
enum { FIRST_PACKED = FIRST_DEEP + BPT_COUNT(deep_sizes) * BPT_COUNT(deep) };
static size_t count(void) { return FIRST_PACKED + BPT_COUNT(packed); }

static void add_steps(test_case_t *c, const bpt_pointwise_step_t *steps, int n_steps, bpt_dtype_t extra, bpt_shape_t shape) {
    bpt_pointwise_attrs_t *epilogue = &c->call.attrs.matmul.epilogue;
    epilogue->n_steps = n_steps;
    memcpy(epilogue->step, steps, (size_t)n_steps * sizeof *steps);
    test_steps(c, epilogue, extra, shape, 1);
}

// c = steps(op(a) op(b) + acc + bias) of these sizes; transpose: bit 0 of a, bit 1 of b.
static void set_product(test_case_t *c, const int64_t *size, int transpose, size_t epilogue, size_t type, const char *name) {
    const int64_t m = size[0], k = size[1], n = size[2];
    const bpt_dtype_t out = types[type].out;
    test_case_init(c, BPT_OP_MATMUL);
    test_case_name(c, "%lldx%lldx%lld/%c%c/%s/%s", (long long)m, (long long)k, (long long)n, transpose & 1 ? 't' : 'n',
                   transpose & 2 ? 't' : 'n', name, types[type].name);
    c->tolerance = test_sum_tolerance(k);
    c->call.attrs.matmul.transpose_a = transpose & 1;
    c->call.attrs.matmul.transpose_b = transpose & 2;
    test_in(c, 0, types[type].a, transpose & 1 ? bpt_shape2(k, m) : bpt_shape2(m, k), TEST_UNIFORM, -1, 1);
    test_in(c, 1, types[type].b, transpose & 2 ? bpt_shape2(n, k) : bpt_shape2(k, n), TEST_UNIFORM, -1, 1);
    if (epilogues[epilogue].acc) test_in(c, 2, BPT_F32, bpt_shape2(m, n), TEST_UNIFORM, -3, 3);
    if (epilogues[epilogue].bias) test_in(c, 3, BPT_F32, bpt_shape1(n), TEST_UNIFORM, -1, 1);
    c->shares_input = epilogues[epilogue].shared;
    c->shared_input = 2;
    test_out(c, 0, out, bpt_shape2(m, n));
    add_steps(c, epilogues[epilogue].step, epilogues[epilogue].n_steps, out, bpt_shape2(m, n));
}

static void make_deep(size_t index, test_case_t *c) {
    const size_t kind = index % BPT_COUNT(deep);
    set_product(c, deep_sizes[index / BPT_COUNT(deep)], deep[kind].transpose, (size_t)deep[kind].epilogue, (size_t)deep[kind].type,
                deep[kind].name);
}

static void fill_packed(const test_case_t *c, void *const in[]) {
    const int64_t rows = bpt_shape_rows(&c->call.in[1].shape), columns = bpt_shape_columns(&c->call.in[0].shape);
    float x[2048];
    int8_t bytes[2048];
    uint16_t scales[2048 / BPT_Q8_BLOCK];
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < columns; ++i) x[i] = (float)((row * 131 + i * 71) % 199 - 99) / 100;
        if (!bpt_q8_quantise(x, columns, bytes, scales)) abort();
        bpt_q8_pack(bytes, scales, columns, (uint32_t *)in[1] + row * bpt_q8_words(columns));
    }
}

static void make_packed(size_t index, test_case_t *c) {
    const int64_t size[3] = {packed[index].m, packed[index].k, packed[index].n};
    set_product(c, size, 2, (size_t)packed[index].epilogue, 0, "packed");
    c->call.attrs.matmul.packed_b = true;
    test_in(c, 0, packed[index].a, bpt_shape2(size[0], size[1]), TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_U32, bpt_shape2(size[2], bpt_q8_words(size[1])), TEST_PREPARED, 0, 0);
    c->prepare = fill_packed;
}

static void make(size_t index, test_case_t *c) {
    if (index >= FIRST_PACKED) {
        make_packed(index - FIRST_PACKED, c);
        return;
    }
    if (index >= FIRST_DEEP) {
        make_deep(index - FIRST_DEEP, c);
        return;
    }
    const bool by_size = index < 4 * N_SIZES, single = index >= N_PLAIN + N_HALF, half = !single && index >= N_PLAIN;
    const size_t rest = index - (by_size ? 0 : single ? N_PLAIN + N_HALF : half ? N_PLAIN : 4 * N_SIZES);
    const int64_t *size = single ? f32_sizes[rest / 4] : half ? half_sizes[rest / 8] : sizes[by_size ? index / 4 : N_SIZES];
    size_t type = single ? 0 : half ? F16 + rest / 4 % 2 : by_size ? (index * 3 + index / 4) % N_TYPES : rest % N_TYPES;
    const size_t turn = single ? rest * 3 + rest / 4 + 1 : half ? rest * 3 : index * 7 + index / 8;
    const size_t epilogue = single || half || by_size ? turn % N_EPILOGUES : rest / N_TYPES;
    const int transpose = by_size ? (int)(index % 4) : (int)(rest % 4);
    if (epilogues[epilogue].shared && types[type].out != BPT_F32) type = types[type].a == BPT_BF16 ? 2 : types[type].a == BPT_F16 ? 4 : 0;
    set_product(c, size, transpose, epilogue, type, epilogues[epilogue].name);
}

const test_family_t test_matmul_cases = {"matmul", count, make};
