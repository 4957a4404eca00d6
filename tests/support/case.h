// A conformance case: one call of an op with the shapes, types and values of its operands, the same on every run and machine.
// Case tables are in tests/conformance/case_<family>.c; knows no backend.
#ifndef BPT_TEST_CASE_H
#define BPT_TEST_CASE_H

#include "bpt/backend.h"
#include "bpt/graph.h"
#include "bpt/line.h"

// How the elements of an input are made. The generator is keyed by the operand's slot and element number: values are spread
// evenly, so that ties (which could hide an error, or make the order of a sum matter) do not happen in f32.
typedef enum {
    TEST_UNIFORM,       // [a, b)
    TEST_AWAY,          // as UNIFORM but at least a tenth of the range away from 0: kinks lie between the values
    TEST_SIGNS,         // as UNIFORM, but about a third of them 0
    TEST_CONSTANT,      // a
    TEST_IDS,           // u32 in [0, a); with b > 0 about one in eight names no row: BPT_NO_ROW, a or more than a
    TEST_DISTINCT_IDS,  // as IDS, but no row twice
    TEST_ROW_KEYS,      // u32 [R,2]: arbitrary node codes and sequence numbers, no two rows alike
    TEST_RNG,           // u32 [2]
    TEST_WEIGHTS,       // [0.25, 1.5), with b > 0 about a third of them 0
    TEST_PREPARED,      // zeros; the case's `prepare` fills them
} test_fill_kind_t;

typedef struct {
    test_fill_kind_t kind;
    double a, b;
} test_fill_t;

enum { TEST_EXACT = 0 };  // as `tolerance`: the same bits (any NaN equals any NaN)

typedef struct test_case test_case_t;
struct test_case {
    char name[192];
    bpt_op_call_t call;  // operands without buffers
    test_fill_t fill[BPT_MAX_INPUTS];
    unsigned changed;   // bit per input that the op changes: compared like an output
    bool shares_input;  // output 0 is stored in the place of input `shared_input`
    int shared_input;
    // Allowed error of an element x: the spacing of x's type around x, plus t * 2^-24 * largest |x| of the tensor, with
    // t = tolerance + more[output]; where all results are small because they cancel, `least` counts as the largest.
    double tolerance, more[BPT_MAX_OUTPUTS], least;
    // After the fills: operands that depend on others. in[i] is NULL where input i is absent.
    void (*prepare)(const test_case_t *c, void *const in[]);
    const bpt_op_line_t *line;  // whose values the inputs have in place of the fills; NULL: none
};

// Host copies of the operands, dense, NULL = absent.
typedef struct {
    void *in[BPT_MAX_INPUTS], *out[BPT_MAX_OUTPUTS];
} test_data_t;

void test_case_init(test_case_t *c, bpt_op_t op);
void test_case_name(test_case_t *c, const char *format, ...) BPT_PRINTF(2, 3);
void test_in(test_case_t *c, int slot, bpt_dtype_t dtype, bpt_shape_t shape, test_fill_kind_t kind, double a, double b);
void test_out(test_case_t *c, int slot, bpt_dtype_t dtype, bpt_shape_t shape);
// row_keys and rng of an op with a dropout (slots BPT_IN_ROW_KEYS and BPT_IN_RNG).
void test_random(test_case_t *c, int64_t rows);
// What a chain of steps on a tensor of this shape reads besides it: elements of type `extra` in [-range, range), keys where it drops.
void test_steps(test_case_t *c, const bpt_pointwise_attrs_t *steps, bpt_dtype_t extra, bpt_shape_t shape, double range);
// The case that a line is. It lives as long as the line. What it allows is what a sum over the longest of its sizes may be off, and of attention
// the rounding of weights as well.
void test_case_of_line(test_case_t *c, const bpt_op_line_t *line);
// The line of a case: with other values, and where it reads a table, with another one of the same size.
bpt_op_line_t test_line_of_case(const test_case_t *c);
// The tolerance of a sum of `terms` products in f32.
double test_sum_tolerance(int64_t terms);
// What is added for factors of a sum that matrix units take in the tensors' type: the weights of attention are rounded to 16 bits where the
// values have 16. For f32 nothing.
double test_factor_tolerance(bpt_dtype_t dtype);

// Attention with q, k and v in one tensor, which is in slots 0 and 1.
static inline bool test_is_packed(const bpt_op_call_t *call) {
    return (call->op == BPT_OP_ATTENTION || call->op == BPT_OP_ATTENTION_GRAD) && call->attrs.attention.packed;
}

size_t test_operand_bytes(const bpt_operand_t *operand);
double test_load(const bpt_operand_t *operand, const void *data, int64_t i);
void test_store(const bpt_operand_t *operand, void *data, int64_t i, double x);

// Allocates all operands and fills the inputs. Outputs hold NaN.
void test_data_create(const test_case_t *c, test_data_t *data);
// Only the allocation and NaN everywhere, for a call that the test fills itself.
void test_data_allocate(const bpt_op_call_t *call, test_data_t *data);
void test_data_destroy(test_data_t *data);
void test_poison(const bpt_operand_t *operand, void *data);  // NaN in every element (0xDEADBEEF for u32)

// How an operand of a gradient op belongs to one of its forward op.
typedef enum {
    TEST_END,     // ends a list
    TEST_DY,      // an input: the gradient of the loss for that output
    TEST_SAVED,   // an input: that output
    TEST_SAME,    // an input: that input (besides row keys and random numbers)
    TEST_RESULT,  // an output: the gradient of the loss for that input
} test_link_kind_t;

// A gradient op that is held against differences of its forward op (test_gradients).
typedef struct {
    bpt_op_t gradient;
    // The forward call of a case, of f32 operands and with all outputs that are linked; false: the case is not fit for differences.
    bool (*make_forward)(const test_case_t *gradient, test_case_t *forward);
    struct {
        test_link_kind_t kind;
        int gradient, forward;  // numbers of the operands
    } links[2 * BPT_MAX_INPUTS];
} test_derivative_t;

// A case table: `count` cases, made one at a time.
typedef struct {
    const char *name;
    size_t (*count)(void);
    void (*make)(size_t index, test_case_t *c);
    const test_derivative_t *derivatives;  // ends with one without make_forward. NULL: test_gradients has functions of its own, or none
} test_family_t;

#define TEST_FAMILY(name) extern const test_family_t test_##name##_cases;
#include "conformance/cases.def"

#endif
