// Arrays of numbers as examples (see arrays.h).
#include "data/batches/arrays.h"

#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "bpt/safetensors.h"

bool bpt_arrays_is_file(const char *path) {
    static const char end[] = ".safetensors";
    const size_t length = strlen(path), wanted = sizeof end - 1;
    return length > wanted && !strcmp(path + length - wanted, end);
}

// Room for `count` examples of n vectors each.
static bpt_status_t reserve(bpt_examples_t *e, uint64_t count, int64_t n, int64_t columns, int64_t values) {
    *e = (bpt_examples_t){.vectors = {.has = true, .columns = columns},
                          .values = {.has = true, .columns = values},
                          .count = count,
                          .n_tokens = count * (uint64_t)n};
    bpt_status_t status = bpt_alloc(count + 1, sizeof *e->offsets, &e->offsets);
    if (status == BPT_OK) status = bpt_alloc(e->n_tokens * (uint64_t)columns, sizeof *e->vectors.of, &e->vectors.of);
    if (status == BPT_OK) status = bpt_alloc(count * (uint64_t)values, sizeof *e->values.of, &e->values.of);
    for (uint64_t i = 0; status == BPT_OK && i <= count; ++i) e->offsets[i] = i * (uint64_t)n;
    if (status != BPT_OK) bpt_examples_free(e);
    return status;
}

// ---- Files

static bpt_status_t find(const bpt_safetensors_t *file, const char *name, int rank, const char *shape,
                         const bpt_safetensors_tensor_t **out) {
    *out = bpt_safetensors_find(file, name);
    if (!*out)
        return bpt_fail(BPT_ERR_INPUT, "%s: no tensor \"%s\"; it must have x %s and y [examples, values]", bpt_safetensors_path(file), name,
                        shape);
    if ((*out)->rank != rank || (*out)->count == 0)
        return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" has %d dimensions and %lld numbers; it must be %s and not empty",
                        bpt_safetensors_path(file), name, (int)(*out)->rank, (long long)(*out)->count, shape);
    return BPT_OK;
}

static bpt_status_t read_finite(const bpt_safetensors_t *file, const bpt_safetensors_tensor_t *t, float *out) {
    BPT_TRY(bpt_safetensors_read_f32(file, t, 0, t->count, out));
    for (int64_t i = 0; i < t->count; ++i)
        if (!isfinite(out[i]))
            return bpt_fail(BPT_ERR_INPUT, "%s: number %lld of tensor \"%s\" is not finite", bpt_safetensors_path(file), (long long)i,
                            t->name);
    return BPT_OK;
}

static bpt_status_t read_tensors(const bpt_safetensors_t *file, bpt_examples_t *out) {
    const bpt_safetensors_tensor_t *x, *y;
    BPT_TRY(find(file, "x", 3, "[examples, n, columns]", &x));
    BPT_TRY(find(file, "y", 2, "[examples, values]", &y));
    if (x->shape[0] != y->shape[0])
        return bpt_fail(BPT_ERR_INPUT, "%s: x has %lld examples and y has %lld", bpt_safetensors_path(file), (long long)x->shape[0],
                        (long long)y->shape[0]);
    BPT_TRY(reserve(out, (uint64_t)x->shape[0], x->shape[1], x->shape[2], y->shape[1]));
    bpt_status_t status = read_finite(file, x, out->vectors.of);
    if (status == BPT_OK) status = read_finite(file, y, out->values.of);
    if (status != BPT_OK) bpt_examples_free(out);
    return status;
}

bpt_status_t bpt_arrays_read(const char *path, bpt_examples_t *out) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_safetensors_open(path, &file));
    const bpt_status_t status = read_tensors(file, out);
    bpt_safetensors_close(file);
    return status;
}

bpt_status_t bpt_arrays_part(const bpt_examples_t *all, const bpt_cut_t *cut, int part, bpt_examples_t *out) {
    const uint64_t n = all->offsets[1], columns = (uint64_t)all->vectors.columns, values = (uint64_t)all->values.columns;
    uint64_t count = 0, to = 0;
    for (uint64_t e = 0; e < all->count; ++e) count += cut->part[e] == part;
    BPT_TRY(reserve(out, count, (int64_t)n, all->vectors.columns, all->values.columns));
    for (uint64_t e = 0; e < all->count; ++e) {
        if (cut->part[e] != part) continue;
        memcpy(out->vectors.of + to * n * columns, all->vectors.of + e * n * columns, n * columns * sizeof *out->vectors.of);
        memcpy(out->values.of + to * values, all->values.of + e * values, values * sizeof *out->values.of);
        ++to;
    }
    return BPT_OK;
}

// ---- Masked Summation

typedef struct {
    uint32_t key[2], counter[4], block[4];
    int used;
} random_t;

static uint32_t next(random_t *r) {
    if (r->used == 4) {
        bpt_philox(r->counter, r->key, r->block);
        ++r->counter[0];
        r->used = 0;
    }
    return r->block[r->used++];
}

// Floyd's sampling: `sum` distinct places below n.
static void mark(random_t *r, float *x, int64_t n, int64_t sum, int64_t columns) {
    for (int64_t top = n - sum; top < n; ++top) {
        const int64_t place = (int64_t)(((uint64_t)next(r) * (uint64_t)(top + 1)) >> 32);
        x[(x[place * columns] != 0 ? top : place) * columns] = 1;
    }
}

static void make_example(const bpt_summation_t *s, uint64_t index, float *x, float *y) {
    random_t r = {
        .key = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32)}, .counter = {0, (uint32_t)s->part, (uint32_t)index, 0x73756D}, .used = 4};
    memset(x, 0, (size_t)(s->n * s->columns) * sizeof *x);
    memset(y, 0, (size_t)(s->columns - 1) * sizeof *y);
    mark(&r, x, s->n, s->sum, s->columns);
    for (int64_t i = 0; i < s->n; ++i)
        for (int64_t c = 1; c < s->columns; ++c) {
            x[i * s->columns + c] = bpt_uniform01(next(&r));
            if (x[i * s->columns] != 0) y[c - 1] += x[i * s->columns + c];
        }
}

bpt_status_t bpt_summation_make(const bpt_summation_t *s, bpt_examples_t *out) {
    if (s->sum > s->n || s->columns < 2)
        return bpt_fail(
            BPT_ERR_USAGE,
            "Masked Summation adds --sum %lld of --n %lld vectors of --d-input %lld components, the first of which is the mark: "
            "--sum must be at most --n, and --d-input at least 2",
            (long long)s->sum, (long long)s->n, (long long)s->columns);
    BPT_TRY(reserve(out, (uint64_t)s->examples, s->n, s->columns, s->columns - 1));
    for (uint64_t i = 0; i < out->count; ++i)
        make_example(s, i, out->vectors.of + i * (uint64_t)(s->n * s->columns), out->values.of + i * (uint64_t)(s->columns - 1));
    return BPT_OK;
}
