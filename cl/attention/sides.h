// Own rows of a block and those of the other side, for the kernels that compute the gradient of either (block_side.h, fragment_side.h).

// Where a head begins in x and in y of a row, of either side; a row that is not stored is zero, and reads the first one meanwhile.
FUNCTION uint place_of(CONTEXT, uint row, bool is_key, uint head) {
    OPEN
    return (row == NO_ROW ? 0u : row) * (is_key ? key_stride(PASS) : query_stride(PASS)) + (is_key ? key_offset(PASS) : 0u) + head * p.head_dim;
}
FUNCTION uint place_beside(CONTEXT, uint row, bool is_key, uint head) {
    OPEN
    return is_key ? place_of(PASS, row, true, head + p.heads) : ((row == NO_ROW ? 0u : row) * p.heads + head) * p.head_dim;
}
// Where the sums of a row of the block go, whose x is at `place`.
#ifdef KEY_RULES
FUNCTION uint sums_place(CONTEXT, block_t block, uint row, uint place, uint head) {
    OPEN
    return p.parts > 1u ? key_part_place(PASS, block, row, head) : place;
}
FUNCTION void put_number(CONTEXT, uint place, float x) {
    OPEN
    if (p.parts > 1u)
        AT(partial, place) = x;
    else
        STORE(result, place, x);
}
#else
FUNCTION uint sums_place(CONTEXT, block_t block, uint row, uint place, uint head) { return place; }
FUNCTION void put_number(CONTEXT, uint place, float x) {
    OPEN
    STORE(result, place, x);
}
#endif
FUNCTION float4 statistics_of(CONTEXT, bool of_dots, uint head) {
    OPEN
    float4 four = zero4();
    UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint row = own_row[4u * FOUR + i], at = (row == NO_ROW ? 0u : row) * p.heads + head;
        const float x = row == NO_ROW ? 0.0f : of_dots ? AT(dots, at) : AT(lse, at);
        four = FLOAT4(i == 0u ? x : four.x, i == 1u ? x : four.y, i == 2u ? x : four.z, i == 3u ? x : four.w);
    }
    return four;
}
// The same of one query, for all four.
FUNCTION float4 statistics_of_query(CONTEXT, bool of_dots, uint row, uint head) {
    OPEN
    const float x = of_dots ? AT(dots, row * p.heads + head) : AT(lse, row * p.heads + head);
    return FLOAT4(x, x, x, x);
}
// As dropped_edges, where the block's rows are keys and those of the list queries.
FUNCTION uint dropped_queries(CONTEXT, uint head, uint n_rows) {
    OPEN
    uint bits = 0u;
    if (p.threshold == 0u) return bits;
    for (uint t = SIXTEENTH * KEYS_PER_ITEM; t < min((SIXTEENTH + 1u) * KEYS_PER_ITEM, n_rows); ++t) {
        const uint row = 2u * node_row_of_place(PASS, t), key0 = AT(row_keys, row), key1 = AT(row_keys, row + 1u);
        for (uint i = 0u; i < 4u; ++i) {
            const uint own = own_row[4u * FOUR + i];
            if (dropout_bits(code_of_node(PASS, own == NO_ROW ? 0u : own), key0, key1, p.uid << 8 | head, AT(rng, 0u), AT(rng, 1u)) < p.threshold)
                bits |= 1u << (8u * i + t - SIXTEENTH * KEYS_PER_ITEM);
        }
    }
    return bits;
}
FUNCTION uint dropped_of_side(CONTEXT, uint head, uint n_rows) {
    OPEN
    if (KEYS != 0u) return dropped_queries(PASS, head, n_rows);
    return dropped_edges(PASS, head, n_rows);
}
FUNCTION void put_columns(CONTEXT, uint place, uint c, float4 x) {
    OPEN
    UNROLL for (uint j = 0u; j < 4u; ++j)
        if (c + j < p.head_dim) put_number(PASS, place + c + j, number_of(x, j));
}
