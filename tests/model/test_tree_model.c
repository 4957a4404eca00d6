// Tree Transformer: labels of words and phrases are never read, tokens know nothing of the tree, padding and batch mates change nothing,
// the gradient is that of the loss, and the loss of all vertices is the mean of theirs.
#include "data/batches/examples_source.h"
#include "data/examples/trees.h"
#include "model_fixture.h"

static bpt_model_config_t tree_config(void) {
    bpt_model_config_t c = fixture_classifier();
    c.model = BPT_MODEL_TREE;
    c.positions = BPT_POSITIONS_SINUSOIDAL;
    c.head_dim = 6;
    c.hier_embed = c.subtree_mask = true;
    c.vertical_max = 3, c.horizontal_max = 5;
    c.vocab = 40;
    return c;
}

// ---- Texts with trees

typedef struct {
    bpt_vocab_t *vocab;
    bpt_labels_t labels;
    bpt_examples_t examples;
    bpt_batch_source_t *source;
    bpt_batch_t batch;
} texts_t;

static void open_texts(const char *text, bpt_trees_t made, bool vertices, texts_t *t) {
    const bpt_examples_options_t o = {.format = BPT_FORMAT_TREES, .trees = true, .labelled = true, .made = made, .vertex_labels = vertices};
    const bpt_batching_t batching = {.batch_tokens = 64, .packed = true, .vertices = vertices};
    const bpt_range_t range = bpt_range_of("x", text, strlen(text));
    bool end;
    *t = (texts_t){0};
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &t->vocab));
    assert_ok(bpt_examples_scan(&range, &o, t->vocab, &t->labels));
    bpt_labels_freeze(&t->labels);
    assert_ok(bpt_vocab_freeze(t->vocab));
    assert_ok(bpt_examples_read(&range, &o, t->vocab, &t->labels, &t->examples));
    assert_ok(bpt_examples_eval_source(&t->examples, &batching, &t->source));
    assert_ok(t->source->next(t->source, &t->batch, &end));
}

static void close_texts(texts_t *t) {
    t->source->destroy(t->source);
    bpt_examples_free(&t->examples);
    bpt_labels_free(&t->labels);
    bpt_vocab_destroy(t->vocab);
}

static void with_runner(const char *backend, const bpt_model_config_t *c, void (*check)(bpt_runner_t *r)) {
    bpt_device_t *device = fixture_open(backend);
    bpt_runner_t *r = fixture_runner(c, device, (bpt_runner_options_t){0});
    check(r);
    bpt_runner_destroy(r);
    fixture_close(device);
}

// The same words and brackets with other labels give the same bits: a model that reads its answer would not.
static void check_leakage(bpt_runner_t *r) {
    static const char *const texts[] = {
        "(1 (0 a) (2 (0 b) (1 (2 c) (0 d))))\n(0 (1 e) (2 f))\n(2 a)\n",
        "(0 (2 a) (1 (2 b) (0 (1 c) (2 d))))\n(2 (0 e) (0 f))\n(1 a)\n",
    };
    float logits[2][64 * 3];
    for (int i = 0; i < 2; ++i) {
        texts_t t;
        open_texts(texts[i], BPT_TREES_FILE, true, &t);
        assert_ok(bpt_runner_logits(r, &t.batch, logits[i]));
        close_texts(&t);
    }
    assert_memory_equal(logits[0], logits[1], 9 * sizeof(float));
}

static void no_label_of_a_word_or_phrase_is_read(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    c.vertex_loss = BPT_VERTEX_LOSS_ALL;
    with_runner("ref", &c, check_leakage);
    with_runner("cpu", &c, check_leakage);
}

// States of tokens are those of a Transformer whatever the tree; the root's are not.
static void check_tokens(bpt_runner_t *r) {
    static float tokens[3][64 * 16], roots[3][64 * 16];
    static const bpt_trees_t forms[] = {BPT_TREES_BALANCED, BPT_TREES_RIGHT, BPT_TREES_FLAT};
    for (int i = 0; i < 3; ++i) {
        texts_t t;
        open_texts("1\ta b c d e f g\n0\th i j\n", forms[i], false, &t);
        assert_ok(bpt_runner_states(r, &t.batch, &(bpt_runner_states_t){.tokens = tokens[i], .pooled = roots[i]}));
        close_texts(&t);
    }
    const bool masked = bpt_runner_config(r)->subtree_mask;
    for (int i = 1; i < 3; ++i) {
        assert_int_equal(!memcmp(tokens[0], tokens[i], 10 * 16 * sizeof(float)), masked);
        assert_true(memcmp(roots[0], roots[i], 16 * sizeof(float)) != 0);
    }
}

static void tokens_know_the_tree_only_without_the_mask(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    with_runner("ref", &c, check_tokens);
    c.subtree_mask = false;
    with_runner("ref", &c, check_tokens);
}

static double flops_of(bpt_runner_t *r, const bpt_batch_t *batch, bpt_step_kind_t kind) {
    bpt_program_t *program;
    assert_ok(bpt_runner_program(r, &(bpt_step_key_t){.kind = kind, .shape = batch->shape}, &program));
    return bpt_program_summary(program).flops;
}

// A classifier computes the last layer of roots alone, and its logits are those of the roots among all rows.
static void check_roots(bpt_runner_t *r) {
    static float root[64 * 16], logits[64 * 3], weight[3 * 16], bias[3];
    texts_t t;
    open_texts("(1 (0 a) (2 (0 b) (1 (2 c) (0 d))))\n(0 (1 e) (2 f))\n(2 a)\n", BPT_TREES_FILE, false, &t);
    assert_ok(bpt_runner_states(r, &t.batch, &(bpt_runner_states_t){.pooled = root}));
    assert_ok(bpt_runner_logits(r, &t.batch, logits));
    assert_ok(bpt_runner_get(r, "head.weight", weight));
    assert_ok(bpt_runner_get(r, "head.bias", bias));
    for (int s = 0; s < 3; ++s)
        for (int k = 0; k < 3; ++k) {
            double sum = (double)bias[k];
            for (int j = 0; j < 16; ++j) sum += (double)weight[16 * k + j] * (double)root[16 * s + j];
            assert_true(fabs(sum - (double)logits[3 * s + k]) < 1e-5);
        }
    assert_true(flops_of(r, &t.batch, BPT_STEP_LOGITS) < 0.8 * flops_of(r, &t.batch, BPT_STEP_STATES));
    close_texts(&t);
}

static void the_last_layer_is_that_of_roots_alone(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    with_runner("ref", &c, check_roots);
    with_runner("cpu", &c, check_roots);
    c.subtree_mask = false, c.layers = 1;
    with_runner("cpu", &c, check_roots);
}

static void add_trees(fixture_batch_t *b, bpt_trees_t form, uint32_t **memory) { assert_ok(bpt_trees_add(form, &b->batch, memory)); }

// Sequence 3 alone, and among others in a larger bucket.
static void check_mates(bpt_runner_t *r) {
    static fixture_batch_t alone, among;
    static float x[64], y[64];
    const uint32_t lengths[] = {1, 9, 17, 13, 2};
    const bpt_model_config_t *c = bpt_runner_config(r);
    for (int form = BPT_TREES_BALANCED; form <= BPT_TREES_FLAT; ++form) {
        uint32_t *of_alone, *of_among;
        fixture_fill(&alone, c, 13, 1, &lengths[3], 3);
        fixture_fill(&among, c, 17, 5, lengths, 0);
        add_trees(&alone, (bpt_trees_t)form, &of_alone);
        add_trees(&among, (bpt_trees_t)form, &of_among);
        assert_ok(bpt_runner_logits(r, &alone.batch, x));
        assert_ok(bpt_runner_logits(r, &among.batch, y));
        for (int i = 0; i < 3; ++i) assert_true(fabs((double)x[i] - (double)y[9 + i]) < 1e-5);
        bpt_free(of_alone), bpt_free(of_among);
    }
}

static void padding_and_batch_mates_change_nothing(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    with_runner("ref", &c, check_mates);
    with_runner("cpu", &c, check_mates);
    c.subtree_mask = c.hier_embed = false;
    with_runner("cpu", &c, check_mates);
}

static void check_gradient(bpt_runner_t *r) {
    static fixture_batch_t b;
    const uint32_t lengths[] = {1, 7, 12, 5};
    uint32_t *memory;
    fixture_fill(&b, bpt_runner_config(r), 12, 4, lengths, 0);
    add_trees(&b, BPT_TREES_BALANCED, &memory);
    fixture_check_gradient(r, &b.batch, "tree");
    bpt_free(memory);
}

static void gradients_agree_with_differences(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    with_runner("ref", &c, check_gradient);
    with_runner("cpu", &c, check_gradient);
    c.subtree_mask = false, c.up_norm = BPT_UP_NORM_CODE;
    with_runner("ref", &c, check_gradient);
    c.hier_embed = false, c.head_dim = 7;
    with_runner("cpu", &c, check_gradient);
}

// Of a flat tree all vertices are tokens and the root, whose states are known: the loss by hand, with one word that has no label.
static void check_vertices(bpt_runner_t *r) {
    static float tokens[64 * 16], root[64 * 16], weight[3 * 16], bias[3];
    const uint32_t labels[] = {0, BPT_NO_LABEL, 2, 1};
    const bpt_update_t update = {.rng = 1, .lr = 1e-3f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result;
    texts_t t;
    double loss = 0;
    open_texts("(1 (0 a) b (2 c))\n", BPT_TREES_FILE, true, &t);
    assert_int_equal(t.batch.n_scored, 3);
    assert_ok(bpt_runner_states(r, &t.batch, &(bpt_runner_states_t){.tokens = tokens, .pooled = root}));
    assert_ok(bpt_runner_get(r, "head.weight", weight));
    assert_ok(bpt_runner_get(r, "head.bias", bias));
    for (int v = 0; v < 4; ++v) {
        double logits[3], sum = 0;
        for (int k = 0; k < 3; ++k) {
            logits[k] = (double)bias[k];
            for (int j = 0; j < 16; ++j) logits[k] += (double)weight[16 * k + j] * (double)(v < 3 ? tokens[16 * v + j] : root[j]);
            sum += exp(logits[k]);
        }
        if (labels[v] != BPT_NO_LABEL) loss += (log(sum) - logits[labels[v]]) / 3;
    }
    assert_ok(bpt_runner_train(r, &t.batch, &update, &result));
    if (!(fabs(result.loss - loss) < 1e-5)) fail_msg("loss %.7g, by hand %.7g", result.loss, loss);
    close_texts(&t);
}

static void the_loss_of_all_vertices_is_the_mean_of_theirs(void **state) {
    (void)state;
    bpt_model_config_t c = tree_config();
    c.vertex_loss = BPT_VERTEX_LOSS_ALL;
    with_runner("ref", &c, check_vertices);
    with_runner("cpu", &c, check_vertices);
}

static void what_has_no_tree_is_refused(void **state) {
    (void)state;
    static fixture_batch_t b;
    static float logits[64];
    const uint32_t length = 5;
    bpt_model_config_t c = tree_config();
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    fixture_fill(&b, &c, 5, 1, &length, 0);
    assert_fails(bpt_runner_logits(r, &b.batch, logits), BPT_ERR_USAGE, "reads trees over texts, and this batch has none");
    bpt_runner_destroy(r);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_label_of_a_word_or_phrase_is_read),  cmocka_unit_test(tokens_know_the_tree_only_without_the_mask),
        cmocka_unit_test(the_last_layer_is_that_of_roots_alone), cmocka_unit_test(padding_and_batch_mates_change_nothing),
        cmocka_unit_test(gradients_agree_with_differences),      cmocka_unit_test(the_loss_of_all_vertices_is_the_mean_of_theirs),
        cmocka_unit_test(what_has_no_tree_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
