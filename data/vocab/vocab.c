// Vocabularies (vocab.h): an open-addressing table over xxHash. Their texts are in vocab_text.c, the file form is in vocab_file.c.
#include "data/vocab/vocab.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/vocab/vocab_internal.h"

const char *const bpt_unit_names[] = {"byte", "char", "word", "subword", "ids", NULL};

static const bpt_unit_spec_t units[] = {
    [BPT_UNIT_BYTE] = {.characters = true},
    [BPT_UNIT_CHAR] = {.characters = true, .is_text = true},
    [BPT_UNIT_WORD] = {.words = true, .by_lines = true, .is_text = true},
    [BPT_UNIT_IDS] = {.by_lines = true},
    [BPT_UNIT_SUBWORD] = {.words = true, .by_lines = true, .is_text = true, .pieces = true},
};
const bpt_unit_spec_t *bpt_unit_of(bpt_unit_t unit) { return &units[unit]; }

bool bpt_word_same(const bpt_word_t *a, const bpt_word_t *b) {
    return a->bytes == b->bytes && (!a->bytes || !memcmp(a->data, b->data, a->bytes));
}
bool bpt_word_is(const bpt_word_t *word, const char *text) { return bpt_word_same(word, &(bpt_word_t){text, strlen(text)}); }

bpt_status_t bpt_vocab_create(bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    bpt_vocab_t *v;
    BPT_TRY(bpt_alloc(1, sizeof *v, &v));
    *v = (bpt_vocab_t){.unit = unit, .lower = lower, .unk = BPT_NO_TOKEN, .eos = BPT_NO_TOKEN, .id_limit = UINT32_MAX};
    bpt_status_t status = BPT_OK;
    if (unit == BPT_UNIT_WORD) {
        status = bpt_vocab_add(v, "<unk>", 5, 0);
        if (status == BPT_OK) status = bpt_vocab_add(v, "<eos>", 5, 0);
        v->unk = 0;
        v->eos = 1;
    }
    for (int b = 0; unit == BPT_UNIT_BYTE && b < 256 && status == BPT_OK; ++b) status = bpt_vocab_add(v, &(char){(char)b}, 1, 0);
    if (status != BPT_OK) bpt_vocab_destroy(v), v = NULL;
    *out = v;
    return status;
}

void bpt_vocab_want_count(bpt_vocab_t *v, int64_t least) { v->least = (uint64_t)least; }

void bpt_vocab_limit_ids(bpt_vocab_t *v, int64_t limit) { v->id_limit = limit < UINT32_MAX ? limit : UINT32_MAX; }

void bpt_vocab_destroy(bpt_vocab_t *v) {
    if (!v) return;
    bpt_free(v->token);
    bpt_free(v->slot);
    bpt_free(v->bytes);
    bpt_subwords_free(v->subwords);
    bpt_store_free(&v->sentences);
    bpt_free(v);
}

// Slot that holds the token, or the free one where it belongs. There are always free slots.
static size_t find_slot(const bpt_vocab_t *v, const char *token, size_t bytes, uint64_t hash) {
    size_t i = (size_t)hash & v->mask;
    for (; v->slot[i]; i = (i + 1) & v->mask) {
        const bpt_token_t *t = &v->token[v->slot[i] - 1];
        if (t->hash == hash && t->bytes == bytes && !memcmp(v->bytes + t->offset, token, bytes)) break;
    }
    return i;
}

bpt_status_t bpt_vocab_rehash(bpt_vocab_t *v, size_t slots) {
    uint32_t *slot;
    BPT_TRY(bpt_alloc(slots, sizeof *slot, &slot));
    bpt_free(v->slot);
    v->slot = slot;
    v->mask = slots - 1;
    for (size_t id = 0; id < v->count; ++id) {
        size_t i = (size_t)v->token[id].hash & v->mask;
        while (slot[i]) i = (i + 1) & v->mask;
        slot[i] = (uint32_t)id + 1;
    }
    return BPT_OK;
}

uint32_t bpt_vocab_lookup(const bpt_vocab_t *v, const char *token, size_t bytes) {
    if (!v->count) return BPT_NO_TOKEN;
    const uint32_t found = v->slot[find_slot(v, token, bytes, XXH3_64bits(token, bytes))];
    return found ? found - 1 : BPT_NO_TOKEN;
}

bpt_status_t bpt_vocab_add(bpt_vocab_t *v, const char *token, size_t bytes, uint64_t frequency) {
    if (!v->slot || v->count * 2 >= v->mask) BPT_TRY(bpt_vocab_rehash(v, v->slot ? (v->mask + 1) * 2 : 1024));
    const uint64_t hash = XXH3_64bits(token, bytes);
    const size_t slot = find_slot(v, token, bytes, hash);
    if (v->slot[slot]) {
        v->token[v->slot[slot] - 1].frequency += frequency;
        return BPT_OK;
    }
    if (v->count >= UINT32_MAX - 2) return bpt_fail(BPT_ERR_INPUT, "a vocabulary of more than %u tokens is not possible", UINT32_MAX - 2);
    BPT_TRY(bpt_grow(&v->token, v->count, &v->capacity, sizeof *v->token));
    while (v->n_bytes + bytes > v->byte_capacity) {
        const size_t wanted = v->byte_capacity ? v->byte_capacity * 2 : 4096;
        BPT_TRY(bpt_realloc(&v->bytes, wanted, 1));
        v->byte_capacity = wanted;
    }
    memcpy(v->bytes + v->n_bytes, token, bytes);
    v->token[v->count] = (bpt_token_t){hash, v->n_bytes, bytes, frequency};
    v->n_bytes += bytes;
    v->slot[slot] = (uint32_t)++v->count;
    return BPT_OK;
}

static int by_bytes(const void *a, const void *b, void *vocab) {
    const bpt_vocab_t *v = vocab;
    const bpt_token_t *x = a, *y = b;
    const int order = memcmp(v->bytes + x->offset, v->bytes + y->offset, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_frequency(const void *a, const void *b, void *vocab) {
    const bpt_token_t *x = a, *y = b;
    if (x->frequency != y->frequency) return x->frequency < y->frequency ? 1 : -1;
    return by_bytes(a, b, vocab);
}

// ---- Subwords

void bpt_vocab_want_subwords(bpt_vocab_t *v, bpt_subword_kind_t kind, int64_t pieces) {
    v->kind = kind;
    v->pieces = pieces;
}

const void *bpt_vocab_subwords(const bpt_vocab_t *v, size_t *bytes) {
    *bytes = 0;
    return v->subwords ? bpt_subwords_file(v->subwords, bytes) : NULL;
}

static bpt_status_t check_piece(const bpt_vocab_t *v, const char *path, uint32_t id, const char *piece, size_t bytes) {
    size_t n;
    const char *token = bpt_vocab_token(v, id, &n);
    if (n == bytes && !memcmp(token, piece, n)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s does not belong to the vocabulary: piece %u is '%s' there and '%s' here; copy both from the same run", path, id,
                    bpt_show(piece, bytes).text, bpt_show(token, n).text);
}

// The pieces as tokens, or held against those that are there.
static bpt_status_t take_pieces(bpt_vocab_t *v, const char *path, const bpt_subwords_t *s) {
    const int64_t count = bpt_subwords_count(s), before = (int64_t)v->count;
    if (before && before != count)
        return bpt_fail(BPT_ERR_INPUT, "%s has %lld pieces, the vocabulary has %lld tokens; copy both from the same run", path,
                        (long long)count, (long long)before);
    for (uint32_t id = 0; id < count; ++id) {
        size_t bytes;
        const char *piece = bpt_subwords_token(s, id, &bytes);
        if (before) {
            BPT_TRY(check_piece(v, path, id, piece, bytes));
            continue;
        }
        BPT_TRY(bpt_vocab_add(v, piece, bytes, 0));
        if (v->count != (size_t)id + 1)
            return bpt_fail(BPT_ERR_INPUT, "%s: the piece '%s' is there twice; take another model", path, bpt_show(piece, bytes).text);
    }
    return BPT_OK;
}

static bpt_status_t take_model(bpt_vocab_t *v, const char *path, bpt_subwords_t *s) {
    const bpt_status_t status = take_pieces(v, path, s);
    if (status != BPT_OK) {
        bpt_subwords_free(s);
        return status;
    }
    v->subwords = s;
    v->unk = bpt_subwords_unk(s);
    v->eos = bpt_subwords_eos(s);
    return BPT_OK;
}

bpt_status_t bpt_vocab_take_subwords(bpt_vocab_t *v, const char *path, const void *model, size_t bytes) {
    bpt_subwords_t *s;
    BPT_TRY(bpt_subwords_load(path, model, bytes, &s));
    return take_model(v, path, s);
}

bpt_status_t bpt_vocab_read_subwords(bpt_vocab_t *v, const char *path) {
    char *model;
    size_t bytes;
    BPT_TRY(bpt_file_read(path, BPT_SUBWORD_FILE_BYTES, &model, &bytes));
    const bpt_status_t status = bpt_vocab_take_subwords(v, path, model, bytes);
    bpt_free(model);
    return status;
}

static bpt_status_t make_subwords(bpt_vocab_t *v) {
    const void *sentences;
    uint64_t bytes;
    bpt_subwords_t *s;
    BPT_TRY(bpt_store_finish(&v->sentences, &sentences, &bytes));
    BPT_TRY(bpt_subwords_train(v->kind, v->pieces, sentences, bytes, &s));
    bpt_store_free(&v->sentences);
    v->sentences = (bpt_store_t){0};
    return take_model(v, "the trained model", s);
}

// Words are sorted by now: the rare ones are the last.
static void leave_out_rare_words(bpt_vocab_t *v) {
    while (v->count > 2 && v->token[v->count - 1].frequency < v->least) --v->count;
}

bpt_status_t bpt_vocab_freeze(bpt_vocab_t *v) {
    if (v->unit == BPT_UNIT_SUBWORD && !v->subwords) BPT_TRY(make_subwords(v));
    if (v->unit == BPT_UNIT_WORD) qsort_r(v->token + 2, v->count - 2, sizeof *v->token, by_frequency, v);
    if (v->unit == BPT_UNIT_WORD) leave_out_rare_words(v);
    if (v->unit == BPT_UNIT_CHAR && v->count) qsort_r(v->token, v->count, sizeof *v->token, by_bytes, v);
    return v->count ? bpt_vocab_rehash(v, v->mask + 1) : BPT_OK;
}

int64_t bpt_vocab_size(const bpt_vocab_t *v) { return (int64_t)v->count; }
bpt_unit_t bpt_vocab_unit(const bpt_vocab_t *v) { return v->unit; }

const char *bpt_vocab_token(const bpt_vocab_t *v, uint32_t id, size_t *bytes) {
    *bytes = v->token[id].bytes;
    return v->bytes + v->token[id].offset;
}

bool bpt_vocab_find(const bpt_vocab_t *v, const char *token, size_t bytes, uint32_t *id) {
    *id = bpt_vocab_lookup(v, token, bytes);
    if (*id == BPT_NO_TOKEN) *id = v->unk;
    return *id != BPT_NO_TOKEN;
}

bool bpt_vocab_end_sign(const bpt_vocab_t *v, uint32_t *id) {
    *id = v->eos;
    return v->eos != BPT_NO_TOKEN;
}

// More frequent than any word: the first behind <unk> and <eos>, and never rare.
static const char MASK[] = "<mask>";
bpt_status_t bpt_vocab_want_mask(bpt_vocab_t *v) {
    return v->unit == BPT_UNIT_WORD ? bpt_vocab_add(v, MASK, sizeof MASK - 1, UINT64_MAX / 2) : BPT_OK;
}

bool bpt_vocab_mask(const bpt_vocab_t *v, uint32_t *id) {
    const uint32_t found = v->unit == BPT_UNIT_WORD ? bpt_vocab_lookup(v, MASK, sizeof MASK - 1) : BPT_NO_TOKEN;
    if (found != BPT_NO_TOKEN) *id = found;
    return found != BPT_NO_TOKEN;
}

bool bpt_vocab_unknown(const bpt_vocab_t *v, uint32_t *id) {
    *id = v->unk;
    return v->unk != BPT_NO_TOKEN;
}
