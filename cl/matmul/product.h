// The tile of c, BM x BN, and the part of the depth that a group multiplies: depths part_begin .. part_end - 1.
#define PLACE_GROUP                                                                                  \
    const uint tiles_n = (p.n + BN - 1u) / BN, tiles = (p.m + BM - 1u) / BM * tiles_n;               \
    const uint part = GROUP_ID / tiles, tile = GROUP_ID - part * tiles;                              \
    const uint row_tile = tile / tiles_n * BM, column_tile = (tile - tile / tiles_n * tiles_n) * BN; \
    const uint part_begin = part * p.part_depth, part_end = min(part_begin + p.part_depth, p.k);
// What the kernels of products do with a finished sum: addend, bias, steps, and c. Row and column are those of this panel of c.
#define STEP_OPERAND(step, i) ((step >> 8 & 255u) == 4u ? LOAD(extra4, i) : LOAD(extra5, i))
#define FINISH_PRODUCT(part, row, column, sum)                        \
    if ((row) < p.m && (column) < p.n) {                              \
        const uint place = ((part) * p.m + (row)) * p.ldc + (column); \
        float v = sum;                                                \
        if (HAS_ADDEND != 0u) v += AT(addend, place);                 \
        if (HAS_BIAS != 0u) v += AT(bias, column);                    \
        APPLY_STEPS(v, place, row, (column) + p.column0)              \
        STORE(c, place, v);                                           \
    }
