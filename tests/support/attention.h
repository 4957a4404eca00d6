// Rows of attention's tensors, and checks of attention that need no reference: a result depends on its own query, its keys
// and nothing else.
#ifndef BPT_TEST_ATTENTION_H
#define BPT_TEST_ATTENTION_H

#include "bpt/lists.h"
#include "support/execute.h"

typedef struct {
    int64_t all, keys, stored_queries, out;
} test_attention_rows_t;

test_attention_rows_t test_attention_rows(const bpt_attention_attrs_t *t);
// Row of a node in a tensor of all rows.
int64_t test_key_row(const bpt_attention_attrs_t *t, int64_t sequence, int64_t node);
// Row of a node in the output (and in the query tensor where it is stored there), -1 when the call does not ask for it.
int64_t test_query_row(const bpt_attention_attrs_t *t, const uint32_t *lengths, int64_t sequence, int64_t node);

// The forward case of a gradient case: the same inputs, outputs out and lse.
void test_attention_forward(const test_case_t *gradient, test_case_t *forward);

// Changes everything that a row of the result may not depend on (other queries, keys that it does not read, other
// sequences) and wants the same bits. `result`: of the unchanged case on this device.
void test_attention_reads_only_its_keys(bpt_device_t *device, const test_case_t *c, const test_data_t *result);
// The same of a table, forward and backward: neither a query's row of the results nor a key's depends on rows that it has no edge with.
void test_attention_table_rows_are_independent(bpt_device_t *device, const test_case_t *c, const test_data_t *result);
// Changes rows of nodes that do not exist and all other sequences, and wants the same bits for the sequence: also of gradients.
void test_attention_ignores_padding_and_mates(bpt_device_t *device, const test_case_t *c, const test_data_t *result);
// Computes each sequence alone in a bucket of its own length: the same result within the tolerance, on ref the same bits.
void test_attention_ignores_the_bucket(bpt_device_t *device, const test_case_t *c, const test_data_t *result);

// Whether `back` is the transpose of `table`, repetitions counted; the same as an assertion.
bool test_lists_match(const bpt_lists_t *lists);
void test_lists_are_transposed(const bpt_lists_t *lists);

#endif
