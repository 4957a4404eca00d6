// segment, segment_grad. A piece of work is some segments and some columns; a range is cut off at the last row (ops.h), so bad data never
// reads or writes outside.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { SEGMENTS = 8, COLUMNS = 512, ROWS = 32 };

// Columns [first, first + count) of the rows [begin, end) of segment `number`.
typedef struct {
    int64_t number, begin, end, first, count;
} part_t;

static part_t part_of(const bpt_host_run_t *run, int64_t number, int64_t first, int64_t d) {
    const uint32_t *range = (const uint32_t *)run->in[1] + 2 * number;
    part_t p = {.number = number, .begin = range[0], .first = first, .count = bpt_cpu_min(COLUMNS, d - first)};
    p.end = bpt_cpu_min(range[1], run->attrs->segment.rows);
    if (p.begin > p.end) p.end = p.begin;
    return p;
}

// Elements of row `row` of a tensor of d columns, from the part's first column on.
static void *at(void *data, bpt_dtype_t dtype, int64_t row, int64_t d, const part_t *p) {
    return (char *)data + (size_t)(row * d + p->first) * bpt_dtype_size(dtype);
}

static void scale(float *data, int64_t n, float divisor) {
    for (int64_t i = 0; i < n; ++i) data[i] /= divisor;
}

static void reduce(const bpt_host_run_t *run, const part_t *p) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_operand_t *x = &run->call->in[0], *y = &run->call->out[0];
    const int64_t d = bpt_shape_columns(&x->shape), rows = p->end - p->begin;
    const bpt_segment_kind_t kind = run->attrs->segment.kind;
    float value[COLUMNS];
    uint32_t place[COLUMNS];
    memset(value, 0, sizeof value);
    memset(place, 0xFF, sizeof place);  // BPT_NO_ROW
    if (rows && kind == BPT_SEGMENT_MAX)
        k->segment_largest(at(run->in[0], x->dtype, p->begin, d, p), x->dtype, rows, p->count, d, (uint32_t)p->begin, value, place);
    else if (rows)
        k->column_sum(value, at(run->in[0], x->dtype, p->begin, d, p), x->dtype, rows, p->count, d);
    if (rows && kind == BPT_SEGMENT_MEAN) scale(value, p->count, (float)rows);
    k->from_f32(at(run->out[0], y->dtype, p->number, d, p), y->dtype, value, p->count);
    if (run->out[1]) memcpy(at(run->out[1], BPT_U32, p->number, d, p), place, (size_t)p->count * sizeof *place);
}

// dx of the segment's rows; the others are zero already.
static void spread(const bpt_host_run_t *run, const part_t *p) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_operand_t *dy = &run->call->in[0], *dx = &run->call->out[0];
    const int64_t d = bpt_shape_columns(&dy->shape);
    const size_t size = bpt_dtype_size(dx->dtype);
    float value[COLUMNS];
    char line[COLUMNS * sizeof(float)];
    k->to_f32(value, at(run->in[0], dy->dtype, p->number, d, p), dy->dtype, p->count);
    if (run->attrs->segment.kind == BPT_SEGMENT_MEAN) scale(value, p->count, (float)(p->end - p->begin));
    k->from_f32(line, dx->dtype, value, p->count);
    if (run->attrs->segment.kind != BPT_SEGMENT_MAX) {
        for (int64_t r = p->begin; r < p->end; ++r) memcpy(at(run->out[0], dx->dtype, r, d, p), line, (size_t)p->count * size);
        return;
    }
    const uint32_t *place = at(run->in[2], BPT_U32, p->number, d, p);
    for (int64_t c = 0; c < p->count; ++c)
        if (place[c] >= p->begin && place[c] < p->end)
            memcpy((char *)at(run->out[0], dx->dtype, place[c], d, p) + (size_t)c * size, line + (size_t)c * size, size);
}

// All columns of some segments, a slice at a time.
static void run_block(const bpt_host_run_t *run, int64_t index, void (*body)(const bpt_host_run_t *run, const part_t *p)) {
    const int64_t segments = bpt_shape_rows(&run->call->in[1].shape), d = bpt_shape_columns(&run->call->in[0].shape);
    const int64_t slices = bpt_cpu_blocks(d, COLUMNS), first = index / slices * SEGMENTS;
    for (int64_t s = first; s < bpt_cpu_min(first + SEGMENTS, segments); ++s) {
        const part_t p = part_of(run, s, index % slices * COLUMNS, d);
        body(run, &p);
    }
}

static void reduce_block(const void *context, int64_t index, int thread) {
    (void)thread;
    run_block(context, index, reduce);
}

static void spread_block(const void *context, int64_t index, int thread) {
    (void)thread;
    run_block(context, index, spread);
}

static int64_t blocks_of(const bpt_host_run_t *run) {
    const int64_t segments = bpt_shape_rows(&run->call->in[1].shape), d = bpt_shape_columns(&run->call->in[0].shape);
    return bpt_cpu_blocks(segments, SEGMENTS) * bpt_cpu_blocks(d, COLUMNS);
}

static void run_segment(const bpt_host_run_t *run) { bpt_team_for(run->team, blocks_of(run), reduce_block, run); }

static void clear_rows(const void *context, int64_t block, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_operand_t *dx = &run->call->out[0];
    const size_t row_bytes = (size_t)bpt_shape_columns(&dx->shape) * bpt_dtype_size(dx->dtype);
    const int64_t rows = bpt_cpu_min(ROWS, run->attrs->segment.rows - block * ROWS);
    memset((char *)run->out[0] + (size_t)(block * ROWS) * row_bytes, 0, (size_t)rows * row_bytes);
}

static void run_segment_grad(const bpt_host_run_t *run) {
    bpt_team_for(run->team, bpt_cpu_blocks(run->attrs->segment.rows, ROWS), clear_rows, run);
    bpt_team_for(run->team, blocks_of(run), spread_block, run);
}

const bpt_host_op_t bpt_cpu_op_SEGMENT = {NULL, run_segment};
const bpt_host_op_t bpt_cpu_op_SEGMENT_GRAD = {NULL, run_segment_grad};
