// The tables of ranges of a caller as those of an op, for all sequences: checked, moved behind each other, and transposed.
#include "core/attention/tables.h"

#include <inttypes.h>

#include "bpt/alloc.h"

enum { WORDS = 4 };

static bpt_status_t check_sizes(const bpt_attention_table_t *t, int64_t batch) {
    if (t->queries < 1 || t->keys < 1 || t->slots < 1)
        return bpt_fail(BPT_ERR_USAGE, "a table has at least one query, key and slot, not %" PRId64 ", %" PRId64 " and %" PRId64,
                        t->queries, t->keys, t->slots);
    if (t->tables != 1 && t->tables != batch)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " tables for %" PRId64 " sequences; give one, or one for each", t->tables, batch);
    if (!t->ranges) return bpt_fail(BPT_ERR_USAGE, "the ranges of the table are a null pointer");
    if (t->queries > INT32_MAX / batch || t->keys > INT32_MAX / batch)
        return bpt_fail(BPT_ERR_USAGE, "a table for %" PRId64 " sequences has more than 2^31 rows", batch);
    return BPT_OK;
}

static bpt_status_t check_range(const bpt_attention_table_t *t, const uint32_t *range, int64_t query) {
    const int64_t begin = range[0], end = range[1], keys = end - begin;
    if (begin > end || end > t->keys)
        return bpt_fail(BPT_ERR_USAGE, "query %" PRId64 " reads keys %" PRId64 " to %" PRId64 ", and there are %" PRId64, query, begin, end,
                        t->keys);
    if (!keys || range[2] == BPT_NO_ROW) return BPT_OK;
    const int64_t first = range[2], last = first + (keys - 1) * (int32_t)range[3];
    if (first < t->rel_rows && last >= 0 && last < t->rel_rows) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "query %" PRId64 " uses rows %" PRId64 " to %" PRId64 " of relative positions, and there are %" PRId64,
                    query, first, last, t->rel_rows);
}

// With relative positions each key of a query is in one range.
static bpt_status_t check_apart(const bpt_attention_table_t *t, const uint32_t *ranges, int64_t query) {
    for (int64_t a = 0; a < t->slots; ++a)
        for (int64_t b = 0; b < a; ++b) {
            const uint32_t *x = ranges + a * WORDS, *y = ranges + b * WORDS;
            if (x[0] < x[1] && y[0] < y[1] && x[0] < y[1] && y[0] < x[1])
                return bpt_fail(BPT_ERR_USAGE, "two ranges of query %" PRId64 " overlap, and there are relative positions", query);
        }
    return BPT_OK;
}

static bpt_status_t check_ranges(const bpt_attention_table_t *t) {
    for (int64_t query = 0; query < t->tables * t->queries; ++query) {
        const uint32_t *ranges = t->ranges + query * t->slots * WORDS;
        for (int64_t slot = 0; slot < t->slots; ++slot) BPT_TRY(check_range(t, ranges + slot * WORDS, query % t->queries));
        if (t->rel_rows > 0) BPT_TRY(check_apart(t, ranges, query % t->queries));
    }
    return BPT_OK;
}

static void write_ranges(const bpt_attention_table_t *t, int64_t batch, uint32_t *to) {
    const int64_t count = t->queries * t->slots;
    for (int64_t s = 0; s < batch; ++s) {
        const uint32_t *from = t->ranges + (t->tables == 1 ? 0 : s * count * WORDS);
        for (int64_t i = 0; i < count; ++i, from += WORDS, to += WORDS) {
            const bool empty = from[0] == from[1];
            const uint32_t shift = (uint32_t)(s * t->keys);
            to[0] = empty ? 0 : from[0] + shift, to[1] = empty ? 0 : from[1] + shift;
            to[2] = empty ? BPT_NO_ROW : from[2], to[3] = empty ? 0 : from[3];
        }
    }
}

bpt_status_t bpt_attention_tables_create(const bpt_attention_table_t *t, int64_t batch, bpt_lists_t *l) {
    *l = (bpt_lists_t){0};
    BPT_TRY(check_sizes(t, batch));
    BPT_TRY(check_ranges(t));
    l->queries = batch * t->queries, l->keys = batch * t->keys, l->slots = t->slots;
    BPT_TRY(bpt_alloc((size_t)(l->queries * l->slots), WORDS * sizeof *l->table, &l->table));
    write_ranges(t, batch, l->table);
    BPT_TRY(bpt_lists_transposed_slots(l, &l->back_slots));
    if (!l->back_slots) l->back_slots = 1;  // no query reads anything
    BPT_TRY(bpt_alloc((size_t)(l->keys * l->back_slots), 2 * sizeof *l->back, &l->back));
    return bpt_lists_transposed(l);
}

void bpt_attention_tables_free(bpt_lists_t *l) {
    bpt_free(l->table);
    bpt_free(l->back);
}
