// The small products that attention is made of, and what goes with them: tiles of queries, lane masks, dropout factors. A tile is
// 16 queries, BPT_TILE / BPT_LANES vectors of this instruction set. Operands are f32 and head-major (attention.h).
#ifndef BPT_CPU_ATTENTION_PRODUCTS_H
#define BPT_CPU_ATTENTION_PRODUCTS_H

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/dropout.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

enum {
    TV = BPT_TILE / BPT_LANES,   // vectors of a tile
    SCORE_KEYS = BPT_LANES / 2,  // keys that share the loads of a tile: as many as registers allow
};
#define BPT_MASKED (-1e30f)  // score of a key that a query does not read: its weight is exactly 0

typedef struct {
    vf v[TV];
} tile_t;  // one number per query
typedef struct {
    vi v[TV];
} lanes_t;  // a mask over queries

BPT_INLINE tile_t tile_load(const float *p) {
    tile_t x;
    for (int u = 0; u < TV; ++u) x.v[u] = vf_load(p + u * BPT_LANES);
    return x;
}
BPT_INLINE void tile_store(float *p, tile_t x) {
    for (int u = 0; u < TV; ++u) vf_store(p + u * BPT_LANES, x.v[u]);
}
BPT_INLINE tile_t tile_set1(float x) {
    tile_t t;
    for (int u = 0; u < TV; ++u) t.v[u] = vf_set1(x);
    return t;
}
BPT_INLINE lanes_t lanes_between(int begin, int end) {
    lanes_t m;
    for (int u = 0; u < TV; ++u) {
        vi lane;
        for (int i = 0; i < BPT_LANES; ++i) lane[i] = u * BPT_LANES + i;
        m.v[u] = (lane >= begin) & (lane < end);
    }
    return m;
}
// p[lane] = x[lane] where the mask is set.
BPT_INLINE void tile_store_lanes(float *p, lanes_t m, tile_t x) {
    for (int u = 0; u < TV; ++u) vf_store_if(p + u * BPT_LANES, m.v[u], x.v[u]);
}

// ---- Products --------------------------------------------------------------------------------------------------------

// out[p][query] = sum over c of base[rows[p]][c] * t[c][query], p < n; out has room for n rounded up to SCORE_KEYS.
BPT_INLINE void bpt_scores(const float *base, int64_t columns, const int32_t *rows, int64_t n, const float *t, int64_t head_dim,
                           float *out) {
    for (int64_t p = 0; p < n; p += SCORE_KEYS) {
        const float *row[SCORE_KEYS];
        tile_t sum[SCORE_KEYS];
        for (int i = 0; i < SCORE_KEYS; ++i) row[i] = base + rows[p + i < n ? p + i : n - 1] * columns, sum[i] = (tile_t){{{0}}};
        for (int64_t c = 0; c < head_dim; ++c) {
            const tile_t x = tile_load(t + c * BPT_TILE);
            for (int i = 0; i < SCORE_KEYS; ++i)
                for (int u = 0; u < TV; ++u) sum[i].v[u] += vf_set1(row[i][c]) * x.v[u];
        }
        for (int i = 0; i < SCORE_KEYS; ++i) tile_store(out + (p + i) * BPT_TILE, sum[i]);
    }
}

// `lanes` rows by `vectors` vectors of out[query][c] += sum over p of w[p][query] * base[rows[p]][c].
BPT_INLINE void mix_block(const float *base, int64_t columns, const int32_t *rows, int64_t n, const float *w, float *out, int lanes,
                          int vectors) {
    vf sum[16][4];
    for (int i = 0; i < lanes; ++i)
        for (int u = 0; u < vectors; ++u) sum[i][u] = vf_load(out + i * columns + u * BPT_LANES);
    for (int64_t p = 0; p < n; ++p) {
        const float *row = base + rows[p] * columns, *weight = w + p * BPT_TILE;
        vf x[4];
        for (int u = 0; u < vectors; ++u) x[u] = vf_load(row + u * BPT_LANES);
        for (int i = 0; i < lanes; ++i)
            for (int u = 0; u < vectors; ++u) sum[i][u] += vf_set1(weight[i]) * x[u];
    }
    for (int i = 0; i < lanes; ++i)
        for (int u = 0; u < vectors; ++u) vf_store(out + i * columns + u * BPT_LANES, sum[i][u]);
}

// out[query][c] += sum over p < n of w[p][query] * base[rows[p]][c], 16 queries.
BPT_INLINE void bpt_mix(const float *base, int64_t columns, const int32_t *rows, int64_t n, const float *w, float *out) {
    int64_t c = 0;
#if BPT_LANES == 16
    for (; c + 4 * BPT_LANES <= columns; c += 4 * BPT_LANES)
        for (int q = 0; q < BPT_TILE; q += 4) mix_block(base + c, columns, rows, n, w + q, out + q * columns + c, 4, 4);
#endif
    for (; c + 2 * BPT_LANES <= columns; c += 2 * BPT_LANES)
        for (int q = 0; q < BPT_TILE; q += 4) mix_block(base + c, columns, rows, n, w + q, out + q * columns + c, 4, 2);
    for (; c < columns; c += BPT_LANES)
        for (int q = 0; q < BPT_TILE; q += 8) mix_block(base + c, columns, rows, n, w + q, out + q * columns + c, 8, 1);
}

// Rows that a product is added to: rows[p] of base. base NULL: none.
typedef struct {
    float *base;
    const int32_t *rows;
} sums_t;

// Adds to `keys` rows of `to` by `vectors` vectors: sum over 16 queries of w[p][query] * x[query][c]; the same to rows of `also`.
BPT_INLINE void outer_block(sums_t to, sums_t also, int64_t columns, int64_t p, int64_t c, const float *w, const float *x, int keys,
                            int vectors) {
    vf sum[4][4];
    for (int i = 0; i < keys; ++i)
        for (int u = 0; u < vectors; ++u)
            sum[i][u] = also.base ? vf_set1(0) : vf_load(to.base + to.rows[p + i] * columns + c + u * BPT_LANES);
#pragma GCC unroll 4
    for (int q = 0; q < BPT_TILE; ++q) {
        vf y[4];
        for (int u = 0; u < vectors; ++u) y[u] = vf_load(x + q * columns + c + u * BPT_LANES);
        for (int i = 0; i < keys; ++i)
            for (int u = 0; u < vectors; ++u) sum[i][u] += vf_set1(w[(p + i) * BPT_TILE + q]) * y[u];
    }
    for (int i = 0; i < keys; ++i)
        for (int u = 0; u < vectors; ++u) {
            float *y = to.base + to.rows[p + i] * columns + c + u * BPT_LANES;
            vf_store(y, also.base ? vf_load(y) + sum[i][u] : sum[i][u]);
            if (!also.base) continue;
            y = also.base + also.rows[p + i] * columns + c + u * BPT_LANES;
            vf_store(y, vf_load(y) + sum[i][u]);
        }
}
BPT_INLINE void outer_columns(sums_t to, sums_t also, int64_t columns, int64_t n, int64_t c, const float *w, const float *x, int vectors) {
    int64_t p = 0;
    for (; p + 4 <= n; p += 4) outer_block(to, also, columns, p, c, w, x, 4, vectors);
    for (; p < n; ++p) outer_block(to, also, columns, p, c, w, x, 1, vectors);
}

BPT_INLINE void outer_rows(sums_t to, sums_t also, int64_t columns, int64_t n, const float *w, const float *x) {
    int64_t c = 0;
#if BPT_LANES == 16
    for (; c + 4 * BPT_LANES <= columns; c += 4 * BPT_LANES) outer_columns(to, also, columns, n, c, w, x, 4);
#endif
    for (; c + 2 * BPT_LANES <= columns; c += 2 * BPT_LANES) outer_columns(to, also, columns, n, c, w, x, 2);
    for (; c < columns; c += BPT_LANES) outer_columns(to, also, columns, n, c, w, x, 1);
}

// base[rows[p]][c] += sum over the 16 queries of w[p][query] * x[query][c], p < n; the rows are distinct.
BPT_INLINE void bpt_outer(float *base, int64_t columns, const int32_t *rows, int64_t n, const float *w, const float *x) {
    outer_rows((sums_t){base, rows}, (sums_t){NULL, NULL}, columns, n, w, x);
}
// The same sums added to rows of two matrices; they need not be distinct.
BPT_INLINE void bpt_outer_twice(sums_t to, sums_t also, int64_t columns, int64_t n, const float *w, const float *x) {
    outer_rows(to, also, columns, n, w, x);
}

// ---- Rows and tiles --------------------------------------------------------------------------------------------------

BPT_INLINE void read_row(const bpt_attention_part_t *part, bpt_dtype_t dtype, int64_t row, int64_t head_dim, int64_t columns, float scale,
                         float *out) {
    const int64_t first = row * part->stride;
    for (int64_t c = 0; c < columns; c += BPT_LANES) {
        const vf x = c < head_dim ? vf_read(part->data, dtype, first + c, head_dim - c) : (vf){0};
        vf_store(out + c, x * scale);
    }
}
// out[0 .. columns) = scale * a row of the tensor; zeros above head_dim, and where row is -1.
BPT_INLINE void bpt_read_row(const bpt_attention_part_t *part, int64_t row, int64_t head_dim, int64_t columns, float scale, float *out) {
    if (row < 0)
        memset(out, 0, (size_t)columns * sizeof *out);
    else if (part->dtype == BPT_F32)
        read_row(part, BPT_F32, row, head_dim, columns, scale, out);
    else if (part->dtype == BPT_BF16)
        read_row(part, BPT_BF16, row, head_dim, columns, scale, out);
    else
        read_row(part, BPT_F16, row, head_dim, columns, scale, out);
}

BPT_INLINE void write_row(const bpt_attention_part_t *part, bpt_dtype_t dtype, int64_t row, int64_t head_dim, const float *x, float scale) {
    const int64_t first = row * part->stride;
    if (part->stream) {
        for (int64_t c = 0; c < head_dim; c += BPT_LANES) vf_stream_as(part->data, dtype, first + c, vf_load(x + c) * scale);
        return;
    }
    for (int64_t c = 0; c < head_dim; c += BPT_LANES) vf_write(part->data, dtype, first + c, head_dim - c, vf_load(x + c) * scale);
}
// A row of the tensor = scale * x; nothing where row is -1.
BPT_INLINE void bpt_write_row(const bpt_attention_part_t *part, int64_t row, int64_t head_dim, const float *x, float scale) {
    if (row < 0) return;
    if (part->dtype == BPT_F32)
        write_row(part, BPT_F32, row, head_dim, x, scale);
    else if (part->dtype == BPT_BF16)
        write_row(part, BPT_BF16, row, head_dim, x, scale);
    else
        write_row(part, BPT_F16, row, head_dim, x, scale);
}

// t[c][query] = x[query][c].
BPT_INLINE void bpt_transpose_tile(const float *x, int64_t columns, float *t) {
    for (int64_t c = 0; c < columns; c += BPT_LANES)
        for (int q = 0; q < BPT_TILE; q += BPT_LANES) {
            vf a[BPT_LANES];
            for (int i = 0; i < BPT_LANES; ++i) a[i] = vf_load(x + (q + i) * columns + c);
            vf_transpose(a);
            for (int i = 0; i < BPT_LANES; ++i) vf_store(t + (c + i) * BPT_TILE + q, a[i]);
        }
}

// x[query][c] *= factor[query].
BPT_INLINE void bpt_scale_rows(float *x, int64_t columns, tile_t factor) {
    float f[BPT_TILE];
    tile_store(f, factor);
    for (int q = 0; q < BPT_TILE; ++q)
        for (int64_t c = 0; c < columns; c += BPT_LANES) vf_store(x + q * columns + c, vf_load(x + q * columns + c) * f[q]);
}

// y += factor * x
BPT_INLINE void add_row(float *y, float factor, const float *x, int64_t columns) {
    for (int64_t c = 0; c < columns; c += BPT_LANES) vf_store(y + c, vf_load(y + c) + factor * vf_load(x + c));
}
BPT_INLINE float bpt_dot(const float *x, const float *y, int64_t columns) {
    vf sum = {0};
    for (int64_t c = 0; c < columns; c += BPT_LANES) sum += vf_load(x + c) * vf_load(y + c);
    return vf_sum(sum);
}

// log of positive normal numbers, for log sum exp: scalar, once per query.
BPT_INLINE float bpt_log(float x) { return logf(x); }

// ---- Dropout ---------------------------------------------------------------------------------------------------------

// The stream of 16 queries: bits of the eight keys around the one asked for last.
typedef struct {
    const bpt_attention_t *a;
    vu code[TV], sequence[TV], word[TV][4];
    uint32_t stream, group;
} dropout_t;

BPT_INLINE dropout_t dropout_begin(const bpt_attention_t *a, int head, const uint32_t *code, const uint32_t *sequence) {
    dropout_t d = {.a = a, .stream = a->t->uid << 8 | (uint32_t)head, .group = UINT32_MAX};
    memcpy(d.code, code, sizeof d.code);
    memcpy(d.sequence, sequence, sizeof d.sequence);
    return d;
}

// Factors of the weights of one key: 0 or 1 / (1 - p).
BPT_INLINE tile_t dropout_factors(dropout_t *d, uint32_t key_code) {
    if (key_code >> 3 != d->group) {
        d->group = key_code >> 3;
        for (int u = 0; u < TV; ++u) {
            d->word[u][0] = vu_set1(d->group), d->word[u][1] = d->code[u], d->word[u][2] = d->sequence[u],
            d->word[u][3] = vu_set1(d->stream);
            vu_philox(d->word[u], d->a->rng[0], d->a->rng[1]);
        }
    }
    tile_t factor;
    for (int u = 0; u < TV; ++u) {
        const vu bits = (d->word[u][key_code >> 1 & 3] >> (16 * (key_code & 1))) & 0xFFFF;
        factor.v[u] = vf_if((vi)(bits >= d->a->threshold), vf_set1(d->a->inverse));
    }
    return factor;
}

#endif
