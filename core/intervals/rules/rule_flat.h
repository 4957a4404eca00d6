// Graphs without a tree: dense (any distance) and window (distance up to `window`). Relative positions are distances, row 2d - 1 for d to
// the left and 2d to the right, clamped to the table's largest distance.

// Distances from here on share one row.
FUNCTION int farthest(int4 g) { return graph_has(g, GRAPH_ROWS) ? min(g.w, g.y) : g.y; }
FUNCTION int distance_row(int4 g, int distance, int side) { return 2 * min(distance, farthest(g)) - 1 + side; }

// A side has two ranges: 0 the near keys, 1 the far ones, whose row does not depend on the distance.
FUNCTION int flat_parts(int4 g) { return 2; }

// The leaves that lie on a side of leaf `centre` within reach. `seen`: the side on which the key of such an edge lies from its query.
FUNCTION int4 flat_side(int4 g, int n_true, int centre, int side, int part, int seen) {
    const int reach = graph_reach(g), far = farthest(g);
    if (side == SIDE_LEFT) {
        const int begin = max(centre - reach, 0), near = max(begin, centre - far);
        if (part == 0) return make_range(g, near, centre, distance_row(g, centre - near, seen), -2);
        return make_range(g, begin, near, distance_row(g, far, seen), 0);
    }
    const int end = min(centre + reach + 1, n_true), near = min(end, centre + far + 1);
    if (part == 0) return make_range(g, centre + 1, near, distance_row(g, 1, seen), 2);
    return make_range(g, near, end, distance_row(g, far, seen), 0);
}
FUNCTION int4 flat_range(int4 g, int n_true, int i, int level, int side, int part) { return flat_side(g, n_true, i, side, part, side); }

// 0 and 1: leaves before the key (causal: after it), near and far. 2 and 3: those after it.
FUNCTION int4 flat_readers(int4 g, int n_true, int level, int m, int number) {
    const bool causal = graph_has(g, GRAPH_CAUSAL);
    if (level > 0 || (causal && number >= 2)) return EMPTY_RANGE;  // nobody reads the virtual root
    const int side = causal || number >= 2 ? SIDE_RIGHT : SIDE_LEFT;
    return flat_side(g, n_true, m, side, number & 1, SIDE_RIGHT - side);
}

FUNCTION int flat_row(int4 g, int i, int level, int m) {
    return m < i ? distance_row(g, i - m, SIDE_LEFT) : distance_row(g, m - i, SIDE_RIGHT);
}
