// Between the rows of packed tensors and the head-major f32 rows of one unit.
#include "backends/cpu/kernels/attention_products.h"

enum { AHEAD = 16 };  // rows of keys and values that are on their way

// Asks the second-level cache for `columns` elements of a row: rows lie pages apart, so the processor does not guess the next one. The
// row may lie behind the tensor's last, where asking does nothing.
BPT_INLINE void fetch(const bpt_attention_part_t *part, int64_t row, int64_t columns) {
    if (!part->data) return;
    const int64_t size = (int64_t)bpt_dtype_size(part->dtype);
    const uintptr_t x = (uintptr_t)part->data + (uintptr_t)(row * part->stride * size);
    for (int64_t i = 0; i < columns * size; i += 64) __builtin_prefetch((const void *)(x + (uintptr_t)i), 0, 2);
}

// What the leaf's own tile is going to read.
BPT_INLINE void fetch_query(const bpt_attention_t *a, int64_t row, int64_t columns) {
    fetch(&a->q, row, columns);
    fetch(&a->dout, row, columns);
    if (a->dout.data) fetch(&a->out, row, columns);
}

// What heads side by side take of a row lies in one place.
void BPT_KERNEL_NAME(attention_pack)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int heads, int64_t node, int64_t rows,
                                     float *const *k, float *const *v) {
    const int64_t head_dim = a->t->head_dim, columns = a->columns, first = bpt_attention_row(a, unit->sequence, node);
    const bool queries = node < a->n && a->t->queries != BPT_QUERIES_ROOTS;
    for (int64_t i = 0; i < rows; ++i) {
        fetch(&a->k, first + i + AHEAD, heads * head_dim);
        fetch(&a->v, first + i + AHEAD, heads * head_dim);
        if (queries) fetch_query(a, first + i, heads * head_dim);
        for (int h = 0; h < heads; ++h) bpt_read_row(&a[h].k, first + i, head_dim, columns, 1, k[h] + i * columns);
        for (int h = 0; h < heads; ++h) bpt_read_row(&a[h].v, first + i, head_dim, columns, 1, v[h] + i * columns);
    }
}

BPT_INLINE void clear_row(float *x, int64_t columns) {
    for (int64_t c = 0; c < columns; c += BPT_LANES) vf_store(x + c, vf_set1(0));
}

void BPT_KERNEL_NAME(attention_unpack)(const bpt_attention_t *a, const bpt_attention_unit_t *unit, int heads, int64_t node, int64_t rows,
                                       float *const *dk, float *const *dv) {
    const int64_t head_dim = a->t->head_dim, columns = a->columns, first = bpt_attention_row(a, unit->sequence, node);
    for (int64_t i = 0; i < rows; ++i) {
        for (int h = 0; h < heads; ++h) {
            bpt_write_row(&a[h].dk, first + i, head_dim, dk[h] + i * columns, 1);
            clear_row(dk[h] + i * columns, columns);
        }
        for (int h = 0; h < heads; ++h) {
            float *row = dv[h] + i * columns;
            const float *mean = unit[h].means ? bpt_attention_mean_row(a, &unit[h], node + i) : NULL;
            if (mean) add_row(row, 1, mean, columns);
            bpt_write_row(&a[h].dv, first + i, head_dim, row, 1);
            clear_row(row, columns);
        }
    }
}

// out[0 .. rows)[columns] = rows [begin, begin + rows) of a part, zeros above head_dim: the table of relative positions.
void BPT_KERNEL_NAME(attention_read)(const bpt_attention_part_t *part, int64_t begin, int64_t rows, int64_t head_dim, int64_t columns,
                                     float *out) {
    for (int64_t i = 0; i < rows; ++i) bpt_read_row(part, begin + i, head_dim, columns, 1, out + i * columns);
}

void BPT_KERNEL_NAME(attention_written)(void) { vf_stream_end(); }
