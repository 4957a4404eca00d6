// Where the results of a block of queries go, forward (four_rows.h).

// Where the item's row i has its results, or with several parts its partial ones.
FUNCTION uint result_place(CONTEXT, int4 g, block_t block, uint i) {
    OPEN
    const uint row = own_row[4u * FOUR + i], columns = p.heads * p.head_dim;
    return p.parts > 1u ? partial_place(PASS, g, block, row, columns + 2u * p.heads) : row * columns;
}
// What weighted sums are multiplied by, from the sum of weights.
FUNCTION float factor_of(CONTEXT, float weights) {
    OPEN
    return p.parts > 1u ? 1.0f : weights == 0.0f ? 0.0f : p.inverse / weights;
}
// Largest score and sum of weights of the item's row i.
FUNCTION void put_statistics(CONTEXT, uint place, uint i, uint head, float top, float weights) {
    OPEN
    const uint columns = p.heads * p.head_dim;
    if (p.parts > 1u) {
        AT(partial, place + columns + head) = top;
        AT(partial, place + columns + p.heads + head) = weights;
    } else if ((p.calls & CALL_LSE) != 0u) {
        AT(lse, own_row[4u * FOUR + i] * p.heads + head) = weights == 0.0f ? 0.0f : top + log(weights);
    }
}
// The four columns c .. c + 3 of a head of a result, or of a partial one.
FUNCTION void put_four(CONTEXT, uint head_place, uint c, float4 x) {
    OPEN
    const uint place = head_place + c;
    UNROLL for (uint j = 0u; j < 4u; ++j) {
        if (HEAD_REST != 0u && c + j >= p.head_dim) continue;
        if (p.parts > 1u)
            AT(partial, place + j) = number_of(x, j);
        else
            STORE(result, place + j, number_of(x, j));
    }
}
