// A model that leaves its run by `bpt export` and enters another by `bpt import` reads examples as it was trained to: columns, what is left
// out, what stands before, and which part of a file was for training.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/process.h"

#define ON "--backend ref --quiet"
#define SHAPE "--layers 1 --d-model 8 --heads 2 --steps 3 --lr 0.05 " ON

static const char *repeated(const char *name, const char *lines, int times) {
    char *text = calloc(strlen(lines) * (size_t)times + 1, 1);
    assert_non_null(text);
    for (int i = 0; i < times; ++i) strcat(text, lines);
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static void make_folder(const char *name) {
    char line[700];
    snprintf(line, sizeof line, "mkdir -p %s", test_path("%s", name));
    assert_int_equal(system(line), 0);
}

static void write_parts(const char *folder, const char *ending, const char *lines) {
    static const char *const parts[] = {"train", "valid", "test"};
    char name[200];
    make_folder(folder);
    for (int i = 0; i < 3; ++i) {
        snprintf(name, sizeof name, "%s/%s.%s", folder, parts[i], ending);
        repeated(name, lines, i ? 2 : 8);
    }
}

static int write_data(void **state) {
    (void)state;
    write_parts(
        "tags", "conllu",
        "1\tHe\the\tPRON\tPRP\t_\t_\t_\t_\t_\n2\tpaid\tpay\tVERB\tVBD\t_\t_\t_\t_\t_\n3\t26 000\t26 000\tNUM\tCD\t_\t_\t_\t_\t_\n\n");
    write_parts("columns", "tsv", "text\tkind\tfrom\nit was fun , it was\tgood\ta\nit was dull , really\tbad\ta\nso it was fun\tgood\tb\n");
    write_parts("pairs", "en", "this is good\nit was so\nyes\n\nthat was it\nit was good\n\n");
    write_parts("pairs", "de", "das ist gut\nes war so\nja\n\ndas war es\nes war gut\n\n");
    write_parts("trees", "tsv", "good\tit was such fun\nbad\tit was so dull\n");
    char lines[4000] = "";  // no two alike, so that every cut is another part
    for (int i = 0; i < 100; ++i)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\tit was %d such %d\n", i % 3 ? "good" : "bad", i % 7, i % 11);
    test_file("one.tsv", lines);
    repeated("text.txt", "it was fun and it was dull and so it was such fun that it was not\n", 40);
    return 0;
}

static const struct {
    const char *name, *data, *options, *eval;
} cases[] = {
    {"column of tags", "tags", "--task tag --label-column upos", ""},
    {"columns of texts", "columns", "--task classify --header --label-column 2 --text-column 1", ""},
    {"what is left out", "columns", "--task classify --header --label-column 2 --text-column 1 --strip-punctuation --truncate 3", ""},
    {"lines of a kind", "columns", "--task classify --header --label-column 2 --text-column 1 --where 3=a", ""},
    {"trees", "trees", "--task classify --model tree --trees balanced", ""},
    {"documents", "pairs", "--task translate --source en --target de --context-tokens 8", ""},
    {"part for tests", "one.tsv", "--task classify --seed 5", "--split test"},
    {"order of a file", "one.tsv", "--task classify --cut in-order", "--split test"},
    {"protocol", "text.txt", "--task lm --unit word --context 16 --protocol half", ""},
    {"summation", "summation", "--task regress --model transformer --n 12 --sum 3 --examples 24", ""},
};

static void an_imported_model_reads_as_it_was_trained(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char run[512], file[512], imported[512], data[512], more[1200];
        snprintf(run, sizeof run, "%s", test_path("run-%d", (int)i));
        snprintf(file, sizeof file, "%s", test_path("model-%d.safetensors", (int)i));
        snprintf(imported, sizeof imported, "%s", test_path("imported-%d", (int)i));
        snprintf(data, sizeof data, "%s", strcmp(cases[i].data, "summation") ? test_path("%s", cases[i].data) : cases[i].data);
        snprintf(more, sizeof more, "--data %s --checkpoint latest %s", data, cases[i].eval);
        test_succeed("train --data %s --out %s %s " SHAPE, data, run, cases[i].options);
        test_succeed("export %s --checkpoint latest --out %s --quiet", run, file);
        test_succeed("import %s --out %s --quiet", file, imported);
        static const char *const keys[] = {"loss", "tokens"};
        for (int k = 0; k < 2; ++k) {
            const double before = test_evaluate(run, more, keys[k]), after = test_evaluate(imported, more, keys[k]);
            if (!(before == after)) fail_msg("%s: %s %.9g, imported %.9g", cases[i].name, keys[k], before, after);
        }
    }
}

// What is answered, with --context-tokens, depends on the sentences before.
static void an_imported_translator_answers_as_before(void **state) {
    (void)state;
    char line[2048];
    for (int i = 0; i < 2; ++i) {
        static const char *const runs[] = {"run-5", "imported-5"};
        snprintf(line, sizeof line, "\"$BPT_PROGRAM\" translate %s %s --checkpoint latest " ON " >%s", test_path("%s", runs[i]),
                 test_path("pairs/test.en"), test_path("answers-%d", i));
        assert_int_equal(system(line), 0);
    }
    snprintf(line, sizeof line, "cmp %s %s", test_path("answers-0"), test_path("answers-1"));
    assert_int_equal(system(line), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_imported_model_reads_as_it_was_trained),
        cmocka_unit_test(an_imported_translator_answers_as_before),
    };
    return cmocka_run_group_tests(tests, write_data, NULL);
}
