// A program without SentencePiece (sentencepiece.h): data/vocab/subwords.c says so before any of these could be called.
#include "data/vocab/sentencepiece.h"

#include <stdio.h>

const bool bpt_sentencepiece_there = false;
const char *const bpt_sentencepiece_version = "";

static bool fail(bpt_why_t *why) {
    snprintf(why->text, sizeof why->text, "built without SentencePiece");
    return false;
}

bool bpt_sentencepiece_load(const void *model, size_t bytes, bpt_sentencepiece_t **out, bpt_why_t *why) {
    (void)model, (void)bytes, (void)out;
    return fail(why);
}

void bpt_sentencepiece_free(bpt_sentencepiece_t *model) { (void)model; }
int bpt_sentencepiece_count(const bpt_sentencepiece_t *model) { return (void)model, 0; }
int bpt_sentencepiece_eos(const bpt_sentencepiece_t *model) { return (void)model, -1; }

bpt_piece_kind_t bpt_sentencepiece_piece(const bpt_sentencepiece_t *model, int id, const char **text, size_t *bytes) {
    (void)model, (void)id;
    *text = "";
    *bytes = 0;
    return BPT_PIECE_SIGN;
}

bool bpt_sentencepiece_encode(const bpt_sentencepiece_t *model, const char *text, size_t bytes,
                              bool (*take)(void *user, int id, size_t end), void *user, bpt_why_t *why) {
    (void)model, (void)text, (void)bytes, (void)take, (void)user;
    return fail(why);
}

bool bpt_sentencepiece_train(const char *kind, int pieces, bool (*next)(void *user, const char **sentence, size_t *bytes), void *user,
                             char **model, size_t *bytes, bpt_why_t *why) {
    (void)kind, (void)pieces, (void)next, (void)user, (void)model, (void)bytes;
    return fail(why);
}
