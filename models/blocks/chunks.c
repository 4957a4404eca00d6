// Rows by chunks (see chunks.h).
#include "models/blocks/chunks.h"

// Every chunk begins with the same random number, so that the rows have those that they have together.
static bpt_stream_t compute_chunk(const bpt_builder_t *b, uint32_t randoms, bpt_chunk_fn_t compute, const void *part, int64_t row,
                                  int64_t rows) {
    bpt_graph_set_randoms(b->g, randoms);
    bpt_graph_region_begin(b->g);
    const bpt_stream_t x = compute(part, row, rows);
    bpt_graph_region_end(b->g);
    return x;
}

bpt_stream_t bpt_chunks(const bpt_builder_t *b, int64_t rows, int64_t border, bpt_value_t into, bpt_chunk_fn_t compute, const void *part) {
    bpt_graph_t *g = b->g;
    if (into == BPT_NO_VALUE && border >= rows && (!b->chunk_rows || rows <= b->chunk_rows)) return compute(part, 0, rows);
    const bpt_shape_t shape = bpt_shape2(rows, b->config->d_model);
    bpt_stream_t all = {.full = into == BPT_NO_VALUE ? bpt_parts(g, BPT_F32, shape) : into};
    all.low = b->precision == BPT_F32 ? all.full : bpt_parts(g, b->precision, shape);
    const uint32_t randoms = bpt_graph_randoms(g);
    for (int64_t row = 0, count; row < rows; row += count) {
        const int64_t end = row < border && border < rows ? border : rows;
        count = b->chunk_rows && b->chunk_rows < end - row ? b->chunk_rows : end - row;
        const bpt_stream_t x = compute_chunk(b, randoms, compute, part, row, count);
        bpt_graph_place(g, x.full, bpt_rows(g, all.full, row, count));
        if (all.low != all.full) bpt_graph_place(g, x.low, bpt_rows(g, all.low, row, count));
    }
    return all;
}
