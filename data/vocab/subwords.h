// Subwords: a SentencePiece model, made of texts or taken from a file, and what bpt needs of it. Vocabularies of BPT_UNIT_SUBWORD have one.
//
// An id is the number of the piece in the model, so that other programs find the same ids; a model without an end of sentence gets <eos>
// as one more token behind its pieces. Texts are words with one blank between, as for BPT_UNIT_WORD.
#ifndef BPT_DATA_SUBWORDS_H
#define BPT_DATA_SUBWORDS_H

#include "bpt/status.h"
#include "bpt/strbuf.h"

typedef enum { BPT_SUBWORD_BPE, BPT_SUBWORD_UNIGRAM } bpt_subword_kind_t;
extern const char *const bpt_subword_kind_names[];  // bpe, unigram; ended by NULL

typedef struct bpt_subwords bpt_subwords_t;

// BPT_ERR_UNSUPPORTED, with the package's name, where the program was built without SentencePiece. `what` needs it.
bpt_status_t bpt_subwords_require(const char *what) BPT_MUST_USE;

// The version of SentencePiece, "" where it is not known. Another one may make other tokens of the same text with the same model: from
// 0.2.2 on unigram models choose otherwise between pieces of the same score.
const char *bpt_subwords_version(void);
// Warns, in one line, where the tokens of a model at `path` were made with another version; "" and NULL: it was not recorded.
void bpt_subwords_compare_version(const char *path, const char *made_with);

// A model of `pieces` pieces from sentences, each ended by '\n': the same sentences give the same model. BPT_ERR_INPUT when the number does
// not fit the text.
bpt_status_t bpt_subwords_train(bpt_subword_kind_t kind, int64_t pieces, const void *sentences, uint64_t bytes,
                                bpt_subwords_t **out) BPT_MUST_USE;
// From the bytes of a model file, which are copied; `path` is for messages.
bpt_status_t bpt_subwords_load(const char *path, const void *model, size_t bytes, bpt_subwords_t **out) BPT_MUST_USE;
void bpt_subwords_free(bpt_subwords_t *subwords);

const void *bpt_subwords_file(const bpt_subwords_t *subwords, size_t *bytes);  // the model file
int64_t bpt_subwords_count(const bpt_subwords_t *subwords);                    // tokens
const char *bpt_subwords_token(const bpt_subwords_t *subwords, uint32_t id, size_t *bytes);
uint32_t bpt_subwords_unk(const bpt_subwords_t *subwords);
uint32_t bpt_subwords_eos(const bpt_subwords_t *subwords);

// The pieces of a text, each with the byte of the text where it ends. A failure of `take` is the result.
typedef bpt_status_t bpt_take_piece_t(void *user, uint32_t id, size_t end);
bpt_status_t bpt_subwords_encode(const bpt_subwords_t *subwords, const char *text, size_t bytes, bpt_take_piece_t *take,
                                 void *user) BPT_MUST_USE;
// A word as it is to be given to bpt_subwords_encode: one that is the name of <unk> becomes a character that no model knows.
void bpt_subwords_word(const bpt_subwords_t *subwords, const char **word, size_t *bytes);
// Appends the text of a token. line_start: without the blank before it.
bpt_status_t bpt_subwords_decode(const bpt_subwords_t *subwords, uint32_t id, bool line_start, bpt_strbuf_t *out) BPT_MUST_USE;

#endif
