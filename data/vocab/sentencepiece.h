// SentencePiece for C: the functions that data/vocab/subwords.c needs of the library, which is in C++. Inside of data/.
//
// sentencepiece.cpp has them where the library was found at build time, sentencepiece_missing.c where it was not. No exception leaves them.
// A function that can fail returns false and leaves the reason in `why`, empty where the library gives
// none.
#ifndef BPT_DATA_SENTENCEPIECE_H
#define BPT_DATA_SENTENCEPIECE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const bool bpt_sentencepiece_there;           // false: the program was built without the library
extern const char *const bpt_sentencepiece_version;  // that it was built with, such as "0.1.97"; "": not known

typedef struct bpt_sentencepiece bpt_sentencepiece_t;
typedef struct {
    char text[512];
} bpt_why_t;

// What a piece is: text, a byte ("<0x41>"), what stands for unknown text, or a sign that no text has.
typedef enum { BPT_PIECE_TEXT, BPT_PIECE_BYTE, BPT_PIECE_UNKNOWN, BPT_PIECE_SIGN } bpt_piece_kind_t;

// From the bytes of a model file.
bool bpt_sentencepiece_load(const void *model, size_t bytes, bpt_sentencepiece_t **out, bpt_why_t *why);
void bpt_sentencepiece_free(bpt_sentencepiece_t *model);
int bpt_sentencepiece_count(const bpt_sentencepiece_t *model);
// The text lives as long as the model.
bpt_piece_kind_t bpt_sentencepiece_piece(const bpt_sentencepiece_t *model, int id, const char **text, size_t *bytes);
int bpt_sentencepiece_eos(const bpt_sentencepiece_t *model);  // -1: it has none
// Gives `take` every piece of a text and the byte of the text where it ends; false from `take` ends it, and is no failure.
bool bpt_sentencepiece_encode(const bpt_sentencepiece_t *model, const char *text, size_t bytes,
                              bool (*take)(void *user, int id, size_t end), void *user, bpt_why_t *why);

// A model from sentences: `next` gives one and returns false at the end. *model, of *bytes bytes, is released with free().
bool bpt_sentencepiece_train(const char *kind, int pieces, bool (*next)(void *user, const char **sentence, size_t *bytes), void *user,
                             char **model, size_t *bytes, bpt_why_t *why);

#ifdef __cplusplus
}
#endif

#endif
