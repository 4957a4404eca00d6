// Batches that do not fit their shape or their model are refused before anything reads them, whatever made them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/config_names.h"
#include "models/run/batch_check.h"
#include "support/check.h"

// Two buckets of three rows: texts of three and two tokens, with n-grams, and a tree over each: (a b c), ((a b)).
enum { ROWS = 6, NODES = 4, NGRAMS = 5 };
typedef struct {
    bpt_model_config_t config;
    bpt_batch_t batch;
    uint32_t tokens[ROWS], start[2], lengths[2], bag[NGRAMS], ranges[2 * ROWS], links[3 * (ROWS + NODES)], labels[NODES],
        vertices[ROWS + NODES], node_start[2], node_counts[2], targets[2], first_segment[3], segment_start[3], segment_lengths[3];
    float weights[2];
} case_t;

static void set_up(case_t *c) {
    *c = (case_t){.tokens = {1, 2, 3, 4, 5, 0},
                  .start = {0, 3},
                  .lengths = {3, 2},
                  .bag = {0, 1, 2, 3, 4},
                  .ranges = {0, 2, 2, 2, 2, 3, 3, 4, 4, 5},
                  .node_start = {6, 7},
                  .node_counts = {1, 2},
                  .targets = {0, 1},
                  .first_segment = {0, 2, 3},
                  .segment_start = {0, 2, 3},
                  .segment_lengths = {2, 1, 2},
                  .weights = {1, 1}};
    const uint32_t links[ROWS + NODES][3] = {
        {6}, {6}, {6}, {7}, {7}, {BPT_PLACEHOLDER}, {BPT_PLACEHOLDER, 0, 3}, {8, 3, 5}, {BPT_PLACEHOLDER, 3, 5}, {BPT_PLACEHOLDER}};
    memcpy(c->links, links, sizeof links);
    c->labels[NODES - 1] = BPT_PLACEHOLDER;
    for (int i = 0; i < ROWS + NODES; ++i) c->vertices[i] = i % 2 ? BPT_PLACEHOLDER : 1;
    c->config =
        (bpt_model_config_t){.task = BPT_TASK_CLASSIFY, .model = BPT_MODEL_TREE, .vocab = 6, .classes = 2, .ngram_rows = 5, .ngram_max = 2};
    bpt_batch_t *b = &c->batch;
    b->shape = bpt_batch_buckets(3, 2);
    b->shape.side[0].bag = NGRAMS, b->shape.side[0].nodes = NODES, b->shape.side[0].node_slots = 4;
    b->n_real = 2, b->n_targets = 2, b->segments = 3;
    b->targets = c->targets, b->weights = c->weights, b->first_segment = c->first_segment;
    b->side[0] = (bpt_side_t){.tokens = c->tokens,
                              .start = c->start,
                              .lengths = c->lengths,
                              .bag = c->bag,
                              .bag_ranges = c->ranges,
                              .segment_start = c->segment_start,
                              .segment_lengths = c->segment_lengths,
                              .links = c->links,
                              .node_labels = c->labels,
                              .node_start = c->node_start,
                              .node_counts = c->node_counts,
                              .vertex_labels = c->vertices};
}

static void a_batch_that_fits_passes(void **state) {
    (void)state;
    case_t c;
    set_up(&c);
    assert_ok(bpt_batch_check(&c.config, &c.batch));
    c.tokens[5] = c.vertices[0] = c.labels[0] = BPT_PLACEHOLDER;
    assert_ok(bpt_batch_check(&c.config, &c.batch));
}

static void one_wrong_number_in_any_array_is_refused(void **state) {
    (void)state;
    const struct {
        size_t at;
        uint32_t value;
        const char *says;
    } wrong[] = {{offsetof(case_t, tokens[2]), 6, "token 2 is 6, which must be below 6"},
                 {offsetof(case_t, start[1]), 2, "the first row of sequence 1"},
                 {offsetof(case_t, lengths[0]), 4, "the length of sequence 0 is 4"},
                 {offsetof(case_t, bag[4]), 5, "n-gram 4 is 5"},
                 {offsetof(case_t, ranges[9]), 6, "an n-gram of token 5 is 6"},
                 {offsetof(case_t, ranges[0]), 3, "the first n-gram of token 0"},
                 {offsetof(case_t, links[0]), 5, "the parent of row 0"},
                 {offsetof(case_t, links[3 * 4]), 10, "the parent of row 4"},
                 {offsetof(case_t, links[3 * 6 + 2]), 4, "a node of sequence 0 is 4"},
                 {offsetof(case_t, links[3 * 7 + 1]), 2, "a node of sequence 1"},
                 {offsetof(case_t, labels[1]), 1, "the symbol of node 1"},
                 {offsetof(case_t, vertices[8]), 2, "the label of row 8"},
                 {offsetof(case_t, node_start[0]), 5, "the tree of sequence 0"},
                 {offsetof(case_t, node_counts[1]), 4, "the tree of sequence 1"},
                 {offsetof(case_t, targets[1]), 2, "target 1 is 2"},
                 {offsetof(case_t, first_segment[1]), 4, "the segments of sequence"},
                 {offsetof(case_t, segment_lengths[2]), 4, "the end of segment 2"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        case_t c;
        set_up(&c);
        memcpy((char *)&c + wrong[i].at, &wrong[i].value, sizeof wrong[i].value);
        assert_fails(bpt_batch_check(&c.config, &c.batch), BPT_ERR_INPUT, wrong[i].says);
    }
}

static void packed_rows_end_within_the_side(void **state) {
    (void)state;
    case_t c;
    set_up(&c);
    c.batch.shape.side[0].n = 0;
    assert_ok(bpt_batch_check(&c.config, &c.batch));
    c.start[1] = 5;
    assert_fails(bpt_batch_check(&c.config, &c.batch), BPT_ERR_INPUT, "the end of sequence 1 is 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_fits_passes),
        cmocka_unit_test(one_wrong_number_in_any_array_is_refused),
        cmocka_unit_test(packed_rows_end_within_the_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
