// Shapes of micro-batches (see shapes.h).
#include "data/batches/shapes.h"

#include <string.h>

#include "bpt/alloc.h"

// What a micro-batch costs besides its leaves, in leaves: launches, and adding up the gradients of all parameters.
enum { MICRO_BATCH_PRICE = 64 };
enum { MAX_BUCKETS = 128 };

// 1, 2, 3, 4, 6, 8, 12, ..: powers of two and what lies halfway.
static int64_t round_up(int64_t x) {
    int64_t power = 1;
    while (power < x) power *= 2;
    return power >= 4 && power / 4 * 3 >= x ? power / 4 * 3 : power;
}

int64_t bpt_length_bucket(int64_t length) { return round_up(length); }

// A multiple of a quarter of the power of two below.
int64_t bpt_fine_length_bucket(int64_t length) {
    int64_t step = 1;
    while (step * 8 < length) step *= 2;
    return (length + step - 1) / step * step;
}

int64_t bpt_most_rows(int64_t bucket, int64_t batch_tokens) { return batch_tokens > bucket ? batch_tokens / bucket : 1; }

int64_t bpt_row_count(int64_t most, int64_t count) { return round_up(count) < most ? round_up(count) : most; }

// ---- cutting

static double price(int64_t n, int64_t count, int64_t batch_tokens) {
    const int64_t most = bpt_most_rows(n, batch_tokens), left = count % most;
    const double full = (double)(count / most) * ((double)most * (double)n + MICRO_BATCH_PRICE);
    return full + (left ? (double)bpt_row_count(most, left) * (double)n + MICRO_BATCH_PRICE : 0);
}

// Micro-batches for the sequences [first, end), each in the bucket of its own longest.
static size_t emit(const int64_t *buckets, size_t first, size_t end, int64_t batch_tokens, bpt_micro_t *out) {
    size_t made = 0;
    while (first < end) {
        const int64_t most = bpt_most_rows(buckets[first], batch_tokens);
        const size_t count = end - first < (size_t)most ? end - first : (size_t)most;
        out[made++] = (bpt_micro_t){buckets[first], bpt_row_count(most, (int64_t)count), first, count};
        first += count;
    }
    return made;
}

size_t bpt_cut_step(const int64_t *buckets, size_t count, int64_t batch_tokens, bpt_micro_t *out) {
    // Runs of equal buckets; best[i]: the smallest price of all runs from i on, whose first micro-batches take the runs i .. cut[i] - 1.
    size_t start[MAX_BUCKETS + 1], cut[MAX_BUCKETS], runs = 0, made = 0;
    double best[MAX_BUCKETS + 1];
    for (size_t i = 0; i < count; ++i)
        if (i == 0 || buckets[i] != buckets[i - 1]) start[runs++] = i;
    start[runs] = count;
    best[runs] = 0;
    for (size_t i = runs; i-- > 0;) {
        best[i] = -1;
        for (size_t j = i + 1; j <= runs; ++j) {
            const double whole = price(buckets[start[i]], (int64_t)(start[j] - start[i]), batch_tokens) + best[j];
            if (best[i] >= 0 && whole >= best[i]) continue;
            best[i] = whole;
            cut[i] = j;
        }
    }
    for (size_t i = 0; i < runs; i = cut[i]) made += emit(buckets, start[i], start[cut[i]], batch_tokens, out + made);
    return made;
}

int64_t bpt_packed_rows(int64_t tokens, int64_t most) {
    int64_t step = 8;
    while (step * 16 <= tokens) step *= 2;
    const int64_t rows = (tokens + step - 1) / step * step;
    return rows > most && tokens <= most ? most : rows;
}

// ---- lists of shapes

enum { ORDER = 9 };

// What shapes are ordered by: rows first, as most memory goes with them.
static void order_of(const bpt_batch_shape_t *s, int64_t out[ORDER]) {
    const int64_t order[ORDER] = {s->side[0].rows + s->side[1].rows,
                                  s->side[0].nodes,
                                  s->side[0].node_slots,
                                  s->side[0].n,
                                  s->batch,
                                  s->side[0].rows,
                                  s->side[0].bag,
                                  s->side[1].n,
                                  s->side[1].bag};
    for (int i = 0; i < ORDER; ++i) out[i] = order[i];
}

// A total order.
static bool larger(const bpt_batch_shape_t *a, const bpt_batch_shape_t *b) {
    int64_t x[ORDER], y[ORDER];
    order_of(a, x);
    order_of(b, y);
    for (int i = 0; i < ORDER; ++i)
        if (x[i] != y[i]) return x[i] > y[i];
    return false;
}

bpt_status_t bpt_shapes_add(bpt_shapes_t *s, const bpt_batch_shape_t *shape) {
    size_t at = 0;
    for (; at < s->count && !larger(shape, &s->items[at]); ++at)
        if (bpt_batch_shape_same(&s->items[at], shape)) return BPT_OK;
    BPT_TRY(bpt_grow(&s->items, s->count, &s->capacity, sizeof *s->items));
    memmove(s->items + at + 1, s->items + at, (s->count - at) * sizeof *s->items);
    s->items[at] = *shape;
    ++s->count;
    return BPT_OK;
}

bpt_status_t bpt_shapes_add_buckets(bpt_shapes_t *s, int64_t n, int64_t rows) {
    const bpt_batch_shape_t shape = bpt_batch_buckets(n, rows);
    return bpt_shapes_add(s, &shape);
}

bpt_status_t bpt_shapes_add_cuts(bpt_shapes_t *s, int64_t (*bucket)(int64_t length), int64_t longest, int64_t most_sequences,
                                 int64_t batch_tokens) {
    for (int64_t n = 1; n <= longest; n = bucket(n + 1)) {
        const int64_t most = bpt_most_rows(n, batch_tokens), top = most_sequences < most ? most_sequences : most;
        for (int64_t count = 1; count <= top; count = bpt_row_count(most, count) + 1)
            BPT_TRY(bpt_shapes_add_buckets(s, n, bpt_row_count(most, count)));
    }
    return BPT_OK;
}

void bpt_shapes_free(bpt_shapes_t *s) {
    bpt_free(s->items);
    *s = (bpt_shapes_t){0};
}
