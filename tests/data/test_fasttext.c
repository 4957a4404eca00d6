// Lines of fastText: what they give, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/formats.h"
#include "example_sets.h"
#include "support/check.h"

#define FASTTEXT .format = BPT_FORMAT_FASTTEXT

static void labels_stand_in_front(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *wanted;
    } cases[] = {
        {"__label__good a fine  film\n__label__bad dull\n", {FASTTEXT, .labelled = true}, "good: a fine film;bad: dull;"},
        {"\n __label__1\ta b , c\r\n\n__label__very-good\xC3\xA9 d", {FASTTEXT, .labelled = true}, "1: a b , c;very-good\xC3\xA9: d;"},
        {"__label__a b __label__c d\n", {FASTTEXT, .labelled = true}, "a: b __label__c d;"},  // a word like any other
        {"a b\n__label__x c\n", {FASTTEXT}, "-: a b;-: c;"},                                  // to be classified
        {"__label__x\n__label__y a\n", {FASTTEXT, .labelled = true, .skip_empty = true}, "y: a;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) expect_examples(i, cases[i].text, &cases[i].options, cases[i].wanted);
}

static void other_lines_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_format_id_t format;
        const char *message;
    } cases[] = {
        {"__label__a b\nno label\n", BPT_FORMAT_FASTTEXT, "line 2: no label in front; a line is __label__NAME and a text"},
        {"__label__a b\n\n__label__a __label__b c\n", BPT_FORMAT_FASTTEXT, "line 3: more than one label"},
        {"__label__ b\n", BPT_FORMAT_FASTTEXT, "line 1: the label is empty"},
        {"__label__a b\n__label__b \n", BPT_FORMAT_FASTTEXT, "line 2: no text; every example needs at least one word; --skip-empty"},
        {"__label__a b\n", BPT_FORMAT_TEXT, "line 1: no tab; lines of __label__NAME and a text are --format fasttext"},
    };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const bpt_examples_options_t options = {.format = cases[i].format, .labelled = true};
        set_t s;
        assert_fails(read_all(cases[i].text, &options, BPT_UNIT_WORD, &s), BPT_ERR_INPUT, cases[i].message);
        free_set(&s);
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void names_of_files_say_it(void **state) {
    (void)state;
    bpt_format_id_t format;
    assert_true(bpt_format_of_file("train.ft.txt.bz2", &format));
    assert_int_equal(format, BPT_FORMAT_FASTTEXT);
    assert_false(bpt_format_of_file("left.txt", &format));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stand_in_front),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(names_of_files_say_it),
    };
    return cmocka_run_group_tests_name("fasttext", tests, NULL, NULL);
}
