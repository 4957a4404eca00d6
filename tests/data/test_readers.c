// Examples in columns, pairs, tags a line or in CoNLL and CoNLL-U files, arrays of numbers: what is read, and what is said of bad ones.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/safetensors.h"
#include "bpt/strbuf.h"
#include "data/batches/arrays.h"
#include "example_sets.h"
#include "support/check.h"
#include "support/scratch.h"

#define COLUMNS(n, label, a, b) .format = BPT_FORMAT_COLUMNS, .texts = n, .label_column = label, .text_column = {a, b}
#define TSV COLUMNS(1, 1, 2, 0), .labelled = true
#define PAIR COLUMNS(2, 1, 2, 3), .labelled = true
#define CONLLU .format = BPT_FORMAT_CONLLU, .per_token = true, .labelled = true
#define CONLL .format = BPT_FORMAT_CONLL, .per_token = true, .labelled = true
#define TAGGED .per_token = true, .labelled = true

static void every_format_gives_its_examples(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *wanted;
    } cases[] = {
        {"books\t1\ta fine book\ndvd\t0\tdull\n", {COLUMNS(1, 2, 3, 0), .labelled = true}, "1: a fine book;0: dull;"},
        {"books\t1\ta fine book\ndvd\t0\tdull\nbooks\t0\tbad\n",
         {COLUMNS(1, 2, 3, 0), .labelled = true, .where_column = 1, .where = "books"},
         "1: a fine book;0: bad;"},
        {"yes\ta b\tc\r\nno\td\te f", {PAIR}, "yes: a b | c;no: d | e f;"},
        {"n\ta\tb\t4.5\n", {COLUMNS(2, 4, 3, 2), .labelled = true}, "4.5: b | a;"},
        {"a\tb c\n", {COLUMNS(2, 1, 2, 3)}, "-: a | b c;"},
        {"4.5\ta b\n-1e-2\tc\n", {TSV, .numbers = true}, "4.5: a b;-0.01: c;"},
        {"1\tA , b .\n1\t! ?\n", {TSV, .strip_punctuation = true}, "1: A b;1: ! ?;"},
        {"1\ta \xE2\x80\x94 b\n", {TSV, .strip_punctuation = true}, "1: a b;"},
        {"1\ta b c d\n", {TSV, .truncate = 2}, "1: a b;"},
        {"y\ta b c\td e f\n", {PAIR, .truncate = 2}, "y: a b | d e;"},
        {"1 2 3\tX Y X\n4\tY\n", {TAGGED}, " 1/X 2/Y 3/X; 4/Y;"},
        {"1 2 3\n", {.per_token = true}, " 1/- 2/- 3/-;"},
        {"-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP B-PER\n",
         {CONLL},
         " EU/B-ORG rejects/O; Peter/B-PER;"},
        {"EU NNP B-NP B-ORG\n\nx Y Z O", {CONLL, .label_column = 2}, " EU/NNP; x/Y;"},
        {"1 EU A\n2 b B\n", {CONLL, .text_column = {2, 0}}, " EU/A b/B;"},
        {"a I-P\nb I-P\nc B-P\nd O\n", {CONLL, .scheme = BPT_SCHEME_BIOES}, " a/B-P b/E-P c/S-P d/O;"},
        {"a I-P\nb I-Q\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, " a/B-P b/B-Q;"},
        {"# text = a "
         "b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tDET\tDT\t_\t0\t_\t_\t_\n1.1\tx\t_\tX\tX\t_\t_\t_\t_\t_\n2\tb\tb\tNOUN\tNN\t_\t1\t_"
         "\t_\t_\n\n",
         {CONLLU, .label_column = 4},
         " a/DET b/NOUN;"},
        {"1\ta b\ta\tX\tY\t_\t0\t_\t_\t_\n", {CONLLU, .label_column = 5}, " a b/Y;"},
        // Only the mark's line goes, wherever it stands.
        {"-DOCSTART- -DOCSTART- O\nPeter N B-PER\nwerkt V O\n\nHij Pron O\n-DOCSTART- -DOCSTART- O\nZij Pron O\n",
         {CONLL},
         " Peter/B-PER werkt/O; Hij/O; Zij/O;"},
        {"-DOCSTART-\na O\n\n-DOCSTART- -X- -X- O\n\nb O\n-DOCSTART-\n", {CONLL}, " a/O; b/O;"},
        {"-DOCSTART- -X- O\nNew York\tO\n-DOCSTART-\tO\nb\tO\n", {CONLL}, " New York/O; b/O;"},
        {"0 -DOCSTART- O\n1 a O\n", {CONLL, .text_column = {2, 0}}, " a/O;"},
        // Where the first token's line has a tab, tabs separate.
        {"New York\tB-LOC\nis\tO\n \t \n26 000 \tB-NUM\r\n", {CONLL}, " New York/B-LOC is/O; 26 000/B-NUM;"},
        {"a\tB-LOC\t\nb\tO\n", {CONLL}, " a/B-LOC b/O;"},
        {"a\tO\t\nb\tB-X\tx\n", {CONLL, .label_column = 2}, " a/O b/B-X;"},
        {"a O  \nb\x0B O\t\n", {CONLL}, " a/O b/O;"},
        {"a\x0C\x62\tO\n\xC2\xA0\tO\n", {CONLL}, " a\x0C\x62/O \xC2\xA0/O;"},
        // Comments.
        {"# id 7f\tdomain=en\nNew _ _ B-X\n# _ _ O\n\n# sent = 3\n# # # O\n\n#begin document (x); part 0\n", {CONLL}, " New/B-X #/O; #/O;"},
        {"# O\nb O\n", {CONLL}, " #/O b/O;"},
        // Blanks around labels and numbers, blank lines, byte order marks where files were joined, headers, lines without text.
        {"4.5 \ta\n -1\tb\n 2e1 \tc\n", {TSV, .numbers = true}, "4.5: a;-1: b;20: c;"},
        {"yes \ta\tb\n\n  \n yes\tc\td\n\n\n", {PAIR}, "yes: a | b;yes: c | d;"},
        {"books \t1\ta\ndvd\t0\tb\n", {COLUMNS(1, 2, 3, 0), .labelled = true, .where_column = 1, .where = "books"}, "1: a;"},
        {"@y\ta\tb\n@y\tc\td\n@\n", {PAIR}, "y: a | b;y: c | d;"},
        {"1 2\tX Y\n\n@3\tX\n\n", {TAGGED}, " 1/X 2/Y; 3/X;"},
        {"a O\n@b X\n@\n@c O\n", {CONLL}, " a/O b/X; c/O;"},
        {"# x\n1\ta\ta\tDET\tDT\t_\t0\t_\t_\t_\n\n@# y\n1\tb\tb\tX\tDT\t_\t0\t_\t_\t_\n", {CONLLU, .label_column = 4}, " a/DET; b/X;"},
        {"label\ttext_a\ttext_b\ny\ta\tb\n", {PAIR, .header = true}, "y: a | b;"},
        {"score\ttext\n1\ta\n", {TSV, .numbers = true, .header = true}, "1: a;"},
        {"Token Tag\na O\nb X\n", {CONLL, .header = true}, " a/O b/X;"},
        {"tokens\ttags\n1 2\tX Y\n", {TAGGED, .header = true}, " 1/X 2/Y;"},
        {"y\ta\t\ny\t\tb\ny\ta\tb\n", {PAIR, .skip_empty = true}, "y: a | b;"},
        {"1\t \n2\tb\n", {TSV, .numbers = true, .skip_empty = true}, "2: b;"},
        {"\tX\n1\tX\n", {TAGGED, .skip_empty = true}, " 1/X;"},
        // Tags of spans in other letters, and without types.
        {"a U-P\nb B-P\nc I-P\nd L-P\n", {CONLL, .scheme = BPT_SCHEME_IOB1}, " a/I-P b/B-P c/I-P d/I-P;"},
        {"a S\nb B\nc M\nd E\n", {CONLL, .scheme = BPT_SCHEME_BILOU}, " a/U b/B c/I d/L;"},
        {"a B\nb I\nc I\nd O\n", {CONLL, .scheme = BPT_SCHEME_BMES}, " a/B b/M c/E d/O;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        char text[512];
        bpt_strbuf_t file = {0};
        bpt_examples_options_t o = cases[i].options;
        if (i == 3) o.numbers = true;
        for (const char *p = cases[i].text; *p; ++p)  // @: a byte order mark
            assert_ok(*p == '@' ? bpt_strbuf_printf(&file, "\xEF\xBB\xBF") : bpt_strbuf_append(&file, p, 1));
        assert_ok(read_all(file.data ? file.data : "", &o, BPT_UNIT_WORD, &s));
        show(&s, text, sizeof text);
        if (strcmp(text, cases[i].wanted)) fail_msg("case %zu: '%s', wanted '%s'", i, text, cases[i].wanted);
        free_set(&s);
        bpt_strbuf_free(&file);
    }
}

static void a_first_line_may_be_a_header(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        bpt_header_t wanted;
    } cases[] = {
        {"label\tsentence\npos\ta\nneg\tb\n", {TSV}, BPT_HEADER_SUSPECTED},
        {"Gold_Label\tSentence1\tsentence2\npos\ta\tb\n", {PAIR}, BPT_HEADER_SUSPECTED},
        {"x\tlabel\tReview\nx\tpos\ta\n", {COLUMNS(1, 2, 3, 0), .labelled = true}, BPT_HEADER_SUSPECTED},
        {"0th\ttext\n1\ta\n", {.labelled = true}, BPT_HEADER_SUSPECTED},
        {"Categories\ttext\npos\ta b\n", {.labelled = true}, BPT_HEADER_SUSPECTED},
        {"Token Tag\na O\nb X\n", {CONLL}, BPT_HEADER_SUSPECTED},
        {"pos\ta\nneg\tb\n", {TSV}, BPT_HEADER_NONE},
        {"question\twhy so\nanswer\tso\nquestion\twhat\n", {TSV}, BPT_HEADER_NONE},
        {"label\tone\nlabel \ttwo\n", {TSV}, BPT_HEADER_NONE},
        {"in the class of its own\ta b\nno\tc\n", {TSV}, BPT_HEADER_NONE},
        {"(class (a word))\n", {.labelled = true}, BPT_HEADER_NONE},
        {"1\tscore\n2\ta\n", {TSV, .numbers = true}, BPT_HEADER_NONE},
        {"label\ttext\npos\ta\n", {TSV, .header = true}, BPT_HEADER_NONE},
        {"pos\ta\nneg\tb\n", {TSV, .header = true}, BPT_HEADER_DOUBTFUL},
        {"1.5\ta\n2\tb\n", {TSV, .numbers = true, .header = true}, BPT_HEADER_DOUBTFUL},
        {"score\ta\n2\tb\n", {TSV, .numbers = true, .header = true}, BPT_HEADER_NONE},
    };
    bpt_labels_t labels = {0};
    const bpt_range_t nowhere = bpt_range_of("x.txt", "", 0);
    assert_ok(bpt_labels_add(&labels, &nowhere, &(bpt_word_t){"pos", 3}));
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_range_t text = bpt_range_of("x.txt", cases[i].text, strlen(cases[i].text));
        bpt_header_t found;
        bpt_shown_t label;
        assert_ok(bpt_examples_check_header(&text, &cases[i].options, &labels, &found, &label));
        if (found != cases[i].wanted) fail_msg("'%s': %d, wanted %d", cases[i].text, (int)found, (int)cases[i].wanted);
        text.line = 2;  // the second part of a file
        assert_ok(bpt_examples_check_header(&text, &cases[i].options, &labels, &found, &label));
        assert_int_equal(found, BPT_HEADER_NONE);
    }
    bpt_labels_free(&labels);
}

static void bad_files_are_refused_with_file_line_and_remedy(void **state) {
    (void)state;
    static const char *const u = "1\ta\ta\tDET\tDT\t_\t0\t_\t_\t_\n";
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *message;
    } cases[] = {
        {"", {TSV}, "no example in it"},
        {"a\tb\rc\td\r", {TSV}, "x.txt: line 1: the lines end in carriage returns alone; convert the file"},
        {"a O\rb O", {CONLL}, "line 1: the lines end in carriage returns alone"},
        {"\n\n", {TSV}, "x.txt: no example in it"},
        {"a\tb\nonly\n", {TSV}, "x.txt: line 2: 1 column, but the text is in column 2; columns are separated by tabs"},
        {"a\tb\n", {COLUMNS(1, 5, 2, 0), .labelled = true}, "line 1: 2 columns, but the label is in column 5"},
        {"a\tb\n", {COLUMNS(1, 1, 7, 0), .labelled = true}, "line 1: 2 columns, but the text is in column 7"},
        {"a\tb\n", {TSV, .where_column = 3, .where = "x"}, "line 1: 2 columns, but the value of --where is in column 3"},
        {"a\tb\n", {TSV, .where_column = 1, .where = "x"}, "no example in it"},
        {"\tb\n", {TSV}, "line 1: the label is empty"},
        {"a\t\n", {TSV}, "line 1: an empty text; every text needs at least one word"},
        {"a\t   \n", {TSV}, "line 1: an empty text"},
        {"a\x01\tb\n", {TSV}, "line 1: a control character in the label"},
        {"a\tb\xFF\n", {TSV}, "UTF-8"},
        {"x\tb\n", {TSV, .numbers = true}, "line 1: 'x' in the label column is not a finite number; --header leaves out a first line"},
        {"a\t \tb\n", {PAIR}, "line 1: an empty text; every text needs at least one word; --skip-empty leaves out such lines"},
        {"a\t\n",
         {.format = BPT_FORMAT_COLUMNS, .texts = 2, .text_column = {1, 2}},
         "line 1: an empty text; every text needs at least one word"},
        {"1.5e\tb\n", {TSV, .numbers = true}, "line 1: '1.5e' in the label column is not a finite number"},
        {"nan\tb\n", {TSV, .numbers = true}, "line 1: 'nan' in the label column is not a finite number"},
        {"0x10\tb\n", {TSV, .numbers = true}, "line 1: '0x10' in the label column is not a finite number"},
        {"1e999\tb\n", {TSV, .numbers = true}, "line 1: '1e999' in the label column is not a finite number"},
        {"a b\n", {COLUMNS(1, 1, 2, 0), .numbers = true}, "line 1: no number in the label column"},  // a text alone
        {"a\tb c d\n", {TSV, .longest = 2}, "line 1: 3 tokens, more than --max-length 2"},
        {"a\tb\na\tb c d\n", {TSV, .room = {.positions = 2}}, "x.txt: line 2: 3 tokens are more than the model's 2 positions; give fewer"},
        {"a\tb c\n", {TSV, .room = {.positions = 2, .taken = 1, .by = "a sign"}}, "line 1: 2 tokens and 1 for a sign are more than"},
        {"a\tb\tc d e\n", {PAIR, .room = {.positions = 2}}, "line 1: 3 tokens are more than the model's 2 positions"},
        {"a O\n\nb O\nc O\nd O\n", {CONLL, .room = {.positions = 2}}, "line 3: 3 tokens are more than the model's 2 positions"},
        {"a\tb\n", {PAIR}, "line 1: 2 columns, but the text is in column 3"},
        {"a\tb\t\n", {PAIR}, "line 1: an empty text"},
        {"a\t\tb\n", {PAIR}, "line 1: an empty text"},
        {"a\tb\tc d e\n", {PAIR, .longest = 2}, "line 1: 3 tokens, more than --max-length 2"},
        {"a\tb\n", {COLUMNS(2, 4, 1, 2), .labelled = true}, "line 1: 2 columns, but the label is in column 4"},
        {"a b\n", {TAGGED}, "line 1: no tab; a line is tokens<TAB>tags"},
        {"a b\tX\n", {TAGGED}, "line 1: 2 tokens and 1 tags; a line is tokens<TAB>tags, as many of both"},
        {"a\tX Y\n", {TAGGED}, "line 1: 1 tokens and 2 tags"},
        {"\tX\n", {TAGGED}, "line 1: no tokens"},
        {"a\tX\tY\n", {TAGGED}, "line 1: 1 tokens and 2 tags"},
        {"EU\n", {CONLL}, "line 1: 1 column; the token is in column 1 and the tag in column 2"},
        {"EU NNP\nb\n", {CONLL}, "line 2: 1 column between blanks, and line 1 has 2; every token of a file needs as many columns"},
        {"-DOCSTART- -X- O O\n\na N O\nb O\n", {CONLL}, "line 4: 2 columns between blanks, and line 3 has 3"},
        {"Anna NNP B-PER\nlives O\n", {CONLL}, "line 2: 2 columns between blanks, and line 1 has 3"},
        {"lives O\nAnna NNP B-PER\n", {CONLL}, "line 2: 3 columns between blanks, and line 1 has 2"},
        {"New York\tO\nin O\n", {CONLL}, "line 2: 1 column between tabs, and line 1 has 2"},
        {"in O\n\nNew York\tO\n", {CONLL}, "line 3: 3 columns between blanks, and line 1 has 2"},
        {"EU\tNNP B-ORG\n", {CONLL}, "line 1: a blank in the tag 'NNP B-ORG'; where there are tabs, tabs alone separate the columns"},
        {"a\t\n", {CONLL}, "line 1: 1 column; the token is in column 1 and the tag in column 2"},
        {"a\tDET\tO\nb\tNN\t\n", {CONLL}, "line 2: 2 columns between tabs, and line 1 has 3"},
        {"a\tDET\t\nb\tNN\tO\n", {CONLL}, "line 2: 3 columns between tabs, and line 1 has 2"},
        {"a\tO\n \tO\n", {CONLL}, "line 2: the token is empty"},
        {"a\t \tO\n", {CONLL, .label_column = 2}, "line 1: the tag is empty"},
        {"a b O\n# c\n", {CONLL}, "line 2: 2 columns between blanks, and line 1 has 3"},  // a comment stands in front of a sentence
        {"a b O\n\n#c O\n", {CONLL}, "line 3: 2 columns between blanks, and line 1 has 3"},
        {"a O\n-DOCSTART- O\nb X-P\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, "line 3: tag 'X-P' does not fit the tags before it"},
        {"a B-P\nb B\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, "line 2: tag 'B' does not fit the tags before it"},
        {"a B-P\nb M-P\n\nc I-P\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, "line 4: tag 'I-P' does not fit the tags before it"},
        {"EU NNP O\n", {CONLL, .label_column = 4}, "line 1: 3 columns; the token is in column 1 and the tag in column 4"},
        {"EU NNP O\n", {CONLL, .text_column = {4, 0}}, "line 1: 3 columns; the token is in column 4"},
        {"a O\nb X-P\n",
         {CONLL, .scheme = BPT_SCHEME_BIOES},
         "line 2: tag 'X-P' does not fit the tags before it, which --tag-scheme needs: O, and the letters of BIOES"},
        {"a NOUN\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, "line 1: tag 'NOUN' does not fit"},
        {"a B-\n", {CONLL, .scheme = BPT_SCHEME_IOB2}, "line 1: tag 'B-' does not fit"},
        {"-DOCSTART- O\n\n", {CONLL}, "no example in it"},
        {"\n\n\n", {CONLL}, "no example in it"},
        {"a O\xFE\n", {CONLL}, "UTF-8"},
        {"a b c O\n", {CONLL, .longest = 0, .label_column = 9}, "line 1: 4 columns; the token is in column 1 and the tag in column 9"},
        {"1\ta\ta\tDET\n", {CONLLU, .label_column = 4}, "line 1: 4 columns between tabs; CoNLL-U has 10"},
        {"1 a a DET DT _ 0 _ _ _\n", {CONLLU, .label_column = 4}, "line 1: 1 columns between tabs; CoNLL-U has 10"},
        {"1\t\ta\tDET\tDT\t_\t0\t_\t_\t_\n", {CONLLU, .label_column = 4}, "line 1: the token is empty"},
        {"1\ta\ta\t\tDT\t_\t0\t_\t_\t_\n", {CONLLU, .label_column = 4}, "line 1: the tag is empty"},
        {"# only a comment\n", {CONLLU, .label_column = 4}, "no example in it"},
    };
    assert_true(BPT_COUNT(cases) >= 40);
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        bpt_error_clear();
        const bpt_status_t status = read_all(cases[i].text, &cases[i].options, BPT_UNIT_WORD, &s);
        if (status != BPT_ERR_INPUT || !strstr(bpt_error_message(), cases[i].message))
            fail_msg("case %zu: status %d, '%s', wanted '%s'", i, (int)status, bpt_error_message(), cases[i].message);
        free_set(&s);
    }
    set_t s;
    const bpt_examples_options_t numbers = {TSV, .numbers = true};
    assert_fails(read_bytes("1\0002\tb\n", 6, &numbers, BPT_UNIT_WORD, &s), BPT_ERR_INPUT, "in the label column is not a finite number");
    free_set(&s);
    const bpt_examples_options_t o = {CONLLU, .label_column = 4};
    assert_ok(read_all(u, &o, BPT_UNIT_WORD, &s));
    free_set(&s);
}

// ---- What is asked of a text beside its examples

static bpt_status_t join(void *user, const bpt_word_t *words, size_t n) {
    char *out = user;
    for (size_t i = 0; i < n; ++i) sprintf(out + strlen(out), "%.*s|", (int)words[i].bytes, words[i].data);
    strcat(out, ";");
    return BPT_OK;
}

static void words_are_given_as_they_are_in_the_file(void **state) {
    (void)state;
    const char text[] = "# c = 1\n26 000\tX\nb\t\n-DOCSTART-\tO\n\nc\tY\n", more[] = "New York\n",
               conllu[] = "1\ta b\t_\t_\t_\t_\t_\t_\t_\t_\n";
    bpt_token_columns_t columns = {0};
    const bpt_examples_options_t tokens = {.format = BPT_FORMAT_CONLL, .per_token = true, .columns = &columns},
                                 u = {.format = BPT_FORMAT_CONLLU, .per_token = true}, line = {.per_token = true};
    char out[200] = "";
    bpt_range_t range = bpt_range_of("x.txt", text, strlen(text));
    assert_ok(bpt_examples_words(&range, &tokens, join, out));
    assert_string_equal(out, "26 000|b|;c|;");
    assert_true(columns.tabs && columns.line == 2);
    range = bpt_range_of("x.txt", more, strlen(more));  // a further piece of the same file
    assert_fails(bpt_examples_words(&range, &tokens, join, out), BPT_ERR_INPUT, "line 1: 1 column between tabs, and line 2 has 2");
    *out = 0;
    range = bpt_range_of("x.txt", conllu, strlen(conllu));
    assert_ok(bpt_examples_words(&range, &u, join, out));
    range = bpt_range_of("x.txt", "a b\tX Y\n", 8);
    assert_ok(bpt_examples_words(&range, &line, join, out));
    assert_string_equal(out, "a b|;a|b|;");
}

static void a_tag_is_found_in_its_line(void **state) {
    (void)state;
    const char text[] = "# c\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n# d\n2\tb\t_\tY\t_\t_\t_\t_\t_\t_\n\n";
    const bpt_examples_options_t o = {CONLLU, .label_column = 4};
    const bpt_range_t range = bpt_range_of("x.txt", text, strlen(text));
    uint64_t line;
    assert_ok(bpt_examples_find_tag(&range, &o, &(bpt_word_t){"Y", 1}, &line));
    assert_int_equal(line, 5);
    assert_ok(bpt_examples_find_tag(&range, &o, &(bpt_word_t){"Z", 1}, &line));
    assert_int_equal(line, 1);
}

// ---- Arrays

static void write_typed_arrays(const char *path, const int64_t x[3], bpt_safetensors_dtype_t dtype, const int64_t y[2], float fill) {
    bpt_safetensors_writer_t *w;
    float values[64];
    const int64_t counts[] = {x ? x[0] * x[1] * x[2] : 0, y ? y[0] * y[1] : 0};
    for (int i = 0; i < 64; ++i) values[i] = (float)i * fill;
    assert_ok(bpt_safetensors_writer_create(path, &w));
    if (x) assert_ok(bpt_safetensors_writer_declare(w, "x", dtype, 3, x));
    if (y) assert_ok(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 2, y));
    for (int i = 0; i < 2; ++i)
        if (counts[i])
            assert_ok(bpt_safetensors_writer_data(w, values, (size_t)counts[i] * bpt_safetensors_dtype_bits(i ? BPT_ST_F32 : dtype) / 8));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
}

static void write_arrays(const char *path, const int64_t x[3], const int64_t y[2], float fill) {
    write_typed_arrays(path, x, BPT_ST_F32, y, fill);
}

static void arrays_are_read_and_bad_ones_refused(void **state) {
    (void)state;
    const char *path = test_path("a.safetensors");
    bpt_examples_t e, part;
    write_arrays(path, (int64_t[]){4, 3, 2}, (int64_t[]){4, 1}, 1);
    assert_true(bpt_arrays_is_file(path) && !bpt_arrays_is_file("a.txt") && !bpt_arrays_is_file(".safetensors"));
    assert_ok(bpt_arrays_read(path, &e));
    assert_true(e.count == 4 && e.n_tokens == 12 && e.vectors.columns == 2 && e.values.columns == 1 && e.offsets[4] == 12);
    assert_true(e.vectors.of[23] > 22.5f && e.values.of[3] > 2.5f);
    uint8_t parts[] = {BPT_VALID, BPT_TRAIN, BPT_TEST, BPT_TRAIN};
    assert_ok(bpt_arrays_part(&e, &(bpt_cut_t){parts, 4}, BPT_TRAIN, &part));
    assert_int_equal(part.count, 2);
    assert_memory_equal(part.vectors.of, e.vectors.of + 6, 6 * sizeof(float));
    assert_memory_equal(part.vectors.of + 6, e.vectors.of + 18, 6 * sizeof(float));
    assert_true(part.values.of[0] == e.values.of[1] && part.values.of[1] == e.values.of[3]);
    bpt_examples_free(&part);
    bpt_examples_free(&e);
    write_arrays(path, (int64_t[]){4, 3, 2}, NULL, 1);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "no tensor \"y\"");
    write_arrays(path, NULL, (int64_t[]){4, 1}, 1);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "no tensor \"x\"");
    write_arrays(path, (int64_t[]){4, 3, 2}, (int64_t[]){3, 1}, 1);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "x has 4 examples and y has 3");
    write_arrays(path, (int64_t[]){4, 3, 2}, (int64_t[]){4, 1}, INFINITY);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "number 0 of tensor \"x\" is not finite");
    write_arrays(path, (int64_t[]){0, 3, 2}, (int64_t[]){0, 1}, 1);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "not empty");
    write_typed_arrays(path, (int64_t[]){4, 3, 2}, BPT_ST_F6_E3M2, (int64_t[]){4, 1}, 1);
    assert_fails(bpt_arrays_read(path, &e), BPT_ERR_INPUT, "tensor \"x\" has type F6_E3M2, which is not supported; convert it to F32");
    assert_fails(bpt_arrays_read("nowhere.safetensors", &e), BPT_ERR_IO, "nowhere.safetensors");
}

static void masked_summation_is_what_the_paper_defines(void **state) {
    (void)state;
    bpt_summation_t s = {.examples = 300, .n = 20, .sum = 5, .columns = 4, .seed = 7, .part = 0};
    bpt_examples_t a, again, other;
    double answer_half = 0;
    assert_ok(bpt_summation_make(&s, &a));
    for (uint64_t i = 0; i < a.count; ++i) {
        const float *x = a.vectors.of + i * 80;
        double sum[3] = {0};
        int marked = 0;
        for (int r = 0; r < 20; ++r) {
            assert_true(x[r * 4] == 0 || x[r * 4] == 1);
            marked += x[r * 4] == 1;
            for (int c = 1; c < 4; ++c) {
                assert_true(x[r * 4 + c] >= 0 && x[r * 4 + c] < 1);
                if (x[r * 4] == 1) sum[c - 1] += (double)x[r * 4 + c];
            }
        }
        assert_int_equal(marked, 5);
        for (int c = 0; c < 3; ++c) {
            assert_true(fabs(sum[c] - (double)a.values.of[i * 3 + (uint64_t)c]) < 1e-5);
            answer_half += (sum[c] - 2.5) * (sum[c] - 2.5) / 900;
        }
    }
    assert_true(fabs(answer_half - 5.0 / 12) < 0.06);  // the error of always answering k / 2
    assert_ok(bpt_summation_make(&s, &again));
    assert_memory_equal(a.vectors.of, again.vectors.of, a.n_tokens * 4 * sizeof(float));
    s.part = 1;
    assert_ok(bpt_summation_make(&s, &other));
    assert_memory_not_equal(a.vectors.of, other.vectors.of, 80 * sizeof(float));
    bpt_examples_free(&a), bpt_examples_free(&again), bpt_examples_free(&other);
    s.sum = 21;
    assert_fails(bpt_summation_make(&s, &a), BPT_ERR_USAGE, "--sum must be at most --n");
    s = (bpt_summation_t){.examples = 3, .n = 20, .sum = 5, .columns = 1};
    assert_fails(bpt_summation_make(&s, &a), BPT_ERR_USAGE, "--d-input at least 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_gives_its_examples),
        cmocka_unit_test(a_first_line_may_be_a_header),
        cmocka_unit_test(bad_files_are_refused_with_file_line_and_remedy),
        cmocka_unit_test(words_are_given_as_they_are_in_the_file),
        cmocka_unit_test(a_tag_is_found_in_its_line),
        cmocka_unit_test(arrays_are_read_and_bad_ones_refused),
        cmocka_unit_test(masked_summation_is_what_the_paper_defines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
