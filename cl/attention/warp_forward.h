// The forward of a block by warps, by a rule or over a table (TABLES).
// The items of a group list the nodes of a step together; then every warp multiplies for its own head, in registers, with no barrier: scores of
// 32 keys, running softmax (largest score, sum of weights), weighted sum of values.
#define KEYS 32u
#include "cl/attention/warp_block.h"
#undef LEAST_ITEMS
#define LEAST_ITEMS (MOST_COLUMNS > 64u ? 256u : 512u)
KERNEL_BEGIN
    const int4 g = INT4(p.graph, p.n, p.reach, p.rel_levels);
    const uint head_turns = (p.heads + ALL_WARPS - 1u) / ALL_WARPS, columns = p.heads * p.head_dim;
    const uint head = GROUP_ID % head_turns * ALL_WARPS + OWN_WARP;
    const bool works = head < p.heads;
    const block_t block = block_of(PASS, GROUP_ID / head_turns);
    open_block(PASS, g, block);
    const int end = end_place(PASS, block);

    const head_rows_t query = queries_of(PASS, works ? head : 0u);
    head_sums_t sums = zero_sums();
    float top[2] = {LOWEST, LOWEST}, total[2] = {0.0f, 0.0f};  // of rows GROUP and GROUP + 8; an item's total is that of its own keys
    float *const own_mix = mix + OWN_WARP * ROWS_PER_TILE * MIX_STRIDE;

    for (int first = first_place(PASS, block); first < end; first += TO_INT(KEYS_PER_STEP)) {
        const uint n_nodes = min(KEYS_PER_STEP, TO_UINT(end - first)), n_filled = (n_nodes + KEYS - 1u) / KEYS * KEYS;
        open_step(PASS, g, block, first, n_nodes, n_filled);
        if (!works) continue;
        mix_entries(PASS, own_mix, query, count_entries(PASS, block.n_ranges));
        WARP_BARRIER;
        for (uint t = 0u; t < n_filled; t += KEYS) {
            float score[KEY_BLOCKS][4], largest[2] = {top[0], top[1]}, shrink[2];
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n) {
                const float4 x = dots_of(PASS, query, kv, node_place(PASS, t + 8u * n + GROUP, 0u, head));
                score[n][0] = x.x;
                score[n][1] = x.y;
                score[n][2] = x.z;
                score[n][3] = x.w;
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    const uint u = GROUP + 8u * (j / 2u), edge = edge_at(PASS, t + 8u * n + PAIR + j % 2u, u);
                    const float relative = edge >= FIRST_ENTRY ? own_mix[u * MIX_STRIDE + edge - FIRST_ENTRY] : 0.0f;
                    score[n][j] = edge == NO_EDGE ? LOWEST : (score[n][j] + relative) * p.scale;
                    largest[j / 2u] = max(largest[j / 2u], score[n][j]);
                }
            }
            UNROLL for (uint far = 0u; far < 2u; ++far) {
                largest[far] = largest_of_row(largest[far]);
                shrink[far] = exp(top[far] - largest[far]);
                top[far] = largest[far];
                total[far] *= shrink[far];
            }
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; ++n)
                UNROLL for (uint j = 0u; j < 4u; ++j) {
                    const uint u = GROUP + 8u * (j / 2u);
                    const float weight = score[n][j] == LOWEST ? 0.0f : exp(score[n][j] - top[j / 2u]);
                    total[j / 2u] += weight;
                    score[n][j] = weight != 0.0f && is_dropped(PASS, t + 8u * n + PAIR + j % 2u, u, head) ? 0.0f : weight;
                }
            scale_rows(sums, shrink[0], shrink[1]);
            UNROLL for (uint n = 0u; n < KEY_BLOCKS; n += 2u) {
                uint place[4];
                UNROLL for (uint k = 0u; k < 4u; ++k) place[k] = node_place(PASS, t + 8u * (n + k / 2u) + PAIR + k % 2u, 1u, head);
                add_products(PASS, sums, pairs_of(score[n], score[n + 1u]), kv, place);
            }
        }
    }
    if (!works) return;
    UNROLL for (uint far = 0u; far < 2u; ++far) total[far] = sum_of_row(total[far]);
    if (p.parts == 1u)
        scale_rows(sums, total[0] == 0.0f ? 0.0f : p.inverse / total[0], total[1] == 0.0f ? 0.0f : p.inverse / total[1]);
    UNROLL for (uint far = 0u; far < 2u; ++far) {
        const uint row = own_row[GROUP + 8u * far];
        if (row == NO_ROW) continue;
        if (p.parts > 1u) {
            const uint place = partial_place(PASS, g, block, row, columns + 2u * p.heads);
            store_row(PASS, 0u, partial, place + head * p.head_dim, sums, far);
            if (PAIR == 0u) {
                AT(partial, place + columns + head) = top[far];
                AT(partial, place + columns + p.heads + head) = total[far];
            }
        } else {
            store_row(PASS, DT_result, result, row * columns + head * p.head_dim, sums, far);
            if (PAIR == 0u && (p.calls & CALL_LSE) != 0u)
                AT(lse, row * p.heads + head) = total[far] == 0.0f ? 0.0f : top[far] + log(total[far]);
        }
    }
KERNEL_END
