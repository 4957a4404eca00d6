// What the kernels of products share: which tile of c a group makes, and what is done with a finished sum.
FUNCTION float step_operand(CONTEXT, uint number, uint i) {
    OPEN
    return number == 4u ? LOAD(extra4, i) : LOAD(extra5, i);
}
#include "cl/dialect/steps.h"

// The tile of c, BM x BN, begins at row and column; depths begin .. end - 1 are the part of the depth that the group multiplies.
STRUCT(tile_place_t) {
    uint part, row, column, begin, end;
};
FUNCTION tile_place_t tile_of_group(CONTEXT) {
    OPEN
    const uint tiles_n = (p.n + BN - 1u) / BN, tiles = (p.m + BM - 1u) / BM * tiles_n;
    const uint part = GROUP_ID / tiles, tile = GROUP_ID - part * tiles;
    tile_place_t place;
    place.part = part;
    place.row = tile / tiles_n * BM;
    place.column = (tile - tile / tiles_n * tiles_n) * BN;
    place.begin = part * p.part_depth;
    place.end = min(place.begin + p.part_depth, p.k);
    return place;
}

// Addend, bias, steps, and c. Row and column are those of this panel of c.
FUNCTION void finish_product(CONTEXT, uint part, uint row, uint column, float sum) {
    OPEN
    if (row < p.m && column < p.n) {
        const uint place = (part * p.m + row) * p.ldc + column;
        float v = sum;
        if (HAS_ADDEND != 0u) v += AT(addend, place);
        if (HAS_BIAS != 0u) v += AT(bias, column);
        v = apply_steps(PASS, v, place, row, column + p.column0);
        STORE(c, place, v);
    }
}
