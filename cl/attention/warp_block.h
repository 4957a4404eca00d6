// What the kernels that take a block of queries by warps share: a warp's rows in registers, and its products with the nodes of a step.
#include "cl/attention/block.h"
#include "cl/attention/warp_rows.h"
#define KEY_BLOCKS (KEYS / 8u)                   // of eight: KEYS, which the kernel says, are those that a warp takes at a time
#define DEPTHS (MOST_COLUMNS / 32u)              // columns of a head by 32
#define COLUMNS_64 ((MOST_COLUMNS + 63u) / 64u)  // and by 64
#define MIX_STRIDE (ENTRIES + 4u)                // from row to row of the block, of numbers for each entry

// What the block's rows read, as one list. Barriers: behind it all items see that.
FUNCTION void open_block(CONTEXT, int4 g, block_t block) {
    OPEN
    set_rows(PASS, g, block);
    BARRIER;
    set_unions(PASS, g, block);
    BARRIER;
    start_ranges(PASS, block.n_ranges);
    BARRIER;
}
// The step's list and edges, from place `first` on. Barriers, before it too.
FUNCTION void open_step(CONTEXT, int4 g, block_t block, int first, uint n_nodes, uint n_filled) {
    OPEN
    BARRIER;
    set_list(PASS, g, block, first, n_nodes, n_filled);
    BARRIER;
#ifndef WITHOUT_ENTRIES
    set_entries(PASS, block.n_ranges);
    BARRIER;
#endif
    set_edges(PASS, g, block, first, n_nodes, n_filled);
    BARRIER;
}

// A head of rows GROUP and GROUP + 8 of the block as a left operand, eight columns of every 32.
struct head_rows_t {
    uint4 row[2][DEPTHS];
};
// Results of all rows of the block: of every 64 columns the i-th block of eight (warp_rows.h).
struct head_sums_t {
    float4 v[COLUMNS_64][8];
};
// Where a head of a row begins, NO_ROW: the row is zero. Of the key or value (`of_value` 0 or 1) at place t of the list; of row u
// of the block, in q or in dout.
FUNCTION uint node_place(CONTEXT, uint t, uint of_value, uint head) {
    OPEN
    const uint row = list_row[t];
    return row == NO_ROW ? NO_ROW : row * key_stride(PASS) + key_offset(PASS) + (of_value * p.heads + head) * p.head_dim;
}
FUNCTION uint query_place(CONTEXT, uint u, uint head) {
    OPEN
    return own_source[u] == NO_ROW ? NO_ROW : own_source[u] * query_stride(PASS) + head * p.head_dim;
}
FUNCTION uint upper_place(CONTEXT, uint u, uint head) {
    OPEN
    const uint row = upper_row(PASS, u);
    return row == NO_ROW ? NO_ROW : (row * p.heads + head) * p.head_dim;
}

// Rows GROUP and GROUP + 8 of the block, where each begins.
FUNCTION head_rows_t block_rows(CONTEXT, const void *x, uint near, uint far) {
    OPEN
    head_rows_t block;
    UNROLL for (uint j = 0u; j < DEPTHS; ++j) {
        const uint c = 32u * j + 4u * PAIR;
        block.row[0][j] = eight_of(x, near + c, near != NO_ROW && c < p.head_dim);
        block.row[1][j] = eight_of(x, far + c, far != NO_ROW && c < p.head_dim);
    }
    return block;
}
FUNCTION head_rows_t queries_of(CONTEXT, uint head) {
    OPEN
    return block_rows(PASS, q, query_place(PASS, GROUP, head), query_place(PASS, GROUP + 8u, head));
}
FUNCTION void zero_columns(float4 *sums) {
    UNROLL for (uint i = 0u; i < 8u; ++i) sums[i] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
}
FUNCTION head_sums_t zero_sums() {
    head_sums_t sums;
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b) zero_columns(sums.v[b]);
    return sums;
}
// Rows GROUP and GROUP + 8 times a factor each.
FUNCTION void scale_rows(head_sums_t &sums, float near, float far) {
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b)
        UNROLL for (uint i = 0u; i < 8u; ++i) {
            const float4 x = sums.v[b][i];
            sums.v[b][i] = FLOAT4(x.x * near, x.y * near, x.z * far, x.w * far);
        }
}
// The item's columns of row GROUP (far 0) or GROUP + 8 (1): runs of eight, the PAIRth and the next of every 64.
FUNCTION void store_row(CONTEXT, uint dtype, void *x, uint place, const head_sums_t &sums, uint far) {
    OPEN
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b)
        UNROLL for (uint odd = 0u; odd < 2u; ++odd) {
            const uint c = 64u * b + 8u * (PAIR + odd);
            float v[8];
            UNROLL for (uint i = 0u; i < 8u; ++i) {
                const float4 four = sums.v[b][i];
                v[i] = far == 0u ? (odd == 0u ? four.x : four.y) : (odd == 0u ? four.z : four.w);
            }
            if (c < p.head_dim) store_eight(dtype, x, place + c, v);
        }
}
// 64 columns of a row, added to a row of f32 with a factor.
FUNCTION void add_row(CONTEXT, float *x, uint place, uint column, const float4 *sums, uint far, float factor) {
    OPEN
    UNROLL for (uint odd = 0u; odd < 2u; ++odd) {
        const uint c = column + 8u * (PAIR + odd);
        UNROLL for (uint i = 0u; i < 8u; ++i) {
            const float4 four = sums[i];
            if (c < p.head_dim) x[place + c + i] += factor * (far == 0u ? (odd == 0u ? four.x : four.y) : (odd == 0u ? four.z : four.w));
        }
    }
}
// Products of the block's rows with eight rows of a tensor; `place`: where row GROUP of these begins, NO_ROW: it is zero.
FUNCTION float4 dots_of(CONTEXT, const head_rows_t &block, const void *x, uint place) {
    OPEN
    float4 sum = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    UNROLL for (uint j = 0u; j < DEPTHS; ++j) {
        const uint c = 32u * j + 4u * PAIR;
        multiply_depth(sum, block.row[0][j], block.row[1][j], eight_of(x, place + c, place != NO_ROW && c < p.head_dim));
    }
    return sum;
}
// sums of 64 columns += weights, 16 rows by 16, times 16 rows of a tensor; place[k]: where rows PAIR, PAIR + 1, PAIR + 8 and PAIR + 9 begin.
FUNCTION void add_columns(CONTEXT, float4 *sums, uint column, uint4 weights, const void *x, const uint *place) {
    OPEN
    const uint c = column + 8u * GROUP;
    uint4 row[4];
    UNROLL for (uint k = 0u; k < 4u; ++k) row[k] = eight_of(x, place[k] + c, place[k] != NO_ROW && c < p.head_dim);
    multiply_columns(sums, weights, row);
}
FUNCTION void add_products(CONTEXT, head_sums_t &sums, uint4 weights, const void *x, const uint *place) {
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b) add_columns(PASS, sums.v[b], 64u * b, weights, x, place);
}
#ifdef WITHOUT_ENTRIES
FUNCTION void mix_entries(CONTEXT, float *to, const head_rows_t &query, uint n_entries) {}
#else
// Where the row of an entry begins.
FUNCTION uint entry_place(CONTEXT, uint e, uint n_entries) {
    OPEN
    return e < n_entries ? TO_UINT(entry_row[e]) * p.head_dim : NO_ROW;
}
// to [row of the block][entry] = q . r of the step's entries.
FUNCTION void mix_entries(CONTEXT, float *to, const head_rows_t &query, uint n_entries) {
    OPEN
    for (uint e = 0u; e < n_entries; e += 8u) {
        const float4 x = dots_of(PASS, query, rel, entry_place(PASS, e + GROUP, n_entries));
        float *const at = to + GROUP * MIX_STRIDE + e + PAIR;
        at[0] = x.x;
        at[1] = x.y;
        at[8u * MIX_STRIDE] = x.z;
        at[8u * MIX_STRIDE + 1u] = x.w;
    }
}
#endif
// Does dropout drop the edge of row u of the block to list place t?
FUNCTION bool is_dropped(CONTEXT, uint t, uint u, uint head) {
    OPEN
    if (p.threshold == 0u) return false;
    const uint row = own_row[u] == NO_ROW ? 0u : 2u * own_row[u];
    return dropout_bits(list_code[t], AT(row_keys, row), AT(row_keys, row + 1u), p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold;
}
