// What the line of an op has beside its operands (bpt/line.h): each op's own table says which attributes it has and what its inputs hold.
// Both stand in core/ops/<family>.c, with what else core knows of the op; the operands' names and shapes are those of its `check`.
#ifndef BPT_LINES_FORM_H
#define BPT_LINES_FORM_H

#include "bpt/backend.h"

typedef enum {
    BPT_ATTRIBUTE_FLAG,
    BPT_ATTRIBUTE_INT32,
    BPT_ATTRIBUTE_INT64,
    BPT_ATTRIBUTE_FLOAT,
    BPT_ATTRIBUTE_CHOICE,
    BPT_ATTRIBUTE_STEPS
} bpt_attribute_kind_t;

// A key of a line, and the field that it sets. A table of them ends with one without a key.
typedef struct bpt_attribute {
    const char *key;
    bpt_attribute_kind_t kind;
    size_t offset;
    double least, most;                         // of numbers
    bool below_most;                            // `most` itself is not possible
    bool required;                              // a line must say it
    double standard;                            // what it is where a line does not say it
    double (*standard_of)(const void *fields);  // the same where it follows from attributes that stand before it in the table
    const char *const *choices;                 // NULL after the last; "": a value that lines cannot have
    bool (*when)(const void *fields);           // whether it has a meaning beside the other attributes; NULL: always
} bpt_attribute_t;

#define BPT_FLAG(k, type, field) .key = k, .kind = BPT_ATTRIBUTE_FLAG, .offset = offsetof(type, field)
#define BPT_INT32(k, type, field, from, to) \
    .key = k, .kind = BPT_ATTRIBUTE_INT32, .offset = offsetof(type, field), .least = from, .most = to
#define BPT_INT64(k, type, field, from, to) \
    .key = k, .kind = BPT_ATTRIBUTE_INT64, .offset = offsetof(type, field), .least = from, .most = to
#define BPT_FLOAT(k, type, field, from, to) \
    .key = k, .kind = BPT_ATTRIBUTE_FLOAT, .offset = offsetof(type, field), .least = from, .most = to
#define BPT_CHOICE(k, type, field, names) .key = k, .kind = BPT_ATTRIBUTE_CHOICE, .offset = offsetof(type, field), .choices = names
#define BPT_STEPS(k, type, field) .key = k, .kind = BPT_ATTRIBUTE_STEPS, .offset = offsetof(type, field)

enum { BPT_LINE_MOST_ROWS = 1 << 30 };  // of sizes that are attributes

// What an input holds, so that the op does the work that it does in a model and its results are numbers. Inputs that a table does not name
// hold floats in [-1, 1), or any words.
typedef enum {
    BPT_HOLDS_ONES,
    BPT_HOLDS_POSITIVE,      // floats in [0.5, 1.5)
    BPT_HOLDS_LOG,           // the logarithm of `of`
    BPT_HOLDS_IDS,           // numbers below `of`, by the line's rule for indices
    BPT_HOLDS_DISTINCT_IDS,  // the same, none twice; those that are left over name no row
    BPT_HOLDS_LENGTHS,       // `of`
    BPT_HOLDS_RANGES,        // [B,2]: `of` rows, cut evenly
    BPT_HOLDS_PLACES,        // [B,d]: a row of the range that has the same number
    BPT_HOLDS_NODE_KEYS,     // [R,2]: codes of the nodes of an attention graph, numbers of its sequences
    BPT_HOLDS_NODE_CODES,    // [K]: codes of leaves
    BPT_HOLDS_TABLE,         // what each query of attention reads
    BPT_HOLDS_BACK,          // who reads each key
    BPT_HOLDS_LINKS,         // of trees (ops.h, tree_values)
    BPT_HOLDS_PACKED,        // numbers of 8 bits, rows of `of` units (q8.h)
    BPT_HOLDS_TREES,
} bpt_holds_t;

// A table of them ends with one that has no `name`.
typedef struct bpt_content {
    const char *name;  // of the operand
    bpt_holds_t holds;
    int64_t (*of)(const bpt_op_call_t *call);
} bpt_content_t;

#endif
