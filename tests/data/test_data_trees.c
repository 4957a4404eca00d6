// Trees in brackets: which nodes are read, how they become links, what is said of bad files; trees that are made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "data/examples/parallel.h"
#include "data/examples/trees.h"
#include "data/vocab/sentencepiece.h"
#include "support/check.h"

typedef struct {
    bpt_vocab_t *vocab;
    bpt_labels_t labels;
    bpt_examples_t examples;
} set_t;

static bpt_status_t read_all(const char *text, const bpt_examples_options_t *o, set_t *s) {
    const bpt_range_t range = bpt_range_of("x.ptb", text, strlen(text));
    *s = (set_t){0};
    BPT_TRY(bpt_vocab_create(BPT_UNIT_WORD, false, &s->vocab));
    BPT_TRY(bpt_examples_scan(&range, o, s->vocab, &s->labels));
    bpt_labels_freeze(&s->labels);
    BPT_TRY(bpt_vocab_freeze(s->vocab));
    return bpt_examples_read(&range, o, s->vocab, o->labelled ? &s->labels : NULL, &s->examples);
}

static void free_set(set_t *s) {
    bpt_vocab_destroy(s->vocab);
    bpt_labels_free(&s->labels);
    bpt_examples_free(&s->examples);
}

static const char *label_of(const set_t *s, uint32_t label) { return label == BPT_NO_LABEL ? "-" : s->labels.name[label]; }

// Every example as "label: word/label word/label | first-end/label ..;".
static void show(const set_t *s, char *out, size_t bytes) {
    const bpt_examples_t *e = &s->examples;
    size_t used = 0;
    *out = 0;
    for (uint64_t i = 0; i < e->count; ++i) {
        used += (size_t)snprintf(out + used, bytes - used, "%s:", label_of(s, e->labels.of[i]));
        for (uint64_t k = e->offsets[i]; k < e->offsets[i + 1]; ++k) {
            size_t length;
            const char *word = bpt_vocab_token(s->vocab, e->tokens[k], &length);
            used += (size_t)snprintf(out + used, bytes - used, " %.*s/%s", (int)length, word, label_of(s, e->trees.token_labels[k]));
        }
        used += (size_t)snprintf(out + used, bytes - used, " |");
        for (uint64_t k = e->trees.offsets[i]; k < e->trees.offsets[i + 1]; ++k)
            used += (size_t)snprintf(out + used, bytes - used, " %u-%u/%s", e->trees.nodes.items[k].first, e->trees.nodes.items[k].end,
                                     label_of(s, e->trees.nodes.items[k].label));
        used += (size_t)snprintf(out + used, bytes - used, ";");
    }
}

// Whether a piece is the first one of a word: it begins with SentencePiece's sign of a blank.
static bool starts_word(const bpt_vocab_t *v, uint32_t id) {
    size_t bytes;
    const char *piece = bpt_vocab_token(v, id, &bytes);
    return bytes >= 3 && !memcmp(piece, "\xE2\x96\x81", 3);
}

#define TREES .format = BPT_FORMAT_TREES, .trees = true, .labelled = true

static void brackets_become_nodes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_examples_options_t options;
        const char *wanted;
    } cases[] = {
        {"(3 (2 It) (4 (2 is) (3 good)))\n", {TREES, .vertex_labels = true}, "3: It/2 is/2 good/3 | 1-3/4 0-3/3;"},
        {"(3 (2 It) (4 (2 is) (3 good)))\n", {TREES}, "3: It/- is/- good/- | 1-3/- 0-3/-;"},
        // Function tags are cut off where that is asked for; -LRB- has none.
        {"(S-X (NP-SBJ=2 (DT the) (NN=n cat)) (-LRB- (V sat)))",
         {TREES, .vertex_labels = true},
         "S-X: the/DT cat/NN=n sat/V | 0-2/NP-SBJ=2 0-3/S-X;"},
        {"(S-X (NP-SBJ=2 (DT the) (NN=n cat)) (-LRB- (V sat)))",
         {TREES, .vertex_labels = true, .cut_functions = true},
         "S: the/DT cat/NN sat/V | 0-2/NP 0-3/S;"},
        {"(very-good (a-b It) (very-bad works))", {TREES}, "very-good: It/- works/- | 0-2/-;"},
        // What treebanks write around a tree is no label where that is asked for, and only around one bracket.
        {"(ROOT\n  (1 (2 a) (3 b)))(TOP (1 a))(ROOT a)(ROOT (2 a) (3 b))",
         {TREES, .skip_root = true, .vertex_labels = true},
         "1: a/2 b/3 | 0-2/1;1: a/1 | 0-1/1;ROOT: a/ROOT | 0-1/ROOT;ROOT: a/2 b/3 | 0-2/ROOT;"},
        {"(ROOT (1 (2 a) (3 b)))", {TREES, .skip_root = true, .subtrees = true}, "2: a/- | 0-1/-;3: b/- | 0-1/-;1: a/- b/- | 0-2/-;"},
        // Chains keep the lowest label; that of the text is the top one.
        {"(ROOT (S (X a) (VP (P b) (NP (Q c)))))", {TREES, .vertex_labels = true}, "ROOT: a/X b/P c/Q | 1-3/VP 0-3/S;"},
        {"( (S (A a) (B b)))", {TREES, .vertex_labels = true}, "S: a/A b/B | 0-2/S;"},
        {"(0 5)\n(1 (2 (3 6)))\n", {TREES, .vertex_labels = true}, "0: 5/0 | 0-1/0;1: 6/3 | 0-1/1;"},
        {"(1 (2 a) b (2 c d))\n", {TREES, .vertex_labels = true}, "1: a/2 b/- c/- d/- | 2-4/2 0-4/1;"},
        {"(S (NP (-NONE- *T*)) (VP (V go) (X (-NONE- 0) (A on))) (-LRB- -LRB-))",
         {TREES, .vertex_labels = true},
         "S: go/V on/A -LRB-/-LRB- | 0-2/VP 0-3/S;"},
        {"(S\n  (A a)\r\n  (B b))\n\n(S (A c)\n(B d))", {TREES}, "S: a/- b/- | 0-2/-;S: c/- d/- | 0-2/-;"},
        {"\xEF\xBB\xBF(S (A a) (B b))\n(T (A c) (B d))", {TREES}, "S: a/- b/- | 0-2/-;T: c/- d/- | 0-2/-;"},
        {"\xEF\xBB\xBF"
         "1\ta b\n",
         {TREES, .made = BPT_TREES_FLAT},
         "1: a/- b/- | 0-2/-;"},
        {"\f(S\v(A\va\v)\f(B b)\v)\v", {TREES}, "S: a/- b/- | 0-2/-;"},
        {"(S (A a) (B b)) (T (A c) (B d))", {TREES}, "S: a/- b/- | 0-2/-;T: c/- d/- | 0-2/-;"},
        {"(3 (2 a) (4 (2 b) (3 c)))",
         {TREES, .subtrees = true},
         "2: a/- | 0-1/-;2: b/- | 0-1/-;3: c/- | 0-1/-;4: b/- c/- | 0-2/-;3: a/- b/- c/- | 1-3/- 0-3/-;"},
        {"(3 (2 a) (4 (2 b) (3 c)))", {TREES, .vertex_labels = true, .made = BPT_TREES_FLAT}, "3: a/2 b/2 c/3 | 0-3/-;"},
        {"1\ta b c d\n", {TREES, .made = BPT_TREES_BALANCED}, "1: a/- b/- c/- d/- | 0-2/- 2-4/- 0-4/-;"},
        {"1\t(a b) c\n2\td\n", {TREES, .made = BPT_TREES_RIGHT}, "1: (a/- b)/- c/- | 1-3/- 0-3/-;2: d/- | 0-1/-;"},
        {"a b c", {.format = BPT_FORMAT_TREES, .trees = true, .made = BPT_TREES_FLAT}, "-: a/- b/- c/- | 0-3/-;"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        set_t s;
        char text[512];
        assert_ok(read_all(cases[i].text, &cases[i].options, &s));
        show(&s, text, sizeof text);
        if (strcmp(text, cases[i].wanted)) fail_msg("case %zu: '%s', wanted '%s'", i, text, cases[i].wanted);
        free_set(&s);
    }
}

static void expect_refused(const char *text, const bpt_examples_options_t *o, const char *message) {
    set_t s;
    bpt_error_clear();
    const bpt_status_t status = read_all(text, o, &s);
    if (status != BPT_ERR_INPUT || !strstr(bpt_error_message(), message))
        fail_msg("'%.40s': status %d, '%s', wanted '%s'", text, (int)status, bpt_error_message(), message);
    free_set(&s);
}

static void bad_trees_are_refused_with_line_and_column(void **state) {
    (void)state;
    static const bpt_examples_options_t o = {TREES, .vertex_labels = true};
    static const char *const cases[][2] = {
        {"(1 (2 a) (3 b)\n", "x.ptb: line 1, column 1: the brackets of this tree are not closed"},
        {"(1 a)\n  (1 (2 a) (3 b)\n", "x.ptb: line 2, column 3: the brackets of this tree are not closed"},
        {"(1 a))\n", "x.ptb: line 1, column 6: a closing bracket too many"},
        {"\xEF\xBB\xBF(1 a))\n", "x.ptb: line 1, column 6: a closing bracket too many"},
        {"\xEF\xBB\xBF(1 (2 a) (3 b)\n", "x.ptb: line 1, column 1: the brackets of this tree are not closed"},
        {"\xEF\xBB\xBF", "no example in it"},
        {"(1 a)\n )\n", "line 2, column 2: a closing bracket too many"},
        {"(1 ())\n", "line 1, column 4: a bracket without a word"},
        {"()\n", "line 1, column 1: a bracket without a word"},
        {"(1 (2 a) (3))\n", "line 1, column 10: a bracket without a word"},
        {"(S (-NONE- *T*))\n", "line 1, column 1: a tree without a word"},
        {"a b\n", "line 1, column 1: no tree; a tree is (label child ..), and --trees balanced, right or flat makes trees of texts"},
        {"(1 a) b\n", "line 1, column 7: no tree"},
        {"( a b)\n", "line 1, column 1: a tree without a label"},
        {"", "no example in it"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) expect_refused(cases[i][0], &o, cases[i][1]);
    enum { DEEP = 1000000 };
    char *deep = malloc(3 * DEEP + 1);
    assert_non_null(deep);
    for (int i = 0; i < DEEP; ++i) memcpy(deep + 3 * i, "(1 ", 3);
    deep[3 * DEEP] = 0;
    expect_refused(deep, &o, "line 1, column 30001: brackets are more than 10,000 deep");
    free(deep);
}

// Parents by the definition: the first node in post-order that covers a vertex and is not itself.
static void check_links(const bpt_nodes_t *made, uint32_t n) {
    enum { FIRST_TOKEN = 3, GAP = 5 };
    const bpt_example_node_t *nodes = made->items;
    const uint32_t m = (uint32_t)made->count, first_node = FIRST_TOKEN + n + GAP;
    uint32_t *links;
    assert_ok(bpt_alloc(3 * (size_t)(first_node + m), sizeof *links, &links));
    bpt_trees_link(nodes, m, n, FIRST_TOKEN, first_node, links);
    for (uint32_t v = 0; v < n + m; ++v) {
        const bool token = v < n;
        const uint32_t first = token ? v : nodes[v - n].first, end = token ? v + 1 : nodes[v - n].end;
        uint32_t parent = BPT_PLACEHOLDER;
        for (uint32_t i = token ? 0 : v - n + 1; i < m && parent == BPT_PLACEHOLDER; ++i)
            if (nodes[i].first <= first && end <= nodes[i].end) parent = first_node + i;
        assert_int_equal(links[3 * (token ? FIRST_TOKEN + v : first_node + v - n)], parent);
    }
    bpt_free(links);
}

static void links_are_those_of_the_smallest_node_above(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 40; ++n)
        for (int form = BPT_TREES_BALANCED; form <= BPT_TREES_FLAT; ++form) {
            bpt_nodes_t made = {0};
            assert_ok(bpt_trees_make((bpt_trees_t)form, n, &made));
            assert_int_equal(made.count, n == 1 || form == BPT_TREES_FLAT ? 1 : n - 1);
            check_links(&made, n);
            bpt_free(made.items);
        }
}

static uint64_t count_of(const bpt_nodes_t *nodes, uint32_t first, uint32_t end, uint32_t label) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < nodes->count; ++i)
        count += nodes->items[i].first == first && nodes->items[i].end == end && nodes->items[i].label == label;
    return count;
}

// Over words of one to four tokens: every node over the words is one over their tokens, every word of several tokens has one more.
static void words_of_several_tokens_have_nodes_over_them(void **state) {
    (void)state;
    enum { MOST = 30 };
    const bpt_range_t where = bpt_range_of("x.en", "", 0);
    for (uint32_t n = 1; n <= MOST; ++n)
        for (int form = BPT_TREES_BALANCED; form <= BPT_TREES_FLAT; ++form) {
            bpt_nodes_t words = {0}, tokens = {0};
            uint32_t first[MOST + 1] = {0}, labels[MOST], split = 0;
            for (uint32_t i = 0; i < n; ++i) {
                const uint32_t pieces = 1 + (i * 2654435761u + n) % 7 % 4;
                first[i + 1] = first[i] + pieces, labels[i] = 100 + i, split += n > 1 && pieces > 1;
            }
            assert_ok(bpt_trees_make((bpt_trees_t)form, n, &words));
            for (uint64_t i = 0; i < words.count; ++i) words.items[i].label = (uint32_t)i;
            assert_ok(bpt_trees_split_words(&where, &words, first, labels, &tokens));
            assert_int_equal(tokens.count, words.count + split);
            for (uint64_t i = 0; i < words.count; ++i)
                assert_int_equal(count_of(&tokens, first[words.items[i].first], first[words.items[i].end], (uint32_t)i), 1);
            for (uint32_t i = 0; i < n; ++i)
                assert_int_equal(count_of(&tokens, first[i], first[i + 1], labels[i]), n > 1 && first[i + 1] - first[i] > 1);
            check_links(&tokens, first[n]);
            first[n] = first[n - 1];
            assert_fails(bpt_trees_split_words(&where, &words, first, NULL, &tokens), BPT_ERR_INPUT, "x.en: line 1: word");
            bpt_free(words.items);
            bpt_free(tokens.items);
        }
}

// What the nodes of a batch begin with: their labels where trees are read, nothing where these are made, one symbol where labels are not
// read.
static void check_symbols(const bpt_examples_t *e, const bpt_labels_t *labels, bpt_trees_t form) {
    static const char *const names[] = {"JJ", "NP", "S"};  // of the first text: the word of several tokens, then the phrases
    bpt_batch_source_t *source;
    bpt_batch_t b;
    bool end;
    assert_ok(bpt_examples_eval_source(e, &(bpt_batching_t){.batch_tokens = 256}, &source));
    assert_ok(source->next(source, &b, &end));
    const uint32_t *symbols = b.side[0].node_labels + (b.side[0].node_start[0] - b.shape.side[0].rows), first = b.sequences[0];
    const uint64_t count = e->trees.offsets[first + 1] - e->trees.offsets[first];
    for (uint64_t i = 0; i < count; ++i) {
        if (form == BPT_TREES_FLAT) assert_int_equal(symbols[i], 0);
        if (form == BPT_TREES_BALANCED || form == BPT_TREES_RIGHT) assert_int_equal(symbols[i], BPT_PLACEHOLDER);
        if (form == BPT_TREES_FILE) assert_int_equal(symbols[i], e->trees.nodes.items[e->trees.offsets[first] + i].label);
    }
    for (uint64_t i = 0, k = 0; form == BPT_TREES_FILE && i < e->trees.offsets[1]; ++i) {
        const char *name = labels->name[e->trees.nodes.items[i].label];
        if (strcmp(name, "DT") != 0 && strcmp(name, "NN") != 0) assert_string_equal(name, names[k++]);
    }
    source->destroy(source);
}

// Trees over texts that are translated, in subwords: no node cuts a word, whether trees are read or made.
static void trees_beside_subwords_are_over_words(void **state) {
    (void)state;
    static const char text[] = "the extraordinary cat\nunbelievable\nthe cat sat\n",
                      trees[] =
                          "(S (NP (DT the) (JJ extraordinary)) (NN cat))\n(S (JJ unbelievable))\n(S (NP (DT the) (NN cat)) (VB sat))\n";
    const bpt_parallel_t pair = {.text = {bpt_range_of("x.en", text, strlen(text)), bpt_range_of("x.de", text, strlen(text))},
                                 .trees = bpt_range_of("x.ptb", trees, strlen(trees))};
    bpt_vocab_t *v;
    bpt_labels_t labels = {0};
    if (!bpt_sentencepiece_there) skip();
    assert_ok(bpt_vocab_create(BPT_UNIT_SUBWORD, false, &v));
    bpt_vocab_want_subwords(v, BPT_SUBWORD_BPE, 27);
    assert_ok(bpt_parallel_scan(&pair, (bpt_vocab_t *[]){v, NULL}, &labels));
    assert_ok(bpt_vocab_freeze(v));
    bpt_labels_freeze(&labels);
    assert_int_equal(labels.count, 6);  // DT JJ NN NP S VB
    for (int form = BPT_TREES_FILE; form <= BPT_TREES_FLAT; ++form) {
        const bpt_parallel_options_t o = {.trees = true, .made = (bpt_trees_t)form, .labels = form == BPT_TREES_FLAT ? NULL : &labels};
        bpt_examples_t e;
        assert_ok(bpt_parallel_read(&pair, &o, (const bpt_vocab_t *[]){v, v}, &e));
        for (uint64_t t = 0; t < e.count; ++t) {
            const uint32_t *tokens = e.tokens + e.offsets[t], n = (uint32_t)(e.offsets[t + 1] - e.offsets[t]);
            uint32_t words = 0, split = 0;
            for (uint32_t i = 0, pieces = 0; i < n; ++i) {
                const bool starts = starts_word(v, tokens[i]), ends = i + 1 == n || starts_word(v, tokens[i + 1]);
                pieces = starts ? 1 : pieces + 1;
                words += starts, split += ends && pieces > 1;
            }
            const uint64_t from = e.trees.offsets[t], nodes = e.trees.offsets[t + 1] - from,
                           over_words = form == BPT_TREES_FLAT ? 1 : words - 1;
            assert_int_equal(words, t == 1 ? 1 : 3);
            assert_int_equal(nodes, words == 1 ? 1 : over_words + split);
            for (uint64_t i = from; i < from + nodes; ++i) {
                const bpt_example_node_t *node = &e.trees.nodes.items[i];
                assert_true(starts_word(v, tokens[node->first]) && (node->end == n || starts_word(v, tokens[node->end])));
            }
        }
        check_symbols(&e, &labels, (bpt_trees_t)form);
        bpt_examples_free(&e);
    }
    bpt_labels_free(&labels);
    bpt_vocab_destroy(v);
}

// Links of such a tree would be written beyond those of its text.
static void a_tree_over_more_tokens_than_its_text_has_is_refused(void **state) {
    (void)state;
    static const bpt_examples_options_t o = {TREES};
    const bpt_batching_t batching = {.batch_tokens = 64, .packed = true};
    set_t s;
    bpt_batch_source_t *source;
    assert_ok(read_all("(1 (0 a) (2 (0 b) c))\n(2 d)\n", &o, &s));
    s.examples.trees.nodes.items[1].end = 4;
    assert_fails(bpt_examples_eval_source(&s.examples, &batching, &source), BPT_ERR_INPUT, "is over tokens 1 to 4, its text has 3");
    free_set(&s);
}

// All that a batch says of its trees, for two examples in a packed micro-batch.
static void batches_have_links_and_labels(void **state) {
    (void)state;
    static const bpt_examples_options_t o = {TREES, .vertex_labels = true};
    const bpt_batching_t batching = {.batch_tokens = 64, .packed = true, .vertices = true};
    set_t s;
    bpt_batch_source_t *source;
    bpt_batch_t batch;
    bool end;
    assert_ok(read_all("(1 (0 a) (2 (0 b) c))\n(2 d)\n", &o, &s));
    assert_ok(bpt_examples_eval_source(&s.examples, &batching, &source));
    assert_ok(source->next(source, &batch, &end));
    const bpt_side_t *side = &batch.side[0];
    const int64_t rows = batch.shape.side[0].rows;
    assert_true(rows >= 4 && batch.shape.side[0].nodes >= 3 && batch.shape.side[0].nodes <= rows && batch.shape.side[0].node_slots >= 2);
    assert_true(source->shapes[0].side[0].rows >= rows && source->shapes[0].side[0].nodes >= batch.shape.side[0].nodes);
    const uint32_t first = side->node_start[0], labels[] = {0, 0, BPT_PLACEHOLDER, 2}, of_nodes[] = {2, 1, 2};
    assert_true(first == rows && side->node_counts[0] == 2 && side->node_start[1] == rows + 2 && side->node_counts[1] == 1);
    const uint32_t parents[] = {first + 1, first, first, first + 2}, above[] = {first + 1, BPT_PLACEHOLDER, BPT_PLACEHOLDER};
    for (int i = 0; i < 4; ++i) assert_true(side->links[3 * i] == parents[i] && side->vertex_labels[i] == labels[i]);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_true(side->links[3 * (first + i)] == above[i] && side->vertex_labels[first + i] == of_nodes[i]);
        assert_int_equal(side->node_labels[i], 0);
    }
    assert_int_equal(batch.n_scored, 6);  // all but c
    source->destroy(source);
    free_set(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets_become_nodes),
        cmocka_unit_test(bad_trees_are_refused_with_line_and_column),
        cmocka_unit_test(links_are_those_of_the_smallest_node_above),
        cmocka_unit_test(words_of_several_tokens_have_nodes_over_them),
        cmocka_unit_test(trees_beside_subwords_are_over_words),
        cmocka_unit_test(a_tree_over_more_tokens_than_its_text_has_is_refused),
        cmocka_unit_test(batches_have_links_and_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
