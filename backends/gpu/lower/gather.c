// Rows of a table by number: read, gradient, write. The gradient sorts the ids (stable, by 4 bits a pass), so that the rows of one id can
// be added in their order without atomics.
#include "backends/gpu/lower/lower.h"

enum { SORT_CHUNK = 256, DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS };

void bpt_lower_GATHER(bpt_lower_t *l) {
    const int64_t n = bpt_count(&l->call->in[1]), d = bpt_columns(&l->call->in[0]), v = bpt_rows(&l->call->in[0]);
    const bpt_view_t table = bpt_lower_in(l, 0), ids = bpt_lower_in(l, 1), y = bpt_lower_out(l, 0);
    const int64_t rows = bpt_lower_window(l, n, (size_t)d * 4), entries = bpt_lower_window(l, v, (size_t)d * bpt_dtype_size(table.dtype));
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_gather);
    for (int64_t row = 0; row < n && d; row += rows) {
        const int64_t m = bpt_min(rows, n - row);
        k.bindings[gather_ids] = bpt_lower_part(&ids, row, m);
        k.bindings[gather_y] = bpt_lower_part(&y, row * d, m * d);
        int64_t first = 0;
        do {  // once even for an empty table
            const int64_t w = bpt_min(entries, v - first);
            gather_params_t p = {.count = (uint32_t)(m * d), .columns = (uint32_t)d, .first_id = (uint32_t)first, .n_ids = (uint32_t)w};
            k.constants[gather_CLEAR] = first == 0;
            k.bindings[gather_table] = w ? bpt_lower_part(&table, first * d, w * d) : (bpt_view_t){0};
            if (first) bpt_lower_barrier(l);
            bpt_lower_emit_items(l, &k, &p, m * d);
            first += entries;
        } while (first < v);
    }
}

void bpt_lower_SCATTER(bpt_lower_t *l) {
    const int64_t n = bpt_count(&l->call->in[2]), d = bpt_columns(&l->call->in[0]), v = bpt_rows(&l->call->in[0]);
    const bpt_view_t target = bpt_lower_in(l, 0), x = bpt_lower_in(l, 1), ids = bpt_lower_in(l, 2);
    const int64_t rows = bpt_lower_window(l, n, (size_t)d * 4), entries = bpt_lower_window(l, v, (size_t)d * 4);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_scatter);
    for (int64_t row = 0; row < n && d; row += rows)
        for (int64_t first = 0; first < v; first += entries) {
            const int64_t m = bpt_min(rows, n - row), w = bpt_min(entries, v - first);
            scatter_params_t p = {.count = (uint32_t)(m * d), .columns = (uint32_t)d, .first_id = (uint32_t)first, .n_ids = (uint32_t)w};
            k.bindings[scatter_target] = bpt_lower_part(&target, first * d, w * d);
            k.bindings[scatter_x] = bpt_lower_part(&x, row * d, m * d);
            k.bindings[scatter_ids] = bpt_lower_part(&ids, row, m);
            bpt_lower_emit_items(l, &k, &p, m * d);
        }
}

typedef struct {
    bpt_view_t ids, places[2], counts;
    int64_t n, chunks, end_id;
} sort_t;

static void sort_pass(bpt_lower_t *l, const sort_t *s, int pass) {
    const bpt_view_t *from = &s->places[pass & 1], *to = &s->places[~pass & 1];
    bpt_kernel_call_t count = bpt_lower_kernel(l, BPT_GPU_sort_count), scan = bpt_lower_kernel(l, BPT_GPU_sort_scan),
                      move = bpt_lower_kernel(l, BPT_GPU_sort_move);
    sort_count_params_t p = {
        .count = (uint32_t)s->n, .shift = (uint32_t)(pass * DIGIT_BITS), .n_chunks = (uint32_t)s->chunks, .end_id = (uint32_t)s->end_id};
    sort_move_params_t q = {.count = p.count, .shift = p.shift, .n_chunks = p.n_chunks, .end_id = p.end_id};
    sort_scan_params_t r = {.n = (uint32_t)(s->chunks * DIGITS)};
    count.group_size = move.group_size = DIGITS;
    count.constants[sort_count_FIRST] = move.constants[sort_move_FIRST] = pass == 0;
    count.constants[sort_count_CHUNK] = move.constants[sort_move_CHUNK] = SORT_CHUNK;
    count.bindings[sort_count_ids] = move.bindings[sort_move_ids] = s->ids;
    if (pass) count.bindings[sort_count_places] = move.bindings[sort_move_places] = *from;
    count.bindings[sort_count_counts] = scan.bindings[sort_scan_counts] = move.bindings[sort_move_counts] = s->counts;
    move.bindings[sort_move_sorted] = *to;
    bpt_lower_emit(l, &count, &p, s->chunks);
    bpt_lower_barrier(l);
    bpt_lower_emit(l, &scan, &r, 1);
    bpt_lower_barrier(l);
    bpt_lower_emit(l, &move, &q, s->chunks);
    bpt_lower_barrier(l);
}

// The places 0 .. n - 1 in the order of their ids, those that name none of the rows last.
static bpt_view_t sort(bpt_lower_t *l, const bpt_view_t *ids, int64_t n, int64_t rows) {
    sort_t s = {.ids = *ids, .n = n, .chunks = bpt_ceil_div(n, SORT_CHUNK), .end_id = bpt_min(rows, BPT_NO_ROW)};
    for (int i = 0; i < 2; ++i) s.places[i] = bpt_lower_scratch(l, BPT_U32, n);
    s.counts = bpt_lower_scratch(l, BPT_U32, s.chunks * DIGITS);
    int passes = 1;
    while (s.end_id >> passes * DIGIT_BITS) ++passes;
    for (int pass = 0; pass < passes; ++pass) sort_pass(l, &s, pass);
    return s.places[passes & 1];
}

// The gradient of n rows of dy, added to acc.
static void sum_by_id(bpt_lower_t *l, const bpt_view_t *dy, const bpt_view_t *ids, int64_t n, bpt_view_t acc) {
    const int64_t d = bpt_columns(&l->call->out[0]), v = bpt_rows(&l->call->out[0]);
    const bpt_view_t result = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_gather_sum);
    if (n) {
        k.bindings[gather_sum_sorted] = sort(l, ids, n, v);
        k.bindings[gather_sum_dy] = *dy;
        k.bindings[gather_sum_ids] = *ids;
    }
    k.constants[gather_sum_HAS_ACC] = acc.present;
    const int64_t window = bpt_lower_window(l, v, (size_t)d * 4), blocks = bpt_ceil_div(d, k.group_size);
    for (int64_t first = 0; first < v && d; first += window) {
        const int64_t w = bpt_min(window, v - first);
        gather_sum_params_t p = {
            .count = (uint32_t)n, .columns = (uint32_t)d, .first_id = (uint32_t)first, .column_blocks = (uint32_t)blocks};
        k.bindings[gather_sum_acc] = bpt_lower_part(&acc, first * d, w * d);
        k.bindings[gather_sum_result] = bpt_lower_part(&result, first * d, w * d);
        bpt_lower_emit(l, &k, &p, w * blocks);
    }
}

// As many rows at once as one binding holds and one item may loop over, if all had the same id.
void bpt_lower_GATHER_GRAD(bpt_lower_t *l) {
    const int64_t n = bpt_count(&l->call->in[1]), d = bpt_columns(&l->call->out[0]);
    const bpt_view_t dy = bpt_lower_in(l, 0), ids = bpt_lower_in(l, 1), result = bpt_lower_out(l, 0);
    const uint32_t loops = l->device->api->limits.max_loops;
    const int64_t fit = bpt_lower_window(l, n, (size_t)d * bpt_dtype_size(dy.dtype)), rows = loops ? bpt_min(fit, loops / 2) : fit;
    const size_t scratch = l->scratch_bytes;
    size_t most = scratch;
    int64_t row = 0;
    do {
        const int64_t m = bpt_min(rows, n - row);
        const bpt_view_t part = bpt_lower_part(&dy, row * d, m * d), part_ids = bpt_lower_part(&ids, row, m);
        if (row) bpt_lower_barrier(l);
        l->scratch_bytes = scratch;  // the rows before have been summed up
        sum_by_id(l, &part, &part_ids, m, row ? result : bpt_lower_in(l, 2));
        if (l->scratch_bytes > most) most = l->scratch_bytes;
        row += rows;
    } while (row < n);
    l->scratch_bytes = most;
}
