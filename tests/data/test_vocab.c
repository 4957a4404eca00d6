// Vocabularies: from texts, vocab.txt, text to ids and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/vocab/vocab.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"
#include "text_file.h"

static bpt_range_t range_of(const char *text) { return bpt_range_of("corpus.txt", text, strlen(text)); }

static bpt_vocab_t *made_from(bpt_unit_t unit, bool lower, const char *text) {
    bpt_vocab_t *vocab;
    const bpt_range_t range = range_of(text);
    assert_ok(bpt_vocab_create(unit, lower, &vocab));
    assert_ok(bpt_vocab_count(vocab, &range));
    assert_ok(bpt_vocab_freeze(vocab));
    return vocab;
}

static void assert_tokens(const bpt_vocab_t *vocab, const char *const *tokens, int64_t n) {
    assert_int_equal(bpt_vocab_size(vocab), n);
    for (uint32_t id = 0; id < n; ++id) {
        size_t bytes;
        const char *token = bpt_vocab_token(vocab, id, &bytes);
        assert_int_equal(bytes, strlen(tokens[id]));
        assert_memory_equal(token, tokens[id], bytes);
    }
}

static uint32_t id_at(const bpt_ids_t *ids, uint64_t i) {
    uint32_t id;
    bpt_ids_copy(ids, i, 1, &id);
    return id;
}

// "3 1 4" -> compares
static void assert_ids(const bpt_vocab_t *vocab, const char *text, bool line_ends, const char *want) {
    bpt_ids_t ids;
    char got[256] = "";
    size_t used = 0;
    const bpt_range_t range = range_of(text);
    assert_ok(bpt_vocab_encode(vocab, &range, line_ends, &ids));
    for (uint64_t i = 0; i < ids.count; ++i) used += (size_t)snprintf(got + used, sizeof got - used, "%s%u", i ? " " : "", id_at(&ids, i));
    assert_string_equal(got, want);
    bpt_ids_free(&ids);
}

static bpt_status_t encode(const bpt_vocab_t *vocab, const char *text) {
    bpt_ids_t ids;
    const bpt_range_t range = range_of(text);
    const bpt_status_t status = bpt_vocab_encode(vocab, &range, true, &ids);
    if (status == BPT_OK) bpt_ids_free(&ids);
    return status;
}

static void words_come_by_frequency_then_bytes(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_WORD, false, "b a c\na b\tB \xC3\xA9\na\r\n\n<unk> aa");
    static const char *const tokens[] = {"<unk>", "<eos>", "a", "b", "B", "aa", "c", "\xC3\xA9"};
    assert_tokens(vocab, tokens, BPT_COUNT(tokens));
    assert_int_equal(bpt_vocab_unit(vocab), BPT_UNIT_WORD);
    assert_ids(vocab, "a b\n\nzzz <unk> <eos> c", true, "2 3 1 1 0 0 1 6 1");
    assert_ids(vocab, "a b\n\nc\n", true, "2 3 1 1 6 1");
    assert_ids(vocab, "a b\nc", false, "2 3 1 6");
    assert_ids(vocab,
               "\xEF\xBB\xBF"
               "a\r\nb \v\f\r\n",
               true, "2 1 3 1");
    bpt_vocab_destroy(vocab);
}

static void rare_words_are_left_out(void **state) {
    (void)state;
    static const char *const kept[][6] = {
        {"<unk>", "<eos>", "b", "c", "a", "d"}, {"<unk>", "<eos>", "b", "c"}, {"<unk>", "<eos>", "b"}, {"<unk>", "<eos>"}};
    static const int64_t least[] = {1, 2, 3, 4}, sizes[] = {6, 4, 3, 2};
    static const char *const read[] = {"2 3 2 4 2 3 5 1", "2 3 2 0 2 3 0 1", "2 0 2 0 2 0 0 1", "0 0 0 0 0 0 0 1"};
    for (size_t i = 0; i < BPT_COUNT(least); ++i) {
        const bpt_range_t range = range_of("b c b a b c d\n");
        bpt_vocab_t *vocab;
        assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
        bpt_vocab_want_count(vocab, least[i]);
        assert_ok(bpt_vocab_count(vocab, &range));
        assert_ok(bpt_vocab_freeze(vocab));
        assert_tokens(vocab, kept[i], sizes[i]);
        assert_ids(vocab, "b c b a b c d\n", false, read[i]);
        bpt_vocab_destroy(vocab);
    }
}

static void lower_case_folds_words_of_every_script(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_WORD, true, "The the \xC3\x89t\xC3\xA9 \xCE\xA3 THE <UNK>");  // Ete, Sigma
    static const char *const tokens[] = {"<unk>", "<eos>", "the", "\xC3\xA9t\xC3\xA9", "\xCF\x83"};
    assert_tokens(vocab, tokens, BPT_COUNT(tokens));
    assert_ids(vocab, "tHe \xC3\x89T\xC3\x89 other", false, "2 3 0");
    uint32_t id;
    const bpt_range_t where = range_of("x");
    assert_ok(bpt_vocab_encode_word(vocab, &where, "THE", 3, &id));
    assert_int_equal(id, 2);
    assert_false(bpt_vocab_find(vocab, "THE", 3, &id) && id != 0);  // find takes tokens as they are
    bpt_vocab_destroy(vocab);
}

static void code_points_come_in_order_and_unknown_ones_are_errors(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_CHAR, false,
                                   "b\xE2\x82\xAC"
                                   "a\n\xC3\xA9"
                                   "b");
    static const char *const tokens[] = {"\n", "a", "b", "\xC3\xA9", "\xE2\x82\xAC"};
    assert_tokens(vocab, tokens, BPT_COUNT(tokens));
    assert_ids(vocab, "a\xE2\x82\xAC\n\nb", true, "1 4 0 0 2");
    assert_fails(encode(vocab, "ab\na\xC3\xA8"), BPT_ERR_INPUT, "corpus.txt: line 2: '\xC3\xA8' is not in the vocabulary");
    assert_fails(encode(vocab, "ab\na\xC3"), BPT_ERR_INPUT, "line 2, byte 4: not valid UTF-8");
    bpt_vocab_destroy(vocab);
}

static void bytes_are_their_own_ids(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_BYTE, false, "x");
    assert_int_equal(bpt_vocab_size(vocab), 256);
    const bpt_range_t range = bpt_range_of("x", "\xFF\0\n", 3);
    bpt_ids_t ids;
    assert_ok(bpt_vocab_encode(vocab, &range, true, &ids));
    assert_int_equal(ids.count, 3);
    assert_ptr_equal(ids.data, range.data);  // no copy
    assert_true(id_at(&ids, 0) == 255 && id_at(&ids, 1) == 0 && id_at(&ids, 2) == 10);
    bpt_ids_free(&ids);
    bpt_vocab_destroy(vocab);
}

static void ids_are_decimal_numbers(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_IDS, false, "");
    assert_int_equal(bpt_vocab_size(vocab), 0);
    assert_ids(vocab, "3 0\n007\t4294967294\n", true, "3 0 7 4294967294");
    static const char *const bad[] = {"1 x", "-1", "+1", "1.0", "0x1"}, *const large[] = {"1 4294967295", "99999999999999999999999"};
    for (size_t i = 0; i < BPT_COUNT(bad); ++i) assert_fails(encode(vocab, bad[i]), BPT_ERR_INPUT, "line 1: '");
    for (size_t i = 0; i < BPT_COUNT(large); ++i)
        assert_fails(encode(vocab, large[i]), BPT_ERR_INPUT, "is outside the vocabulary, whose ids are 0 to 4294967294");
    bpt_vocab_limit_ids(vocab, 5);
    assert_ids(vocab, "4 00004\n", true, "4 4");
    assert_fails(encode(vocab, "4\n5\n"), BPT_ERR_INPUT, "corpus.txt: line 2: token 5 is outside the vocabulary, whose ids are 0 to 4");
    bpt_vocab_limit_ids(vocab, INT64_MAX);
    assert_fails(encode(vocab, "1\n2\nx\n"), BPT_ERR_INPUT, "corpus.txt: line 3: 'x' is not a token id");
    bpt_vocab_destroy(vocab);
}

static void words_must_be_utf8(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_WORD, false, "a");
    assert_fails(encode(vocab, "a\nb\xFFz"), BPT_ERR_INPUT, "corpus.txt: line 2, byte 3");
    const bpt_range_t bad = range_of("\x80");
    assert_fails(bpt_vocab_count(vocab, &bad), BPT_ERR_INPUT, "line 1, byte 0");
    bpt_vocab_destroy(vocab);
}

static void decoding_undoes_encoding(void **state) {
    (void)state;
    static const struct {
        bpt_unit_t unit;
        const char *text;
    } cases[] = {
        {BPT_UNIT_BYTE, "ab\xFF\n c"},
        {BPT_UNIT_CHAR, "gr\xC3\xBC\xC3\x9F"
                        "e\n\nx"},
        {BPT_UNIT_WORD, "a b\nc d e\n\nf\n"},
        {BPT_UNIT_IDS, "1 22 333"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_vocab_t *vocab = made_from(cases[i].unit, false, cases[i].text);
        const bpt_range_t range = range_of(cases[i].text);
        bpt_ids_t ids;
        bpt_strbuf_t out = {0};
        assert_ok(bpt_vocab_encode(vocab, &range, true, &ids));
        for (uint64_t t = 0; t < ids.count; ++t) assert_ok(bpt_vocab_decode(vocab, id_at(&ids, t), t == 0, &out));
        assert_string_equal(out.data, cases[i].text);
        if (cases[i].unit != BPT_UNIT_IDS) assert_fails(bpt_vocab_decode(vocab, 100000, false, &out), BPT_ERR_INTERNAL, "100000");
        bpt_ids_free(&ids);
        bpt_strbuf_free(&out);
        bpt_vocab_destroy(vocab);
    }
}

static void vocab_txt_reads_back_as_it_was(void **state) {
    (void)state;
    static const struct {
        bpt_unit_t unit;
        const char *text;
    } cases[] = {
        {BPT_UNIT_BYTE, "x"},
        {BPT_UNIT_CHAR, "\xEF\xBB\xBF"},  // a vocabulary of one code point that looks like a byte order mark
        {BPT_UNIT_CHAR, "a\\\n\t\r \x01\x7F\xC2\x85\xE2\x80\xA8\xF0\x9F\x98\x80"},
        {BPT_UNIT_WORD, "back\\slash bell\x07 \xE2\x80\xA8 n\xC3\xBC#\n <eos> a\x1C"
                        "b"},
    };
    const char *path = test_path("vocab.txt");
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_vocab_t *vocab = made_from(cases[i].unit, false, cases[i].text), *again;
        assert_ok(bpt_vocab_write(vocab, path));
        assert_ok(vocab_of_file(path, cases[i].unit, &again));
        assert_int_equal(bpt_vocab_size(again), bpt_vocab_size(vocab));
        size_t lines = 0, length;
        char *file = test_read_file(path, &length);
        for (size_t b = 0; b < length; ++b) {
            lines += file[b] == '\n';
            assert_true(file[b] == '\n' || (unsigned char)file[b] >= 0x20);
        }
        assert_int_equal(lines, bpt_vocab_size(vocab));
        for (uint32_t id = 0; id < bpt_vocab_size(vocab); ++id) {
            size_t n, m;
            const char *a = bpt_vocab_token(vocab, id, &n), *b = bpt_vocab_token(again, id, &m);
            assert_int_equal(n, m);
            assert_memory_equal(a, b, n);
        }
        free(file);
        bpt_vocab_destroy(vocab);
        bpt_vocab_destroy(again);
    }
}

static void vocab_txt_has_the_documented_form(void **state) {
    (void)state;
    bpt_vocab_t *vocab = made_from(BPT_UNIT_CHAR, false, "\n\t\\\x01z\xC3\xA9");
    bpt_strbuf_t text = {0};
    assert_ok(bpt_vocab_format(vocab, &text));
    assert_string_equal(text.data, "\\x01\n\\t\n\\n\n\\\\\nz\n\xC3\xA9\n");
    bpt_strbuf_free(&text);
    bpt_vocab_destroy(vocab);
}

// Words of columns between tabs, not only of texts.
static void words_with_blanks_in_them_survive_vocab_txt(void **state) {
    (void)state;
    static const char *const words[] = {"26 000",        "New York",      "a\x0C\x62",     "\xC2\xA0",  "a\xC2\xA0",
                                        "\xE2\x80\x83x", "a\x0D\x0B\x62", "\xEF\xBB\xBFz", "b\x01\x7F", "\xC2\x85"};
    const bpt_range_t where = bpt_range_of("x.txt", "", 0);
    bpt_vocab_t *vocab, *read;
    bpt_strbuf_t text = {0};
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    for (size_t i = 0; i < BPT_COUNT(words); ++i)
        assert_ok(bpt_vocab_count_words(vocab, &where, &(bpt_word_t){words[i], strlen(words[i])}, 1));
    assert_ok(bpt_vocab_freeze(vocab));
    assert_ok(bpt_vocab_format(vocab, &text));
    assert_non_null(strstr(text.data, "\n26 000\n"));  // as it is, for whoever reads the file
    const bpt_range_t range = bpt_range_of("v.txt", text.data, text.length);
    assert_ok(bpt_vocab_parse(&range, BPT_UNIT_WORD, false, &read));
    assert_int_equal(bpt_vocab_size(read), 2 + BPT_COUNT(words));
    for (size_t i = 0; i < BPT_COUNT(words); ++i) {
        uint32_t id, wanted;
        assert_true(bpt_vocab_find(vocab, words[i], strlen(words[i]), &wanted) && wanted >= 2);
        assert_true(bpt_vocab_find(read, words[i], strlen(words[i]), &id) && id == wanted);
    }
    bpt_strbuf_free(&text);
    bpt_vocab_destroy(vocab);
    bpt_vocab_destroy(read);
}

static void a_damaged_vocab_txt_is_refused(void **state) {
    (void)state;
    static const struct {
        bpt_unit_t unit;
        const char *text, *message;
    } cases[] = {
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\q\n", "v.txt: line 3: unknown escape"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\x4\n", "line 3: unknown escape"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\xZZ\n", "line 3: unknown escape"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\\n", "line 3: unknown escape"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\nb\na\n", "line 5: 'a' is there twice"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\n<eos>\n", "line 4: '<eos>' is there twice"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\n\nb\n", "line 3: a token cannot be empty"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na \n", "line 3: 'a ' begins or ends with a blank"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\n a\n", "line 3: ' a' begins or ends with a blank"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\x0C\n", "line 3: 'a\\x0c' begins or ends with a blank"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\n\\n\n", "line 3: '\\x0a' begins or ends with a blank"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\\tb\n", "line 3: 'a\\x09b' begins or ends with a blank, or holds a tab or a line end"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\na\tb\n", "line 3: a control character, to be written as \\x09"},
        {BPT_UNIT_WORD, "<unk>\n<eos>\n\\xFF\n", "line 3: the token: line 1, byte 0: not valid UTF-8"},
        {BPT_UNIT_WORD, "<eos>\n<unk>\n", "line 1: '<eos>' is out of place"},
        {BPT_UNIT_WORD, "the\nof\n", "line 1: 'the' is out of place"},
        {BPT_UNIT_WORD, "<unk>\n", "v.txt has 1 tokens where 2 or more are needed"},
        {BPT_UNIT_CHAR, "a\nbc\n", "line 2: 'bc' is not one code point"},
        {BPT_UNIT_CHAR, "\\xC3\n", "line 1: '\\xc3' is not one code point"},
        {BPT_UNIT_CHAR, "", "v.txt has 0 tokens"},
        {BPT_UNIT_BYTE, "\\x00\n\\x02\n", "line 2: '\\x02' is out of place"},
        {BPT_UNIT_BYTE, "\\x00\n", "v.txt has 1 tokens where 256 are needed"},
    };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_vocab_t *vocab;
        const bpt_range_t range = bpt_range_of("v.txt", cases[i].text, strlen(cases[i].text));
        assert_fails(bpt_vocab_parse(&range, cases[i].unit, false, &vocab), BPT_ERR_INPUT, cases[i].message);
    }
    bpt_vocab_t *bytes = made_from(BPT_UNIT_BYTE, false, "x"), *vocab;  // one line too many
    bpt_strbuf_t text = {0};
    assert_ok(bpt_vocab_format(bytes, &text));
    assert_ok(bpt_strbuf_append(&text, "zz\n", 3));
    const bpt_range_t range = bpt_range_of("v.txt", text.data, text.length);
    assert_fails(bpt_vocab_parse(&range, BPT_UNIT_BYTE, false, &vocab), BPT_ERR_INPUT, "line 257: 'zz' is out of place");
    assert_fails(bpt_vocab_parse(&range, BPT_UNIT_IDS, false, &vocab), BPT_ERR_USAGE, "no vocabulary file");
    assert_fails(vocab_of_file(test_path("none"), BPT_UNIT_WORD, &vocab), BPT_ERR_IO, "No such file");
    bpt_strbuf_free(&text);
    bpt_vocab_destroy(bytes);
    assert_int_equal(bpt_alloc_live(), live);
}

static void many_words_are_all_found_again(void **state) {
    (void)state;
    enum { WORDS = 50000 };
    static char text[WORDS * 8];
    size_t size = 0;
    for (int i = 0; i < WORDS; ++i) size += (size_t)snprintf(text + size, sizeof text - size, "w%d ", i);
    bpt_vocab_t *vocab = made_from(BPT_UNIT_WORD, false, text);
    assert_int_equal(bpt_vocab_size(vocab), WORDS + 2);
    for (int i = 0; i < WORDS; ++i) {
        char word[16];
        uint32_t id;
        size_t bytes;
        const size_t length = (size_t)snprintf(word, sizeof word, "w%d", i);
        assert_true(bpt_vocab_find(vocab, word, length, &id) && id >= 2);
        assert_memory_equal(bpt_vocab_token(vocab, id, &bytes), word, length);
        assert_int_equal(bytes, length);
    }
    bpt_vocab_destroy(vocab);
}

static void failing_memory_leaks_nothing(void **state) {
    (void)state;
    const bpt_range_t range = range_of("The quick brown fox\njumps over the lazy dog \xC3\x89\n");
    const size_t live = bpt_alloc_live();
    for (size_t nth = 1;; ++nth) {
        bpt_vocab_t *vocab = NULL, *again = NULL;
        bpt_ids_t ids = {0};
        bpt_strbuf_t text = {0};
        bpt_alloc_fail_after(nth);
        bpt_status_t status = bpt_vocab_create(BPT_UNIT_WORD, true, &vocab);
        if (status == BPT_OK) status = bpt_vocab_count(vocab, &range);
        if (status == BPT_OK) status = bpt_vocab_freeze(vocab);
        if (status == BPT_OK) status = bpt_vocab_encode(vocab, &range, true, &ids);
        if (status == BPT_OK) status = bpt_vocab_format(vocab, &text);
        const bpt_range_t file = bpt_range_of("v", text.data, text.length);
        if (status == BPT_OK) status = bpt_vocab_parse(&file, BPT_UNIT_WORD, true, &again);
        bpt_alloc_fail_after(0);
        bpt_ids_free(&ids);
        bpt_strbuf_free(&text);
        bpt_vocab_destroy(vocab);
        bpt_vocab_destroy(again);
        assert_int_equal(bpt_alloc_live(), live);
        if (status == BPT_OK) break;
        assert_int_equal(status, BPT_ERR_NO_MEMORY);
        assert_in_range(nth, 1, 1000);
    }
}

// Tokens of a corpus file counting one <eos> a line, and the size of its vocabulary.
static void published_counts_of_corpora_are_met(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    static const struct {
        const char *train, *file;
        int64_t vocabulary;
        uint64_t tokens;
    } cases[] = {
        {"ptb/train.txt", "ptb/train.txt", 10000, 929589},
        {"ptb/train.txt", "ptb/valid.txt", 10000, 73760},
        {"ptb/train.txt", "ptb/test.txt", 10000, 82430},
        {"wikitext-2/train.txt", "wikitext-2/train.txt", 33278, 2088628},
        {"wikitext-2/train.txt", "wikitext-2/valid.txt", 33278, 217646},
        {"wikitext-2/train.txt", "wikitext-2/test.txt", 33278, 245569},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char train[512], file[512];
        snprintf(train, sizeof train, "%s/data/%s", test_shared_dir(), cases[i].train);
        snprintf(file, sizeof file, "%s/data/%s", test_shared_dir(), cases[i].file);
        bpt_text_t *train_text, *text;
        bpt_vocab_t *vocab;
        bpt_ids_t ids;
        assert_ok(bpt_text_open(train, &train_text));
        assert_ok(bpt_text_open(file, &text));
        const bpt_range_t train_range = bpt_text_range(train_text), range = bpt_text_range(text);
        assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
        assert_ok(bpt_vocab_count(vocab, &train_range));
        assert_ok(bpt_vocab_freeze(vocab));
        assert_ok(bpt_vocab_encode(vocab, &range, true, &ids));
        assert_int_equal(bpt_vocab_size(vocab), cases[i].vocabulary);
        assert_int_equal(ids.count, cases[i].tokens);
        bpt_ids_free(&ids);
        bpt_vocab_destroy(vocab);
        bpt_text_close(text);
        bpt_text_close(train_text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_by_frequency_then_bytes),
        cmocka_unit_test(rare_words_are_left_out),
        cmocka_unit_test(lower_case_folds_words_of_every_script),
        cmocka_unit_test(code_points_come_in_order_and_unknown_ones_are_errors),
        cmocka_unit_test(bytes_are_their_own_ids),
        cmocka_unit_test(ids_are_decimal_numbers),
        cmocka_unit_test(words_must_be_utf8),
        cmocka_unit_test(decoding_undoes_encoding),
        cmocka_unit_test(vocab_txt_reads_back_as_it_was),
        cmocka_unit_test(vocab_txt_has_the_documented_form),
        cmocka_unit_test(words_with_blanks_in_them_survive_vocab_txt),
        cmocka_unit_test(a_damaged_vocab_txt_is_refused),
        cmocka_unit_test(many_words_are_all_found_again),
        cmocka_unit_test(failing_memory_leaks_nothing),
        cmocka_unit_test(published_counts_of_corpora_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
