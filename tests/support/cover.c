// What a case shows, as a set of hashes (see cover.h).
#include "support/cover.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/rng.h"

enum { OP = 1, OPERAND, DTYPE, SIZE, WORD, HEAD_DIM, GRAPH };  // kinds of properties

static bool note(test_cover_t *cover, const test_case_t *c, uint64_t kind, uint64_t a, uint64_t b) {
    const uint64_t hash = bpt_mix64(bpt_mix64(bpt_mix64(kind << 8 | (uint64_t)c->call.op) ^ a) ^ b);
    for (size_t i = 0; i < cover->count; ++i)
        if (cover->seen[i] == hash) return false;
    if (cover->count == cover->capacity) {
        cover->capacity = cover->capacity ? 2 * cover->capacity : 1024;
        cover->seen = realloc(cover->seen, cover->capacity * sizeof *cover->seen);
        if (!cover->seen) abort();
    }
    cover->seen[cover->count++] = hash;
    return true;
}

// Sizes at which kernels break: none, one, around powers of two, more than a grid's 65,535. The others are alike.
static uint64_t size_class(int64_t size) {
    static const int64_t special[] = {0, 1, 2, 31, 33, 127, 129, 1025};
    for (size_t i = 0; i < BPT_COUNT(special); ++i)
        if (size == special[i]) return i;
    return size > 65535 ? BPT_COUNT(special) : BPT_COUNT(special) + 1;
}

static bool note_operand(test_cover_t *cover, const test_case_t *c, uint64_t slot, const bpt_operand_t *operand) {
    bool added = note(cover, c, OPERAND, slot, operand->present);
    if (!operand->present) return added;
    added |= note(cover, c, DTYPE, slot, operand->dtype);
    for (int axis = 0; axis < operand->shape.rank; ++axis)
        added |= note(cover, c, SIZE, (uint64_t)axis, size_class(operand->shape.dim[axis]));
    return added;
}

static uint64_t word_hash(const char *word, size_t length) {
    uint64_t hash = length;
    for (size_t i = 0; i < length; ++i) hash = bpt_mix64(hash ^ (unsigned char)word[i]);
    return hash;
}

// The name of a case is op/sizes/settings: words between '/' and '-', of which sizes begin with a digit.
static bool note_words(test_cover_t *cover, const test_case_t *c) {
    bool added = false;
    const char *word = strchr(c->name, '/') + 1;
    for (size_t length; *word; word += length + (word[length] != 0)) {
        length = strcspn(word, "-/");
        if (*word < '0' || *word > '9') added |= note(cover, c, WORD, word_hash(word, length), 0);
    }
    return added;
}

static bool note_attention(test_cover_t *cover, const test_case_t *c) {
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    if (c->call.op != BPT_OP_ATTENTION && c->call.op != BPT_OP_ATTENTION_GRAD) return false;
    const uint64_t graph =
        (uint64_t)t->graph.kind << 3 | t->graph.reference_rule << 2 | t->graph.span_self << 1 | (t->graph.root && !t->graph.trimmed);
    const uint64_t settings[] = {t->graph.causal,
                                 t->queries,
                                 t->zero_spans,
                                 t->packed,
                                 t->p > 0,
                                 c->call.in[2].present,
                                 c->call.in[0].dtype,
                                 t->graph.trimmed + (t->graph.trimmed && t->graph.root)};
    bool added = note(cover, c, HEAD_DIM, (uint64_t)t->head_dim, 0);
    for (size_t i = 0; i < BPT_COUNT(settings); ++i) added |= note(cover, c, GRAPH, graph, i << 8 | settings[i]);
    return added;
}

bool test_cover_adds(test_cover_t *cover, const test_case_t *c) {
    bool added = note(cover, c, OP, 0, 0);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) added |= note_operand(cover, c, (uint64_t)i, &c->call.in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) added |= note_operand(cover, c, BPT_MAX_INPUTS + (uint64_t)i, &c->call.out[i]);
    added |= note_words(cover, c);
    return note_attention(cover, c) || added;
}

void test_cover_free(test_cover_t *cover) { free(cover->seen); }
