// The arrays of examples (see examples_arrays.h). An array that is not in the list below is never freed, which the tests of examples find.
#include "data/examples/examples_arrays.h"

#include <stddef.h>
#include <string.h>

#include "bpt/alloc.h"

// ---- How many elements are filled

uint64_t bpt_examples_texts(const bpt_examples_t *e) {
    if (e->windows.has) return e->count ? e->windows.items[e->count - 1].end : 0;
    return e->count * (e->texts == 2 ? 2 : 1);
}

static uint64_t examples(const bpt_examples_t *e) { return e->count; }
static uint64_t tokens(const bpt_examples_t *e) { return e->n_tokens; }
static uint64_t ends_of_texts(const bpt_examples_t *e) { return bpt_examples_texts(e) + 1; }
static uint64_t ends_of_bags(const bpt_examples_t *e) { return e->n_tokens + 1; }
static uint64_t components(const bpt_examples_t *e) { return e->n_tokens * (uint64_t)e->vectors.columns; }
static uint64_t values(const bpt_examples_t *e) { return e->count * (uint64_t)e->values.columns; }
static uint64_t labels(const bpt_examples_t *e) { return e->labels.per_token ? e->n_tokens : e->count; }
static uint64_t ngrams(const bpt_examples_t *e) { return e->bags.has ? e->bags.offsets[e->n_tokens] : 0; }
static uint64_t nodes(const bpt_examples_t *e) { return e->trees.nodes.count; }
static uint64_t target_tokens(const bpt_examples_t *e) { return e->target.n_tokens; }

// ---- The list

// Their names are in the fingerprints of runs, and stay.
#define ARRAY(name, field, count) \
    { name, offsetof(bpt_examples_t, field), sizeof *((bpt_examples_t *)0)->field, count }
static const struct {
    const char *name;
    size_t place, size;  // of the pointer in the struct; of an element
    uint64_t (*count)(const bpt_examples_t *e);
} arrays[] = {
    ARRAY("tokens", tokens, tokens),
    ARRAY("numbers", vectors.of, components),
    ARRAY("offsets", offsets, ends_of_texts),
    ARRAY("labels", labels.of, labels),
    ARRAY("values", values.of, values),
    ARRAY("bags", bags.items, ngrams),
    ARRAY("bag_offsets", bags.offsets, ends_of_bags),
    ARRAY("nodes.items", trees.nodes.items, nodes),
    ARRAY("node_offsets", trees.offsets, ends_of_texts),
    ARRAY("token_labels", trees.token_labels, tokens),
    ARRAY("target.tokens", target.tokens, target_tokens),
    ARRAY("target.offsets", target.offsets, ends_of_texts),
    ARRAY("windows", windows.items, examples),
};
#undef ARRAY

static void *array_of(const bpt_examples_t *e, size_t i) {
    void *data;
    memcpy(&data, (const char *)e + arrays[i].place, sizeof data);
    return data;
}

void bpt_examples_each_array(const bpt_examples_t *e, bpt_take_array_t *take, void *user) {
    for (size_t i = 0; i < BPT_COUNT(arrays); ++i)
        if (array_of(e, i)) take(user, arrays[i].name, array_of(e, i), arrays[i].count(e) * arrays[i].size);
}

// ---- Who goes through it

static void add_bytes(void *sum, const char *name, const void *data, uint64_t bytes) {
    (void)name, (void)data;
    *(uint64_t *)sum += bytes;
}

uint64_t bpt_examples_bytes(const bpt_examples_t *e) {
    uint64_t sum = 0;
    bpt_examples_each_array(e, add_bytes, &sum);
    return sum;
}

void bpt_examples_free(bpt_examples_t *e) {
    for (size_t i = 0; i < BPT_COUNT(arrays); ++i) bpt_free(array_of(e, i));
    *e = (bpt_examples_t){0};
}
