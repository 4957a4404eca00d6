// The tables of ranges of a caller as those of an op, for all sequences (see tables.c).
#ifndef BPT_CORE_ATTENTION_TABLES_H
#define BPT_CORE_ATTENTION_TABLES_H

#include "bpt/attention.h"
#include "bpt/lists.h"

// Checks the caller's table and writes both tables of `batch` sequences, one behind the other. *out is given back by
// bpt_attention_tables_free, also after a failure.
bpt_status_t bpt_attention_tables_create(const bpt_attention_table_t *table, int64_t batch, bpt_lists_t *out) BPT_MUST_USE;
void bpt_attention_tables_free(bpt_lists_t *lists);

#endif
