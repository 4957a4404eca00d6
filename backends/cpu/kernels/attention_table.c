// Single queries over explicit interval tables, forward only: incremental decoding, where one row reads many keys of all heads. Keys
// and values are streamed from the tensor as they lie; lanes are columns.
#include "backends/cpu/kernels/attention_products.h"

// A block of keys: rows of the tensor and of the table (-1: none).
typedef struct {
    int64_t n;
    int64_t key[BPT_ATTENTION_ROW_KEYS];
    int64_t rel[BPT_ATTENTION_ROW_KEYS];
} block_t;

// Lane i = the sum of vector i.
BPT_INLINE vf sums_of(vf x[BPT_LANES]) {
    for (int half = BPT_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; ++i) x[i] = BPT_ZIP_LOW(x[i], x[i + half]) + BPT_ZIP_HIGH(x[i], x[i + half]);
    return x[0];
}

// score[key] of one head.
BPT_INLINE void block_scores(const bpt_attention_t *a, bpt_dtype_t dtype, const block_t *b, int head, const float *q, float *score) {
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    for (int64_t p = 0; p < b->n; p += BPT_LANES) {
        vf sum[BPT_LANES];
        for (int i = 0; i < BPT_LANES; ++i) {
            sum[i] = (vf){0};
            if (p + i >= b->n) continue;
            const int64_t row = b->key[p + i] * a->k.stride + first;
            for (int64_t c = 0; c < head_dim; c += BPT_LANES) sum[i] += vf_load(q + c) * vf_read(a->k.data, dtype, row + c, head_dim - c);
            if (b->rel[p + i] < 0) continue;
            const float *rel = a->rel + b->rel[p + i] * a->columns;
            for (int64_t c = 0; c < head_dim; c += BPT_LANES) sum[i] += vf_load(q + c) * vf_load(rel + c);
        }
        vf_store(score + p, sums_of(sum));
    }
}

BPT_INLINE void add_values(const bpt_attention_t *a, bpt_dtype_t dtype, const block_t *b, int head, const float *weight, float *out) {
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    for (int64_t c = 0; c < head_dim; c += BPT_LANES) {
        vf sum = vf_load(out + c);
        for (int64_t p = 0; p < b->n; ++p) sum += weight[p] * vf_read(a->v.data, dtype, b->key[p] * a->v.stride + first + c, head_dim - c);
        vf_store(out + c, sum);
    }
}

// Adds the block to every head's running output, maximum and sum: part [heads][columns + 2].
BPT_INLINE void add_block(const bpt_attention_t *a, bpt_dtype_t dtype, const block_t *b, const float *q, float *part) {
    for (int head = 0; head < a->t->heads; ++head, part += a->columns + 2) {
        float weight[BPT_ATTENTION_ROW_KEYS];
        float *max = part + a->columns, *sum = max + 1;
        block_scores(a, dtype, b, head, q + head * a->columns, weight);
        float larger = *max;
        for (int64_t p = 0; p < b->n; ++p) larger = weight[p] > larger ? weight[p] : larger;
        const float shrink = expf(*max - larger);
        for (int64_t p = b->n; p % BPT_LANES; ++p) weight[p] = BPT_MASKED;
        vf total = {0};
        for (int64_t p = 0; p < b->n; p += BPT_LANES) {
            const vf x = vf_exp(vf_load(weight + p) - larger);
            vf_store(weight + p, x);
            total += x;
        }
        *max = larger, *sum = *sum * shrink + vf_sum(total);
        for (int64_t c = 0; c < a->columns; c += BPT_LANES) vf_store(part + c, vf_load(part + c) * shrink);
        add_values(a, dtype, b, head, weight, part);
    }
}

static void add_any_block(const bpt_attention_t *a, const block_t *b, const float *q, float *part) {
    if (a->k.dtype == BPT_F32)
        add_block(a, BPT_F32, b, q, part);
    else if (a->k.dtype == BPT_BF16)
        add_block(a, BPT_BF16, b, q, part);
    else
        add_block(a, BPT_F16, b, q, part);
}

// Keys number [from, to) of the query's slots taken together, all heads. q: [heads][columns] of workspace.
void BPT_KERNEL_NAME(attention_row)(const bpt_attention_t *a, int64_t query, int64_t from, int64_t to, float *q, float *part) {
    const uint32_t *entry = a->table + query * a->slots * 4;
    for (int head = 0; head < a->t->heads; ++head) {
        const bpt_attention_part_t columns = {(char *)a->q.data + (size_t)(head * a->t->head_dim) * bpt_dtype_size(a->q.dtype), a->q.dtype,
                                              a->q.stride};
        bpt_read_row(&columns, query, a->t->head_dim, a->columns, a->t->scale, q + head * a->columns);
        float *sums = part + head * (a->columns + 2);
        memset(sums, 0, (size_t)a->columns * sizeof *sums);
        sums[a->columns] = BPT_MASKED, sums[a->columns + 1] = 0;
    }
    block_t b = {.n = 0};
    for (int64_t s = 0, at = 0; s < a->slots && at < to; ++s, entry += 4) {
        const int64_t count = (int64_t)entry[1] - entry[0], step = (int32_t)entry[3];
        for (int64_t i = from > at ? from - at : 0; i < count && at + i < to; ++i) {
            b.key[b.n] = entry[0] + i;
            b.rel[b.n++] = entry[2] == BPT_NO_ROW || !a->rel ? -1 : entry[2] + i * step;
            if (b.n == BPT_ATTENTION_ROW_KEYS) add_any_block(a, &b, q, part), b.n = 0;
        }
        if (count > 0) at += count;
    }
    if (b.n) add_any_block(a, &b, q, part);
}

// The query's row of out and lse from its parts, in order; no keys at all give zeros. parts: [n][heads][columns + 2], changed.
void BPT_KERNEL_NAME(attention_row_write)(const bpt_attention_t *a, int64_t query, int64_t n, float *parts) {
    const int64_t stride = a->columns + 2;
    for (int head = 0; head < a->t->heads; ++head) {
        float *sums = parts + head * stride, *max = sums + a->columns, *sum = max + 1;
        for (int64_t i = 1; i < n; ++i) {
            const float *part = sums + i * a->t->heads * stride;
            const float larger = part[a->columns] > *max ? part[a->columns] : *max, old = expf(*max - larger),
                        new = expf(part[a->columns] - larger);
            for (int64_t c = 0; c < a->columns; c += BPT_LANES) vf_store(sums + c, vf_load(sums + c) * old + vf_load(part + c) * new);
            *max = larger, *sum = *sum * old + part[a->columns + 1] * new;
        }
        const bpt_attention_part_t columns = {(char *)a->out.data + (size_t)(head * a->t->head_dim) * bpt_dtype_size(a->out.dtype),
                                              a->out.dtype, a->out.stride};
        bpt_write_row(&columns, query, a->t->head_dim, sums, *sum > 0 ? 1 / *sum : 0);
        if (a->lse) a->lse[query * a->t->heads + head] = *sum > 0 ? *max + bpt_log(*sum) : 0;
    }
}
