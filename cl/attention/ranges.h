// Walking the nodes of several ranges as one list, for kernels with RANGE_LOCALS (attention_locals.h).

// Starts from lengths: every item adds up those before its own ranges. (A loop inside of if (LOCAL_ID == 0u) miscompiles in PoCL 3.1.)
FUNCTION void start_ranges(CONTEXT, int n_ranges) {
    OPEN
    for (int r = TO_INT(LOCAL_ID); r <= n_ranges; r += TO_INT(WG)) {
        int start = 0;
        for (int before = 0; before < r; ++before) start += range_end[before] - range_begin[before];
        range_start[r] = start;
    }
}
// The range that holds a place of the list.
FUNCTION int range_of_place(CONTEXT, int n_ranges, int place) {
    OPEN
    int r = 0;
    for (int above = n_ranges; above - r > 1;) {
        const int middle = (r + above) / 2;
        if (range_start[middle] <= place)
            r = middle;
        else
            above = middle;
    }
    return r;
}
// A part of a list that goes on over several sets of ranges: where it begins among `count` nodes, before which `passed` have been.
FUNCTION int part_begin_of(int begin, int passed, int count) { return min(max(begin - passed, 0), count); }
