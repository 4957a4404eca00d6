// pointwise, and the preparation of chains (steps.h).
#include "backends/cpu/steps.h"

enum { PIECE = 1024, BLOCK = 16 * PIECE };  // floats in a thread's buffer (4 KiB: stays in L1), elements of one piece of work

bpt_cpu_steps_t bpt_cpu_steps_bind(const bpt_host_run_t *run, const bpt_pointwise_attrs_t *attrs, int64_t columns) {
    bpt_cpu_steps_t s = {.attrs = attrs, .row_keys = run->in[BPT_IN_ROW_KEYS], .rng = run->in[BPT_IN_RNG], .columns = columns};
    for (int i = 0; i < attrs->n_steps; ++i) {
        const int32_t arg = attrs->step[i].arg;
        if (bpt_pointwise_form(attrs->step[i].code)->operand == BPT_OPERAND_NONE) continue;
        s.arg[i] = run->in[arg];
        s.dtype[i] = run->call->in[arg].dtype;
    }
    return s;
}

bool bpt_cpu_steps_use_position(const bpt_pointwise_attrs_t *attrs) {
    for (int i = 0; i < attrs->n_steps; ++i) {
        const bpt_pointwise_form_t *form = bpt_pointwise_form(attrs->step[i].code);
        if (form->operand == BPT_OPERAND_ROW || form->constant == BPT_CONSTANT_RATE) return true;
    }
    return false;
}

// Works in a buffer of its own, so that the output may share the storage of any input of its shape and type.
void bpt_cpu_steps_run(const bpt_cpu_steps_t *s, void *out, bpt_dtype_t to, const void *x, bpt_dtype_t from, int64_t row, int64_t column,
                       int64_t n) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    _Alignas(64) float data[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = bpt_cpu_min(PIECE, n - i);
        k->to_f32(data, (const char *)x + (size_t)i * bpt_dtype_size(from), from, m);
        k->steps(s, data, row, column + i, m);
        k->from_f32((char *)out + (size_t)i * bpt_dtype_size(to), to, data, m);
    }
}

// One call, cut into pieces of rows, or into groups of rows that are short.
typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_steps_t s;
    int64_t rows, block, blocks;  // block: columns of a piece, or rows of a group; blocks: pieces of a row
} pieces_t;

static void run_piece(const bpt_host_run_t *run, const bpt_cpu_steps_t *s, int64_t row, int64_t column, int64_t n) {
    const bpt_dtype_t from = run->call->in[0].dtype, to = run->call->out[0].dtype;
    const size_t first = (size_t)(row * s->columns + column);
    const char *x = (const char *)run->in[0] + first * bpt_dtype_size(from);
    bpt_cpu_steps_run(s, (char *)run->out[0] + first * bpt_dtype_size(to), to, x, from, row, column, n);
}

static void piece_of_row(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    const int64_t column = i % p->blocks * p->block;
    run_piece(p->run, &p->s, i / p->blocks, column, bpt_cpu_min(p->block, p->s.columns - column));
}

static void group_of_rows(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    const int64_t end = bpt_cpu_min((i + 1) * p->block, p->rows);
    for (int64_t row = i * p->block; row < end; ++row) run_piece(p->run, &p->s, row, 0, p->s.columns);
}

static void run_pointwise(const bpt_host_run_t *run) {
    const bpt_pointwise_attrs_t *attrs = &run->attrs->pointwise;
    const bpt_shape_t *shape = &run->call->out[0].shape;
    const int64_t count = bpt_shape_count(shape);
    const int64_t columns = bpt_cpu_steps_use_position(attrs) ? bpt_shape_columns(shape) : count;
    if (!count) return;
    pieces_t p = {.run = run, .s = bpt_cpu_steps_bind(run, attrs, columns), .rows = count / columns};
    if (columns >= BLOCK) {
        p.block = BLOCK, p.blocks = bpt_cpu_blocks(columns, BLOCK);
        bpt_team_for(run->team, p.rows * p.blocks, piece_of_row, &p);
    } else {
        p.block = BLOCK / columns;
        bpt_team_for(run->team, bpt_cpu_blocks(p.rows, p.block), group_of_rows, &p);
    }
}

const bpt_host_op_t bpt_cpu_op_POINTWISE = {NULL, run_pointwise};
