// What kernels must not do, for tests: MODE says what. 0 is right: the sum of the numbers of all items of the group.
#include "cl/dialect/warp.h"
#define KERNEL probe_faults
#define BINDINGS(B) B(0, U, result) B(1, V, vectors)
#define PARAMS(P) P(uint, mode) P(uint, other)
#define LOCALS(L) L(uint, numbers, WG) L(float, unwritten, 4)
KERNEL_TYPES
KERNEL_BEGIN
    numbers[LOCAL_ID] = LOCAL_ID;
    if (p.mode == 1u && LOCAL_ID < 3u) {
        BARRIER;
    }
    if (p.mode == 2u) {
        if (LOCAL_ID < 3u) {
            BARRIER;
        } else {
            BARRIER;
        }
    }
    if (p.mode == 3u) numbers[LOCAL_ID + p.other] = 1u;
    if (p.mode == 4u) AT(vectors, LOCAL_ID) = FLOAT4(1.0f, 2.0f, 3.0f, 4.0f);
    if (p.mode == 5u && LANE != 7u) numbers[LOCAL_ID] = warp_shuffle_xor(LOCAL_ID, 1u);
    if (p.mode == 6u) numbers[LOCAL_ID] = LOCAL_ID % 2u == 0u ? warp_shuffle_xor(LOCAL_ID, 1u) : warp_shuffle_down(LOCAL_ID, 1u) + 1u;
    if (p.mode == 7u) numbers[LOCAL_ID] = load_matrix_x1((const char *)numbers + p.other);
    if (p.mode == 8u) numbers[LOCAL_ID] <<= p.other;
    if (p.mode == 9u) AT(result, LOCAL_ID) = numbers[(LOCAL_ID + 1u) % WG];  // a race
    if (p.mode == 10u) AT(result, LOCAL_ID) = AS_UINT(unwritten[LOCAL_ID % 4u]);
    if (p.mode == 11u) AT(result, 0x3FFFFFFFu) = 1u;
    if (p.mode == 12u) unwritten[LOCAL_ID % 4u] = 1.0f;
    BARRIER;
    if (p.mode == 0u && LOCAL_ID == 0u) {
        uint sum = 0u;
        for (uint i = 0u; i < WG; ++i) sum += numbers[i];
        AT(result, GROUP_ID) = sum;
    }
KERNEL_END
