// Subwords: models that are trained, models of others, text to pieces and back, how much text pieces stand for, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/examples.h"
#include "data/vocab/sentencepiece.h"
#include "data/vocab/vocab.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

#define NEEDS_LIBRARY() \
    if (!bpt_sentencepiece_there) skip()

static bpt_range_t range_of(const char *text) { return bpt_range_of("corpus.txt", text, strlen(text)); }

enum { PIECES = 58 };
static const char corpus[] =
    "the quick brown fox jumps over the lazy dog\n"
    "the slow fox walks around the quick dog\n"
    "\n"
    "  der schnelle braune Fuchs \xC3\xBC"
    "berspringt  den faulen Hund \n"
    "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xE6\x97\xA5\xE6\x9C\xAC \xD0\xBC\xD0\xB8\xD1\x80 \xD0\xBC\xD0\xB8\xD1\x80\n"
    "na\xC3\xAFve caf\xC3\xA9 \xF0\x9F\x98\x80 \xEF\xAC\x81sh 1\xC2\xB2 <unk> x<unk>y\n";

static bpt_status_t make(bpt_subword_kind_t kind, int64_t pieces, bool lower, const char *text, bpt_vocab_t **out) {
    const bpt_range_t range = range_of(text);
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, lower, out));
    bpt_vocab_want_subwords(*out, kind, pieces);
    assert_ok(bpt_vocab_count(*out, &range));
    const bpt_status_t status = bpt_vocab_freeze(*out);
    if (status == BPT_OK) return BPT_OK;
    bpt_vocab_destroy(*out);
    *out = NULL;
    return status;
}

static bpt_vocab_t *made(bpt_subword_kind_t kind, int64_t pieces, bool lower, const char *text) {
    bpt_vocab_t *vocab;
    assert_ok(make(kind, pieces, lower, text, &vocab));
    assert_int_equal(bpt_vocab_size(vocab), pieces);
    return vocab;
}

static bpt_ids_t encode(const bpt_vocab_t *vocab, const char *text, bool line_ends) {
    bpt_ids_t ids;
    const bpt_range_t range = range_of(text);
    assert_ok(bpt_vocab_encode(vocab, &range, line_ends, &ids));
    return ids;
}

static uint32_t id_at(const bpt_ids_t *ids, uint64_t i) {
    uint32_t id;
    bpt_ids_copy(ids, i, 1, &id);
    return id;
}

static void assert_decodes(const bpt_vocab_t *vocab, const bpt_ids_t *ids, const char *want) {
    bpt_strbuf_t text = {0};
    assert_ok(bpt_strbuf_append(&text, "", 0));
    for (uint64_t i = 0; i < ids->count; ++i) assert_ok(bpt_vocab_decode(vocab, id_at(ids, i), i == 0, &text));
    assert_string_equal(text.data, want);
    bpt_strbuf_free(&text);
}

static void round_trip(const bpt_vocab_t *vocab, const char *text, bool line_ends, const char *want) {
    bpt_ids_t ids = encode(vocab, text, line_ends);
    assert_decodes(vocab, &ids, want);
    bpt_ids_free(&ids);
}

// ---- Models that are trained here

static void texts_come_back(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    for (int kind = BPT_SUBWORD_BPE; kind <= BPT_SUBWORD_UNIGRAM; ++kind) {
        bpt_vocab_t *vocab = made(kind, PIECES, false, corpus);
        round_trip(vocab, "the lazy fox\n\n\nquick quick\n", true, "the lazy fox\n\n\nquick quick\n");
        round_trip(vocab, " the\tlazy \r\nfox ", true, "the lazy\nfox\n");
        round_trip(vocab, " the\tlazy \r\nfox ", false, "the lazy\nfox");
        round_trip(vocab, "caf\xC3\xA9 \xE6\x97\xA5 \xD0\xBC\xD0\xB8\n", true, "caf\xC3\xA9 \xE6\x97\xA5 \xD0\xBC\xD0\xB8\n");
        round_trip(vocab, "\xEF\xAC\x81 1\xC2\xB2\n", true, "\xEF\xAC\x81 1\xC2\xB2\n");  // no compatibility folding
        round_trip(vocab, "\xF0\x9F\x98\x80na\xC3\xAFve", true, "\xF0\x9F\x98\x80na\xC3\xAFve\n");
        round_trip(vocab, "\n", true, "\n");
        bpt_ids_t ids = encode(vocab, "", true);
        assert_int_equal(ids.count, 0);
        bpt_ids_free(&ids);
        bpt_vocab_destroy(vocab);
    }
}

// Characters that the training text lacks, and the word <unk>, are <unk>; the rest of the text is not.
static void what_is_unknown(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_vocab_t *vocab = made(BPT_SUBWORD_BPE, PIECES, false, corpus);
    uint32_t unk, eos;
    assert_true(bpt_vocab_find(vocab, "<unk>", 5, &unk) && unk == 0);
    assert_true(bpt_vocab_find(vocab, "<eos>", 5, &eos) && eos == 1);
    round_trip(vocab, "the \xE2\x98\x83 fox\n", true, "the <unk> fox\n");
    round_trip(vocab, "fo\xE2\x98\x83x", false, "fo<unk>x");
    round_trip(vocab, "the <unk> fox", false, "the <unk> fox");
    bpt_ids_t ids = encode(vocab, "<unk>", false);
    assert_int_equal(id_at(&ids, ids.count - 1), unk);
    assert_true(ids.count <= 2);  // a blank of its own in front
    bpt_ids_free(&ids);
    bpt_vocab_destroy(vocab);
}

static void assert_same_file(const bpt_vocab_t *a, const bpt_vocab_t *b, bool same) {
    size_t n, m;
    const void *x = bpt_vocab_subwords(a, &n), *y = bpt_vocab_subwords(b, &m);
    assert_non_null(x);
    assert_int_equal(n == m && !memcmp(x, y, n), same);
}

static void one_text_makes_one_model(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    for (int kind = BPT_SUBWORD_BPE; kind <= BPT_SUBWORD_UNIGRAM; ++kind) {
        bpt_vocab_t *a = made(kind, PIECES, false, corpus), *b = made(kind, PIECES, false, corpus), *c = made(!kind, PIECES, false, corpus),
                    *d = made(kind, PIECES - 1, false, corpus);
        assert_same_file(a, b, true);
        assert_same_file(a, c, false);
        assert_same_file(a, d, false);
        bpt_vocab_destroy(a);
        bpt_vocab_destroy(b);
        bpt_vocab_destroy(c);
        bpt_vocab_destroy(d);
    }
}

static void case_is_folded(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_vocab_t *lower = made(BPT_SUBWORD_BPE, 70, true, corpus);
    round_trip(lower, "The FUCHS \xC3\x9C\n", true, "the fuchs \xC3\xBC\n");
    bpt_vocab_destroy(lower);
}

// A line of any length is read in pieces, which is not to be seen in its ids.
static void long_lines(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    enum { WORDS = 60000 };
    bpt_vocab_t *vocab = made(BPT_SUBWORD_BPE, PIECES, false, corpus);
    static char text[WORDS * 6 + 1];
    size_t used = 0;
    for (int i = 0; i < WORDS; ++i) used += (size_t)sprintf(text + used, "%s ", i % 3 ? "lazy" : "quick");
    bpt_ids_t line = encode(vocab, text, false), quick = encode(vocab, "quick", false), lazy = encode(vocab, "lazy", false);
    uint64_t at = 0;
    for (int i = 0; i < WORDS; ++i) {
        const bpt_ids_t *word = i % 3 ? &lazy : &quick;
        for (uint64_t k = 0; k < word->count; ++k) assert_int_equal(id_at(&line, at++), id_at(word, k));
    }
    assert_int_equal(at, line.count);
    bpt_ids_free(&line);
    bpt_ids_free(&quick);
    bpt_ids_free(&lazy);
    bpt_vocab_destroy(vocab);
    memset(text, 'a', sizeof text - 1);  // one word without an end, to learn from and to read
    text[sizeof text - 2] = 'b';
    vocab = made(BPT_SUBWORD_UNIGRAM, 6, false, text);
    bpt_ids_t word = encode(vocab, text, false);
    assert_int_equal(id_at(&word, 0) != 0 && id_at(&word, word.count - 1) != 0, 1);
    bpt_ids_free(&word);
    bpt_vocab_destroy(vocab);
}

// ---- How much text tokens stand for

static bpt_scored_text_t scored(const bpt_vocab_t *vocab, const char *text, int64_t drop, uint64_t *tokens) {
    bpt_ids_t ids;
    bpt_scored_text_t s = {.drop = drop};
    const bpt_range_t range = range_of(text);
    assert_ok(bpt_vocab_encode_scored(vocab, &range, true, &ids, &s));
    assert_int_equal(s.tokens, ids.count);
    *tokens = ids.count;
    bpt_ids_free(&ids);
    return s;
}

static int64_t characters_of(const char *text) {
    int64_t n = 0;
    for (; *text; ++text) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

// All of a text belongs to one token or another, and the first one, with the blanks before it, is never scored.
static void assert_all_counted(const bpt_vocab_t *vocab, const char *text) {
    uint64_t tokens;
    const bpt_scored_text_t s = scored(vocab, text, 0, &tokens);
    bpt_ids_t ids = encode(vocab, text, true);
    bpt_strbuf_t first = {0};
    assert_ok(bpt_strbuf_append(&first, "", 0));
    assert_ok(bpt_vocab_decode(vocab, id_at(&ids, 0), true, &first));
    const int64_t blanks = first.length ? (int64_t)strspn(text, " ") : 0;  // a blank that is a token has them not
    assert_int_equal(s.characters, characters_of(text) - characters_of(first.data) - blanks);
    assert_int_equal(s.bytes, (int64_t)(strlen(text) - first.length) - blanks);
    bpt_strbuf_free(&first);
    bpt_ids_free(&ids);
    const bpt_scored_text_t none = scored(vocab, text, 1, &tokens);
    assert_int_equal(none.characters, 0);
    assert_int_equal(none.bytes, 0);
}

static void text_is_counted_as_it_stands(void **state) {
    (void)state;
    bpt_vocab_t *words;
    const bpt_range_t range = range_of("a caf\xC3\xA9 x\n");
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &words));
    assert_ok(bpt_vocab_count(words, &range));
    assert_ok(bpt_vocab_freeze(words));
    assert_all_counted(words, " a  caf\xC3\xA9\t\xE6\x97\xA5 \r\n\n x x \n");
    assert_all_counted(words, "caf\xC3\xA9 zz");
    uint64_t tokens;
    const bpt_scored_text_t odd = scored(words, "a  a \xC3\xA9 x\n", 2, &tokens);  // "  a" and " x" of a, a, <unk>, x, <eos>
    assert_int_equal(tokens, 5);
    assert_int_equal(odd.characters, 5);
    assert_int_equal(odd.bytes, 5);
    const bpt_scored_text_t others = scored(words, "a  a \xC3\xA9 x\n", 3, &tokens);  // "  a", " \xC3\xA9" and the line end
    assert_int_equal(others.characters, 6);
    assert_int_equal(others.bytes, 7);
    bpt_vocab_destroy(words);
    NEEDS_LIBRARY();
    for (int kind = BPT_SUBWORD_BPE; kind <= BPT_SUBWORD_UNIGRAM; ++kind) {
        bpt_vocab_t *vocab = made(kind, 44, true,
                                  "the the the the the cat caf\xC3\xA9 i\xCC\x87s \xE6\x97\xA5\n the quick lazy dogs jumped over\n"
                                  "brown foxes while waiting for the the the the milk and the very long tail of it all\n");
        assert_all_counted(vocab, "THE  caf\xC3\xA9\t\xE6\x97\xA5 \r\n\n cat cat \n");
        assert_all_counted(vocab, " the <unk>  \xE2\x98\x83\xE2\x98\x83 cat");
        assert_all_counted(vocab, "the \xC4\xB0s");  // a letter whose lower case has fewer bytes
        assert_all_counted(vocab, "the\n");
        bpt_vocab_destroy(vocab);
    }
}

// ---- Files

static bpt_vocab_t *read_back(const bpt_vocab_t *vocab) {
    bpt_strbuf_t text = {0};
    bpt_vocab_t *back;
    assert_ok(bpt_vocab_format(vocab, &text));
    const bpt_range_t range = bpt_range_of("vocab.txt", text.data, text.length);
    assert_ok(bpt_vocab_parse(&range, BPT_UNIT_SUBWORD, false, &back));
    bpt_strbuf_free(&text);
    return back;
}

static void vocab_txt_lists_the_pieces(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_vocab_t *vocab = made(BPT_SUBWORD_BPE, PIECES, false, corpus), *other = made(BPT_SUBWORD_UNIGRAM, PIECES, false, corpus),
                *smaller = made(BPT_SUBWORD_BPE, PIECES - 1, false, corpus), *back = read_back(vocab);
    size_t bytes, n;
    const void *model = bpt_vocab_subwords(other, &bytes);
    assert_int_equal(bpt_vocab_size(back), PIECES);
    assert_memory_equal(bpt_vocab_token(back, 0, &n), "<unk>", 5);
    assert_memory_equal(bpt_vocab_token(back, 1, &n), "<eos>", 5);
    assert_fails(bpt_vocab_take_subwords(back, "RUN/subword.model", model, bytes), BPT_ERR_INPUT, "does not belong to the vocabulary");
    model = bpt_vocab_subwords(smaller, &bytes);
    assert_fails(bpt_vocab_take_subwords(back, "RUN/subword.model", model, bytes), BPT_ERR_INPUT, "has 57 pieces, the vocabulary has 58");
    model = bpt_vocab_subwords(vocab, &bytes);
    assert_ok(bpt_vocab_take_subwords(back, "RUN/subword.model", model, bytes));
    assert_same_file(vocab, back, true);
    bpt_ids_t a = encode(vocab, corpus, true), b = encode(back, corpus, true);
    assert_int_equal(a.count, b.count);
    for (uint64_t i = 0; i < a.count; ++i) assert_int_equal(id_at(&a, i), id_at(&b, i));
    bpt_ids_free(&a);
    bpt_ids_free(&b);
    bpt_vocab_destroy(vocab);
    bpt_vocab_destroy(other);
    bpt_vocab_destroy(smaller);
    bpt_vocab_destroy(back);
}

static void damaged_models_are_refused(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_vocab_t *vocab = made(BPT_SUBWORD_UNIGRAM, PIECES, false, corpus), *into;
    size_t bytes;
    const void *model = bpt_vocab_subwords(vocab, &bytes);
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &into));
    assert_fails(bpt_vocab_take_subwords(into, "x.model", "", 0), BPT_ERR_INPUT, "x.model is no SentencePiece model");
    assert_fails(bpt_vocab_take_subwords(into, "x.model", corpus, sizeof corpus), BPT_ERR_INPUT, "x.model is no SentencePiece model");
    for (size_t cut = 1; cut < bytes; cut += 37) {  // a cut that leaves whole messages is a smaller model, or none
        const bpt_status_t status = bpt_vocab_take_subwords(into, "x.model", model, bytes - cut);
        assert_true(status == BPT_OK || status == BPT_ERR_INPUT);
        if (status != BPT_OK) continue;
        bpt_vocab_destroy(into);
        assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &into));
    }
    test_write_file(test_path("bad.model"), model, bytes / 2);
    assert_fails(bpt_vocab_read_subwords(into, test_path("bad.model")), BPT_ERR_INPUT, "bad.model is no SentencePiece model");
    assert_fails(bpt_vocab_read_subwords(into, test_path("none.model")), BPT_ERR_IO, "none.model");
    bpt_vocab_destroy(into);
    bpt_vocab_destroy(vocab);
}

static void numbers_that_do_not_fit(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    bpt_vocab_t *vocab;
    for (int kind = BPT_SUBWORD_BPE; kind <= BPT_SUBWORD_UNIGRAM; ++kind) {
        assert_fails(make(kind, 5, false, "a b c d aa ab\n", &vocab), BPT_ERR_INPUT, "5 subwords are too few for this text");
        assert_fails(make(kind, 1000, false, "a b c d aa ab\n", &vocab), BPT_ERR_INPUT, "1000 subwords are too many for this text");
        assert_fails(make(kind, 10, false, " \n\n", &vocab), BPT_ERR_INPUT, "a text without words");
    }
}

static void a_program_without_the_library_says_so(void **state) {
    (void)state;
    if (bpt_sentencepiece_there) skip();
    bpt_vocab_t *vocab;
    assert_fails(make(BPT_SUBWORD_BPE, 10, false, "a b\n", &vocab), BPT_ERR_UNSUPPORTED, "libsentencepiece-dev");
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &vocab));
    assert_fails(bpt_vocab_take_subwords(vocab, "x.model", "abc", 3), BPT_ERR_UNSUPPORTED, "libsentencepiece-dev");
    bpt_vocab_destroy(vocab);
}

// ---- Models of others, written by hand: the messages of a model file

typedef enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 } type_t;

static void put_varint(bpt_strbuf_t *out, uint64_t value) {
    for (; value > 127; value >>= 7) assert_ok(bpt_strbuf_append(out, &(char){(char)(value | 128)}, 1));
    assert_ok(bpt_strbuf_append(out, &(char){(char)value}, 1));
}

static void put_bytes(bpt_strbuf_t *out, int field, const void *bytes, size_t n) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, n);
    assert_ok(bpt_strbuf_append(out, bytes, n));
}

static void put_number(bpt_strbuf_t *out, int field, uint64_t value) {
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

static void put_piece(bpt_strbuf_t *model, const char *text, float score, type_t type) {
    bpt_strbuf_t piece = {0};
    put_bytes(&piece, 1, text, strlen(text));
    put_varint(&piece, 2 << 3 | 5);
    assert_ok(bpt_strbuf_append(&piece, &score, 4));
    put_number(&piece, 3, type);
    put_bytes(model, 1, piece.data, piece.length);
    bpt_strbuf_free(&piece);
}

// <pad>, 256 bytes, <unk>, then a few pieces; no end of sentence unless one is asked for.
static bpt_vocab_t *foreign(const char *eos) {
    bpt_strbuf_t model = {0}, trainer = {0}, normalizer = {0};
    put_piece(&model, "<pad>", 0, CONTROL);
    for (int b = 0; b < 256; ++b) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        put_piece(&model, name, 0, BYTE);
    }
    put_piece(&model, "<unk>", 0, UNKNOWN);
    put_piece(&model, "\xE2\x96\x81", -2, NORMAL);
    put_piece(&model, "a", -2, NORMAL);
    put_piece(&model,
              "\xE2\x96\x81"
              "a",
              -1, NORMAL);
    put_piece(&model, "b", -2, NORMAL);
    if (eos) put_piece(&model, eos, 0, CONTROL);
    put_number(&trainer, 3, 1);   // model_type: unigram
    put_number(&trainer, 35, 1);  // byte_fallback
    put_number(&trainer, 40, 257);
    put_bytes(&normalizer, 1, "identity", 8);
    put_bytes(&model, 2, trainer.data, trainer.length);
    put_bytes(&model, 3, normalizer.data, normalizer.length);
    bpt_vocab_t *vocab;
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &vocab));
    assert_ok(bpt_vocab_take_subwords(vocab, "foreign.model", model.data, model.length));
    assert_ok(bpt_vocab_freeze(vocab));
    bpt_strbuf_free(&model);
    bpt_strbuf_free(&trainer);
    bpt_strbuf_free(&normalizer);
    return vocab;
}

static void assert_ids(const bpt_vocab_t *vocab, const char *text, const uint32_t *want, uint64_t n) {
    bpt_ids_t ids = encode(vocab, text, true);
    assert_int_equal(ids.count, n);
    for (uint64_t i = 0; i < n; ++i) assert_int_equal(id_at(&ids, i), want[i]);
    bpt_ids_free(&ids);
}

static void models_of_others(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    enum { UNK = 257, BLANK, A, BLANK_A, B, END };
    bpt_vocab_t *without = foreign(NULL), *with = foreign("</s>"), *named = foreign("<eos>");
    size_t n;
    assert_int_equal(bpt_vocab_size(without), END + 1);  // <eos> behind the pieces
    assert_memory_equal(bpt_vocab_token(without, END, &n), "<eos>", 5);
    assert_int_equal(bpt_vocab_size(with), END + 1);
    assert_memory_equal(bpt_vocab_token(with, END, &n), "</s>", 4);
    assert_int_equal(bpt_vocab_size(named), END + 1);
    const bpt_vocab_t *const all[] = {without, with, named};
    for (int i = 0; i < 3; ++i) {
        assert_ids(all[i], "ab b\n\n", (const uint32_t[]){BLANK_A, B, BLANK, B, END, END}, 6);
        assert_ids(all[i], "a\xC3\xA9\n", (const uint32_t[]){BLANK_A, 1 + 0xC3, 1 + 0xA9, END}, 4);  // the bytes of a character
        round_trip(all[i], "a\xC3\xA9 \xE2\x98\x83 <unk>\n", true, "a\xC3\xA9 \xE2\x98\x83 <unk>\n");
        bpt_strbuf_t nothing = {0};
        assert_ok(bpt_vocab_decode(all[i], 0, false, &nothing));  // <pad>
        assert_int_equal(nothing.length, 0);
        uint64_t tokens;
        const bpt_scored_text_t s = scored(all[i], "a\xC3\xA9 b\n", 0, &tokens);
        assert_int_equal(s.characters, 4);
        assert_int_equal(s.bytes, 5);
    }
    bpt_vocab_t *back = read_back(without);
    size_t bytes;
    const void *model = bpt_vocab_subwords(without, &bytes);
    assert_ok(bpt_vocab_take_subwords(back, "x", model, bytes));
    assert_ids(back, "a\n", (const uint32_t[]){BLANK_A, END}, 2);
    bpt_vocab_destroy(back);
    bpt_vocab_destroy(without);
    bpt_vocab_destroy(with);
    bpt_vocab_destroy(named);
}

// ---- Examples

static void examples_of_subwords(void **state) {
    (void)state;
    NEEDS_LIBRARY();
    const bpt_range_t text = range_of("good\tfine , fine play\nbad\tdull  dull film\n");
    const bpt_examples_options_t options = {.labelled = true, .strip_punctuation = true}, short_ones = {.labelled = true, .truncate = 2},
                                 refused = {.labelled = true, .longest = 2};
    bpt_vocab_t *vocab;
    bpt_labels_t labels = {0};
    bpt_examples_t examples;
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &vocab));
    bpt_vocab_want_subwords(vocab, BPT_SUBWORD_BPE, 20);
    assert_ok(bpt_examples_scan(&text, &options, vocab, &labels));
    bpt_labels_freeze(&labels);
    assert_ok(bpt_vocab_freeze(vocab));
    uint32_t id;
    assert_true(bpt_vocab_find(vocab, "o", 1, &id) && id == 0);  // labels are no text: no o, nor the comma
    assert_true(bpt_vocab_find(vocab, ",", 1, &id) && id == 0);
    assert_ok(bpt_examples_read(&text, &options, vocab, &labels, &examples));
    assert_int_equal(examples.count, 2);
    for (uint64_t e = 0; e < 2; ++e) {
        bpt_ids_t ids = bpt_ids_of(examples.tokens + examples.offsets[e], examples.offsets[e + 1] - examples.offsets[e]);
        assert_decodes(vocab, &ids, e ? "dull dull film" : "fine fine play");
    }
    bpt_examples_free(&examples);
    assert_ok(bpt_examples_read(&text, &short_ones, vocab, &labels, &examples));
    assert_true(examples.n_tokens == 4 && examples.offsets[1] == 2 && examples.offsets[2] == 4);
    bpt_examples_free(&examples);
    assert_fails(bpt_examples_read(&text, &refused, vocab, &labels, &examples), BPT_ERR_INPUT, "line 1: ");
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(what_is_unknown),
        cmocka_unit_test(one_text_makes_one_model),
        cmocka_unit_test(case_is_folded),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(text_is_counted_as_it_stands),
        cmocka_unit_test(vocab_txt_lists_the_pieces),
        cmocka_unit_test(damaged_models_are_refused),
        cmocka_unit_test(numbers_that_do_not_fit),
        cmocka_unit_test(a_program_without_the_library_says_so),
        cmocka_unit_test(models_of_others),
        cmocka_unit_test(examples_of_subwords),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : bpt_alloc_live() != 0;
}
