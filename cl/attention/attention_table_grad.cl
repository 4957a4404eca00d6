// With weights w = exp(score - lse), dropout factors f and D = dots: the gradient of a score is g = w (f dy . v - D) scale; dq = sum of g k
// over the keys of a query, dk = sum of g q and dv = sum of w f dy over the queries of a key. With relative positions a query reads k + rel,
// and drel[row] = sum of g q over the edges of the row.
#include "cl/attention/attention.h"
#include "cl/attention/dot.h"
#include "cl/attention/ranges.h"
// Rows of the other side are those of q and dout, or of k and v, which lie side by side.
DOT(dot_own_query, ELEMENT, own_x, READ, q)
DOT(dot_own_dout, ELEMENT, own_y, READ, dy)
DOT(dot_own_kv, ELEMENT, own_x, READ, kv)
DOT(dot_dout_kv, ELEMENT, own_y, READ, kv)
DOT(dot_own_position, ELEMENT, own_x, READ, rel)
DOT(dot_query_position, READ, q, READ, rel)
KERNEL_BEGIN
    const uint head_groups = (p.heads + p.group_heads - 1u) / p.group_heads, columns = p.heads * p.head_dim;
    const uint first_head = GROUP_ID % head_groups * p.group_heads, n_heads = min(p.group_heads, p.heads - first_head);
    const uint unit = p.first_unit + GROUP_ID / head_groups, own = p.first_row + unit / p.parts;
    const uint row_size = KEYS != 0u ? columns : 2u * columns;  // of the other side
    const int part_begin = TO_INT(unit % p.parts) * p.part_rows;
    const uint first_column = first_head * p.head_dim, n_columns = n_heads * p.head_dim;
    const uint batch = min(TO_UINT(MOST_ROWS), SCORES / p.group_heads), words = KEYS != 0u ? 2u : 4u;
    // The rows of the sums of drel are dealt out to as many teams of items as fit, a row to one team and a column to one item of it.
    const uint team_size = min(WG, p.head_dim), teams = WG / team_size, team = LOCAL_ID / team_size;
    const uint team_column = LOCAL_ID - team * team_size, area = GROUP_ID * p.rel_rows * p.head_dim;
    for (uint c = LOCAL_ID; c < n_columns; c += WG) {
        const uint at = own * columns + first_column + c, pair = at + own * columns;
        own_x[c] = KEYS != 0u ? READ(kv, pair) : READ(q, at);
        own_y[c] = KEYS != 0u ? READ(kv, pair + columns) : READ(dy, at);
        sum_x[c] = 0.0f;
        if (KEYS != 0u) sum_y[c] = 0.0f;
    }

    int passed = 0;  // rows of the ranges before
    for (int first_range = 0; first_range < TO_INT(p.ranges); first_range += MOST_RANGES) {
        const int n_ranges = min(TO_INT(p.ranges) - first_range, MOST_RANGES);
        for (int r = TO_INT(LOCAL_ID); r < n_ranges; r += TO_INT(WG)) {
            const uint entry = (own * p.ranges + TO_UINT(first_range + r)) * words;
            range_begin[r] = TO_INT(AT(table, entry));
            range_end[r] = max(TO_INT(AT(table, entry)), TO_INT(AT(table, entry + 1u)));
            if (RELATIVE != 0u && KEYS == 0u) {
                range_row[r] = TO_INT(AT(table, entry + 2u));
                range_step[r] = TO_INT(AT(table, entry + 3u));
            }
        }
        BARRIER;
        start_ranges(PASS, n_ranges);
        BARRIER;
        const int all_rows = range_start[n_ranges], begin_row = part_begin_of(part_begin, passed, all_rows);
        const int end_row = p.parts > 1u ? part_begin_of(part_begin + p.part_rows, passed, all_rows) : all_rows;
        for (int first = begin_row; first < end_row; first += TO_INT(batch)) {
            const uint n_rows = min(batch, TO_UINT(end_row - first)), n_scores = n_rows * n_heads;
            for (uint t = LOCAL_ID; t < n_rows; t += WG) {
                const int place = first + TO_INT(t);
                const int r = range_of_place(PASS, n_ranges, place);
                const uint row = TO_UINT(range_begin[r] + place - range_start[r]);
                other[t] = row;
                if (RELATIVE != 0u && KEYS == 0u)
                    rel_row[t] = range_row[r] >= 0 ? range_row[r] + (place - range_start[r]) * range_step[r] : -1;
                if (RELATIVE != 0u && KEYS != 0u) {
                    int found = -1;
                    for (uint slot = 0u; slot < p.query_ranges; ++slot) {  // in at most one: ranges of a query do not overlap
                        const uint entry = (row * p.query_ranges + slot) * 4u;
                        const int along = TO_INT(own) - TO_INT(AT(query_table, entry)), first_rel = TO_INT(AT(query_table, entry + 2u));
                        if (along >= 0 && TO_INT(own) < TO_INT(AT(query_table, entry + 1u)) && first_rel >= 0)
                            found = first_rel + along * TO_INT(AT(query_table, entry + 3u));
                    }
                    rel_row[t] = found;
                }
            }
            BARRIER;
            for (uint s = LOCAL_ID; s < n_scores; s += WG) {
                const uint t = s / n_heads, h = s - t * n_heads, from = h * p.head_dim, row = other[t];
                const uint query_row = KEYS != 0u ? row : own, key_row = KEYS != 0u ? own : row;
                const uint at = query_row * p.heads + first_head + h;
                float x = 0.0f, y = 0.0f, kept = p.inverse;
                const uint of_row = row * row_size + first_column + from;
                x += KEYS != 0u ? dot_own_query(PASS, from, of_row, p.head_dim) : dot_own_kv(PASS, from, of_row, p.head_dim);
                y += KEYS != 0u ? dot_own_dout(PASS, from, of_row, p.head_dim) : dot_dout_kv(PASS, from, of_row + columns, p.head_dim);
                if (RELATIVE != 0u && rel_row[t] >= 0) {
                    const uint edge = TO_UINT(rel_row[t]) * p.head_dim;
                    x += KEYS != 0u ? dot_query_position(PASS, of_row, edge, p.head_dim) : dot_own_position(PASS, from, edge, p.head_dim);
                }
                if (p.threshold > 0u && dropout_bits(AT(key_codes, key_row), AT(row_keys, 2u * query_row), AT(row_keys, 2u * query_row + 1u),
                                                     p.uid << 8 | (first_head + h), AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                    kept = 0.0f;
                const float w = exp(x * p.scale - AT(lse, at));
                score[s] = w * (kept * y - AT(dots, at)) * p.scale;
                if (KEYS != 0u) weight[s] = w * kept;
            }
            BARRIER;
            for (uint c = LOCAL_ID; c < n_columns; c += WG) {
                const uint h = c / p.head_dim;
                float x = sum_x[c], y = KEYS != 0u ? sum_y[c] : 0.0f;
                for (uint t = 0u; t < n_rows; ++t) {
                    const uint at = other[t] * row_size + first_column + c;
                    float read = KEYS != 0u ? READ(q, at) : READ(kv, at);
                    if (RELATIVE != 0u && KEYS == 0u && rel_row[t] >= 0)
                        read += READ(rel, TO_UINT(rel_row[t]) * p.head_dim + c - h * p.head_dim);
                    x += score[t * n_heads + h] * read;
                    if (KEYS != 0u) y += weight[t * n_heads + h] * READ(dy, at);
                }
                sum_x[c] = x;
                if (KEYS != 0u) sum_y[c] = y;
            }
            if (RELATIVE != 0u && KEYS == 0u && team < teams)
                for (uint t = 0u; t < n_rows; ++t) {
                    const bool mine = rel_row[t] >= 0 && TO_UINT(max(rel_row[t], 0)) % teams == team;
                    for (uint c = mine ? team_column : p.head_dim; c < p.head_dim; c += team_size) {
                        float gradient = 0.0f;
                        for (uint h = 0u; h < n_heads; ++h) gradient += score[t * n_heads + h] * own_x[h * p.head_dim + c];
                        AT(drel, area + TO_UINT(rel_row[t]) * p.head_dim + c) += gradient;
                    }
                }
            BARRIER;
        }
        passed += all_rows;
    }

    for (uint c = LOCAL_ID; c < n_columns; c += WG) {
        const uint at = (p.parts > 1u ? unit : own) * (KEYS != 0u ? 2u * columns : columns) + first_column + c;
        if (p.parts > 1u) {
            AT(partial, at) = sum_x[c];
            if (KEYS != 0u) AT(partial, at + columns) = sum_y[c];
        } else {
            STORE(result, at, sum_x[c]);
            if (KEYS != 0u) STORE(result, at + columns, sum_y[c]);
        }
    }
KERNEL_END
