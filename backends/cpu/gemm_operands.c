// Copies of operands (gemm_operands.h).
#include "backends/cpu/gemm_operands.h"

#include "backends/cpu/cpu.h"

enum { AHEAD = 4, BLOCK = 16 };  // rows ahead that are prefetched; rows and columns that are transposed at a time

void bpt_gemm_copy(const void *x, bpt_dtype_t dtype, bpt_gemm_place_t place, float *room) {
    const int64_t size = (int64_t)bpt_dtype_size(dtype), line = 64 / size;
    for (int64_t i = 0; i < place.rows; ++i) {
        const char *row = (const char *)x + (place.first + i * place.ld) * size;
        if (i + AHEAD < place.rows)  // rows lie too far apart for the processor to guess the next one
            for (int64_t c = 0; c < place.columns; c += line) __builtin_prefetch(row + (AHEAD * place.ld + c) * size);
        bpt_cpu_convert_piece(room + i * place.columns, BPT_F32, row, dtype, place.columns);
    }
}

void bpt_gemm_transpose(const void *x, bpt_dtype_t dtype, bpt_gemm_place_t place, float *room) {
    const int64_t size = (int64_t)bpt_dtype_size(dtype);
    float block[BLOCK][BLOCK];
    for (int64_t i = 0; i < place.rows; i += BLOCK)
        for (int64_t j = 0; j < place.columns; j += BLOCK) {
            const int64_t rows = bpt_cpu_min(place.rows - i, BLOCK), columns = bpt_cpu_min(place.columns - j, BLOCK);
            for (int64_t r = 0; r < rows; ++r)
                bpt_cpu_convert_piece(block[r], BPT_F32, (const char *)x + (place.first + (i + r) * place.ld + j) * size, dtype, columns);
            for (int64_t c = 0; c < columns; ++c)
                for (int64_t r = 0; r < rows; ++r) room[(j + c) * place.rows + i + r] = block[r][c];
        }
}
