// What the lanes of a warp compute together, with the layouts of fragments that the PTX manual gives (mma.m16n8k16, ldmatrix).
#include <math.h>
#include <string.h>

#include "emulator/internal.h"
#include "emulator/numbers.h"

typedef const uint32_t (*words_in_t)[EMULATED_MOST_WORDS];
typedef uint32_t (*words_out_t)[EMULATED_MOST_WORDS];

static bool shuffle(words_in_t in, words_out_t out) {
    for (uint32_t lane = 0; lane < EMULATED_WARP; ++lane) out[lane][0] = in[in[lane][1] < EMULATED_WARP ? in[lane][1] : lane][0];
    return true;
}

// Matrix m of 8 x 8 16-bit elements: row i begins at the address of lane 8 m + i. Lane l gets elements 2 (l % 4) and the next of row l / 4,
// or transposed of column l / 4.
static bool load_matrices(int count, bool transposed, words_in_t in, words_out_t out, const emulated_kernel_t *kernel, const char **why) {
    for (int m = 0; m < count; ++m) {
        const char *rows[8];
        for (int i = 0; i < 8; ++i) {
            memcpy(&rows[i], in[8 * m + i], sizeof rows[i]);
            *why = "ldmatrix reads rows of 16 bytes of shared memory: the address is none, or not a multiple of 16";
            if (rows[i] < kernel->shared || rows[i] + 16 > kernel->shared_end || (uintptr_t)rows[i] % 16) return false;
        }
        for (int lane = 0; lane < EMULATED_WARP; ++lane) {
            uint16_t element[2];
            for (int e = 0; e < 2; ++e) {
                const int at = lane % 4 * 2 + e, row = transposed ? at : lane / 4, column = transposed ? lane / 4 : at;
                memcpy(&element[e], rows[row] + 2 * column, 2);
            }
            out[lane][m] = element[0] | (uint32_t)element[1] << 16;
        }
    }
    return true;
}

// One such matrix, of which lane l has elements 2 (l % 4) and the next of row l / 4.
static bool transpose(words_in_t in, words_out_t out) {
    for (int lane = 0; lane < EMULATED_WARP; ++lane) {
        out[lane][0] = 0;
        for (int e = 0; e < 2; ++e) {
            const int row = lane % 4 * 2 + e, column = lane / 4;
            out[lane][0] |= (in[4 * row + column / 2][0] >> (16 * (column % 2)) & 0xFFFFu) << (16 * e);
        }
    }
    return true;
}

static float element(uint32_t word, int half, bool f16) {
    const uint16_t bits = (uint16_t)(half ? word >> 16 : word);
    return f16 ? emulated_half_to_float(bits) : emulated_bf16_to_float(bits);
}

// To f32 towards zero.
static float truncated(double x) {
    const float v = (float)x;
    return isfinite(v) && fabs((double)v) > fabs(x) ? nextafterf(v, 0) : v;
}

// d (16 x 8) += a (16 x 16) b (16 x 8). What is not documented, but was measured of GPUs, is how sums are rounded: eight exact products and
// the sum so far are added up, and the digits that an f32 has no room for are cut off.
static bool multiply(bool f16, words_in_t in, words_out_t out) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < EMULATED_WARP; ++lane) {
        const int group = lane / 4, in_group = lane % 4;
        for (int i = 0; i < 8; ++i)
            a[group + (i / 2 % 2 ? 8 : 0)][2 * in_group + i % 2 + (i >= 4 ? 8 : 0)] = element(in[lane][i / 2], i % 2, f16);
        for (int i = 0; i < 4; ++i) b[2 * in_group + i % 2 + (i >= 2 ? 8 : 0)][group] = element(in[lane][4 + i / 2], i % 2, f16);
    }
    for (int lane = 0; lane < EMULATED_WARP; ++lane)
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
            float sum = emulated_float(in[lane][6 + i]);
            for (int k = 0; k < 16; k += 8) {
                double exact = sum;
                for (int j = k; j < k + 8; ++j) exact += (double)a[row][j] * b[j][column];
                sum = truncated(exact);
            }
            out[lane][i] = emulated_bits(sum);
        }
    return true;
}

bool emulated_warp(emulated_operation_t operation, int mode, words_in_t in, words_out_t out, const emulated_kernel_t *kernel,
                   const char **why) {
    switch (operation) {
    case EMULATED_SYNC: return true;
    case EMULATED_SHUFFLE: return shuffle(in, out);
    case EMULATED_LOAD_MATRIX: return load_matrices(mode % 8, mode >= 8, in, out, kernel, why);
    case EMULATED_TRANSPOSE: return transpose(in, out);
    case EMULATED_MMA: return multiply(mode == 2, in, out);
    }
    *why = "an unknown operation of a warp";
    return false;
}
