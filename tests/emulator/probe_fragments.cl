// Fragments of matrices (cl/matrix/fragments.h), for tests: c = a b, a 16 x 16 and b 16 x 8, in f16, from and to local arrays. MODE 1: both
// operands are stored across. `halves` gets the product rounded to f16.
#define FRAGMENT_M 16u
#define FRAGMENT_N 8u
#define FRAGMENT_K 16u
#define KERNEL probe_fragments
#define BINDINGS(B) B(0, E, a) B(1, E, b) B(2, R, c) B(3, U, halves)
#define PARAMS(P) P(uint, mode) P(uint, other)
#define LOCALS(L) L(uint4, tile_a, 16 * 3) L(uint4, tile_b, 16 * 3) L(float, product, 16 * 12) L(uint4, rounded, 16 * 2)
KERNEL_TYPES
#include "cl/matrix/fragments.h"
KERNEL_BEGIN
    // Lines of a are two vectors, three apart; those of b, stored by rows, are one.
    tile_a[LOCAL_ID / 2u * 3u + LOCAL_ID % 2u] = EIGHT(a, 8u * LOCAL_ID);
    if (p.mode == 1u && LOCAL_ID < 16u) tile_b[LOCAL_ID / 2u * 3u + LOCAL_ID % 2u] = EIGHT(b, 8u * LOCAL_ID);
    if (p.mode == 0u && LOCAL_ID < 16u) tile_b[LOCAL_ID * 3u] = EIGHT(b, 8u * LOCAL_ID);
    BARRIER;
    FRAGMENT_LEFT left;
    FRAGMENT_RIGHT right;
    FRAGMENT_SUM sum;
    FRAGMENT_ZERO(sum);
    if (p.mode == 1u) {
        FRAGMENT_LOAD_ACROSS(left, tile_a, 0u, 3u);
        FRAGMENT_LOAD_ACROSS(right, tile_b, 0u, 3u);
    } else {
        FRAGMENT_LOAD(left, tile_a, 0u, 3u);
        FRAGMENT_LOAD(right, tile_b, 0u, 3u);
    }
    FRAGMENT_MULTIPLY_ADD(sum, left, right);
    FRAGMENT_STORE(sum, product, 0u, 12u);
    FRAGMENT_STORE_HALVES(sum, rounded, 0u, 2u);
    BARRIER;
    for (uint i = LOCAL_ID; i < 128u; i += WARP) AT(c, i) = product[i / 8u * 12u + i % 8u];
    for (uint i = LOCAL_ID; i < 64u; i += WARP) {
        const uint4 row = rounded[i / 4u * 2u];
        AT(halves, i) = i % 4u == 0u ? row.x : i % 4u == 1u ? row.y : i % 4u == 2u ? row.z : row.w;
    }
KERNEL_END
