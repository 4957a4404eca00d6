// SegTree-Transformer (Ye et al. 2019): the smallest set of disjoint nodes that covers the sentence and holds leaf i and its two
// neighbours. Above the leaves at most one node a level and side. Formulas: core/intervals/README.md.
FUNCTION int segtree_parts(int4 g) { return 1; }
// Causal: left siblings only, every second node.
FUNCTION int4 segtree_trimmed(int4 g) { return INT4((g.y - 2) >> 1, 0, 1, 1); }

FUNCTION int4 segtree_range(int4 g, int n_true, int i, int level, int side, int part) {
    const int next = side == SIDE_LEFT ? i - 1 : i + 1, near = next >> level, row = block_row(g, level, side, 1), odd = near & 1;
    if (next < 0 || next >= n_true) return EMPTY_RANGE;
    if (level == 0)
        return side == SIDE_LEFT ? make_range(g, near - odd, near + 1, row, 0) : make_range(g, near, min(near + 2 - odd, n_true), row, 0);
    if (side == SIDE_LEFT) return odd == 1 ? make_range(g, near - 1, near, row, 0) : EMPTY_RANGE;
    return odd == 0 && near + 1 < level_nodes(n_true, level) ? make_range(g, near + 1, near + 2, row, 0) : EMPTY_RANGE;
}

// Left sibling m is read by the leaves whose left neighbour lies below m + 1 (number 0), right sibling m by those whose right neighbour
// lies below m - 1 (number 2); a leaf also by the leaf next to it.
FUNCTION int4 segtree_readers(int4 g, int n_true, int level, int m, int number) {
    const int scale = 1 << level, leaf = level == 0 ? 1 : 0, begin = m * scale, end = begin + scale;
    const bool right_sibling = (m & 1) == 1;
    if (number == 0) {
        const int after = right_sibling ? end + leaf : end + scale + 1;
        return make_range(g, end + 1 - leaf, min(after, n_true), block_row(g, level, SIDE_LEFT, 1), 0);
    }
    if (number != 2 || graph_has(g, GRAPH_CAUSAL)) return EMPTY_RANGE;
    const int before = right_sibling ? begin - scale - 1 : begin - leaf;
    return make_range(g, max(before, 0), begin - 1 + leaf, block_row(g, level, SIDE_RIGHT, 1), 0);
}

FUNCTION int segtree_row(int4 g, int i, int level, int m) { return block_row(g, level, m < i >> level ? SIDE_LEFT : SIDE_RIGHT, 1); }
