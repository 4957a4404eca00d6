// The sparse transformer's fixed pattern (Child et al. 2019): the sequence is cut into blocks of `stride` leaves, and a leaf reads those of
// its own block that are behind it, and the last `tail` leaves of every block before. Causal, without relative positions. g.z is the
// stride, at most n, g.w the tail.

// Part 0 is the leaf's own block, part p the p-th block before it.
FUNCTION int sparse_parts(int4 g) { return (g.y - 1) / g.z + 1; }
FUNCTION int4 sparse_range(int4 g, int n_true, int i, int level, int side, int part) {
    const int begin = i / g.z * g.z, end = begin - (part - 1) * g.z;
    if (part == 0) return make_range(g, begin, i, -1, 0);
    return end > 0 ? make_range(g, end - g.w, end, -1, 0) : EMPTY_RANGE;
}

// A block's tail is read by all leaves after it, its other leaves by the block alone.
FUNCTION int4 sparse_readers(int4 g, int n_true, int level, int m, int number) {
    if (level > 0 || number > 0) return EMPTY_RANGE;  // nobody reads the virtual root
    const int after = (m / g.z + 1) * g.z;
    return make_range(g, m + 1, m >= after - g.w ? n_true : min(after, n_true), -1, 0);
}

FUNCTION int sparse_row(int4 g, int i, int level, int m) { return -1; }
