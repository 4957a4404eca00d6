// BP-Transformer (Ye et al. 2019, 3.2.2), the paper's rule: on every level and side k nodes, and one more when the sibling of the last one
// would be left over. And the rule of the authors' code: exactly k slots a level and side; a sibling that is left over takes slot 0 of the
// next level, a residual. Its bound is tested on the residual itself. Formulas: core/intervals/README.md.

// The ranges of a level and side: 0 the nodes of the level; 1, reference rule, the one of them that is the next level's residual.
FUNCTION int bpt_parts(int4 g) { return graph_has(g, GRAPH_REFERENCE) ? 2 : 1; }
FUNCTION int4 bpt_trimmed(int4 g) {
    const int k = graph_reach(g), reference = graph_has(g, GRAPH_REFERENCE) ? 1 : 0;
    return INT4(g.y - 1 - reference + k, k, reference, 0);
}
FUNCTION int bpt_block(int4 g, int level, int side) { return block_row(g, level, side, g.z + 1); }

// The first node on the left of leaf i on a level, the first one on the right (which may not exist).
FUNCTION int paper_left(int4 g, int i, int level) { return ((i + graph_reach(g)) >> level) - graph_reach(g) - 1; }
FUNCTION int paper_right(int4 g, int i, int level) { return ((i - graph_reach(g) + (1 << level)) >> level) + graph_reach(g); }
FUNCTION int4 paper_range(int4 g, int n_true, int i, int level, int side) {
    const int k = graph_reach(g);
    if (side == SIDE_LEFT) {
        const int end = paper_left(g, i, level) + 1, begin = max(end - k - ((end - k) & 1), 0);
        return make_range(g, begin, end, bpt_block(g, level, side) + end - 1 - begin, -1);
    }
    const int begin = paper_right(g, i, level), end = begin + k + ((begin + k) & 1);
    return make_range(g, begin, min(end, level_nodes(n_true, level)), bpt_block(g, level, side), 1);
}

FUNCTION int reference_left(int4 g, int i, int level) { return ((i - 1 + graph_reach(g)) >> level) - graph_reach(g); }
FUNCTION int reference_right(int4 g, int i, int level) { return ((i + 1 - graph_reach(g)) >> level) + graph_reach(g); }
// Slot 0 of a level holds a node of the level below.
FUNCTION bool left_is_residual(int4 g, int i, int level) {
    return level > 0 && ((reference_left(g, i, level - 1) - graph_reach(g)) & 1) == 0;
}
FUNCTION bool right_is_residual(int4 g, int i, int level) {
    return level > 0 && ((reference_right(g, i, level - 1) + graph_reach(g)) & 1) != 0;
}
FUNCTION int4 reference_residual(int4 g, int n_true, int i, int level, int side) {
    const int above = level + 1, row = bpt_block(g, above, side);
    if (side == SIDE_LEFT) {
        const int nearest = reference_left(g, i, above);
        return nearest >= 0 && left_is_residual(g, i, above) ? make_range(g, 2 * nearest, 2 * nearest + 1, row, 0) : EMPTY_RANGE;
    }
    const int nearest = reference_right(g, i, above), child = 2 * nearest + 1;
    const bool exists = nearest < level_nodes(n_true, above) && child < level_nodes(n_true, level);
    return exists && right_is_residual(g, i, above) ? make_range(g, child, child + 1, row, 0) : EMPTY_RANGE;
}
FUNCTION int4 reference_range(int4 g, int n_true, int i, int level, int side) {
    const int k = graph_reach(g), row = bpt_block(g, level, side);
    if (side == SIDE_LEFT) {
        const int nearest = reference_left(g, i, level), begin = max(nearest - k + 1, 0);
        const int end = nearest + (left_is_residual(g, i, level) ? 0 : 1);
        return nearest < 0 ? EMPTY_RANGE : make_range(g, begin, end, row + nearest - begin, -1);
    }
    const int nearest = reference_right(g, i, level), size = level_nodes(n_true, level);
    const int first = right_is_residual(g, i, level) ? 1 : 0;
    return nearest >= size ? EMPTY_RANGE : make_range(g, nearest + first, min(nearest + k, size), row + first, 1);
}
FUNCTION int4 bpt_range(int4 g, int n_true, int i, int level, int side, int part) {
    if (!graph_has(g, GRAPH_REFERENCE)) return paper_range(g, n_true, i, level, side);
    return part == 0 ? reference_range(g, n_true, i, level, side) : reference_residual(g, n_true, i, level, side);
}

// Before any 2^level is multiplied the bounds are compared shifted down, so that what lies outside of the sequence cannot overflow. The
// rank of a key is linear in the query for leaves only.
FUNCTION int4 paper_readers(int4 g, int n_true, int level, int m, int side) {
    const int k = graph_reach(g);
    if (side == SIDE_LEFT) {
        if (m + k + 1 > (n_true + k) >> level) return EMPTY_RANGE;
        const int begin = ((m + k + 1) << level) - k, ranks = k + 1 - (m & 1);
        return make_range(g, begin, min(begin + (ranks << level), n_true), level == 0 ? bpt_block(g, 0, side) : NOT_LINEAR, 1);
    }
    if (k - m > k >> level) return EMPTY_RANGE;
    const int end = (m - k) * (1 << level) + k, ranks = k + (m & 1), begin = ranks > max(end, 0) >> level ? 0 : end - (ranks << level);
    return make_range(g, begin, min(end, n_true), level == 0 ? bpt_block(g, 0, side) + end - 1 - begin : NOT_LINEAR, -1);
}
// A node is read in the regular slots of its level, by a range that ends some leaves away, and then, when it is the farther sibling, by
// 2^level more leaves as the residual of the level above.
FUNCTION int4 reference_readers(int4 g, int n_true, int level, int m, int side, bool residual) {
    const int k = graph_reach(g), scale = 1 << level, above = level > 0 ? 1 : 0;  // above: nodes over leaves start a little nearer
    const bool farther = (m & 1) == (side == SIDE_LEFT ? 0 : 1);
    if (residual && !farther) return EMPTY_RANGE;
    if (side == SIDE_LEFT) {
        if (m + 1 + k > (n_true + k + scale / 2) >> level) return EMPTY_RANGE;
        const int begin = ((m + 1 + k) << level) - k - scale / 2 + above;
        if (begin >= n_true) return EMPTY_RANGE;
        const int last = ((m + 2 * k) << level) - k + 1;
        if (residual) return make_range(g, last, min(last + scale, n_true), bpt_block(g, level + 1, side), 0);
        return make_range(g, begin, min(last, n_true), level == 0 ? bpt_block(g, 0, side) : NOT_LINEAR, 1);
    }
    if (k - m > (k + scale / 2) >> level) return EMPTY_RANGE;
    const int end = (m - k) * scale + k + scale / 2 - above;
    const int first = 2 * k - 1 - m > (k - 1) >> level ? -1 : (m - 2 * k + 1) * scale + k - 1, begin = max(first, 0);
    if (residual) return first <= 0 ? EMPTY_RANGE : make_range(g, max(first - scale, 0), first, bpt_block(g, level + 1, side), 0);
    return make_range(g, begin, min(end, n_true), level == 0 ? bpt_block(g, 0, side) + end - 1 - begin : NOT_LINEAR, -1);
}
// 0 and 2: leaves that have the node on their left, on their right. 1 and 3: the same as a residual.
FUNCTION int4 bpt_readers(int4 g, int n_true, int level, int m, int number) {
    const int side = number < 2 ? SIDE_LEFT : SIDE_RIGHT;
    const bool residual = (number & 1) == 1;
    if (side == SIDE_RIGHT && graph_has(g, GRAPH_CAUSAL)) return EMPTY_RANGE;
    if (graph_has(g, GRAPH_REFERENCE)) return reference_readers(g, n_true, level, m, side, residual);
    return residual ? EMPTY_RANGE : paper_readers(g, n_true, level, m, side);
}

FUNCTION int bpt_row(int4 g, int i, int level, int m) {
    const int side = m < i >> level ? SIDE_LEFT : SIDE_RIGHT;
    if (!graph_has(g, GRAPH_REFERENCE))
        return bpt_block(g, level, side) + (side == SIDE_LEFT ? paper_left(g, i, level) - m : m - paper_right(g, i, level));
    const int rank = side == SIDE_LEFT ? reference_left(g, i, level) - m : m - reference_right(g, i, level);
    return rank == graph_reach(g) ? bpt_block(g, level + 1, side) : bpt_block(g, level, side) + rank;
}
