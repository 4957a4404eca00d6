// Inside of a vocabulary, shared by vocab.c, vocab_text.c and vocab_file.c.
#ifndef BPT_DATA_VOCAB_INTERNAL_H
#define BPT_DATA_VOCAB_INTERNAL_H

#include "bpt/strbuf.h"
#include "data/vocab/vocab.h"

#define BPT_NO_TOKEN UINT32_MAX

typedef struct {
    uint64_t hash;
    size_t offset, bytes;  // offset into the vocabulary's bytes
    uint64_t frequency;
} bpt_token_t;

struct bpt_vocab {
    bpt_unit_t unit;
    bool lower;
    uint32_t unk, eos;  // BPT_NO_TOKEN: none
    int64_t id_limit;   // BPT_UNIT_IDS
    uint64_t least;     // BPT_UNIT_WORD: how often a word must be counted to be kept
    bpt_token_t *token;
    size_t count, capacity;
    char *bytes;
    size_t n_bytes, byte_capacity;
    uint32_t *slot;  // id + 1, 0 = free
    size_t mask;     // slots - 1
    // BPT_UNIT_SUBWORD
    bpt_subwords_t *subwords;  // NULL: not yet
    bpt_subword_kind_t kind;
    int64_t pieces;         // to be made
    bpt_store_t sentences;  // that were counted, each ended by '\n'
};

// The id of exactly this token, BPT_NO_TOKEN when it is not there.
uint32_t bpt_vocab_lookup(const bpt_vocab_t *vocab, const char *token, size_t bytes);
// Points word and bytes to the lower case of the word: itself when nothing changes, else in `buf`. BPT_ERR_INPUT: not valid UTF-8.
bpt_status_t bpt_fold_word(bpt_strbuf_t *buf, const char **word, size_t *bytes) BPT_MUST_USE;
// Adds a token or to the frequency of a known one.
bpt_status_t bpt_vocab_add(bpt_vocab_t *vocab, const char *token, size_t bytes, uint64_t frequency) BPT_MUST_USE;
bpt_status_t bpt_vocab_rehash(bpt_vocab_t *vocab, size_t slots) BPT_MUST_USE;

#endif
