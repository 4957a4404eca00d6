// Subwords by SentencePiece (subwords.h).
#include "data/vocab/subwords.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "data/text/text.h"
#include "data/vocab/sentencepiece.h"

const char *const bpt_subword_kind_names[] = {[BPT_SUBWORD_BPE] = "bpe", [BPT_SUBWORD_UNIGRAM] = "unigram", NULL};

static const char blank_sign[] = "\xE2\x96\x81";    // U+2581, what SentencePiece writes for a blank
static const char unknown_sign[] = "\xE2\x96\x85";  // U+2585, which it never makes a piece of
static const char eos_name[] = "<eos>";
enum { SIGN_BYTES = 3 };

struct bpt_subwords {
    bpt_sentencepiece_t *model;
    char *file;
    size_t file_bytes;
    uint32_t pieces, unk, eos;  // eos = pieces: behind them
    bool reads_unknown;         // unknown_sign is read as <unk>
};

bpt_status_t bpt_subwords_require(const char *what) {
    if (bpt_sentencepiece_there) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED,
                    "%s needs SentencePiece, which this program was built without; install it (Debian: libsentencepiece-dev g++) and build "
                    "bpt again",
                    what);
}

const char *bpt_subwords_version(void) { return bpt_sentencepiece_version; }

void bpt_subwords_compare_version(const char *path, const char *made_with) {
    const char *here = bpt_subwords_version();
    if (!made_with || !*made_with || !*here || !strcmp(made_with, here)) return;
    bpt_warn("%s: its subwords were made with SentencePiece %s, and this program has %s, which may cut some texts in another way", path,
             bpt_show(made_with, strlen(made_with)).text, here);
}

void bpt_subwords_free(bpt_subwords_t *s) {
    if (!s) return;
    bpt_sentencepiece_free(s->model);
    bpt_free(s->file);
    bpt_free(s);
}

// ---- From a file

static bpt_status_t keep_last(void *user, uint32_t id, size_t end) {
    (void)end;
    *(uint32_t *)user = id;
    return BPT_OK;
}

static bpt_status_t complete(const char *path, bpt_subwords_t *s) {
    const int count = bpt_sentencepiece_count(s->model), eos = bpt_sentencepiece_eos(s->model);
    bool has_unk = false;
    uint32_t named = UINT32_MAX, last;
    for (int id = 0; id < count; ++id) {
        const char *text;
        size_t bytes;
        if (bpt_sentencepiece_piece(s->model, id, &text, &bytes) == BPT_PIECE_UNKNOWN) s->unk = (uint32_t)id, has_unk = true;
        if (bytes == sizeof eos_name - 1 && !memcmp(text, eos_name, bytes)) named = (uint32_t)id;
    }
    if (!has_unk) return bpt_fail(BPT_ERR_INPUT, "%s is a SentencePiece model without an unknown piece; make it with unk_id", path);
    s->pieces = (uint32_t)count;
    s->eos = eos >= 0 ? (uint32_t)eos : named != UINT32_MAX ? named : s->pieces;
    last = s->pieces;
    BPT_TRY(bpt_subwords_encode(s, unknown_sign, SIGN_BYTES, keep_last, &last));
    s->reads_unknown = last == s->unk;
    return BPT_OK;
}

// SentencePiece from 0.2.3 on writes name.spm.fb beside name.model.
static bool is_flatbuffer(const char *path) {
    static const char ending[] = ".fb";
    const size_t length = strlen(path), n = sizeof ending - 1;
    return length > n && !strcmp(path + length - n, ending);
}

static bpt_status_t open_model(const char *path, bpt_subwords_t *s, const void *model, size_t bytes) {
    bpt_why_t why;
    BPT_TRY(bpt_alloc(bytes ? bytes : 1, 1, &s->file));
    if (bytes) memcpy(s->file, model, bytes);
    s->file_bytes = bytes;
    if (!bytes || !bpt_sentencepiece_load(s->file, bytes, &s->model, &why))
        return is_flatbuffer(path)
                   ? bpt_fail(BPT_ERR_INPUT, "%s is a model in a form of later SentencePiece; give the .model file that was made with it",
                              path)
                   : bpt_fail(BPT_ERR_INPUT, "%s is no SentencePiece model, or is damaged%s%s; copy it again", path,
                              bytes && *why.text ? ": " : "", bytes ? why.text : ": it is empty");
    return complete(path, s);
}

bpt_status_t bpt_subwords_load(const char *path, const void *model, size_t bytes, bpt_subwords_t **out) {
    bpt_subwords_t *s;
    *out = NULL;
    BPT_TRY(bpt_subwords_require(path));
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    const bpt_status_t status = open_model(path, s, model, bytes);
    if (status == BPT_OK)
        *out = s;
    else
        bpt_subwords_free(s);
    return status;
}

// ---- From texts

typedef struct {
    const char *at, *end;
} sentences_t;

static bool next_sentence(void *user, const char **sentence, size_t *bytes) {
    sentences_t *s = user;
    if (s->at == s->end) return false;
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    *sentence = s->at;
    *bytes = (size_t)((newline ? newline : s->end) - s->at);
    s->at = newline ? newline + 1 : s->end;
    return true;
}

// SentencePiece counts the characters of a text, each of which is a piece, and the pieces that it found; other reasons are told as they
// are.
static bpt_status_t fail_training(int64_t pieces, const bpt_why_t *why) {
    const char *few = strstr(why->text, "required_chars. "), *many = strstr(why->text, "too high ("), *most = strstr(why->text, "<= ");
    int given, least;
    if (few && sscanf(few, "required_chars. %d vs %d", &given, &least) == 2)
        return bpt_fail(BPT_ERR_INPUT, "%" PRId64 " subwords are too few for this text: its characters, <unk> and <eos> alone are %d",
                        pieces, least);
    if (many && most && atoi(most + 3) > 0)
        return bpt_fail(BPT_ERR_INPUT, "%" PRId64 " subwords are too many for this text, of which SentencePiece can make %d", pieces,
                        atoi(most + 3));
    return bpt_fail(BPT_ERR_INPUT, "%" PRId64 " subwords cannot be made of this text%s%s", pieces,
                    *why->text ? "; SentencePiece says: " : "", why->text);
}

bpt_status_t bpt_subwords_train(bpt_subword_kind_t kind, int64_t pieces, const void *sentences, uint64_t bytes, bpt_subwords_t **out) {
    sentences_t s = {sentences, (const char *)sentences + bytes};
    char *model = NULL;
    size_t length = 0;
    bpt_why_t why;
    *out = NULL;
    BPT_TRY(bpt_subwords_require("--unit subword"));
    if (!bytes) return bpt_fail(BPT_ERR_INPUT, "subwords cannot be made of a text without words");
    if (pieces > INT32_MAX || !bpt_sentencepiece_train(bpt_subword_kind_names[kind], (int)pieces, next_sentence, &s, &model, &length, &why))
        return pieces > INT32_MAX ? bpt_fail(BPT_ERR_INPUT, "%" PRId64 " subwords are more than a model can have", pieces)
                                  : fail_training(pieces, &why);
    const bpt_status_t status = bpt_subwords_load("the trained model", model, length, out);
    free(model);
    return status;
}

// ---- Use

const void *bpt_subwords_file(const bpt_subwords_t *s, size_t *bytes) {
    *bytes = s->file_bytes;
    return s->file;
}

int64_t bpt_subwords_count(const bpt_subwords_t *s) { return (int64_t)s->pieces + (s->eos == s->pieces); }
uint32_t bpt_subwords_unk(const bpt_subwords_t *s) { return s->unk; }
uint32_t bpt_subwords_eos(const bpt_subwords_t *s) { return s->eos; }

const char *bpt_subwords_token(const bpt_subwords_t *s, uint32_t id, size_t *bytes) {
    const char *text = eos_name;
    *bytes = sizeof eos_name - 1;
    if (id < s->pieces) bpt_sentencepiece_piece(s->model, (int)id, &text, bytes);
    return text;
}

typedef struct {
    bpt_take_piece_t *take;
    void *user;
    bpt_status_t status;
} taker_t;

static bool take_piece(void *user, int id, size_t end) {
    taker_t *t = user;
    t->status = t->take(t->user, (uint32_t)id, end);
    return t->status == BPT_OK;
}

bpt_status_t bpt_subwords_encode(const bpt_subwords_t *s, const char *text, size_t bytes, bpt_take_piece_t *take, void *user) {
    taker_t t = {take, user, BPT_OK};
    bpt_why_t why;
    if (bpt_sentencepiece_encode(s->model, text, bytes, take_piece, &t, &why)) return t.status;
    return bpt_fail(BPT_ERR_INPUT, "SentencePiece cannot read '%s': %s", bpt_show(text, bytes).text, why.text);
}

void bpt_subwords_word(const bpt_subwords_t *s, const char **word, size_t *bytes) {
    size_t n;
    const char *unk = bpt_subwords_token(s, s->unk, &n);
    if (!s->reads_unknown || n != *bytes || memcmp(unk, *word, n)) return;
    *word = unknown_sign;
    *bytes = SIGN_BYTES;
}

static bpt_status_t decode_text(const char *text, size_t bytes, bool line_start, bpt_strbuf_t *out) {
    for (size_t i = 0, step; i < bytes; i += step) {
        const bool blank = bytes - i >= SIGN_BYTES && !memcmp(text + i, blank_sign, SIGN_BYTES);
        step = blank ? SIGN_BYTES : 1;
        if (!blank || i || !line_start) BPT_TRY(bpt_strbuf_append(out, blank ? " " : text + i, 1));
    }
    return BPT_OK;
}

bpt_status_t bpt_subwords_decode(const bpt_subwords_t *s, uint32_t id, bool line_start, bpt_strbuf_t *out) {
    const char *text;
    size_t bytes;
    if (id == s->eos) return bpt_strbuf_append(out, "\n", 1);
    switch (bpt_sentencepiece_piece(s->model, (int)id, &text, &bytes)) {
    case BPT_PIECE_TEXT: return decode_text(text, bytes, line_start, out);
    case BPT_PIECE_BYTE: return bpt_strbuf_append(out, &(char){(char)strtol(text + 1, NULL, 16)}, 1);  // <0x41>
    case BPT_PIECE_UNKNOWN: return bpt_strbuf_append(out, text, bytes);
    case BPT_PIECE_SIGN: return BPT_OK;
    }
    return BPT_OK;
}
