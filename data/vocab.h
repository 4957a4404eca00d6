// Vocabularies: bytes, code points, words, or plain ids; their file form (vocab.txt); text to ids and back.
#ifndef BPT_DATA_VOCAB_H
#define BPT_DATA_VOCAB_H

#include "bpt/strbuf.h"
#include "data/ids.h"
#include "data/text.h"

typedef enum {
    BPT_UNIT_BYTE,  // 256 ids, id = byte
    BPT_UNIT_CHAR,  // code points of the training text in ascending order
    BPT_UNIT_WORD,  // <unk>, <eos>, then words by falling frequency, ties by bytes; blanks separate, <eos> ends every line
    BPT_UNIT_IDS,   // decimal ids separated by blanks: no vocabulary
} bpt_unit_t;
extern const char *const bpt_unit_names[];  // byte, char, word, ids; ended by NULL

typedef struct bpt_vocab bpt_vocab_t;

// An empty vocabulary to be filled by counting texts and then frozen. lower: words are folded to lower case.
bpt_status_t bpt_vocab_create(bpt_unit_t unit, bool lower, bpt_vocab_t **out) BPT_MUST_USE;
// BPT_UNIT_IDS: ids from `limit` on are BPT_ERR_INPUT when texts are encoded; without a call the limit is 2^32 - 1.
void bpt_vocab_limit_ids(bpt_vocab_t *vocab, int64_t limit);
// A word of more than BPT_WORD_BYTES is BPT_ERR_INPUT here and when it is encoded: a file without blanks is no text of words.
#define BPT_WORD_BYTES ((size_t)1 << 20)
bpt_status_t bpt_vocab_count(bpt_vocab_t *vocab, const bpt_range_t *text) BPT_MUST_USE;  // every token of the text
bpt_status_t bpt_vocab_count_word(bpt_vocab_t *vocab, const char *word, size_t bytes) BPT_MUST_USE;
bpt_status_t bpt_vocab_freeze(bpt_vocab_t *vocab) BPT_MUST_USE;
void bpt_vocab_destroy(bpt_vocab_t *vocab);

// vocab.txt: line number - 1 = id; escapes \n \t \\ \xHH for what a line cannot hold. Strict: unknown escapes, raw control characters,
// empty or repeated tokens, tokens that are none of the unit, a file that does not begin as the unit's vocabularies do are BPT_ERR_INPUT
// with file and line.
bpt_status_t bpt_vocab_write(const bpt_vocab_t *vocab, const char *path) BPT_MUST_USE;
bpt_status_t bpt_vocab_format(const bpt_vocab_t *vocab, bpt_strbuf_t *out) BPT_MUST_USE;  // appends the text of the file
bpt_status_t bpt_vocab_parse(const bpt_range_t *text, bpt_unit_t unit, bool lower, bpt_vocab_t **out) BPT_MUST_USE;

int64_t bpt_vocab_size(const bpt_vocab_t *vocab);  // 0 for BPT_UNIT_IDS
bpt_unit_t bpt_vocab_unit(const bpt_vocab_t *vocab);
const char *bpt_vocab_token(const bpt_vocab_t *vocab, uint32_t id, size_t *bytes);
// The id of a token; the id of <unk> when it is unknown and there is one; else false.
bool bpt_vocab_find(const bpt_vocab_t *vocab, const char *token, size_t bytes, uint32_t *id);

// Ids of a text, freed with bpt_ids_free; those of BPT_UNIT_BYTE are the text itself, which must outlive them. A token that is neither
// known nor covered by <unk>, or an id that is not below the limit, is BPT_ERR_INPUT with file and line. Words get <eos> for every newline,
// with line_ends also after a last line without one (a corpus; a prompt goes on).
bpt_status_t bpt_vocab_encode(const bpt_vocab_t *vocab, const bpt_range_t *text, bool line_ends, bpt_ids_t *ids) BPT_MUST_USE;
// The id of one word (folded when the vocabulary is), errors as above.
bpt_status_t bpt_vocab_encode_word(const bpt_vocab_t *vocab, const bpt_range_t *where, const char *word, size_t bytes,
                                   uint32_t *id) BPT_MUST_USE;
// Appends the text of one id. `first`: no blank before it (words).
bpt_status_t bpt_vocab_decode(const bpt_vocab_t *vocab, uint32_t id, bool first, bpt_strbuf_t *out) BPT_MUST_USE;
// Takes the next blank-separated token off a line; NULL at the end.
const char *bpt_next_token(bpt_range_t *line, size_t *bytes);

#endif
