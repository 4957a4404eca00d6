// Attention over tables by tiles of 16 neighbouring rows, one head: queries with the keys that they read, forward and backward, and keys
// with the queries that read them, which is the same with k and v in the place of q and dout. A masked score makes a weight of exactly 0,
// so a lane's result does not depend on what the others read.
#include "backends/cpu/kernels/attention_products.h"

#define ABSENT (-3e38f)  // score of a row that a lane has no edge with: below the BPT_MASKED that a running maximum begins with

BPT_INLINE bool is_of_key(const bpt_table_walk_t *w) { return w->pass == BPT_ATTENTION_DKV; }

static void read_lanes(const bpt_attention_t *a, const bpt_table_walk_t *w, const bpt_attention_part_t *part, float scale, float *x,
                       float *xt) {
    for (int lane = 0; lane < BPT_TILE; ++lane)
        bpt_read_row(part, lane < w->lanes ? w->first + lane : -1, a->t->head_dim, a->columns, scale, x + lane * a->columns);
    bpt_transpose_tile(x, a->columns, xt);
}

static void read_codes(const bpt_attention_t *a, bpt_table_walk_t *w) {
    for (int lane = 0; lane < BPT_TILE; ++lane) {
        const int64_t row = lane < w->lanes ? w->first + lane : w->first;
        w->code[lane] = is_of_key(w) ? a->key_codes[row] : a->row_keys[2 * row];
        w->sequence[lane] = is_of_key(w) ? 0 : a->row_keys[2 * row + 1];
    }
}

void BPT_KERNEL_NAME(attention_table_begin)(const bpt_attention_t *a, bpt_table_walk_t *w) {
    read_lanes(a, w, is_of_key(w) ? &a->k : &a->q, a->t->scale, w->x, w->xt);
    memset(w->out, 0, (size_t)(BPT_TILE * a->columns) * sizeof *w->out);
    if (a->t->p > 0) read_codes(a, w);
    for (int lane = 0; lane < BPT_TILE; ++lane) w->max[lane] = BPT_MASKED, w->sum[lane] = 0, w->lse[lane] = 0, w->delta[lane] = 0;
    if (w->pass == BPT_ATTENTION_OUT) return;
    read_lanes(a, w, is_of_key(w) ? &a->v : &a->dout, 1, w->y, w->yt);
    if (is_of_key(w)) memset(w->more, 0, (size_t)(BPT_TILE * a->columns) * sizeof *w->more);
    for (int lane = 0; lane < w->lanes && !is_of_key(w); ++lane) {
        const int64_t at = (w->first + lane) * a->t->heads + w->head;
        w->lse[lane] = a->lse[at], w->delta[lane] = a->dots[at];
    }
}

// ---- A block of the other side -----------------------------------------------------------------------------------------------

static void fill_ring(const bpt_attention_t *a, bpt_table_walk_t *w) {
    const bpt_attention_part_t *x = is_of_key(w) ? &a->q : &a->k, *y = is_of_key(w) ? &a->dout : &a->v;
    for (int32_t p = 0; p < w->n; ++p) {
        const int32_t place = w->row[p];
        if (w->ring.tag[place] == w->other[p]) continue;
        w->ring.tag[place] = w->other[p];
        bpt_read_row(x, w->other[p], a->t->head_dim, a->columns, 1, w->ring.x + place * a->columns);
        bpt_read_row(y, w->other[p], a->t->head_dim, a->columns, 1, w->ring.y + place * a->columns);
    }
}

// Scores of the rows that a lane has no edge with.
static void mask_scores(const bpt_attention_t *a, bpt_table_walk_t *w) {
    for (int32_t s = 0; s < w->n_segments; ++s) {
        if (w->segment[s].whole) continue;
        int32_t begin[BPT_TILE] = {0}, end[BPT_TILE] = {0};
        for (int lane = 0; lane < w->lanes; ++lane) {
            int64_t first;
            end[lane] = (int32_t)bpt_attention_range(a, is_of_key(w), w->first + lane, w->segment[s].slot, &first);
            begin[lane] = (int32_t)first;
        }
        for (int32_t p = w->segment[s].at; p < w->segment[s].at + w->segment[s].n; ++p) {
            const int32_t row = (int32_t)w->other[p];
            float *score = w->score + p * BPT_TILE;
            for (int u = 0; u < TV; ++u) {
                vi low, high;
                memcpy(&low, begin + u * BPT_LANES, sizeof low);
                memcpy(&high, end + u * BPT_LANES, sizeof high);
                vf_store(score + u * BPT_LANES, vf_select((row >= low) & (row < high), vf_load(score + u * BPT_LANES), vf_set1(ABSENT)));
            }
        }
    }
}

static void add_outputs(const bpt_attention_t *a, bpt_table_walk_t *w) {
    const tile_t old = tile_load(w->max);
    tile_t max = old, sum = tile_load(w->sum), shrink;
    for (int32_t p = 0; p < w->n; ++p)
        for (int u = 0; u < TV; ++u) max.v[u] = vf_max(vf_load(w->score + p * BPT_TILE + u * BPT_LANES), max.v[u]);
    for (int u = 0; u < TV; ++u) shrink.v[u] = vf_exp(old.v[u] - max.v[u]), sum.v[u] *= shrink.v[u];
    bpt_scale_rows(w->out, a->columns, shrink);
    dropout_t dropout = {0};
    if (a->t->p > 0) dropout = dropout_begin(a, w->head, w->code, w->sequence);
    for (int32_t p = 0; p < w->n; ++p) {
        tile_t weight = tile_load(w->score + p * BPT_TILE);
        for (int u = 0; u < TV; ++u) weight.v[u] = vf_exp(weight.v[u] - max.v[u]), sum.v[u] += weight.v[u];
        if (a->t->p > 0) {
            const tile_t factor = dropout_factors(&dropout, a->key_codes[w->other[p]]);
            for (int u = 0; u < TV; ++u) weight.v[u] *= factor.v[u];
        }
        tile_store(w->score + p * BPT_TILE, weight);
    }
    bpt_mix(w->ring.y, a->columns, w->row, w->n, w->score, w->out);
    tile_store(w->max, max), tile_store(w->sum, sum);
}

static void add_query_gradients(const bpt_attention_t *a, bpt_table_walk_t *w) {
    const tile_t lse = tile_load(w->lse), delta = tile_load(w->delta);
    dropout_t dropout = {0};
    if (a->t->p > 0) dropout = dropout_begin(a, w->head, w->code, w->sequence);
    for (int32_t p = 0; p < w->n; ++p) {
        tile_t weight = tile_load(w->score + p * BPT_TILE), product = tile_load(w->product + p * BPT_TILE);
        for (int u = 0; u < TV; ++u) weight.v[u] = vf_exp(weight.v[u] - lse.v[u]);
        tile_t kept = weight;
        if (a->t->p > 0) {
            const tile_t factor = dropout_factors(&dropout, a->key_codes[w->other[p]]);
            for (int u = 0; u < TV; ++u) product.v[u] *= factor.v[u], kept.v[u] *= factor.v[u];
        }
        for (int u = 0; u < TV; ++u) product.v[u] = weight.v[u] * (product.v[u] - delta.v[u]);
        tile_store(w->score + p * BPT_TILE, kept);
        tile_store(w->product + p * BPT_TILE, product);
    }
    bpt_mix(w->ring.x, a->columns, w->row, w->n, w->product, w->out);
    if (!w->ring.sum_x) return;
    bpt_outer(w->ring.sum_x, a->columns, w->row, w->n, w->product, w->x);
    bpt_outer(w->ring.sum_y, a->columns, w->row, w->n, w->score, w->y);
}

// factor[p][lane] of 16 queries from number `first` of the block on: made with queries as lanes, since eight keys share random numbers.
static void key_factors(const bpt_attention_t *a, const bpt_table_walk_t *w, int32_t first, float *factor) {
    uint32_t code[BPT_TILE] = {0}, sequence[BPT_TILE] = {0};
    float by_key[BPT_TILE * BPT_TILE];
    for (int32_t i = 0; i < BPT_TILE && first + i < w->n; ++i)
        code[i] = a->row_keys[2 * (size_t)w->other[first + i]], sequence[i] = a->row_keys[2 * (size_t)w->other[first + i] + 1];
    dropout_t dropout = dropout_begin(a, w->head, code, sequence);
    for (int lane = 0; lane < BPT_TILE; ++lane) tile_store(by_key + lane * BPT_TILE, dropout_factors(&dropout, w->code[lane]));
    bpt_transpose_tile(by_key, BPT_TILE, factor);
}

static void add_key_gradients(const bpt_attention_t *a, bpt_table_walk_t *w) {
    float factor[BPT_TILE * BPT_TILE];
    for (int32_t p = 0; p < w->n; ++p) {
        const int64_t at = (int64_t)w->other[p] * a->t->heads + w->head;
        const float lse = a->lse[at], delta = a->dots[at];
        tile_t weight = tile_load(w->score + p * BPT_TILE), product = tile_load(w->product + p * BPT_TILE);
        for (int u = 0; u < TV; ++u) weight.v[u] = vf_exp(weight.v[u] - lse);
        tile_t kept = weight;
        if (a->t->p > 0) {
            if (p % BPT_TILE == 0) key_factors(a, w, p, factor);
            const tile_t f = tile_load(factor + p % BPT_TILE * BPT_TILE);
            for (int u = 0; u < TV; ++u) kept.v[u] *= f.v[u], product.v[u] *= f.v[u];
        }
        for (int u = 0; u < TV; ++u) product.v[u] = weight.v[u] * (product.v[u] - delta);
        tile_store(w->score + p * BPT_TILE, kept);
        tile_store(w->product + p * BPT_TILE, product);
    }
    bpt_mix(w->ring.x, a->columns, w->row, w->n, w->product, w->out);
    bpt_mix(w->ring.y, a->columns, w->row, w->n, w->score, w->more);
}

void BPT_KERNEL_NAME(attention_table_add)(const bpt_attention_t *a, bpt_table_walk_t *w) {
    fill_ring(a, w);
    bpt_scores(w->ring.x, a->columns, w->row, w->n, w->xt, a->t->head_dim, w->score);
    mask_scores(a, w);
    if (w->pass == BPT_ATTENTION_OUT) {
        add_outputs(a, w);
        return;
    }
    bpt_scores(w->ring.y, a->columns, w->row, w->n, w->yt, a->t->head_dim, w->product);
    if (is_of_key(w))
        add_key_gradients(a, w);
    else
        add_query_gradients(a, w);
}

// ------------------------------------------------------------------------------------------------------------------------------

void BPT_KERNEL_NAME(attention_table_end)(const bpt_attention_t *a, bpt_table_walk_t *w) {
    for (int lane = 0; lane < w->lanes; ++lane) {
        const int64_t row = w->first + lane;
        const float *out = w->out + lane * a->columns, sum = w->sum[lane];
        if (w->pass == BPT_ATTENTION_OUT) {
            bpt_write_row(&a->out, row, a->t->head_dim, out, sum > 0 ? 1 / sum : 0);
            if (a->lse) a->lse[row * a->t->heads + w->head] = sum > 0 ? w->max[lane] + bpt_log(sum) : 0;
        } else {
            bpt_write_row(is_of_key(w) ? &a->dk : &a->dq, row, a->t->head_dim, out, a->t->scale);
            if (is_of_key(w)) bpt_write_row(&a->dv, row, a->t->head_dim, w->more + lane * a->columns, 1);
        }
    }
}

BPT_INLINE int64_t place_of(const bpt_attention_t *a, const bpt_table_walk_t *w, int64_t row) {
    return (row & (w->ring.rows - 1)) * a->columns;
}

void BPT_KERNEL_NAME(attention_table_clear)(const bpt_attention_t *a, bpt_table_walk_t *w, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
        memset(w->ring.sum_x + place_of(a, w, row), 0, (size_t)a->columns * sizeof(float));
        memset(w->ring.sum_y + place_of(a, w, row), 0, (size_t)a->columns * sizeof(float));
    }
}

// The queries of the sums were scaled.
void BPT_KERNEL_NAME(attention_table_write)(const bpt_attention_t *a, const bpt_table_walk_t *w, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
        bpt_write_row(&a->dk, row, a->t->head_dim, w->ring.sum_x + place_of(a, w, row), 1);
        bpt_write_row(&a->dv, row, a->t->head_dim, w->ring.sum_y + place_of(a, w, row), 1);
    }
}
