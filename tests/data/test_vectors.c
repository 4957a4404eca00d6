// Word vectors in text form.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/vocab/vectors.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

static bpt_vocab_t *vocab_of(const char *text) {
    bpt_vocab_t *vocab;
    const bpt_range_t range = bpt_range_of("words", text, strlen(text));
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_vocab_count(vocab, &range));
    assert_ok(bpt_vocab_freeze(vocab));
    return vocab;
}

static bpt_status_t parse_all(const char *text, const bpt_vocab_t *vocab, int64_t dim, float *rows, bpt_vectors_found_t *found) {
    const bpt_range_t range = bpt_range_of("v.txt", text, strlen(text));
    memset(rows, 0, (size_t)(bpt_vocab_size(vocab) * dim) * sizeof *rows);
    const bpt_vectors_place_t place = {.rows = rows, .stride = dim, .dimension = dim};
    return bpt_vectors_parse(&range, vocab, &place, found);
}

static bpt_status_t parse(const char *text, const bpt_vocab_t *vocab, int64_t dim, float *rows, int64_t *found) {
    bpt_vectors_found_t result;
    const bpt_status_t status = parse_all(text, vocab, dim, rows, &result);
    *found = result.words;
    return status;
}

static void rows_belong_to_words_and_others_stay_zero(void **state) {
    (void)state;
    bpt_vocab_t *vocab = vocab_of("b b a");  // <unk> <eos> b a
    float rows[8];
    int64_t found;
    static const char *const forms[] = {
        "a 1 2\nzz 5 6\nb 3 -4e-1\n",
        "3 2\na 1 2\nzz 5 6\nb 3 -0.4\n",                       // word2vec
        "a 1.0 +2\r\na 9 9\r\n. . . 7 7\r\nb 3.0 -4E-01 \r\n",  // the first vector of a word counts; a word with blanks
        "a\t1\t2\nb 3 -.4",
        "\xEF\xBB\xBF"
        "a 1 2\nb 3 -0.40000000000000000000000000001\n",
    };
    for (size_t i = 0; i < BPT_COUNT(forms); ++i) {
        assert_ok(parse(forms[i], vocab, 2, rows, &found));
        assert_int_equal(found, 2);
        const float want[8] = {0, 0, 0, 0, 3, -0.4f, 1, 2};
        assert_memory_equal(rows, want, sizeof want);
    }
    assert_ok(parse("<unk> 1 2\nA 3 4\n", vocab, 2, rows, &found));  // case counts, and only <unk> itself is <unk>
    assert_int_equal(found, 1);
    assert_true(rows[0] == 1 && rows[1] == 2 && rows[4] == 0 && rows[6] == 0);
    bpt_vocab_destroy(vocab);
}

static void a_word_without_a_vector_takes_that_of_its_lower_case_form(void **state) {
    (void)state;
    bpt_vocab_t *vocab = vocab_of("The The THE the Élan Paris");
    float rows[2 * 7];
    int64_t found;
    // <unk> <eos> The, then by their bytes.
    static const char *const words[] = {"The", "THE", "the", "Élan", "Paris"};
    static const float wanted[2][5][2] = {{{5, 6}, {1, 2}, {1, 2}, {3, 4}, {0, 0}}, {{5, 6}, {1, 2}, {1, 2}, {3, 4}, {0, 0}}};
    static const char *const files[] = {"the 1 2\nélan 3 4\nThe 5 6\nthe 7 8\n", "The 5 6\nélan 3 4\nthe 1 2\nPARIS 9 9\n"};
    for (int f = 0; f < 2; ++f) {
        assert_ok(parse(files[f], vocab, 2, rows, &found));
        assert_int_equal(found, 4);
        for (size_t w = 0; w < BPT_COUNT(words); ++w) {
            uint32_t id;
            assert_true(bpt_vocab_find(vocab, words[w], strlen(words[w]), &id));
            assert_memory_equal(rows + 2 * id, wanted[f][w], sizeof wanted[f][w]);
        }
    }
    bpt_vocab_destroy(vocab);
}

static void damage_is_named_by_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        bpt_status_t status;
    } cases[] = {
        {"a 1 2\nb 1\n", "v.txt: line 2 has 1 numbers, the vectors have 2", BPT_ERR_INPUT},
        {"a 1 2\nzz 1 2 3\n", "line 2 has 3 numbers", BPT_ERR_INPUT},
        {"a 1 2\nzz\n", "line 2 has 0 numbers", BPT_ERR_INPUT},
        {"a 1 2\n\nb 1 2\n", "line 2 has", BPT_ERR_INPUT},
        {"a 1 nan\n", "line 1: 'nan' is not a finite number", BPT_ERR_INPUT},
        {"zz 1 inf\n", "'inf' is not", BPT_ERR_INPUT},
        {"a 1 2\nb 1 1e39\n", "line 2: '1e39' is not", BPT_ERR_INPUT},
        {"a 1 1e999999999999\n", "is not a finite", BPT_ERR_INPUT},
        {"a 1 0x10\n", "'0x10' is not", BPT_ERR_INPUT},
        {"a 1 1.2.3\n", "'1.2.3' is not", BPT_ERR_INPUT},
        {"a 1 2e\n", "'2e' is not", BPT_ERR_INPUT},
        {"a 1 -\n", "'-' is not", BPT_ERR_INPUT},
        {"a 1 2\n\n\nb 1 2\n", "line 2 has no word and no numbers, and vectors follow it", BPT_ERR_INPUT},
        {"3 2\na 1 2\nb 3 4", "its first line says 3 vectors, and it ends inside the line of vector 2; the file is cut off", BPT_ERR_INPUT},
        {"3 2\na 1 2\nb 3", "line 3 has 1 numbers", BPT_ERR_INPUT},
        {"3 2\na 1 2\nb", "line 3 has 0 numbers", BPT_ERR_INPUT},
        {"a .1 .2\n .1\n", "line 2 has 0 numbers", BPT_ERR_INPUT},         // a blank word with a number too few
        {"a .1 .2\n  b .1\n", "line 2 has 1 numbers", BPT_ERR_INPUT},      // blanks, then a word
        {"a .1 .2\nb .1 .2 .3\n", "line 2 has 3 numbers", BPT_ERR_INPUT},  // a number too many
        {"a .1 .2\nb 1 .2 3\n", "line 2 has 3 numbers", BPT_ERR_INPUT},
        {"a .1 .2\n12 .1 .2 .3\n", "line 2 has 3 numbers", BPT_ERR_INPUT},
        {"a .1 .2\nb c .1 .2 .3\n", "line 2 has 4 numbers", BPT_ERR_INPUT},
        {"a .1 .2\nb nan .2 .3\n", "line 2 has 3 numbers", BPT_ERR_INPUT},
        {"a .1 .2\n .1 nan\n", "line 2: 'nan' is not a finite number", BPT_ERR_INPUT},
        {"3 2\n", "holds no vector", BPT_ERR_INPUT},
        {"a\n", "line 1 is not a word followed by", BPT_ERR_INPUT},
        {"", "line 1 is not a word followed by", BPT_ERR_INPUT},
        {"5 900000000\n", "followed by 1 to 65536 numbers", BPT_ERR_INPUT},
        {"a 1 2 3\n", "set --d-embed 3", BPT_ERR_USAGE},
    };
    bpt_vocab_t *vocab = vocab_of("a b");
    float rows[8];
    int64_t found;
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i)
        assert_fails(parse(cases[i].text, vocab, 2, rows, &found), cases[i].status, cases[i].message);
    assert_int_equal(bpt_alloc_live(), live);
    bpt_vocab_destroy(vocab);
}

// Words that published files have, each in a file of two vectors for `a` and `b`.
static void odd_words_are_no_damage(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t without_word, repeated;
        uint64_t first_without_word;
    } cases[] = {
        {"a .1 .2\n  .5 .6\nb .3 .4\n", 1, 0, 2},                                               // a blank
        {"a .1 .2\n .5 .6\nb .3 .4\n", 1, 0, 2},                                                // nothing
        {"a\t.1\t.2\n\t\t.5\t.6\nb\t.3\t.4\n", 1, 0, 2},                                        // a tab between tabs
        {"a .1 .2\n\t .5 .6\nb .3 .4\n \t  .7 .8\n", 2, 0, 2},                                  // a tab, then several blanks
        {"a .1 .2\n\n .5 .6\nb .3 .4\n", 1, 0, 3},                                              // a line end
        {"  .5 .6\na .1 .2\nb .3 .4\n", 1, 0, 1},                                               // in the first line
        {"a .1 .2\nb .3 .4\n\n", 0, 0, 0},                                                      // blank lines at the end
        {"a .1 .2\nb .3 .4\n \n\r\n\n", 0, 0, 0},                                               //
        {". . . .5 .6\na .1 .2\nb .3 .4\n", 0, 0, 0},                                           // blanks in the first word
        {"at name@domain.com .5 .6\na .1 .2\nb .3 .4\n", 0, 0, 0},                              //
        {"26 000 .5 .6\na .1 .2\nb .3 .4\n", 0, 0, 0},                                          // numbers that are words
        {"a .1 .2\n1 000 000 .5 .6\nb .3 .4\n", 0, 0, 0},                                       //
        {"a .1 .2\nArea 51 .5 .6\n0.5 1/2 .7 .8\nb .3 .4\n", 0, 0, 0},                          //
        {"a .1 .2\n\xC2\xA0 .5 .6\n\xC2\x85 .5 .6\nx\xE2\x80\xA8y .5 .6\nb .3 .4\n", 0, 0, 0},  // NBSP, NEL, U+2028
        {"a .1 .2\nb .3 .4\na .5 .6\na .7 .8\nz .5 .6\nz .5 .6\n", 0, 2, 0},                    // the first one counts
    };
    bpt_vocab_t *vocab = vocab_of("a a b");
    const float wanted[8] = {0, 0, 0, 0, .1f, .2f, .3f, .4f};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        float rows[8];
        bpt_vectors_found_t found;
        if (parse_all(cases[i].text, vocab, 2, rows, &found) != BPT_OK) fail_msg("%s: %s", cases[i].text, bpt_error_message());
        assert_memory_equal(rows, wanted, sizeof wanted);
        assert_int_equal(found.words, 2);
        assert_int_equal(found.promised, -1);
        assert_int_equal(found.without_word, cases[i].without_word);
        assert_int_equal(found.first_without_word, cases[i].first_without_word);
        assert_int_equal(found.repeated, cases[i].repeated);
    }
    bpt_vocab_destroy(vocab);
}

static void a_first_line_may_be_wrong_about_the_count(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t promised, lines;
    } cases[] = {
        {"3 2\na 1 2\nb 3 4\n", 3, 2},
        {"1 2\na 1 2\nb 3 4\n", 1, 2},
        {"1 2\na 1 2\nb 3 4", 1, 2},  // none is missing
        {"2000000 2\na 1 2\nb 3 4\n\n", 2000000, 2},
        {"3 2\na 1 2\n  5 6\nb 3 4\n", 3, 3},
        {"2 2\na 1 2\nb 3 4\n", 2, 2},
    };
    bpt_vocab_t *vocab = vocab_of("a b");
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        float rows[8];
        bpt_vectors_found_t found;
        assert_ok(parse_all(cases[i].text, vocab, 2, rows, &found));
        assert_int_equal(found.promised, cases[i].promised);
        assert_int_equal(found.lines, cases[i].lines);
        assert_int_equal(found.words, 2);
    }
    bpt_vocab_destroy(vocab);
}

// A file of many vectors is cut off at each of its bytes: with a first line this is known but where a line ends, without one where a line
// has too few numbers.
static void a_file_that_is_cut_off_is_refused(void **state) {
    (void)state;
    static const char whole[] = "9 3\na -0.11 0.22 0.33\nb 0.44 -0.55 0.66\n  0.77 0.88 0.99\n. . 0.11 0.22 0.33\n";
    bpt_vocab_t *vocab = vocab_of("a b");
    float rows[12];
    int64_t found;
    for (size_t length = strchr(whole, '\n') - whole + 2; length < sizeof whole - 2; ++length) {
        char text[sizeof whole];
        snprintf(text, sizeof text, "%.*s", (int)length, whole);
        const bpt_status_t status = parse(text, vocab, 3, rows, &found);
        if ((status == BPT_OK) != (text[length - 1] == '\n')) fail_msg("'%s': %s", text, bpt_error_message());
        const char *last = strrchr(text, '\n') + 1, *headless = strchr(text, '\n') + 1;
        int numbers = 0;
        for (const char *p = last; *p; ++p) numbers += (p == last || strchr(" -", p[-1])) && *p >= '0' && *p <= '9';
        const bool blank = last[strspn(last, " ")] == 0;
        if (!blank && numbers < 3 && last > headless && parse(headless, vocab, 3, rows, &found) != BPT_ERR_INPUT)
            fail_msg("'%s' is no error", headless);
    }
    bpt_vocab_destroy(vocab);
}

static void the_first_lines_agree_on_the_dimension(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t dim;
    } cases[] = {
        {"a 1 2 3\n", 3},
        {"a 1 .5\nb .1 .2\n", 2},
        {". . . .1 .2\n", 2},
        {"12 000 .1 .2\nthe .1 .2\n", 2},
        {"555 12 34 .1 .2\nthe .1 .2\nof .3 .4\n", 2},
        {"  .1 .2\nthe .1 .2\n", 2},
        {"\n .1 .2\nthe .1 .2\n", 2},
        {" the .1 .2\n of .1 .2\n", 2},
        {"2 3\na .1 .2 .3\n", 3},
        {"a .1 .2\nb .1 .2 .3\nc .1 .2 .3\n", 3},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        int64_t dim;
        test_write_file(test_path("first.txt"), cases[i].text, strlen(cases[i].text));
        assert_ok(bpt_vectors_dimension(test_path("first.txt"), &dim));
        if (dim != cases[i].dim) fail_msg("%s: %d, wanted %d", cases[i].text, (int)dim, (int)cases[i].dim);
    }
}

static void numbers_round_as_strtof_does(void **state) {
    (void)state;
    bpt_vocab_t *vocab = vocab_of("a");
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; ++i) {
        char text[128], number[64];
        float rows[3];
        int64_t found;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const double value = ((double)(int64_t)x) * pow(10, (int)(x % 50) - 45);
        snprintf(number, sizeof number, i % 3 ? "%.*g" : "%.*f", 1 + (int)(x >> 32) % 17, i % 3 ? value : fmod(value, 1e3));
        snprintf(text, sizeof text, "a %s\n", number);
        const float want = strtof(number, NULL);
        if (!isfinite(want)) continue;
        assert_ok(parse(text, vocab, 1, rows, &found));
        const float next = nextafterf(want, rows[2]);  // ties between two floats may fall to either
        if (rows[2] != want && fabs((double)rows[2] - strtod(number, NULL)) > fabs((double)next - strtod(number, NULL)) * (1 + 1e-7))
            fail_msg("%s: %a, strtof %a", number, (double)rows[2], (double)want);
    }
    bpt_vocab_destroy(vocab);
}

static void a_file_gives_the_same_as_a_text(void **state) {
    (void)state;
    const char *path = test_path("vectors.txt");
    static char text[400000];
    size_t size = 0;
    for (int i = 0; i < 10000; ++i) size += (size_t)snprintf(text + size, sizeof text - size, "w%d %d.5 -%d %.10g\n", i, i, i, i / 8.0);
    test_write_file(path, text, size);
    bpt_vocab_t *vocab = vocab_of("w7 w9999 w0 other");
    float rows[6 * 3] = {0};
    bpt_vectors_place_t place = {.rows = rows, .stride = 3, .dimension = 3};
    bpt_vectors_found_t found;
    int64_t dim;
    assert_ok(bpt_vectors_dimension(path, &dim));
    assert_int_equal(dim, 3);
    assert_ok(bpt_vectors_read(path, vocab, &place, &found));
    assert_int_equal(found.words, 3);
    uint32_t id;
    assert_true(bpt_vocab_find(vocab, "w9999", 5, &id));
    assert_true(rows[3 * id] == 9999.5f && rows[3 * id + 1] == -9999 && rows[3 * id + 2] == (float)(9999 / 8.0));
    assert_fails(bpt_vectors_read(test_path("none"), vocab, &place, &found), BPT_ERR_IO, "No such file");
    assert_fails(bpt_vectors_dimension(test_path("none"), &dim), BPT_ERR_IO, "No such file");
    bpt_vocab_destroy(vocab);
}

// Reads a text into columns of rows.
static bpt_vectors_found_t read_into(const char *text, const bpt_vocab_t *vocab, bpt_vectors_place_t place) {
    const bpt_range_t range = bpt_range_of("v.txt", text, strlen(text));
    bpt_vectors_found_t found;
    assert_ok(bpt_vectors_parse(&range, vocab, &place, &found));
    return found;
}

static void files_fill_columns_side_by_side(void **state) {
    (void)state;
    bpt_vocab_t *vocab = vocab_of("b b a");  // <unk> <eos> b a
    float rows[4 * 3] = {0};
    const bpt_vectors_found_t first = read_into("a 1 2\nzz 5 6\n", vocab, (bpt_vectors_place_t){.rows = rows, .stride = 3, .dimension = 2});
    const bpt_vectors_found_t second =
        read_into("b 7\na 8\n<unk> 9\n", vocab, (bpt_vectors_place_t){.rows = rows, .stride = 3, .column = 2, .dimension = 1});
    assert_int_equal(first.words, 1);
    assert_int_equal(second.words, 3);
    const float want[] = {0, 0, 9, 0, 0, 0, 0, 0, 7, 1, 2, 8};
    assert_memory_equal(rows, want, sizeof want);
    assert_float_equal(first.deviation, 0.5, 1e-12);
    assert_float_equal(second.deviation, sqrt(2 / 3.0), 1e-12);
    bpt_vocab_destroy(vocab);
}

// 2,000 words without a vector beside two with: the numbers of the others have mean 0 and the deviation of the two; the two keep theirs.
static void unknown_words_get_numbers_that_vary_as_the_known(void **state) {
    (void)state;
    enum { WORDS = 2000, DIM = 4, STRIDE = 5 };
    static char text[20 * WORDS];
    size_t size = (size_t)snprintf(text, sizeof text, "a a a b b b ");
    for (int i = 0; i < WORDS; ++i) size += (size_t)snprintf(text + size, sizeof text - size, "w%d ", i);
    bpt_vocab_t *vocab = vocab_of(text);
    const int64_t words = bpt_vocab_size(vocab);
    float *rows[3];
    for (int i = 0; i < 3; ++i) {
        assert_ok(bpt_alloc((size_t)(words * STRIDE), sizeof **rows, &rows[i]));
        const bpt_vectors_place_t place = {
            .rows = rows[i], .stride = STRIDE, .dimension = DIM, .unknown = BPT_UNKNOWN_RANDOM, .seed = i == 2 ? 8 : 7};
        const bpt_vectors_found_t found = read_into("a 3 3 3 3\nb 5 5 5 5\n", vocab, place);
        assert_int_equal(found.words, 2);
        assert_float_equal(found.deviation, 1, 1e-12);
    }
    double sum = 0, squares = 0, products = 0;
    uint32_t a;
    assert_true(bpt_vocab_find(vocab, "a", 1, &a));
    for (int64_t id = 0; id < words; ++id) {
        const float *row = rows[0] + id * STRIDE;
        assert_true(row[DIM] == 0);  // the columns of another file
        if (id == a || id == a + 1) {
            assert_true(row[0] == row[DIM - 1] && row[0] == (id == a ? 3 : 5));
            continue;
        }
        for (int64_t i = 0; i < DIM; ++i) sum += (double)row[i], squares += (double)row[i] * (double)row[i];
        products += (double)row[0] * (double)row[1];
    }
    const double count = (double)(words - 2) * DIM;
    assert_true(fabs(sum / count) < 5 / sqrt(count));
    assert_true(fabs(squares / count - 1) < 5 * sqrt(2 / count));
    assert_true(fabs(products / (count / DIM)) < 5 / sqrt(count / DIM));  // columns do not depend on each other
    assert_memory_equal(rows[0], rows[1], (size_t)(words * STRIDE) * sizeof **rows);
    assert_memory_not_equal(rows[0], rows[2], (size_t)(words * STRIDE) * sizeof **rows);
    for (int i = 0; i < 3; ++i) bpt_free(rows[i]);
    bpt_vocab_destroy(vocab);
}

// A row is a function of seed, word and column: not of what else the file or the vocabulary holds.
static void a_random_row_depends_on_its_word_alone(void **state) {
    (void)state;
    bpt_vocab_t *few = vocab_of("a a b"), *more = vocab_of("a a a b b c");
    float x[4 * 2] = {0}, y[5 * 2] = {0}, z[5 * 3] = {0};
    const bpt_vectors_place_t place = {.stride = 2, .dimension = 2, .unknown = BPT_UNKNOWN_RANDOM, .seed = 3};
    bpt_vectors_place_t at = place;
    at.rows = x;
    read_into("a 1 -1\n", few, at);
    at.rows = y;
    read_into("c 9 9\na 1 -1\n", few, at);  // c is unknown here
    assert_memory_equal(x, y, sizeof x);
    at.rows = y;
    memset(y, 0, sizeof y);
    read_into("a 1 -1\n", more, at);
    assert_memory_equal(x, y, sizeof x);
    read_into("a 1\nc -1\n", more,
              (bpt_vectors_place_t){.rows = z, .stride = 3, .column = 1, .dimension = 1, .unknown = BPT_UNKNOWN_RANDOM, .seed = 3});
    assert_true(z[3 * 3 + 1] == x[3 * 2 + 1]);  // b's second column, of a file of its own
    memset(z, 0, sizeof z);
    read_into("zz 4\n", more, (bpt_vectors_place_t){.rows = z, .stride = 3, .dimension = 1, .unknown = BPT_UNKNOWN_RANDOM, .seed = 3});
    for (int i = 0; i < 15; ++i) assert_true(z[i] == 0);  // nothing found: nothing varies
    bpt_vocab_destroy(few);
    bpt_vocab_destroy(more);
}

static void the_glove_sample_reads_completely(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    char path[512];
    snprintf(path, sizeof path, "%s/data/glove/glove.50d.txt", test_shared_dir());
    int64_t dim;
    assert_ok(bpt_vectors_dimension(path, &dim));
    assert_int_equal(dim, 50);
    bpt_vocab_t *vocab = vocab_of("the , zebra-that-is-not-there");
    float rows[5 * 50] = {0};
    const bpt_vectors_place_t place = {.rows = rows, .stride = 50, .dimension = dim};
    bpt_vectors_found_t found;
    assert_ok(bpt_vectors_read(path, vocab, &place, &found));
    assert_int_equal(found.words, 2);
    uint32_t id;
    assert_true(bpt_vocab_find(vocab, "the", 3, &id));
    assert_true(rows[50 * id] == 0.418f && rows[50 * id + 49] == -0.78581f);
    bpt_vocab_destroy(vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_belong_to_words_and_others_stay_zero),
        cmocka_unit_test(a_word_without_a_vector_takes_that_of_its_lower_case_form),
        cmocka_unit_test(damage_is_named_by_line),
        cmocka_unit_test(odd_words_are_no_damage),
        cmocka_unit_test(a_first_line_may_be_wrong_about_the_count),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused),
        cmocka_unit_test(the_first_lines_agree_on_the_dimension),
        cmocka_unit_test(numbers_round_as_strtof_does),
        cmocka_unit_test(a_file_gives_the_same_as_a_text),
        cmocka_unit_test(files_fill_columns_side_by_side),
        cmocka_unit_test(unknown_words_get_numbers_that_vary_as_the_known),
        cmocka_unit_test(a_random_row_depends_on_its_word_alone),
        cmocka_unit_test(the_glove_sample_reads_completely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
