// What warps do together (cl/dialect/warp.h), for tests. MODE 0, 1: c += a b by fragments that each item gathers as the PTX manual says where
// they lie, in bf16 or f16; 2, 3: by fragments from local memory. a is 16 x 16 and b 16 x 8 by rows, two elements in a word. 4: shuffles.
#include "cl/dialect/warp.h"
#define KERNEL probe_warp
#define BINDINGS(B) B(0, U, a) B(1, U, b) B(2, R, c) B(3, U, shuffled)
#define PARAMS(P) P(uint, mode)
#define LOCALS(L) L(uint4, tile_a, 32) L(uint4, tile_b, 16)
#define PAIR(x, row, column) (AT(x, ((row) * 8u + (column)) / 2u) >> (16u * ((column) % 2u)) & 0xFFFFu)
KERNEL_TYPES
KERNEL_BEGIN
    const uint group = LANE / 4u, place = LANE % 4u * 2u;
    if (p.mode < 4u) {
        uint4 left = make_uint4(AT(a, (group * 16u + place) / 2u), AT(a, ((group + 8u) * 16u + place) / 2u),
                                AT(a, (group * 16u + place + 8u) / 2u), AT(a, ((group + 8u) * 16u + place + 8u) / 2u));
        uint2 right = make_uint2(PAIR(b, place, group) | PAIR(b, place + 1u, group) << 16,
                                 PAIR(b, place + 8u, group) | PAIR(b, place + 9u, group) << 16);
        float4 sum = FLOAT4(AT(c, group * 8u + place), AT(c, group * 8u + place + 1u), AT(c, (group + 8u) * 8u + place),
                            AT(c, (group + 8u) * 8u + place + 1u));
        if (p.mode >= 2u) {
            const uint matrix = LANE / 8u, row = LANE % 8u;
            tile_a[LANE] = make_uint4(AT(a, 4u * LANE), AT(a, 4u * LANE + 1u), AT(a, 4u * LANE + 2u), AT(a, 4u * LANE + 3u));
            if (LANE < 16u) tile_b[LANE] = make_uint4(AT(b, 4u * LANE), AT(b, 4u * LANE + 1u), AT(b, 4u * LANE + 2u), AT(b, 4u * LANE + 3u));
            WARP_BARRIER;
            left = load_matrix_x4(&tile_a[(matrix % 2u * 8u + row) * 2u + matrix / 2u]);
            right = load_matrix_x2_transposed(&tile_b[LANE % 16u]);
            // The same by other numbers of matrices at a time.
            const uint4 again = load_matrix_x4_transposed(&tile_b[LANE % 16u]);
            const uint2 upper = load_matrix_x2(&tile_a[(LANE % 16u) * 2u]);
            const uint first = load_matrix_x1(&tile_a[row * 2u]), turned = load_matrix_x1_transposed(&tile_b[row]);
            const uint moved = warp_transposed(load_matrix_x1(&tile_b[row]));
            if (again.x != right.x || again.y != right.y || again.z != right.x || upper.x != left.x || upper.y != left.y ||
                first != left.x || turned != right.x || moved != right.x)
                sum.x = AS_FLOAT(0x7FC00000u);
        }
        if (p.mode % 2u == 0u)
            warp_mma_bf16(sum, left, right);
        else
            warp_mma_f16(sum, left, right);
        AT(c, group * 8u + place) = sum.x;
        AT(c, group * 8u + place + 1u) = sum.y;
        AT(c, (group + 8u) * 8u + place) = sum.z;
        AT(c, (group + 8u) * 8u + place + 1u) = sum.w;
    } else {
        const uint v = 100u * GLOBAL_ID;
        AT(shuffled, 4u * GLOBAL_ID) = warp_shuffle(v, 5u);
        AT(shuffled, 4u * GLOBAL_ID + 1u) = warp_shuffle_xor(v, 9u);
        AT(shuffled, 4u * GLOBAL_ID + 2u) = warp_shuffle_down(v, 3u);
        float sum = TO_FLOAT(LANE);
        for (uint bits = 16u; bits > 0u; bits /= 2u) sum += warp_shuffle_xor(sum, bits);
        AT(shuffled, 4u * GLOBAL_ID + 3u) = TO_UINT(sum);
    }
KERNEL_END
