// Names of classes: found whatever their order and whatever they begin with, and those that are no classes behind them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/examples/examples.h"
#include "support/check.h"

static bpt_range_t nowhere;

static bpt_word_t word(const char *text) { return (bpt_word_t){text, strlen(text)}; }

static void add(bpt_labels_t *l, const char *text) {
    const bpt_word_t name = word(text);
    assert_ok(bpt_labels_add(l, &nowhere, &name));
}

static int64_t place_of(const bpt_labels_t *l, const char *text) {
    const bpt_word_t name = word(text);
    uint32_t index;
    return bpt_labels_find(l, &name, &index) ? (int64_t)index : -1;
}

static void names_keep_the_order_in_which_they_come_until_they_are_sorted(void **state) {
    (void)state;
    static const char *const names[] = {"pos", "neg", "", "po", "\xC3\xA4", "posit", "n", "PO"}, *const sorted[] = {
                                                                                                     "",   "PO",  "n",     "neg",
                                                                                                     "po", "pos", "posit", "\xC3\xA4"};
    bpt_labels_t l = {0};
    for (int round = 0; round < 2; ++round)
        for (size_t i = 0; i < BPT_COUNT(names); ++i) add(&l, names[i]);
    assert_int_equal(l.count, BPT_COUNT(names));
    for (size_t i = 0; i < BPT_COUNT(names); ++i) assert_int_equal(place_of(&l, names[i]), i);
    assert_int_equal(place_of(&l, "p"), -1);
    assert_int_equal(place_of(&l, "positive"), -1);
    const bpt_word_t part = {"positive", 3}, zero = {"po\0", 3};  // a word ends where its bytes do
    uint32_t index;
    assert_true(bpt_labels_find(&l, &part, &index) && index == 0);
    assert_false(bpt_labels_find(&l, &zero, &index));
    bpt_labels_freeze(&l);
    for (size_t i = 0; i < BPT_COUNT(sorted); ++i) {
        assert_string_equal(l.name[i], sorted[i]);
        assert_int_equal(place_of(&l, sorted[i]), i);
    }
    bpt_labels_free(&l);
}

static void other_names_are_behind_the_classes_and_are_none(void **state) {
    (void)state;
    bpt_labels_t l = {0};
    uint32_t index;
    add(&l, "b"), add(&l, "d");
    bpt_labels_freeze(&l);
    static const char *const others[] = {"c", "a", "e", "a"};
    static const uint32_t places[] = {2, 3, 4, 3};
    for (size_t i = 0; i < BPT_COUNT(others); ++i) {
        const bpt_word_t name = word(others[i]);
        assert_ok(bpt_labels_other(&l, &nowhere, &name, &index));
        assert_int_equal(index, places[i]);
        assert_int_equal(place_of(&l, others[i]), -1);
    }
    assert_int_equal(l.count, 2);
    assert_int_equal(l.others, 3);
    assert_int_equal(place_of(&l, "b"), 0);
    assert_int_equal(place_of(&l, "d"), 1);
    bpt_labels_free(&l);
}

static void as_many_as_there_may_be_are_found(void **state) {
    (void)state;
    enum { MOST = 10000 };
    bpt_labels_t l = {0}, numbers = {0};
    char name[16];
    for (int64_t i = 0; i < MOST; ++i) {
        snprintf(name, sizeof name, "%d", (int)(i * 7919 % MOST));
        add(&l, name);
    }
    const bpt_word_t more = word("more");
    assert_int_equal(bpt_labels_add(&l, &nowhere, &more), BPT_ERR_INPUT);
    for (int64_t i = 0; i < MOST; ++i) {
        snprintf(name, sizeof name, "%d", (int)(i * 7919 % MOST));
        assert_int_equal(place_of(&l, name), i);
    }
    assert_ok(bpt_labels_numbers(&numbers, MOST + 10));  // classes of a model without names, however many
    assert_int_equal(numbers.count, MOST + 10);
    assert_int_equal(place_of(&numbers, "10009"), 10009);
    bpt_labels_free(&l), bpt_labels_free(&numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_the_order_in_which_they_come_until_they_are_sorted),
        cmocka_unit_test(other_names_are_behind_the_classes_and_are_none),
        cmocka_unit_test(as_many_as_there_may_be_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
