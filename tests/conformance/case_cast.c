// Conversion between all types with all kinds of values, constants and copies.
#include <math.h>

#include "support/case.h"

static const int64_t counts[] = {0, 1, 2, 31, 33, 127, 129, 1025, 65537};
static const bpt_dtype_t floats[] = {BPT_F32, BPT_BF16, BPT_F16}, all[] = {BPT_F32, BPT_BF16, BPT_F16, BPT_U32};

enum { N_COUNTS = BPT_COUNT(counts), N_CASTS = 9 * N_COUNTS, N_FILLS = 3 * N_COUNTS, N_COPIES = 4 * N_COUNTS };

static size_t count(void) { return N_CASTS + N_FILLS + N_COPIES; }

// Every eighth value is one where rounding is delicate.
static void put_special_values(const test_case_t *c, void *const in[]) {
    static const double special[] = {
        0,          -0.0,       INFINITY,       -INFINITY,     NAN,           65504,        65519.996,    65520,
        -65536,     3.4e38,     1.17549435e-38, 1e-40,         0x1p-24,       0x1.8p-24,    0x1p-25,      0x1.000002p-25,
        1.00390625, 1.01171875, 1.0048828125,   1.00048828125, 1.00146484375, 6.1035156e-5, 6.0975552e-5, -1e-45};
    const int64_t n = bpt_shape_count(&c->call.in[0].shape);
    for (int64_t i = 0; i < n; i += 8) test_store(&c->call.in[0], in[0], i, special[i / 8 % (int64_t)BPT_COUNT(special)]);
}

static void make(size_t index, test_case_t *c) {
    const bool cast = index < N_CASTS, fill = !cast && index < N_CASTS + N_FILLS;
    const size_t i = cast ? index : fill ? index - N_CASTS : index - N_CASTS - N_FILLS;
    const bpt_shape_t shape = bpt_shape1(counts[i % N_COUNTS]);
    const size_t type = i / N_COUNTS;
    test_case_init(c, cast ? BPT_OP_CAST : fill ? BPT_OP_FILL : BPT_OP_COPY);
    const bpt_dtype_t from = cast ? floats[type / 3] : all[type], to = cast ? floats[type % 3] : from;
    test_case_name(c, "%lld/%s%s%s", (long long)shape.dim[0], bpt_dtype_name(from), cast ? "_to_" : "", cast ? bpt_dtype_name(to) : "");
    test_out(c, 0, to, shape);
    c->call.attrs.fill.value = fill ? -1.3f : 0;
    if (fill) return;
    test_in(c, 0, from, shape, TEST_UNIFORM, -300, 300);
    if (from != BPT_U32) c->prepare = put_special_values;
}

const test_family_t test_cast_cases = {"cast", count, make};
