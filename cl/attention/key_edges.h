// Queries of a step that read a block of keys (key_rows.h), for block_side.h.

// The rows of the query at place t in q, NO_ROW: it is zero and not stored, and in dout, lse and dots. Roots have tensors of their own.
FUNCTION uint source_of_place(CONTEXT, block_t block, uint t) {
    OPEN
    return (p.calls & CALL_ROOTS) != 0u ? block.sequence : row_of_place(PASS, t);
}
FUNCTION uint upper_of_place(CONTEXT, block_t block, uint t) {
    OPEN
    return (p.calls & CALL_ROOTS) != 0u ? block.sequence : node_row_of_place(PASS, t);
}
// q . (k + r) of the edges of the item's key j, at place t of the step, from q . k.
FUNCTION float4 product_of_edges(CONTEXT, int4 g, block_t block, codes_t codes, uint j, uint t, float4 product, uint head) {
    OPEN
    const uint row = source_of_place(PASS, block, t);
    if (row == NO_ROW) return zero4();
    if ((p.calls & CALL_REL) == 0u) return product;
    const int4 query = node_position(g, node_of_row(PASS, block, node_row_of_place(PASS, t)));
    int entry[4];
    UNROLL for (uint i = 0u; i < 4u; ++i)
        entry[i] = code_of(codes, i, j) == NO_EDGE ? -1 : edge_row(g, query, position_of_key(PASS, g, block, TO_INT(4u * FOUR + i)));
    if (max(max(entry[0], entry[1]), max(entry[2], entry[3])) < 0) return product;
    const uint from = place_of(PASS, row, false, head);
    float4 sum = zero4();
    for (uint c = 0u; c < p.head_dim; c += 4u) {
        const float4 own = COLUMNS_OF(q, from, c, p.head_dim);
        sum += FLOAT4(dot4(own, COLUMNS_OF(rel, TO_UINT(max(entry[0], 0)) * p.head_dim, c, p.head_dim)),
                      dot4(own, COLUMNS_OF(rel, TO_UINT(max(entry[1], 0)) * p.head_dim, c, p.head_dim)),
                      dot4(own, COLUMNS_OF(rel, TO_UINT(max(entry[2], 0)) * p.head_dim, c, p.head_dim)),
                      dot4(own, COLUMNS_OF(rel, TO_UINT(max(entry[3], 0)) * p.head_dim, c, p.head_dim)));
    }
    return add4(product, FLOAT4(entry[0] < 0 ? 0.0f : sum.x, entry[1] < 0 ? 0.0f : sum.y, entry[2] < 0 ? 0.0f : sum.z, entry[3] < 0 ? 0.0f : sum.w));
}
