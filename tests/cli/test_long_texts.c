// Texts that are longer than a model's positions, or take very long: the lines before one are answered, the error names it, and nothing
// else is lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/process.h"

#define SMALL "--layers 1 --d-model 8 --heads 2 --steps 1 --batch-tokens 64 --backend ref --quiet "
#define MORE "positions; give fewer, or train with a larger --max-positions"

// A path that outlives the ring of test_path.
static char kept[3][512];
static const char *keep(int place, const char *path) {
    snprintf(kept[place], sizeof kept[place], "%s", path);
    return kept[place];
}

static void write_in(const char *folder, const char *name, const char *text) {
    mkdir(test_path("%s", folder), 0755);
    test_write_file(test_path("%s/%s", folder, name), text, strlen(text));
}

// The command ends with status 1, this output and an error that has these parts.
static void assert_stops(const char *out, const char *where, const char *says, const char *command) {
    test_process_t p = test_run_line(command);
    if (p.exit_status != 1 || strcmp(p.out, out) || !strstr(p.err, where) || !strstr(p.err, says))
        fail_msg("bpt %s: exit %d, stdout '%s', stderr '%s'", command, p.exit_status, p.out, p.err);
    test_process_free(&p);
}

// What the program says of the lines alone, when they are given without the long one.
static char *answers_to(const char *command, const char *run, const char *lines) {
    test_process_t p = test_run_to(0, "%s %s %s --backend ref --quiet", command, run, test_file("before.txt", lines));
    char *out = strdup(p.out);
    assert_non_null(out);
    test_process_free(&p);
    return out;
}

static void assert_answers_come_first(const char *command, const char *run, const char *before, const char *long_line, const char *says) {
    char all[512], line[1024];
    char *wanted = answers_to(command, run, before);
    assert_true(strlen(wanted) > 0);
    snprintf(all, sizeof all, "%s%s\nx\n", before, long_line);
    snprintf(line, sizeof line, "%s %s %s --backend ref --quiet", command, run, test_file("lines.txt", all));
    assert_stops(wanted, "lines.txt: line 3: ", says, line);
    free(wanted);
}

static const char texts[] = "p\tx y\nq\ty\np\tx\nq\ty y\np\tx x\nq\ty\n";

static void a_classifier_answers_the_lines_before(void **state) {
    (void)state;
    static const char *const models[] = {"star", "transformer", "bpt --positions absolute", "segtree --positions absolute",
                                         "tree --trees right --positions absolute"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        const char *run = test_path("classify-%zu", i), *data = test_file("texts.tsv", texts);
        test_succeed("train --task classify --model %s --data %s --out %s " SMALL, models[i], data, run);
        assert_answers_come_first("classify", run, "x y\ny\n", "x y x", "3 tokens are more than the model's 2 " MORE);
        test_refused(1, "longer.tsv: line 2: 3 tokens are more than the model's 2 " MORE, "eval %s --data %s --backend ref --quiet", run,
                     test_file("longer.tsv", "p\tx\nq\ty x y\n"));
    }
}

// Positions that have no end take a text of any length.
static void a_classifier_without_a_last_position_reads_any_length(void **state) {
    (void)state;
    static const char *const models[] = {
        "star --positions none", "transformer --positions sinusoidal", "transformer --positions relative", "bpt", "segtree",
        "tree --trees right"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        const char *run = test_path("any-%zu", i), *data = test_file("texts.tsv", texts);
        test_succeed("train --task classify --model %s --data %s --out %s " SMALL, models[i], data, run);
        test_succeed("classify %s %s --backend ref --quiet", run, test_file("lines.txt", "x\nx y x y x y x y x y x y x y x y x y x y\n"));
    }
}

static void a_text_that_is_cut_is_not_too_long(void **state) {
    (void)state;
    const char *run = test_path("cut");
    test_succeed("train --task classify --model star --truncate 2 --data %s --out %s " SMALL, test_file("texts.tsv", texts), run);
    test_succeed("classify %s %s --backend ref --quiet", run, test_file("lines.txt", "x y x y\n"));
}

static void a_classifier_of_pairs_answers_the_lines_before(void **state) {
    (void)state;
    const char *run = test_path("pairs"), *data = test_file("pairs.tsv", "p\tx y\ty\nq\ty\tx x\np\tx\tx\nq\ty y\tx\n");
    test_succeed("train --task pair --model star --d-mlp 4 --data %s --out %s " SMALL, data, run);
    assert_answers_come_first("classify", run, "x\ty y\ny\tx\n", "x\ty x y", "3 tokens are more than the model's 2 " MORE);
}

static void a_tagger_answers_the_lines_before(void **state) {
    (void)state;
    const char *run = keep(0, test_path("tags"));
    write_in("tagged", "train.txt", "x A\ny B\n\ny B\n\n");
    write_in("tagged", "valid.txt", "x A\n\n");
    write_in("tagged", "test.txt", "x A\n\ny B\nx A\nx A\n\n");
    test_refused(1, "test.txt: line 3: 3 tokens are more than the model's 2 " MORE,
                 "train --task tag --model star --max-positions 2 --data %s --out %s " SMALL, test_path("tagged"), run);
    write_in("tagged", "test.txt", "x A\n\n");
    test_succeed("train --task tag --model star --data %s --out %s " SMALL, test_path("tagged"), run);
    assert_answers_come_first("tag", run, "x y\ny\n", "x y x", "3 tokens are more than the model's 2 " MORE);
}

static void placeholders_take_positions(void **state) {
    (void)state;
    const char *run = test_path("shifted"), *data = test_file("texts.tsv", texts);
    test_succeed("train --task classify --model star --max-positions 5 --data %s --out %s " SMALL, data, run);
    test_succeed("eval %s --data %s --shift 0,3 --backend ref --quiet", run, data);
    test_refused(1, "texts.tsv: line 1: 2 tokens and 4 for placeholders are more than the model's 5 " MORE,
                 "eval %s --data %s --shift 4 --backend ref --quiet", run, data);
    test_refused(1, "texts.tsv: line 1: 2 tokens and 9 for placeholders", "eval %s --data %s --shift 9 --backend ref --quiet", run, data);
}

static void vectors_without_lines_are_counted(void **state) {
    (void)state;
    test_refused(
        1, "summation: example 1: 6 vectors are more than the model's 5 " MORE,
        "train --task regress --model star --data summation --n 6 --sum 2 --d-input 3 --examples 30 --max-positions 5 --out %s " SMALL,
        test_path("sums"));
}

static void a_language_model_goes_on_with_the_lines_before(void **state) {
    (void)state;
    const char *run = test_path("lm"), *prompts = test_file("prompts.txt", "ab\n\nabcdefghijklm\nab\n");
    char text[400] = "", line[1024];
    for (int i = 0; i < 30; ++i) strcat(text, "ab bc cd\n");
    test_succeed("train --unit byte --model transformer --positions absolute --context 16 --data %s --out %s " SMALL,
                 test_file("book.txt", text), run);
    test_process_t p =
        test_run_to(0, "generate %s --prompts %s --max-tokens 4 --backend ref --quiet", run, test_file("fits.txt", "ab\n\n"));
    snprintf(line, sizeof line, "generate %s --prompts %s --max-tokens 4 --backend ref --quiet", run, prompts);
    assert_stops(p.out, "prompts.txt: line 3: 13 tokens and 4 for --max-tokens are more than the model's 16 ", MORE, line);
    test_process_free(&p);
    test_refused(1, "--prompt: line 1: 2 tokens and 15 for --max-tokens", "generate %s --prompt ab --max-tokens 15 --backend ref", run);
    test_refused(2, "--eval-context 32 is more than the model's 16 positions", "eval %s --data %s --eval-context 32 --backend ref --quiet",
                 run, test_file("book.txt", text));
}

static void write_pair_files(void) {
    static const char *const parts[] = {"train", "valid", "test"};
    for (int i = 0; i < 3; ++i) {
        char name[32];
        snprintf(name, sizeof name, "%s.en", parts[i]);
        write_in("pair", name, "x y\ny x\n");
        snprintf(name, sizeof name, "%s.de", parts[i]);
        write_in("pair", name, "u v\nv u\n");
    }
}

static void a_translator_answers_the_lines_before(void **state) {
    (void)state;
    const char *data = keep(1, test_path("pair"));
    for (int context = 0; context <= 6; context += 6) {
        const char *run = keep(0, test_path("translator-%d", context));
        write_pair_files();
        test_succeed("train --task translate --model transformer --positions absolute --max-positions 12 --data %s --source en --target de "
                     "--context-tokens %d --out %s " SMALL,
                     data, context, run);
        assert_answers_come_first("translate --beam 1 --max-length-a 0 --max-length-b 2", run, "x\ny\n", "x y x y x y x y x y x y",
                                  context ? "13 tokens and 4 for the lines before it are" : "13 tokens are more than the model's 12 " MORE);
        write_in("pair", "test.en", "x\nx y\n");
        write_in("pair", "test.de", "u\nu v u v u v u v u v u v\n");
        test_refused(1,
                     context ? "test.de: line 2: 13 tokens and 2 for the lines before it are" : "test.de: line 2: 13 tokens are more than",
                     "eval %s --data %s --backend ref --quiet", run, data);
    }
}

// What the model says of a document fills its positions: the lines before are answered, with their scores.
static void a_translator_answers_what_its_positions_have_room_for(void **state) {
    (void)state;
    static const char *const kinds[] = {"transformer", "bpt", "segtree"};
    const char *data = keep(1, test_path("pair"));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        const char *run = keep(0, test_path("document-%zu", i)), *scores = keep(2, test_path("scores-%zu", i));
        char line[2048], *wanted;
        write_pair_files();
        test_succeed("train --task translate --model %s --positions absolute --max-positions 12 --data %s --source en --target de "
                     "--context-tokens 24 --out %s " SMALL,
                     kinds[i], data, run);
        // Positions for four translations of three tokens and the end's or the opening sign's.
        static const char says[] = "--beam 4 --length-penalty 100 --max-length-a 0 --max-length-b 4 --backend ref --quiet";
        test_process_t p = test_run_to(0, "translate %s %s %s", run, test_file("whole.txt", "x\n\ny\nx\n"), says);
        wanted = strdup(p.out);
        test_process_free(&p);
        snprintf(line, sizeof line, "translate %s %s --scores-out %s %s", run, test_file("lines.txt", "x\n\ny\nx\ny\nx\ny\nx\n"), scores,
                 says);
        p = test_run_line(line);
        int lines = 0, blank = 0, of_scores = 0;
        for (const char *at = p.out; *at; ++at) lines += *at == '\n';
        if (p.exit_status != 1 || lines < 4 || lines > 7 || strncmp(p.out, wanted, strlen(wanted)))
            fail_msg("%s: exit %d, stdout '%s', stderr '%s'", kinds[i], p.exit_status, p.out, p.err);
        char where[128];
        snprintf(where, sizeof where, "lines.txt: line %d: the translations of the document's sentences before it fill the 12", lines + 1);
        if (!strstr(p.err, where)) fail_msg("'%s' is not in '%s'", where, p.err);
        char *score = test_read_file(scores, NULL);
        for (const char *at = score; *at; ++at) of_scores += *at == '\n', blank += *at == '\n' && (at == score || at[-1] == '\n');
        assert_int_equal(of_scores, lines);
        assert_int_equal(blank, 1);
        test_process_free(&p);
        free(score), free(wanted);
    }
}

// A line of so many words.
static const char *write_words(const char *name, int count) {
    char *text = calloc((size_t)count + 3, 4);
    assert_non_null(text);
    strcpy(text, "x y\ny\n");
    size_t at = strlen(text);
    for (int i = 0; i < count; ++i, at += 2) memcpy(text + at, i % 3 ? "x " : "y ", 2);
    text[at] = '\n';
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static void a_text_that_takes_too_long_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int refused;
    } cases[] = {{"transformer --positions sinusoidal", 1}, {"tree --trees balanced", 1}, {"bpt", 0}, {"segtree", 0}};
    const char *data = keep(0, test_file("texts.tsv", texts)), *words = keep(1, write_words("words.txt", 16385));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *run = test_path("long-%zu", i);
        test_succeed("train --task classify --model %s --data %s --out %s " SMALL, cases[i].model, data, run);
        test_process_t p = test_run_to(cases[i].refused, "classify %s %s --backend cpu --quiet", run, words);
        if (cases[i].refused && !strstr(p.err, "words.txt: line 3: 16385 tokens are more than --longest 16384; give fewer, or a larger"))
            fail_msg("%s", p.err);
        assert_int_equal(p.out_length > 0 && p.out[p.out_length - 1] == '\n', 1);  // the lines before
        test_process_free(&p);
        test_refused(1, "line 1: 2 tokens are more than --longest 1;", "classify %s %s --longest 1 --backend ref --quiet", run, words);
    }
    test_succeed("classify %s %s --longest 0 --backend cpu --quiet", test_path("long-0"), words);
}

static void a_prompt_that_takes_too_long_is_refused(void **state) {
    (void)state;
    char text[400] = "";
    for (int i = 0; i < 30; ++i) strcat(text, "x y x y\n");
    const char *data = keep(0, test_file("book.txt", text)), *words = keep(1, write_words("words.txt", 10000));
    const char *run = test_path("dense-lm"), *linear = test_path("linear-lm");
    test_succeed("train --model transformer --positions sinusoidal --context 16 --data %s --out %s " SMALL, data, run);
    test_refused(1, "words.txt: line 3: 20000 tokens are more than --longest 16384",
                 "generate %s --prompts %s --max-tokens 1 --backend cpu --quiet", run, words);
    test_refused(1, "--prompt: line 1: 3 tokens are more than --longest 2", "generate %s --prompt abc --longest 2 --backend cpu --quiet",
                 run);
    test_succeed("train --model bpt --context 16 --data %s --out %s " SMALL, data, linear);
    test_succeed("generate %s --prompts %s --max-tokens 1 --backend cpu --quiet", linear, words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_classifier_answers_the_lines_before),   cmocka_unit_test(a_classifier_without_a_last_position_reads_any_length),
        cmocka_unit_test(a_text_that_is_cut_is_not_too_long),      cmocka_unit_test(a_classifier_of_pairs_answers_the_lines_before),
        cmocka_unit_test(a_tagger_answers_the_lines_before),       cmocka_unit_test(placeholders_take_positions),
        cmocka_unit_test(vectors_without_lines_are_counted),       cmocka_unit_test(a_language_model_goes_on_with_the_lines_before),
        cmocka_unit_test(a_translator_answers_the_lines_before),   cmocka_unit_test(a_text_that_takes_too_long_is_refused),
        cmocka_unit_test(a_prompt_that_takes_too_long_is_refused), cmocka_unit_test(a_translator_answers_what_its_positions_have_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
