// Operands and attributes of a call against the contract in bpt/ops.h: presence, element types, shapes. Each op says what it expects in
// `check` of its bpt_op_info_t; a mismatch is a bug of the caller (BPT_ERR_INTERNAL). The same for every backend.
#ifndef BPT_OPS_CONTRACT_H
#define BPT_OPS_CONTRACT_H

#include "bpt/backend.h"

// Element types that an operand may have.
typedef enum { ANY_FLOAT, ONLY_F32, ONLY_U32, ANY_TYPE } bpt_dtype_class_t;
typedef enum { REQUIRED, OPTIONAL } bpt_presence_t;

// As `rows`, `columns`: whatever the operand has. Such an operand says a size of the call; all others follow from sizes and attributes.
enum { ANY_ROWS = -1, ANY_COLUMNS = -1 };

// What the contract says of one operand.
typedef struct {
    bool output;
    int slot;
    const char *name;  // of its own in its op, but for inputs that are one tensor
    bpt_dtype_class_t class;
    bpt_presence_t presence;
    int64_t rows, columns;
} bpt_operand_form_t;

typedef struct bpt_checker {
    const bpt_op_call_t *call;
    unsigned seen_in, seen_out;  // bit per slot that the op knows
    // Not NULL: is told the form of each operand that this call may have, in place of all checks. Forms depend on the attributes, on which
    // operands are there, and on those that say sizes (line.c makes a call by this).
    bpt_status_t (*visit)(void *user, const bpt_operand_form_t *form);
    void *user;
} bpt_checker_t;

static inline int64_t operand_rows(const bpt_operand_t *operand) { return bpt_shape_rows(&operand->shape); }
static inline int64_t operand_columns(const bpt_operand_t *operand) { return bpt_shape_columns(&operand->shape); }

bool bpt_dtype_fits(bpt_dtype_t dtype, bpt_dtype_class_t class);
const char *bpt_dtype_class_name(bpt_dtype_class_t class);  // "f32, bf16 or f16"

// The operand in a slot, seen as [rows, columns]; a vector or scalar is given as rows = 1, and any rank with that many elements fits.
bpt_status_t bpt_expect_input(bpt_checker_t *c, int slot, const char *name, bpt_dtype_class_t class, bpt_presence_t presence, int64_t rows,
                              int64_t columns) BPT_MUST_USE;
bpt_status_t bpt_expect_output(bpt_checker_t *c, int slot, const char *name, bpt_dtype_class_t class, bpt_presence_t presence, int64_t rows,
                               int64_t columns) BPT_MUST_USE;
// An attribute, or several that go together; `sentence` says what is wrong.
bpt_status_t bpt_expect(const bpt_checker_t *c, bool fits, const char *sentence) BPT_MUST_USE;
// Row keys and random numbers of a dropout with rate p.
bpt_status_t bpt_expect_random(bpt_checker_t *c, int keys_slot, int rng_slot, float p, int64_t rows) BPT_MUST_USE;
// Steps of a pointwise chain whose extras may be in the slots first_extra..5.
bpt_status_t bpt_expect_steps(bpt_checker_t *c, const bpt_pointwise_attrs_t *steps, int first_extra, int64_t rows,
                              int64_t columns) BPT_MUST_USE;

#endif
