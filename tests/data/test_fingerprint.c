// What tells training data from others: each element of each array that examples have counts, and runs of older versions are held against
// the forms that they began with.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/examples_arrays.h"
#include "data/examples/fingerprint.h"
#include "support/check.h"

// Examples of every kind, of which no array is like another. {1, 2, 3} and {4, 5} are the texts.
static uint32_t tokens[] = {1, 2, 3, 4, 5}, labels[] = {0, 1}, tags[] = {0, 1, 1, 0, 2}, bags[] = {7, 8, 9, 10, 11, 12},
                token_labels[] = {1, 0, 2, 1, BPT_NO_LABEL}, target[] = {9, 8, 7, 6};
static uint64_t offsets[] = {0, 3, 5}, bag_offsets[] = {0, 1, 3, 4, 5, 6}, node_offsets[] = {0, 2, 3}, target_offsets[] = {0, 3, 4};
static float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, values[] = {0.5f, 1.5f};
static bpt_example_node_t nodes[] = {{0, 2, 1}, {0, 3, 0}, {0, 2, 2}};
static bpt_window_t windows[] = {{0, 0, 1}, {0, 1, 2}};

#define TEXTS .tokens = tokens, .offsets = offsets, .count = 2, .n_tokens = 5
#define TREES .trees = {.has = true, .nodes = {nodes, 3, 0}, .offsets = node_offsets}
#define LABELS .labels = {.has = true, .of = labels}
#define VALUES .values = {true, values, 1}
static const bpt_examples_t kinds[] = {
    {TEXTS, LABELS},
    {TEXTS, .labels = {.has = true, .of = tags, .per_token = true}},
    {.tokens = tokens, .offsets = offsets, .texts = 2, .count = 1, .n_tokens = 5, LABELS},
    {TEXTS, LABELS, .bags = {.has = true, .items = bags, .offsets = bag_offsets}},
    {TEXTS, LABELS, .trees = {.has = true, .nodes = {nodes, 3, 0}, .offsets = node_offsets, .token_labels = token_labels}},
    {TEXTS, VALUES},
    {.vectors = {true, numbers, 2}, .offsets = offsets, .count = 2, .n_tokens = 5, VALUES},
    {TEXTS, .target = {true, target, target_offsets, 4, 2}},
    {TEXTS, .target = {true, target, target_offsets, 4, 2}, TREES, .windows = {true, windows}},
};

static void take(const bpt_examples_t *e, const char *like, char *out) {
    const bpt_ids_t none = {0};
    assert_ok(bpt_fingerprint_take(&none, e, like, out));
}

typedef struct {
    const bpt_examples_t *e;
    int arrays;
} change_t;

static void change_each_byte(void *user, const char *name, const void *data, uint64_t bytes) {
    change_t *c = user;
    char before[BPT_FINGERPRINT_BYTES], after[BPT_FINGERPRINT_BYTES];
    uint8_t *byte = (uint8_t *)data;
    take(c->e, NULL, before);
    ++c->arrays;
    for (uint64_t i = 0; i < bytes; ++i) {
        // What says where others end must still do so.
        if (strstr(name, "bag_offsets") || !strcmp(name, "windows")) continue;
        byte[i] ^= 1;
        take(c->e, NULL, after);
        byte[i] ^= 1;
        if (!strcmp(before, after)) fail_msg("%s: byte %d counts for nothing", name, (int)i);
    }
}

static void every_element_counts(void **state) {
    (void)state;
    static const int arrays[] = {3, 3, 3, 5, 6, 3, 3, 4, 7};
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k) {
        change_t c = {.e = &kinds[k]};
        bpt_examples_each_array(&kinds[k], change_each_byte, &c);
        assert_int_equal(c.arrays, arrays[k]);
    }
}

// With the same tokens, labels and nodes.
static void where_texts_trees_and_ngrams_end_counts(void **state) {
    (void)state;
    char before[BPT_FINGERPRINT_BYTES], after[BPT_FINGERPRINT_BYTES];
    struct {
        const bpt_examples_t *e;
        uint64_t *of, other;
    } cases[] = {{&kinds[3], &bag_offsets[1], 2}, {&kinds[4], &node_offsets[1], 1},   {&kinds[0], &offsets[1], 2},
                 {&kinds[1], &offsets[1], 2},     {&kinds[7], &target_offsets[1], 2}, {&kinds[8], &windows[1].first, 1},
                 {&kinds[8], &windows[1].own, 0}, {&kinds[8], &node_offsets[1], 1}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const uint64_t own = *cases[i].of;
        take(cases[i].e, NULL, before);
        *cases[i].of = cases[i].other;
        take(cases[i].e, NULL, after);
        *cases[i].of = own;
        assert_string_not_equal(before, after);
    }
}

// The same numbers in another array, and another opening of the translations.
static void what_a_number_is_counts(void **state) {
    (void)state;
    const bpt_examples_t pairs[][2] = {
        {{TEXTS, LABELS}, {TEXTS, .values = {true, (float *)(void *)labels, 1}}},
        {{TEXTS, LABELS, TREES}, {TEXTS, LABELS}},
        {{TEXTS, .target = {true, target, target_offsets, 4, 2}}, {TEXTS, .target = {true, target, target_offsets, 4, 3}}},
    };
    for (size_t i = 0; i < BPT_COUNT(pairs); ++i) {
        char one[BPT_FINGERPRINT_BYTES], other[BPT_FINGERPRINT_BYTES];
        take(&pairs[i][0], NULL, one);
        take(&pairs[i][1], NULL, other);
        assert_string_not_equal(one, other);
    }
}

// These are the sums that such versions wrote into their runs.
static void runs_of_older_versions_are_held_against_their_own_form(void **state) {
    (void)state;
    static const char *const forms[] = {"xxh3 ", "xxh3-2 "};
    static const char *const sums[][2] = {
        {"327bde584d10f52b", "327bde584d10f52b"}, {"84538683aeea692b", "84538683aeea692b"}, {"e77b5e0a6a941fca", "e77b5e0a6a941fca"},
        {"5c8c589b60fc9bc0", "b70c220ec4854c29"}, {"327bde584d10f52b", "cb529582fe973f4f"}, {"87eec80c6bf5cbfd", "87eec80c6bf5cbfd"},
        {"25f164e5a02473d5", "25f164e5a02473d5"}, {"699a9e2c3210bb9c", "699a9e2c3210bb9c"}, {"43675fc829cc4896", "7cf0af0ac3ef3807"}};
    for (size_t k = 0; k < BPT_COUNT(kinds); ++k)
        for (int form = 0; form < 2; ++form) {
            char like[BPT_FINGERPRINT_BYTES], out[BPT_FINGERPRINT_BYTES];
            snprintf(like, sizeof like, "%s%s, 5 tokens", forms[form], sums[k][form]);
            take(&kinds[k], like, out);
            assert_string_equal(out, like);
        }
}

static void the_tokens_of_a_text_count_not_their_width(void **state) {
    (void)state;
    const bpt_examples_t none = {0};
    static const uint8_t bytes[] = {1, 2, 3, 4, 5}, others[] = {1, 2, 3, 4, 6};
    const bpt_ids_t wide = bpt_ids_of(tokens, 5), narrow = bpt_ids_of_bytes(bytes, 5), other = bpt_ids_of_bytes(others, 5);
    char a[BPT_FINGERPRINT_BYTES], b[BPT_FINGERPRINT_BYTES], c[BPT_FINGERPRINT_BYTES];
    assert_ok(bpt_fingerprint_take(&wide, &none, NULL, a));
    assert_ok(bpt_fingerprint_take(&narrow, &none, a, b));
    assert_ok(bpt_fingerprint_take(&other, &none, NULL, c));
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
}

static void the_bytes_of_all_arrays_are_counted(void **state) {
    (void)state;
    assert_int_equal(bpt_examples_bytes(&kinds[0]), sizeof tokens + sizeof offsets + sizeof labels);
    assert_int_equal(bpt_examples_bytes(&kinds[6]), sizeof numbers + sizeof offsets + sizeof values);
    assert_int_equal(bpt_examples_bytes(&kinds[8]), sizeof tokens + sizeof offsets + sizeof nodes + sizeof node_offsets + sizeof target +
                                                        sizeof target_offsets + sizeof windows);
    assert_int_equal(bpt_examples_bytes(&(bpt_examples_t){0}), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_counts),
        cmocka_unit_test(where_texts_trees_and_ngrams_end_counts),
        cmocka_unit_test(what_a_number_is_counts),
        cmocka_unit_test(runs_of_older_versions_are_held_against_their_own_form),
        cmocka_unit_test(the_tokens_of_a_text_count_not_their_width),
        cmocka_unit_test(the_bytes_of_all_arrays_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
