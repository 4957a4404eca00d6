// Fingerprints of training data (see fingerprint.h).
#include "data/examples/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "data/examples/examples_arrays.h"

// ---- The form of today: all arrays, each behind its name and its size

static void hash_array(void *user, const char *name, const void *data, uint64_t bytes) {
    XXH3_state_t *state = user;
    XXH3_64bits_update(state, name, strlen(name) + 1);
    XXH3_64bits_update(state, &bytes, sizeof bytes);
    XXH3_64bits_update(state, data, (size_t)bytes);
}

// In blocks: a text may be larger than memory.
static void hash_ids(XXH3_state_t *state, const bpt_ids_t *ids) {
    uint32_t block[4096];
    for (uint64_t at = 0, n; at < ids->count; at += n) {
        n = ids->count - at < BPT_COUNT(block) ? ids->count - at : BPT_COUNT(block);
        bpt_ids_copy(ids, at, n, block);
        XXH3_64bits_update(state, block, (size_t)n * sizeof *block);
    }
}

static void hash_all(XXH3_state_t *state, const bpt_ids_t *text, const bpt_examples_t *e) {
    hash_ids(state, text);
    XXH3_64bits_update(state, &e->target.opening, sizeof e->target.opening);
    bpt_examples_each_array(e, hash_array, state);
}

// ---- Forms of older versions, for their runs

static uint64_t hash_old_tokens(XXH3_state_t *state, const bpt_ids_t *text, const bpt_examples_t *e) {
    const bpt_ids_t tokens = e->tokens ? bpt_ids_of(e->tokens, e->n_tokens) : *text,
                    target = bpt_ids_of(e->target.tokens, e->target.n_tokens);
    hash_ids(state, &tokens);
    hash_ids(state, &target);
    return XXH3_64bits_digest(state);
}

static uint64_t hash_first_form(const bpt_examples_t *e, uint64_t hash) {
    const bpt_translations_t *t = &e->target;
    const size_t texts = bpt_examples_texts(e), labels = e->labels.per_token ? e->n_tokens : e->count;
    if (t->has) hash = XXH3_64bits_withSeed(e->offsets, texts * sizeof *e->offsets, hash);
    if (t->has) hash = XXH3_64bits_withSeed(t->offsets, texts * sizeof *t->offsets, hash ^ t->opening);
    if (t->has && e->trees.has)
        hash = XXH3_64bits_withSeed(e->trees.nodes.items, e->trees.nodes.count * sizeof *e->trees.nodes.items, hash);
    if (e->windows.has) hash = XXH3_64bits_withSeed(e->windows.items, e->count * sizeof *e->windows.items, hash);
    if (e->count && !t->has) hash = XXH3_64bits_withSeed(e->offsets, texts * sizeof *e->offsets, hash);
    if (e->labels.has) hash = XXH3_64bits_withSeed(e->labels.of, labels * sizeof *e->labels.of, hash);
    if (e->bags.has) hash = XXH3_64bits_withSeed(e->bags.items, e->bags.offsets[e->n_tokens] * sizeof *e->bags.items, hash);
    if (e->vectors.has) hash = XXH3_64bits_withSeed(e->vectors.of, e->n_tokens * (size_t)e->vectors.columns * sizeof *e->vectors.of, hash);
    if (e->values.has) hash = XXH3_64bits_withSeed(e->values.of, e->count * (size_t)e->values.columns * sizeof *e->values.of, hash);
    return hash;
}

// What the first form lacks: the trees of a classifier with the labels of its words, and where the trees of a text and the n-grams of a
// token end.
static uint64_t hash_second_form(const bpt_examples_t *e, uint64_t hash) {
    const size_t ends = (e->texts == 2 ? 2 : 1) * e->count + 1;
    if (e->trees.has) hash = XXH3_64bits_withSeed(e->trees.nodes.items, e->trees.nodes.count * sizeof *e->trees.nodes.items, hash);
    if (e->trees.has) hash = XXH3_64bits_withSeed(e->trees.offsets, ends * sizeof *e->trees.offsets, hash);
    if (e->trees.token_labels) hash = XXH3_64bits_withSeed(e->trees.token_labels, e->n_tokens * sizeof *e->trees.token_labels, hash);
    if (e->bags.has) hash = XXH3_64bits_withSeed(e->bags.offsets, (e->n_tokens + 1) * sizeof *e->bags.offsets, hash);
    return hash;
}

// ---- Forms by their names

enum { FIRST, SECOND, TODAY };
static const char *const names[] = {[FIRST] = "xxh3 ", [SECOND] = "xxh3-2 ", [TODAY] = "xxh3-3 "};

static int form_of(const char *like) {
    int form = 0;
    while (form < TODAY && (!like || strncmp(like, names[form], strlen(names[form])))) ++form;
    return form;
}

static uint64_t hash_as(int form, XXH3_state_t *state, const bpt_ids_t *text, const bpt_examples_t *e) {
    if (form == TODAY) {
        hash_all(state, text, e);
        return XXH3_64bits_digest(state);
    }
    const uint64_t hash = hash_first_form(e, hash_old_tokens(state, text, e));
    return form == FIRST ? hash : hash_second_form(e, hash);
}

bpt_status_t bpt_fingerprint_take(const bpt_ids_t *text, const bpt_examples_t *e, const char *like, char out[BPT_FINGERPRINT_BYTES]) {
    const int form = form_of(like);
    XXH3_state_t *state = XXH3_createState();
    if (!state) return bpt_fail(BPT_ERR_NO_MEMORY, "no memory for a checksum of the training data; close other programs");
    XXH3_64bits_reset(state);
    const uint64_t hash = hash_as(form, state, text, e);
    XXH3_freeState(state);
    snprintf(out, BPT_FINGERPRINT_BYTES, "%s%016" PRIx64 ", %" PRIu64 " tokens", names[form], hash,
             e->vectors.has || e->tokens ? e->n_tokens : text->count);
    return BPT_OK;
}
