// Vocabularies: bytes, code points, words, subwords, or plain ids; their file form (vocab.txt); text to ids and back.
#ifndef BPT_DATA_VOCAB_H
#define BPT_DATA_VOCAB_H

#include "bpt/strbuf.h"
#include "data/text/ids.h"
#include "data/text/text.h"
#include "data/vocab/subwords.h"

typedef enum {
    BPT_UNIT_BYTE,     // 256 ids, id = byte
    BPT_UNIT_CHAR,     // code points of the training text in ascending order
    BPT_UNIT_WORD,     // <unk>, <eos>, then words by falling frequency, ties by bytes; blanks separate, <eos> ends every line
    BPT_UNIT_SUBWORD,  // pieces of a SentencePiece model (subwords.h); <eos> ends every line
    BPT_UNIT_IDS,      // decimal ids separated by blanks: no vocabulary
} bpt_unit_t;
extern const char *const bpt_unit_names[];  // byte, char, word, subword, ids; ended by NULL

// What other code asks of a unit.
typedef struct {
    bool characters;  // a token is a character or a byte: a loss is bits of these
    bool words;       // texts are words: lines, of which the blanks between words are not kept
    bool by_lines;    // a text is cut between lines
    bool is_text;     // must be UTF-8
    bool pieces;      // a word may be several tokens
} bpt_unit_spec_t;
const bpt_unit_spec_t *bpt_unit_of(bpt_unit_t unit);

typedef struct {
    const char *data;
    size_t bytes;
} bpt_word_t;
bool bpt_word_same(const bpt_word_t *a, const bpt_word_t *b);
bool bpt_word_is(const bpt_word_t *word, const char *text);

typedef struct bpt_vocab bpt_vocab_t;

// An empty vocabulary to be filled by counting texts and then frozen. lower: words are folded to lower case.
bpt_status_t bpt_vocab_create(bpt_unit_t unit, bool lower, bpt_vocab_t **out) BPT_MUST_USE;
// BPT_UNIT_IDS: ids from `limit` on are BPT_ERR_INPUT when texts are encoded; without a call the limit is 2^32 - 1.
void bpt_vocab_limit_ids(bpt_vocab_t *vocab, int64_t limit);
// A word of more than BPT_WORD_BYTES is BPT_ERR_INPUT here and when it is encoded: a file without blanks is no text of words.
#define BPT_WORD_BYTES ((size_t)1 << 20)
bpt_status_t bpt_vocab_count(bpt_vocab_t *vocab, const bpt_range_t *text) BPT_MUST_USE;  // every token of the text
bpt_status_t bpt_vocab_count_words(bpt_vocab_t *vocab, const bpt_range_t *where, const bpt_word_t *words,
                                   size_t n) BPT_MUST_USE;  // those of one text; errors name the line `where`
// BPT_UNIT_WORD: words that were counted fewer times are left out when it is frozen, and become <unk>; 0 and 1: none.
void bpt_vocab_want_count(bpt_vocab_t *vocab, int64_t least);
bpt_status_t bpt_vocab_freeze(bpt_vocab_t *vocab) BPT_MUST_USE;
void bpt_vocab_destroy(bpt_vocab_t *vocab);

// BPT_UNIT_SUBWORD: the model that bpt_vocab_freeze makes of the counted texts.
void bpt_vocab_want_subwords(bpt_vocab_t *vocab, bpt_subword_kind_t kind, int64_t pieces);
// A model file, of this path, in its place: its pieces become the tokens, where there are none yet (texts need not be counted then); else
// they must be these tokens, or it is BPT_ERR_INPUT. A vocabulary that was read from vocab.txt reads and writes text only with its model.
bpt_status_t bpt_vocab_take_subwords(bpt_vocab_t *vocab, const char *path, const void *model, size_t bytes) BPT_MUST_USE;
bpt_status_t bpt_vocab_read_subwords(bpt_vocab_t *vocab, const char *path) BPT_MUST_USE;  // the same, from a file
#define BPT_SUBWORD_FILE_BYTES ((size_t)256 << 20)                                        // the largest one
// Its bytes, for a file; NULL: there is none.
const void *bpt_vocab_subwords(const bpt_vocab_t *vocab, size_t *bytes);

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

// The id of <eos>, which ends lines; false: the unit has none.
bool bpt_vocab_end_sign(const bpt_vocab_t *vocab, uint32_t *id);
// Before it is frozen, of words: <mask>, which stands for hidden tokens, is in it, whether or not texts have it. Other units have none.
// _mask: its id; false, and *id as it was: there is none.
bpt_status_t bpt_vocab_want_mask(bpt_vocab_t *vocab) BPT_MUST_USE;
bool bpt_vocab_mask(const bpt_vocab_t *vocab, uint32_t *id);
// The id of <unk>, which stands for tokens that are not in it; false: there is none.
bool bpt_vocab_unknown(const bpt_vocab_t *vocab, uint32_t *id);

// Ids of a text, freed with bpt_ids_free; those of BPT_UNIT_BYTE are the text itself, which must outlive them. A token that is neither
// known nor covered by <unk>, or an id that is not below the limit, is BPT_ERR_INPUT with file and line. Words and subwords get <eos> for
// every newline, with line_ends also after a last line without one (a corpus; a prompt goes on).
bpt_status_t bpt_vocab_encode(const bpt_vocab_t *vocab, const bpt_range_t *text, bool line_ends, bpt_ids_t *ids) BPT_MUST_USE;
// The same, and how much text the tokens stand for that an evaluation scores: all but the first, and but those whose place is a multiple of
// `drop`, if that is not 0. Only of words and subwords; blanks and line ends count as they are in the text.
typedef struct {
    int64_t drop;
    int64_t characters, bytes;
    int64_t tokens;  // so far
    const char *at;  // where the last one ended
} bpt_scored_text_t;
bpt_status_t bpt_vocab_encode_scored(const bpt_vocab_t *vocab, const bpt_range_t *text, bool line_ends, bpt_ids_t *ids,
                                     bpt_scored_text_t *scored) BPT_MUST_USE;
// The id of one word (folded when the vocabulary is), errors as above. Not for subwords.
bpt_status_t bpt_vocab_encode_word(const bpt_vocab_t *vocab, const bpt_range_t *where, const char *word, size_t bytes,
                                   uint32_t *id) BPT_MUST_USE;
// The ids of a text that is given as words: one each, or the subwords of them all.
typedef bpt_status_t bpt_take_id_t(void *user, uint32_t id);
bpt_status_t bpt_vocab_encode_words(const bpt_vocab_t *vocab, const bpt_range_t *where, const bpt_word_t *words, size_t n,
                                    bpt_take_id_t *take, void *user) BPT_MUST_USE;
// Appends the text of one id. `first`: no blank before it (words, subwords).
bpt_status_t bpt_vocab_decode(const bpt_vocab_t *vocab, uint32_t id, bool first, bpt_strbuf_t *out) BPT_MUST_USE;
// Blanks between words: those of ASCII.
bool bpt_is_blank(char c);
// Takes the next blank-separated token off a line; NULL at the end.
const char *bpt_next_token(bpt_range_t *line, size_t *bytes);

#endif
