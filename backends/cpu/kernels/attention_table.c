// Attention over tables row by row, where neighbours read different keys: incremental decoding, where one row reads many keys of all heads,
// and sparse graphs. Rows of the other side are streamed from the tensor as they lie; lanes are columns, all heads are done together.
#include "backends/cpu/kernels/attention_products.h"

// A block of the other side: rows of the tensor, of the table of relative positions (-1: none), and for dropout the codes of the edges.
typedef struct {
    int64_t n;
    int64_t row[BPT_ATTENTION_ROW_KEYS];
    int64_t rel[BPT_ATTENTION_ROW_KEYS];
    uint32_t key_code[BPT_ATTENTION_ROW_KEYS], code[BPT_ATTENTION_ROW_KEYS], sequence[BPT_ATTENTION_ROW_KEYS];
} block_t;

// score[row] of one head: products of the block's rows of a part with q; relative: and of those of the table of relative positions.
BPT_INLINE void block_scores_as(const bpt_attention_t *a, const bpt_attention_part_t *part, bpt_dtype_t dtype, bool relative,
                                const block_t *b, int head, const float *q, float *score) {
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    for (int64_t p = 0; p < b->n; p += BPT_LANES) {
        vf sum[BPT_LANES];
        for (int i = 0; i < BPT_LANES; ++i) {
            sum[i] = (vf){0};
            if (p + i >= b->n) continue;
            const int64_t row = b->row[p + i] * part->stride + first;
            for (int64_t c = 0; c < head_dim; c += BPT_LANES) sum[i] += vf_load(q + c) * vf_read(part->data, dtype, row + c, head_dim - c);
            if (!relative || b->rel[p + i] < 0) continue;
            const float *rel = a->rel + b->rel[p + i] * a->columns;
            for (int64_t c = 0; c < head_dim; c += BPT_LANES) sum[i] += vf_load(q + c) * vf_load(rel + c);
        }
        vf_store(score + p, vf_sums(sum));
    }
}
static void block_scores(const bpt_attention_t *a, const bpt_attention_part_t *part, bool relative, const block_t *b, int head,
                         const float *q, float *score) {
    if (part->dtype == BPT_F32)
        block_scores_as(a, part, BPT_F32, relative, b, head, q, score);
    else if (part->dtype == BPT_BF16)
        block_scores_as(a, part, BPT_BF16, relative, b, head, q, score);
    else
        block_scores_as(a, part, BPT_F16, relative, b, head, q, score);
}

// out += weights times the block's rows of a part.
BPT_INLINE void add_rows_as(const bpt_attention_t *a, const bpt_attention_part_t *part, bpt_dtype_t dtype, const block_t *b, int head,
                            const float *weight, float *out) {
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    for (int64_t c = 0; c < head_dim; c += BPT_LANES) {
        vf sum = vf_load(out + c);
        for (int64_t p = 0; p < b->n; ++p)
            sum += weight[p] * vf_read(part->data, dtype, b->row[p] * part->stride + first + c, head_dim - c);
        vf_store(out + c, sum);
    }
}
static void add_rows(const bpt_attention_t *a, const bpt_attention_part_t *part, const block_t *b, int head, const float *weight,
                     float *out) {
    if (part->dtype == BPT_F32)
        add_rows_as(a, part, BPT_F32, b, head, weight, out);
    else if (part->dtype == BPT_BF16)
        add_rows_as(a, part, BPT_BF16, b, head, weight, out);
    else
        add_rows_as(a, part, BPT_F16, b, head, weight, out);
}

// Dropout factors of the edges of the block from number p on, one a lane.
BPT_INLINE vf edge_factors(const bpt_attention_t *a, const block_t *b, int64_t p, int head) {
    vu key, word[4];
    memcpy(&key, b->key_code + p, sizeof key);
    word[0] = key >> 3, word[3] = vu_set1(a->t->uid << 8 | (uint32_t)head);
    memcpy(&word[1], b->code + p, sizeof word[1]);
    memcpy(&word[2], b->sequence + p, sizeof word[2]);
    vu_philox(word, a->rng[0], a->rng[1]);
    vu bits = {0};
    for (uint32_t i = 0; i < 4; ++i) bits |= word[i] & (vu)((key >> 1 & 3) == i);
    bits = (bits >> (16 * (key & 1))) & 0xFFFF;
    return vf_if((vi)(bits >= a->threshold), vf_set1(a->inverse));
}

// The codes of the edge between `row` and number p of the block.
BPT_INLINE void put_codes(const bpt_attention_t *a, bool of_key, int64_t row, block_t *b, int64_t p, int64_t other) {
    const int64_t query = of_key ? other : row;
    b->key_code[p] = a->key_codes[of_key ? row : other];
    b->code[p] = a->row_keys[2 * query], b->sequence[p] = a->row_keys[2 * query + 1];
}

// ---- Forward ---------------------------------------------------------------------------------------------------------------

// Adds the block to these heads' running output, maximum and sum: parts [heads][columns + 2].
static void add_block(const bpt_attention_t *a, const block_t *b, bpt_attention_heads_t heads, const float *q, float *parts) {
    for (int head = heads.first; head < heads.end; ++head) {
        float weight[BPT_ATTENTION_ROW_KEYS];
        float *part = parts + head * (a->columns + 2), *max = part + a->columns, *sum = max + 1;
        block_scores(a, &a->k, true, b, head, q + head * a->columns, weight);
        float larger = *max;
        for (int64_t p = 0; p < b->n; ++p) larger = weight[p] > larger ? weight[p] : larger;
        const float shrink = expf(*max - larger);
        for (int64_t p = b->n; p % BPT_LANES; ++p) weight[p] = BPT_MASKED;
        vf total = {0};
        for (int64_t p = 0; p < b->n; p += BPT_LANES) {
            const vf x = vf_exp(vf_load(weight + p) - larger);
            vf_store(weight + p, a->t->p > 0 ? x * edge_factors(a, b, p, head) : x);
            total += x;
        }
        *max = larger, *sum = *sum * shrink + vf_sum(total);
        for (int64_t c = 0; c < a->columns; c += BPT_LANES) vf_store(part + c, vf_load(part + c) * shrink);
        add_rows(a, &a->v, b, head, weight, part);
    }
}

// The columns of one head.
static bpt_attention_part_t part_of_head(const bpt_attention_t *a, const bpt_attention_part_t *part, int head) {
    bpt_attention_part_t columns = *part;
    columns.data = (char *)part->data + (size_t)(head * a->t->head_dim) * bpt_dtype_size(part->dtype);
    return columns;
}
static void read_head(const bpt_attention_t *a, const bpt_attention_part_t *part, int head, int64_t row, float scale, float *x) {
    const bpt_attention_part_t columns = part_of_head(a, part, head);
    bpt_read_row(&columns, row, a->t->head_dim, a->columns, scale, x);
}
static void write_head(const bpt_attention_t *a, const bpt_attention_part_t *part, int head, int64_t row, const float *x, float scale) {
    const bpt_attention_part_t columns = part_of_head(a, part, head);
    bpt_write_row(&columns, row, a->t->head_dim, x, scale);
}

// These heads' columns of a row. Rows lie too far apart for the processor to guess the next one.
static void fetch_row(const bpt_attention_t *a, const bpt_attention_part_t *part, bpt_attention_heads_t heads, int64_t row) {
    const int64_t size = (int64_t)bpt_dtype_size(part->dtype), head_dim = a->t->head_dim;
    const char *at = (const char *)part->data + (row * part->stride + heads.first * head_dim) * size;
    for (int64_t i = 0; i < (heads.end - heads.first) * head_dim * size; i += 64) __builtin_prefetch(at + i);
}

// Keys number [from, to) of the query's slots taken together. q: [heads][columns] of workspace.
void BPT_KERNEL_NAME(attention_row)(const bpt_attention_t *a, int64_t query, bpt_attention_heads_t heads, int64_t from, int64_t to,
                                    float *q, float *part) {
    const uint32_t *entry = a->table + query * a->slots * 4;
    for (int head = heads.first; head < heads.end; ++head) {
        read_head(a, &a->q, head, query, a->t->scale, q + head * a->columns);
        float *sums = part + head * (a->columns + 2);
        memset(sums, 0, (size_t)a->columns * sizeof *sums);
        sums[a->columns] = BPT_MASKED, sums[a->columns + 1] = 0;
    }
    block_t b = {.n = 0};
    for (int64_t s = 0, at = 0; s < a->slots && at < to; ++s, entry += 4) {
        const int64_t count = (int64_t)entry[1] - entry[0], step = (int32_t)entry[3];
        for (int64_t i = from > at ? from - at : 0; i < count && at + i < to; ++i) {
            b.row[b.n] = entry[0] + i;
            b.rel[b.n] = entry[2] == BPT_NO_ROW || !a->rel ? -1 : entry[2] + i * step;
            if (a->t->p > 0) put_codes(a, false, query, &b, b.n, b.row[b.n]);
            fetch_row(a, &a->k, heads, b.row[b.n]);
            fetch_row(a, &a->v, heads, b.row[b.n]);
            if (++b.n == BPT_ATTENTION_ROW_KEYS) add_block(a, &b, heads, q, part), b.n = 0;
        }
        if (count > 0) at += count;
    }
    if (b.n) add_block(a, &b, heads, q, part);
}

// The query's row of out and lse from its parts, in order; no keys at all give zeros. parts: [n][heads][columns + 2], changed.
void BPT_KERNEL_NAME(attention_row_write)(const bpt_attention_t *a, int64_t query, bpt_attention_heads_t heads, int64_t n, float *parts) {
    const int64_t stride = a->columns + 2;
    for (int head = heads.first; head < heads.end; ++head) {
        float *sums = parts + head * stride, *max = sums + a->columns, *sum = max + 1;
        for (int64_t i = 1; i < n; ++i) {
            const float *part = sums + i * a->t->heads * stride;
            const float larger = part[a->columns] > *max ? part[a->columns] : *max, old = expf(*max - larger),
                        new = expf(part[a->columns] - larger);
            for (int64_t c = 0; c < a->columns; c += BPT_LANES) vf_store(sums + c, vf_load(sums + c) * old + vf_load(part + c) * new);
            *max = larger, *sum = *sum * old + part[a->columns + 1] * new;
        }
        write_head(a, &a->out, head, query, sums, *sum > 0 ? 1 / *sum : 0);
        if (a->lse) a->lse[query * a->t->heads + head] = *sum > 0 ? *max + bpt_log(*sum) : 0;
    }
}

// ---- Gradient --------------------------------------------------------------------------------------------------------------
// With weights w = exp(s - lse), dropout factors f and D = dots: ds = w (f dout . v - D) scale; dq = sum of ds k over the keys of a query,
// dk = sum of ds q and dv = sum of w f dout over the queries of a key. A key row is worked on as a query row is, with k and v in the place
// of q and dout.

// dots[head] = dout . out of a query. The order is that of dout . v below, so that the two cancel where one key has all the weight.
void BPT_KERNEL_NAME(attention_row_dots)(const bpt_attention_t *a, int64_t query, float *dots) {
    const bpt_attention_part_t *x = &a->dout, *y = &a->out;
    for (int head = 0; head < a->t->heads; ++head) {
        vf sum[BPT_LANES] = {{0}};
        for (int64_t c = 0, head_dim = a->t->head_dim, first = head * head_dim; c < head_dim; c += BPT_LANES)
            sum[0] += vf_read(x->data, x->dtype, query * x->stride + first + c, head_dim - c) *
                      vf_read(y->data, y->dtype, query * y->stride + first + c, head_dim - c);
        dots[head] = vf_sums(sum)[0];
    }
}

// Adds the block's edges to the sums of every head. room: [4][heads][columns], x and y of the row, then their sums.
static void add_gradients(const bpt_attention_t *a, bool of_key, int64_t row, const block_t *b, float *room) {
    const bpt_attention_part_t *x = of_key ? &a->q : &a->k, *y = of_key ? &a->dout : &a->v;
    const int64_t all = a->t->heads * a->columns;
    for (int head = 0; head < a->t->heads; ++head, room += a->columns) {
        float score[BPT_ATTENTION_ROW_KEYS], product[BPT_ATTENTION_ROW_KEYS], lse[BPT_ATTENTION_ROW_KEYS], dots[BPT_ATTENTION_ROW_KEYS];
        block_scores(a, x, false, b, head, room, score);
        block_scores(a, y, false, b, head, room + all, product);
        for (int64_t p = 0; p < b->n || p % BPT_LANES; ++p) {
            const int64_t at = (!of_key ? row : p < b->n ? b->row[p] : 0) * a->t->heads + head;
            lse[p] = p < b->n ? a->lse[at] : -BPT_MASKED, dots[p] = a->dots[at];
        }
        for (int64_t p = 0; p < b->n; p += BPT_LANES) {
            const vf w = vf_exp(vf_load(score + p) - vf_load(lse + p)), f = a->t->p > 0 ? edge_factors(a, b, p, head) : vf_set1(1);
            vf_store(product + p, w * (vf_load(product + p) * f - vf_load(dots + p)));
            vf_store(score + p, w * f);
        }
        add_rows(a, x, b, head, product, room + 2 * all);
        if (of_key) add_rows(a, y, b, head, score, room + 3 * all);
    }
}

void BPT_KERNEL_NAME(attention_row_grad)(const bpt_attention_t *a, bool of_key, int64_t row, float *room) {
    const int64_t all = a->t->heads * a->columns;
    for (int head = 0; head < a->t->heads; ++head) {
        read_head(a, of_key ? &a->k : &a->q, head, row, a->t->scale, room + head * a->columns);
        read_head(a, of_key ? &a->v : &a->dout, head, row, 1, room + all + head * a->columns);
    }
    memset(room + 2 * all, 0, (size_t)(2 * all) * sizeof *room);
    block_t b = {.n = 0};
    for (int64_t s = 0; s < (of_key ? a->back_slots : a->slots); ++s) {
        int64_t other;
        for (const int64_t end = bpt_attention_range(a, of_key, row, s, &other); other < end; ++other) {
            b.row[b.n] = other;
            if (a->t->p > 0) put_codes(a, of_key, row, &b, b.n, other);
            if (++b.n == BPT_ATTENTION_ROW_KEYS) add_gradients(a, of_key, row, &b, room), b.n = 0;
        }
    }
    if (b.n) add_gradients(a, of_key, row, &b, room);
    for (int head = 0; head < a->t->heads; ++head) {
        write_head(a, of_key ? &a->dk : &a->dq, head, row, room + 2 * all + head * a->columns, a->t->scale);
        if (of_key) write_head(a, &a->dv, head, row, room + 3 * all + head * a->columns, 1);
    }
}

// ---- Gradient with relative positions --------------------------------------------------------------------------------------
// One head, query by query: a key does not know which row of the table an edge uses, so dk and dv are added up from the queries' side.

BPT_INLINE void add_scaled(const float *x, float weight, int64_t columns, float *sum) {
    for (int64_t c = 0; c < columns; c += BPT_LANES) vf_store(sum + c, vf_load(sum + c) + weight * vf_load(x + c));
}

static void add_relative_block(const bpt_attention_t *a, int64_t query, const block_t *b, int head, const bpt_attention_sums_t *s) {
    float score[BPT_ATTENTION_ROW_KEYS], product[BPT_ATTENTION_ROW_KEYS];
    const vf lse = vf_set1(a->lse[query * a->t->heads + head]), dots = vf_set1(a->dots[query * a->t->heads + head]);
    block_scores(a, &a->k, true, b, head, s->q, score);
    block_scores(a, &a->v, false, b, head, s->dout, product);
    for (int64_t p = 0; p < b->n; p += BPT_LANES) {
        const vf w = vf_exp(vf_load(score + p) - lse), f = a->t->p > 0 ? edge_factors(a, b, p, head) : vf_set1(1);
        vf_store(product + p, w * (vf_load(product + p) * f - dots));
        vf_store(score + p, w * f);
    }
    add_rows(a, &a->k, b, head, product, s->dq);
    for (int64_t p = 0; p < b->n; ++p) {
        add_scaled(s->q, product[p], a->columns, s->dk + b->row[p] * a->columns);
        add_scaled(s->dout, score[p], a->columns, s->dv + b->row[p] * a->columns);
        if (b->rel[p] < 0) continue;
        add_scaled(a->rel + b->rel[p] * a->columns, product[p], a->columns, s->dq);
        add_scaled(s->q, product[p], a->columns, s->drel + b->rel[p] * a->columns);
    }
}

void BPT_KERNEL_NAME(attention_relative_grad)(const bpt_attention_t *a, int head, int64_t query, const bpt_attention_sums_t *s) {
    const uint32_t *entry = a->table + query * a->slots * 4;
    block_t b = {.n = 0};
    read_head(a, &a->q, head, query, a->t->scale, s->q);
    read_head(a, &a->dout, head, query, 1, s->dout);
    memset(s->dq, 0, (size_t)a->columns * sizeof *s->dq);
    for (int64_t slot = 0; slot < a->slots; ++slot, entry += 4)
        for (int64_t key = entry[0]; key < entry[1]; ++key) {
            b.row[b.n] = key;
            b.rel[b.n] = entry[2] == BPT_NO_ROW ? -1 : entry[2] + (key - entry[0]) * (int32_t)entry[3];
            if (a->t->p > 0) put_codes(a, false, query, &b, b.n, key);
            if (++b.n == BPT_ATTENTION_ROW_KEYS) add_relative_block(a, query, &b, head, s), b.n = 0;
        }
    if (b.n) add_relative_block(a, query, &b, head, s);
    write_head(a, &a->dq, head, query, s->dq, a->t->scale);
}

// The queries of the sums were scaled.
void BPT_KERNEL_NAME(attention_relative_write)(const bpt_attention_t *a, int head, int64_t keys, const bpt_attention_sums_t *s) {
    for (int64_t key = 0; key < keys; ++key) {
        write_head(a, &a->dk, head, key, s->dk + key * a->columns, 1);
        write_head(a, &a->dv, head, key, s->dv + key * a->columns, 1);
    }
}
