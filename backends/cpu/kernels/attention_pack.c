// Between the rows of packed tensors and the head-major f32 rows of one unit.
#include "backends/cpu/kernels/attention_products.h"

enum { AHEAD = 12 };  // rows to prefetch: the rows of one head lie pages apart

BPT_INLINE void prefetch_row(const bpt_attention_part_t *part, int64_t row, int64_t head_dim) {
    const int64_t size = (int64_t)bpt_dtype_size(part->dtype);
    const char *p = (const char *)part->data + row * part->stride * size;
    for (int64_t i = 0; i < head_dim * size; i += 64) __builtin_prefetch(p + i);
}

void BPT_KERNEL_NAME(attention_pack)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    const int64_t head_dim = a->t->head_dim, columns = a->columns, row = bpt_attention_row(a, unit->sequence, begin) - begin;
    for (int64_t node = begin; node < end; ++node) {
        if (node + AHEAD < end) prefetch_row(&a->k, row + node + AHEAD, head_dim), prefetch_row(&a->v, row + node + AHEAD, head_dim);
        bpt_read_row(&a->k, row + node, head_dim, columns, 1, unit->k + node * columns);
        bpt_read_row(&a->v, row + node, head_dim, columns, 1, unit->v + node * columns);
    }
}

void BPT_KERNEL_NAME(attention_unpack)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int64_t begin, int64_t end) {
    const int64_t head_dim = a->t->head_dim, columns = a->columns, row = bpt_attention_row(a, unit->sequence, begin) - begin;
    for (int64_t node = begin; node < end; ++node) {
        bpt_write_row(&a->dk, row + node, head_dim, unit->dk + node * columns, 1);
        bpt_write_row(&a->dv, row + node, head_dim, unit->dv + node * columns, 1);
    }
}

// out[0 .. rows)[columns] = rows [begin, begin + rows) of a part, zeros above head_dim: the table of relative positions.
void BPT_KERNEL_NAME(attention_read)(const bpt_attention_part_t *part, int64_t begin, int64_t rows, int64_t head_dim, int64_t columns,
                                     float *out) {
    for (int64_t i = 0; i < rows; ++i) bpt_read_row(part, begin + i, head_dim, columns, 1, out + i * columns);
}
