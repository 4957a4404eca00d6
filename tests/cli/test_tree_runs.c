// Trees in brackets through the program: labels as they are written, trees over several lines in every command, a run that goes on with
// other brackets.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/process.h"
#include "support/scratch.h"

#define ON "--backend ref --quiet"
#define SMALL "--layers 1 --d-model 8 --heads 2 --batch-examples 8 --lr 0.02 --warmup 1 --steps 6 --seed 3 " ON
#define CLASSIFY "train --task classify --cut in-order " SMALL " "
#define TRANSLATE "train --task translate --model tree --source en --target de " SMALL " "

static void save(const char *name, const char *text) { test_write_file(test_path("%s", name), text, strlen(text)); }

static void expect_file(const char *name, const char *wanted) {
    char *text = test_read_file(test_path("%s", name), NULL);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
}

static void expect_same(const char *one, const char *other) {
    size_t a, b;
    char *first = test_read_file(test_path("%s/latest/model.safetensors", one), &a),
         *second = test_read_file(test_path("%s/latest/model.safetensors", other), &b);
    assert_true(a == b && !memcmp(first, second, a));
    free(first), free(second);
}

// What a command prints.
static char *said(const char *format, ...) BPT_PRINTF(1, 2);
static char *said(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    test_process_t p = test_run_to(0, "%s", line);
    char *out = p.out;
    p.out = NULL;
    test_process_free(&p);
    return out;
}

// ---- Trees of classes

enum { TREES = 40 };

typedef struct {
    const char *break_line;  // between brackets
    const char *open, *close;
    const char *labels[3], *inner;
} form_t;

static const form_t plain = {" ", "", "", {"1", "0", "2"}, "3"};

static const char *write_trees(const char *name, form_t f) {
    static const char *const adjectives[] = {"fine", "dull", "long"};
    static char text[TREES * 200];
    size_t used = 0;
    for (int i = 0; i < TREES; ++i) {
        const char *label = f.labels[i % 3];
        used += (size_t)sprintf(text + used, "%s(%s (%s a)%s(%s (%s %s)%s(%s film%d)))%s\n", f.open, label, f.inner, f.break_line, f.inner,
                                label, adjectives[i % 3], f.break_line, f.inner, i % 4, f.close);
    }
    save(name, text);
    return test_path("%s", name);
}

static void classes_are_labels_as_they_are_written(void **state) {
    (void)state;
    static const struct {
        const char *options, *labels;
    } cases[] = {
        {"--model tree", "very-bad\nvery-good\nx=1\n"},
        {"--model star", "very-bad\nvery-good\nx=1\n"},
        {"--model tree --subtrees", "-n-\nvery-bad\nvery-good\nx=1\n"},
        {"--model star --subtrees", "-n-\nvery-bad\nvery-good\nx=1\n"},
        {"--model tree --vertex-loss all", "-n-\nvery-bad\nvery-good\nx=1\n"},
        {"--model tree --trees balanced", "very-bad\nvery-good\nx=1\n"},
        {"--model tree --function-tags cut", "very\nx\n"},
        {"--model tree --vertex-loss all --function-tags cut", "-n-\nvery\nx\n"},
    };
    form_t f = {" ", "", "", {"very-good", "very-bad", "x=1"}, "-n-"};
    char data[512];
    snprintf(data, sizeof data, "%s", write_trees("hyphens.ptb", f));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        test_succeed(CLASSIFY "%s --data %s --out %s", cases[i].options, data, test_path("hyphens-%zu", i));
        char name[64];
        snprintf(name, sizeof name, "hyphens-%zu/labels.txt", i);
        expect_file(name, cases[i].labels);
        test_succeed("eval %s --data %s " ON, test_path("hyphens-%zu", i), data);
        test_succeed("train --resume --out %s --stop-at 8 --steps 8 " ON, test_path("hyphens-%zu", i));
        // Neither the file nor the run that is made of it says how labels were read.
        test_succeed("export %s --out %s --quiet", test_path("hyphens-%zu", i), test_path("hyphens-%zu.safetensors", i));
        test_succeed("import %s --out %s " ON, test_path("hyphens-%zu.safetensors", i), test_path("imported-%zu", i));
        test_succeed("eval %s --data %s " ON, test_path("imported-%zu", i), data);
    }
    // A class that only the test part has is no other class that it begins with.
    f.labels[0] = "very";
    test_succeed(CLASSIFY "--model tree --data %s --out %s", write_trees("very.ptb", f), test_path("very"));
    save("unseen.ptb", "(very-good (-n- a) (-n- film1))\n");
    test_succeed("eval %s --data %s " ON, test_path("hyphens-0"), test_path("unseen.ptb"));
    save("unseen.ptb", "(very-odd (-n- a) (-n- film1))\n");
    test_process_t p = test_run_to(0, "eval %s --data %s " ON, test_path("very"), test_path("unseen.ptb"));
    assert_non_null(strstr(p.err, "label 'very-odd' is not one of the 3 that the model knows"));
    test_process_free(&p);
}

// ---- Trees over several lines

// The same trees in other lines: as Stanford's tools print them, as NLTK does, with blank lines, each word in a line of its own.
static const form_t wrapped[] = {
    {"\n  ", "", "", {"1", "0", "2"}, "3"}, {"\r\n\t", "", "", {"1", "0", "2"}, "3"},     {"\n", "(ROOT\n  ", ")", {"1", "0", "2"}, "3"},
    {" ", "", "\n", {"1", "0", "2"}, "3"},  {" ", "(ROOT ", "\n)", {"1", "0", "2"}, "3"},
};
enum { WRAPPED = sizeof wrapped / sizeof *wrapped };

static void drop_answers_to_empty_lines(char *answers) {
    static const char empty[] = "{\"label\": null}\n";
    for (char *at; (at = strstr(answers, empty));) memmove(at, at + strlen(empty), strlen(at + strlen(empty)) + 1);
}

static void classifiers_read_the_same_from_any_lines(void **state) {
    (void)state;
    static const char *const models[] = {"--model tree",
                                         "--model star",
                                         "--model tree --subtrees",
                                         "--model transformer --subtrees",
                                         "--model tree --trees right",
                                         "--model tree --vertex-loss all"};
    write_trees("lines.ptb", plain);
    for (int form = 0; form < WRAPPED; ++form) write_trees((char[]){'w', (char)('0' + form), 0}, wrapped[form]);
    for (size_t m = 0; m < sizeof models / sizeof *models; ++m) {
        char one[64];
        snprintf(one, sizeof one, "lines-%zu", m);
        test_succeed("train --task classify " SMALL " %s --data %s --out %s", models[m], test_path("lines.ptb"), test_path("%s", one));
        char *wanted = said("classify %s %s --json " ON, test_path("%s", one), test_path("lines.ptb"));
        for (int form = 0; form < WRAPPED; ++form) {
            char other[64];
            snprintf(other, sizeof other, "wrapped-%zu-%d", m, form);
            test_succeed("train --task classify " SMALL " %s --data %s --out %s", models[m], test_path("w%d", form),
                         test_path("%s", other));
            expect_same(one, other);
            char *got = said("classify %s %s --json " ON, test_path("%s", one), test_path("w%d", form));
            drop_answers_to_empty_lines(got);
            assert_string_equal(wanted, got);
            free(got);
            test_succeed("eval %s --data %s " ON, test_path("%s", one), test_path("w%d", form));
        }
        free(wanted);
    }
}

// A cut between lines moves behind the tree that it is in.
static void a_file_in_order_is_cut_between_trees(void **state) {
    (void)state;
    for (int form = 0; form < WRAPPED; ++form) {
        test_succeed(CLASSIFY "--model tree --data %s --out %s", test_path("w%d", form), test_path("in-order-%d", form));
        test_succeed("eval %s --split test " ON, test_path("in-order-%d", form));
        test_succeed(CLASSIFY "--model star --data %s --out %s", test_path("w%d", form), test_path("in-order-star-%d", form));
    }
    // As before where trees have a line each: 36, 2 and 2 of 40.
    test_succeed(CLASSIFY "--model tree --data %s --out %s", test_path("lines.ptb"), test_path("in-order"));
    char *said_of_it = said("eval %s --split test --json " ON, test_path("in-order"));
    assert_non_null(strstr(said_of_it, "\"scored\": 2,"));
    free(said_of_it);
}

static void trees_that_cannot_be_read_are_named_by_the_line_where_they_begin(void **state) {
    (void)state;
    static const struct {
        const char *run, *text, *message;
        int answers;
    } cases[] = {
        {"lines-0", "(1 (3 a)\n (3 fine))\n(0 (3 a)\n (3 film1)\n", "line 3, column 1: the brackets of this tree are not closed", 1},
        {"lines-0", "(1 a)\n\n(0 (3 a)\n ())\n(1 a)\n", "line 4, column 2: a bracket without a word", 2},
        {"lines-0", "(1 a) (1 a)\n", "line 1: more than one tree in a line", 0},
        {"lines-0", "(1 a)\n(1 (3 a)\n (3 a)) (1\n a)\n", "line 2: more than one tree in a line", 1},
        {"lines-0", "(1 a)\n)\n", "line 2, column 1: a closing bracket too many", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        save("bad.ptb", cases[i].text);
        test_process_t p = test_run_to(1, "classify %s %s " ON, test_path("%s", cases[i].run), test_path("bad.ptb"));
        int answers = 0;
        for (const char *c = p.out; *c; ++c) answers += *c == '\n';
        if (!strstr(p.err, cases[i].message) || answers != cases[i].answers)
            fail_msg("'%s': %d answers, '%s', wanted '%s'", cases[i].text, answers, p.err, cases[i].message);
        test_process_free(&p);
    }
    save("bad.ptb", "(1 (3 a)\n (3 fine))\n(1 a)\n(0 (3 a)\n (3 film1)\n(2 a)\n");
    test_refused(1, "line 4: brackets are not closed", CLASSIFY "--model star --data %s --out %s", test_path("bad.ptb"), test_path("bad"));
    test_refused(1, "line 4, column 1: the brackets of this tree", CLASSIFY "--model tree --data %s --out %s", test_path("bad.ptb"),
                 test_path("bad"));
    test_refused(1, "line 4", "eval %s --data %s " ON, test_path("lines-1"), test_path("bad.ptb"));
}

// What begins with a bracket is a tree only if it is one as a whole; else each line is a text.
static void texts_that_begin_with_a_bracket_are_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int answers;
    } cases[] = {
        {"(fine\nfilm1\n", 2},
        {"(fine\n\n(3 a)\n", 3},
        {"(fine film1\n:-) a\n", 2},
        {"(fine", 1},
        {"(1\n (3 a)\n (3 fine))\nfine\n", 2},
        {"(1\n (3 a)\n (3 fine)\n", 3},
        {"(a fine film)\n", 1},
        {"(so) a (film1)\n", 1},
    };
    static const char *const runs[] = {"lines-1", "lines-4"};  // star; trees that are made
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); ++i) {
        save("texts.txt", cases[i / 2].text);
        char *out = said("classify %s %s " ON, test_path("%s", runs[i % 2]), test_path("texts.txt"));
        int answers = 0;
        for (const char *c = out; *c; ++c) answers += *c == '\n';
        if (answers != cases[i / 2].answers) fail_msg("'%s': %d answers: '%s'", cases[i / 2].text, answers, out);
        free(out);
    }
}

// ---- Trees beside texts that are translated

static const char *const english[] = {"the dog (sees) it", "a cat sleeps", "go", "the cat sees the dog"},
                         *const german[] = {"der hund sieht es", "eine katze schlaeft", "los", "die katze sieht den hund"},
                         *const trees[] = {"(S (NP-SBJ (DT the) (NN dog))%1$s(VP (V (sees)) (PRP it)))",
                                           "(S (NP (DT a) (NN cat))%1$s(VP sleeps))", "(S%1$s(V go))",
                                           "(S (NP (DT the)%1$s(NN cat)) (VP (V sees) (NP=2 (DT the) (NN dog))))"};

static void write_part(const char *part, const char *kind, const char *break_line, const char *between) {
    static char text[2][8000], brackets[8000], name[128];
    size_t used[3] = {0};
    for (int i = 0; i < 30; ++i) {
        const int which = i % 4 == 0 ? 3 : i % 4;  // the first has brackets in its words
        used[0] += (size_t)sprintf(text[0] + used[0], "%s\n%s", english[which], i == 7 ? "\n" : "");
        used[1] += (size_t)sprintf(text[1] + used[1], "%s\n%s", german[which], i == 7 ? "\n" : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        used[2] += (size_t)sprintf(brackets + used[2], trees[which], break_line);
#pragma GCC diagnostic pop
        used[2] += (size_t)sprintf(brackets + used[2], "\n%s%s", between, i == 7 ? "\n" : "");
    }
    static const char *const endings[] = {"en", "de", "en.ptb"};
    for (int k = 0; k < 3; ++k) {
        snprintf(name, sizeof name, "%s/%s.%s", kind, part, endings[k]);
        save(name, k == 2 ? brackets : text[k]);
    }
}

// Batches of trees side by side.
static void expect_same_on_threads(void) {
    static const char *const ways[] = {"--threads 1 --batch 16", "--threads 2 --batch 16", "--threads 3 --batch 4",
                                       "--threads 2 --batch 1"};
    char *wanted = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        char *got = said("translate %s %s --beam 3 --backend cpu --quiet %s", test_path("of-pair"), test_path("pair/test.en"), ways[i]);
        if (wanted) assert_string_equal(wanted, got);
        free(wanted);
        wanted = got;
    }
    free(wanted);
}

static void translators_read_the_same_from_any_lines(void **state) {
    (void)state;
    static const struct {
        const char *kind, *break_line, *between;
    } forms[] = {{"pair", " ", ""}, {"nltk", "\n  ", ""}, {"stanford", "\n  ", "\n"}, {"spaced", " ", "\n\n"}, {"dos", "\r\n\t", ""}};
    static const char *const parts[] = {"train", "valid", "test"};
    char *wanted = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        assert_int_equal(mkdir(test_path("%s", forms[i].kind), 0777), 0);
        for (int p = 0; p < 3; ++p) write_part(parts[p], forms[i].kind, forms[i].break_line, forms[i].between);
        char run[64];
        snprintf(run, sizeof run, "of-%s", forms[i].kind);
        test_succeed(TRANSLATE "--data %s --out %s", test_path("%s", forms[i].kind), test_path("%s", run));
        expect_same("of-pair", run);
        snprintf(run, sizeof run, "of-%s/labels.txt", forms[i].kind);
        expect_file(run, "NP\nS\nVP\n");  // of phrases: function tags are cut off
        test_succeed("eval %s --data %s " ON, test_path("of-pair"), test_path("%s", forms[i].kind));
        char *got = said("translate %s %s --batch 2 " ON, test_path("of-pair"), test_path("%s/test.en", forms[i].kind));
        if (wanted) assert_string_equal(wanted, got);
        free(wanted);
        wanted = got;
    }
    free(wanted);
    expect_same_on_threads();
    test_succeed("translate %s %s --trees-file %s " ON, test_path("of-pair"), test_path("pair/test.en"), test_path("nltk/test.en.ptb"));
    test_succeed("train --resume --steps 8 --out %s --data %s " ON, test_path("of-pair"), test_path("nltk"));
    test_refused(2, "--function-tags cannot change", "train --resume --steps 9 --function-tags cut --out %s " ON, test_path("of-pair"));
}

static void trees_that_are_not_over_the_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *trees, *message;
    } cases[] = {
        {"go\na cat\n", "(S\n (V go))\n(S (DT a)\n (NN dog))\n", "line 3: word 2 of the tree is 'dog', that of the text 'cat'"},
        {"go\na cat\n", "(S\n (V go))\n(S (DT a)\n (NN cat)\n", "line 3, column 1: the brackets of this tree are not closed"},
        {"go\na cat\n", "(S\n (V go)) (S (DT a)\n (NN cat))\n", "line 2: more than one tree in a line"},
        {"go\na cat\n", "(S\n (V go))\n\n", "line 3: no tree"},
        {"go\na cat\n", "(S\n (V go))\n", "line 2 has no counterpart"},
        {"go\n", "(S\n (V go))\n\n(S\n (V go))\n", "line 4 has no counterpart: the text has 1 lines"},
        {"go\n\ngo\n", "(S (V go))\n(S (V go))\n(S (V go))\n", "line 3 has no counterpart: the text has 3 lines"},
        {"go\n", "go\n", "no tree"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        save("bad.en", cases[i].text);
        save("bad.en.ptb", cases[i].trees);
        test_refused(1, cases[i].message, "translate %s %s " ON, test_path("of-pair"), test_path("bad.en"));
    }
    // A line without words has an empty line, a tree without words, or nothing.
    static const char *const empty[] = {"(S (V go))\n\n(S\n(V go))\n", "(S (V go))\n()\n(S (V go))\n", "(S (V go))\n(ROOT\n)\n(S (V go))\n",
                                        "(S (V go))\n(S (V go))\n"};
    save("bad.en", "go\n\ngo\n");
    for (size_t i = 0; i < sizeof empty / sizeof *empty; ++i) {
        save("bad.en.ptb", empty[i]);
        test_succeed("translate %s %s " ON, test_path("of-pair"), test_path("bad.en"));
    }
}

// ---- Runs that go on

static void a_run_goes_on_with_the_same_brackets_only(void **state) {
    (void)state;
    static const char data[] = "the training data are not those the run was started with";
    static const struct {
        const char *options, *from, *to;  // the first occurrence of `from` becomes `to`
        bool refused;
    } cases[] = {
        {"--model tree", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 (3 a) (1 fine)) (3 film0))", true},
        {"--model tree", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 a) (3 fine) (3 film0))", true},
        {"--model tree", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 a)\n(3 (1 fine) (3 film0)))", false},
        {"--model tree", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 a) (2 (1 fine) (3 film0)))", false},  // nobody reads it
        {"--model tree", "(1 (3 a)", "(0 (3 a)", true},
        {"--model tree --vertex-loss all", "(3 (1 fine) (3 film0))", "(2 (1 fine) (3 film0))", true},
        {"--model tree --vertex-loss all", "(1 fine)", "(0 fine)", true},
        {"--model tree --trees balanced", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 (3 a) (1 fine)) (3 film0))", false},
        {"--model star", "(1 (3 a) (3 (1 fine) (3 film0)))", "(1 (3 (3 a) (1 fine)) (3 film0))", false},
        {"--model star --subtrees", "(1 fine)", "(0 fine)", true},
    };
    assert_true(!mkdir(test_path("same"), 0777) && !mkdir(test_path("other"), 0777));
    char *text = test_read_file(write_trees("same/train.ptb", plain), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char other[TREES * 200];
        const char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
        save("other/train.ptb", other);
        test_succeed("train --task classify " SMALL " %s --data %s --stop-at 3 --out %s", cases[i].options, test_path("same"),
                     test_path("run-same-%zu", i));
        if (cases[i].refused)
            test_refused(2, data, "train --resume --data %s --out %s " ON, test_path("other"), test_path("run-same-%zu", i));
        else
            test_succeed("train --resume --data %s --out %s --stop-at 4 " ON, test_path("other"), test_path("run-same-%zu", i));
        test_succeed("train --resume --data %s --out %s " ON, test_path("same"), test_path("run-same-%zu", i));
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_labels_as_they_are_written),
        cmocka_unit_test(classifiers_read_the_same_from_any_lines),
        cmocka_unit_test(a_file_in_order_is_cut_between_trees),
        cmocka_unit_test(trees_that_cannot_be_read_are_named_by_the_line_where_they_begin),
        cmocka_unit_test(texts_that_begin_with_a_bracket_are_texts),
        cmocka_unit_test(translators_read_the_same_from_any_lines),
        cmocka_unit_test(trees_that_are_not_over_the_texts_are_refused),
        cmocka_unit_test(a_run_goes_on_with_the_same_brackets_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
