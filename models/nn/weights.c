// Parameters as values of a graph (see weights.h).
#include "models/nn/weights.h"

#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/q8.h"

void bpt_weights_init(bpt_weights_t *w, bpt_graph_t *graph, const bpt_params_t *params, bpt_value_t arena, bpt_dtype_t precision) {
    *w = (bpt_weights_t){.graph = graph, .params = params, .arena = arena};
    w->low = bpt_cast(graph, arena, precision);
    w->packed = BPT_NO_VALUE;
}

void bpt_weights_free(bpt_weights_t *w) {
    bpt_free(w->items);
    *w = (bpt_weights_t){0};
}

// One view per place and precision: a parameter that is read twice must be one value, for its gradients to be summed.
static bpt_value_t hand_out(bpt_weights_t *w, bpt_value_t arena, const bpt_param_t *p, int64_t rows) {
    const bpt_shape_t shape = {.rank = p->rank, .dim = {rows, p->shape[1]}};
    const int64_t count = bpt_shape_count(&shape);
    for (size_t i = 0; i < w->count; ++i) {
        const bpt_weight_t *old = &w->items[i];
        if (old->offset == p->offset && old->count == count && bpt_graph_value(w->graph, old->value)->base == arena) return old->value;
    }
    const bpt_value_t v = bpt_view(w->graph, arena, (size_t)p->offset * bpt_dtype_size(bpt_graph_value(w->graph, arena)->dtype), shape);
    if (v == BPT_NO_VALUE) return v;
    w->status = bpt_graph_fail(w->graph, bpt_grow(&w->items, w->count, &w->capacity, sizeof *w->items));
    if (w->status != BPT_OK) return BPT_NO_VALUE;
    w->items[w->count++] = (bpt_weight_t){v, p->offset, count, p->group != BPT_GROUP_FROZEN};
    bpt_name(w->graph, v, p->name);
    return v;
}

// `rows` 0: those of the `joined` parameters that begin here.
static bpt_value_t find(bpt_weights_t *w, bpt_value_t arena, const char *prefix, const char *name, int joined, int64_t rows) {
    if (w->status != BPT_OK || bpt_graph_status(w->graph) != BPT_OK) return BPT_NO_VALUE;
    char full[80];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const bpt_param_t *p = bpt_params_find(w->params, full);
    if (p) return hand_out(w, arena, p, rows ? rows : joined * p->shape[0]);
    w->status = bpt_graph_fail(w->graph, bpt_fail(BPT_ERR_INTERNAL, "the model has no parameter \"%s\"", full));
    return BPT_NO_VALUE;
}

bpt_value_t bpt_weight(bpt_weights_t *w, const char *prefix, const char *name) { return find(w, w->arena, prefix, name, 1, 0); }
bpt_value_t bpt_weight_rows(bpt_weights_t *w, const char *prefix, const char *name, int64_t rows) {
    return find(w, w->arena, prefix, name, 1, rows);
}
bpt_value_t bpt_weight_joined(bpt_weights_t *w, const char *prefix, const char *name, int joined) {
    return find(w, w->arena, prefix, name, joined, 0);
}
bpt_value_t bpt_weight_low(bpt_weights_t *w, const char *prefix, const char *name, int joined) {
    return find(w, w->low, prefix, name, joined, 0);
}

bpt_value_t bpt_weight_factor(bpt_weights_t *w, const char *prefix, const char *name, int joined) {
    char full[80];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const bpt_param_t *p = w->packed == BPT_NO_VALUE ? NULL : bpt_params_find(w->params, full);
    if (!p || !bpt_param_packs(p)) return bpt_weight_low(w, prefix, name, joined);
    const size_t place = (size_t)bpt_params_packed_place(w->params, p) * sizeof(uint32_t);
    return bpt_view(w->graph, w->packed, place, bpt_shape2(joined * p->shape[0], bpt_q8_words(p->shape[1])));
}

static bool seen_before(const bpt_weights_t *w, size_t item) {
    for (size_t i = 0; i < item; ++i)
        if (w->items[i].offset == w->items[item].offset) return true;
    return false;
}

// A tied matrix may be read in two precisions: its gradients are summed. grads[i] belongs to items[i].
static bpt_value_t sum_of_place(bpt_weights_t *w, size_t item, const bpt_value_t *grads) {
    bpt_value_t sum = BPT_NO_VALUE;
    for (size_t i = item; i < w->count; ++i) {
        if (w->items[i].offset != w->items[item].offset || grads[i] == BPT_NO_VALUE) continue;
        sum = sum == BPT_NO_VALUE ? grads[i] : bpt_add(w->graph, sum, grads[i]);
    }
    const int64_t count = w->items[item].count;
    return sum == BPT_NO_VALUE ? bpt_fill(w->graph, BPT_F32, bpt_shape1(count), 0) : sum;
}

static void place(bpt_weights_t *w, const bpt_value_t *grads, bpt_value_t gradients) {
    for (size_t i = 0; i < w->count; ++i) {
        const bpt_weight_t *item = &w->items[i];
        if (!item->trained || seen_before(w, i)) continue;
        const bpt_value_t sum = sum_of_place(w, i, grads);
        bpt_graph_place(w->graph, sum, bpt_view(w->graph, gradients, (size_t)item->offset * sizeof(float), bpt_shape1(item->count)));
    }
}

bpt_status_t bpt_weights_gradients(bpt_weights_t *w, bpt_value_t loss, bpt_value_t gradients) {
    BPT_TRY(w->status);
    bpt_value_t *wrt, *found = NULL, *grads = NULL;
    BPT_TRY(bpt_alloc(w->count, sizeof *wrt, &wrt));
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_alloc(w->count, sizeof *found, &found), done);
    BPT_TRY_GOTO(bpt_alloc(w->count, sizeof *grads, &grads), done);
    int n = 0;
    for (size_t i = 0; i < w->count; ++i)
        if (w->items[i].trained) wrt[n++] = w->items[i].value;
    BPT_TRY_GOTO(bpt_graph_gradients(w->graph, loss, wrt, n, found), done);
    for (size_t i = 0, k = 0; i < w->count; ++i) grads[i] = w->items[i].trained ? found[k++] : BPT_NO_VALUE;
    place(w, grads, gradients);
    status = bpt_graph_status(w->graph);
done:
    bpt_free(wrt);
    bpt_free(found);
    bpt_free(grads);
    return status;
}
