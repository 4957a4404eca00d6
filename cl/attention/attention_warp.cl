// The items of a group list the nodes of a step together; then every warp multiplies for its own head, in registers, with no barrier: scores of
// 32 keys, running softmax (largest score, sum of weights), weighted sum of values.
#include "cl/attention/block.h"
#include "cl/attention/warp_rows.h"
#define KEYS 32u                              // that a warp takes at a time, in
#define KEY_BLOCKS (KEYS / 8u)                // blocks of eight
#define DEPTHS (MOST_COLUMNS / 32u)           // columns of a head by 32
#define COLUMNS_64 ((MOST_COLUMNS + 63u) / 64u)  // and by 64
#define MIX_STRIDE (ENTRIES + 4u)
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const bool has_rel = (p.calls & CALL_REL) != 0u;
    const uint head_turns = (p.heads + ALL_WARPS - 1u) / ALL_WARPS, columns = p.heads * p.head_dim;
    const uint unit = GROUP_ID / head_turns, part_number = unit % p.parts, sequence = unit / p.parts / p.n_tiles;
    const uint head = GROUP_ID % head_turns * ALL_WARPS + OWN_WARP, head_column = head * p.head_dim;
    const bool works = head < p.heads;
    const int block = TO_INT(unit / p.parts % p.n_tiles), n_true = TO_INT(AT(lengths, sequence));
    const int n_ranges = tile_ranges(g, n_true, TO_INT(ROWS_PER_TILE), p.level);
    set_rows(PASS, g, n_true, sequence, block, n_ranges);
    BARRIER;
    set_unions(PASS, n_ranges);
    BARRIER;
    start_ranges(PASS, n_ranges);
    BARRIER;
    const int begin_place = p.parts > 1u ? TO_INT(part_number) * p.part_nodes : 0;
    const int end_place = p.parts > 1u ? min(begin_place + p.part_nodes, range_start[n_ranges]) : range_start[n_ranges];

    uint4 query[2][DEPTHS];
    UNROLL for (uint far = 0u; far < 2u; ++far) {
        const uint row = own_source[GROUP + 8u * far];
        UNROLL for (uint j = 0u; j < DEPTHS; ++j) {
            const uint c = 32u * j + 4u * PAIR;
            query[far][j] = eight_of(q, row * p.q_stride + head_column + c, works && row != NO_ROW && c < p.head_dim);
        }
    }
    float4 sum[COLUMNS_64][8];
    UNROLL for (uint b = 0u; b < COLUMNS_64; ++b)
        UNROLL for (uint i = 0u; i < 8u; ++i) sum[b][i] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    float top[2] = {LOWEST, LOWEST}, total[2] = {0.0f, 0.0f};  // of rows GROUP and GROUP + 8; an item's total is that of its own keys
    float *const own_mix = mix + OWN_WARP * ROWS_PER_TILE * MIX_STRIDE;

    for (int first = begin_place; first < end_place; first += TO_INT(KEYS_PER_STEP)) {
        const uint n_nodes = min(KEYS_PER_STEP, TO_UINT(end_place - first)), n_filled = (n_nodes + KEYS - 1u) / KEYS * KEYS;
        BARRIER;
        set_list(PASS, g, sequence, n_ranges, first, n_nodes, n_filled);
        BARRIER;
        set_entries(PASS, n_ranges);
        BARRIER;
        set_edges(PASS, first, n_nodes, n_filled);
        BARRIER;
        if (!works) continue;
        // q . r of the block's rows and the step's entries.
        const uint n_entries = has_rel ? TO_UINT(entries_before(PASS, n_ranges)) : 0u;
        for (uint e = 0u; e < n_entries; e += 8u) {
            const uint place = e + GROUP < n_entries ? TO_UINT(entry_row[e + GROUP]) * p.head_dim + 4u * PAIR : NO_ROW;
            float4 x = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
            UNROLL for (uint j = 0u; j < DEPTHS; ++j)
                multiply_depth(x, query[0][j], query[1][j], eight_of(rel, place + 32u * j, place != NO_ROW && 32u * j + 4u * PAIR < p.head_dim));
            float *const at = own_mix + GROUP * MIX_STRIDE + e + PAIR;
            at[0] = x.x;
            at[1] = x.y;
            at[8u * MIX_STRIDE] = x.z;
            at[8u * MIX_STRIDE + 1u] = x.w;
        }
        WARP_BARRIER;
        for (uint t = 0u; t < n_filled; t += KEYS) {
            // Scores.
            float4 score[KEY_BLOCKS];
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                const uint row = list_row[t + 8u * n + GROUP], place = row * p.kv_stride + p.k_offset + head_column + 4u * PAIR;
                score[n] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
                UNROLL for (uint j = 0u; j < DEPTHS; ++j)
                    multiply_depth(score[n], query[0][j], query[1][j],
                                   eight_of(kv, place + 32u * j, row != NO_ROW && 32u * j + 4u * PAIR < p.head_dim));
            }
            float largest[2] = {top[0], top[1]};
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                float x[4] = {score[n].x, score[n].y, score[n].z, score[n].w};
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    const uint u = GROUP + 8u * (j / 2u), edge = edge_at(PASS, t + 8u * n + PAIR + j % 2u, u);
                    const float relative = edge >= FIRST_ENTRY ? own_mix[u * MIX_STRIDE + edge - FIRST_ENTRY] : 0.0f;
                    x[j] = edge == NO_EDGE ? LOWEST : (x[j] + relative) * p.scale;
                    largest[j / 2u] = max(largest[j / 2u], x[j]);
                }
                score[n] = FLOAT4(x[0], x[1], x[2], x[3]);
            }
            // Weights.
            float shrink[2];
            UNROLL for (uint far = 0u; far < 2u; ++far) {
                largest[far] = largest_of_row(largest[far]);
                shrink[far] = exp(top[far] - largest[far]);
                top[far] = largest[far];
                total[far] *= shrink[far];
            }
            uint weight[KEY_BLOCKS][2];  // pairs of keys, of either row
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                float w[4] = {score[n].x, score[n].y, score[n].z, score[n].w};
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    w[j] = w[j] == LOWEST ? 0.0f : exp(w[j] - top[j / 2u]);
                    total[j / 2u] += w[j];
                    const uint row = own_row[GROUP + 8u * (j / 2u)];
                    if (p.threshold > 0u && w[j] > 0.0f &&
                        dropout_bits(list_code[t + 8u * n + PAIR + j % 2u], AT(row_keys, 2u * row), AT(row_keys, 2u * row + 1u),
                                     p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                        w[j] = 0.0f;
                }
                weight[n][0] = pair_of(w[0], w[1]);
                weight[n][1] = pair_of(w[2], w[3]);
            }
            // Values.
            UNROLL for (uint b = 0u; b < COLUMNS_64; ++b) {
                UNROLL for (uint i = 0u; i < 8u; ++i)
                    sum[b][i] = FLOAT4(sum[b][i].x * shrink[0], sum[b][i].y * shrink[0], sum[b][i].z * shrink[1], sum[b][i].w * shrink[1]);
                UNROLL for (uint half = 0u; half < KEY_BLOCKS; half += 2u) {
                    uint4 x[4];
                    const uint c = 64u * b + 8u * GROUP;
                    UNROLL for (uint k = 0u; k < 4u; ++k) {
                        const uint row = list_row[t + 8u * half + 8u * (k / 2u) + PAIR + k % 2u];
                        x[k] = eight_of(kv, row * p.kv_stride + p.k_offset + columns + head_column + c, row != NO_ROW && c < p.head_dim);
                    }
                    multiply_columns(sum[b], make_uint4(weight[half][0], weight[half][1], weight[half + 1u][0], weight[half + 1u][1]), x);
                }
            }
        }
    }
    if (!works) return;
    UNROLL for (uint far = 0u; far < 2u; ++far) {
        const uint row = own_row[GROUP + 8u * far];
        const float weights = sum_of_row(total[far]);
        if (row == NO_ROW) continue;
        const uint size = p.parts > 1u ? columns + 2u * p.heads : columns;
        const uint place = p.parts > 1u ? partial_place(PASS, g, sequence, part_number, row, size) : row * size;
        const float share = p.parts > 1u ? 1.0f : weights == 0.0f ? 0.0f : p.inverse / weights;
        UNROLL for (uint b = 0u; b < COLUMNS_64; ++b)
            UNROLL for (uint odd = 0u; odd < 2u; ++odd) {
                const uint c = 64u * b + 8u * (PAIR + odd);
                float x[8];
                take_eight(x, sum[b], far, odd);
                UNROLL for (uint i = 0u; i < 8u; ++i) x[i] = share * x[i];
                if (c >= p.head_dim) continue;
                if (p.parts > 1u) {
                    UNROLL for (uint i = 0u; i < 8u; ++i) AT(partial, place + head_column + c + i) = x[i];
                } else {
                    store_eight(DT_result, result, place + head_column + c, x);
                }
            }
        if (PAIR != 0u) continue;
        if (p.parts > 1u) {
            AT(partial, place + columns + head) = top[far];
            AT(partial, place + columns + p.heads + head) = weights;
        } else if ((p.calls & CALL_LSE) != 0u) {
            AT(lse, row * p.heads + head) = weights == 0.0f ? 0.0f : top[far] + log(weights);
        }
    }
KERNEL_END
