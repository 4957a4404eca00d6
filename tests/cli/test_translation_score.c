// `bpt train --best-by bleu`: in every evaluation the BLEU that `bpt translate --beam 1` and `bpt bleu` give for the same checkpoint and
// the same lines; `best` is the highest; a resumed run has the same numbers; what cannot be scored is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs the headers above first.
#include <cmocka.h>
#include <jansson.h>

#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"

#define ON "--backend cpu --threads 1 --quiet"
#define TRAIN                                                                                                         \
    "train --task translate --model transformer --data %s --source en --target de --layers 1 --d-model 32 --heads 2 " \
    "--d-ff 64 --batch-examples 40 --lr 0.005 --warmup 20 --steps 60 --eval-every 20 --save-every 20 --keep 9 --best-by bleu " ON " "

enum { SAMPLE = 25 };  // lines, blank ones among them

static char folder[512];

// The other language has other words, in the opposite order. Every sixth sentence ends a document.
static void write_part(const char *part, int first, int count) {
    static const char *const words[] = {"one", "two", "three", "four", "five", "six"}, *const others[] = {"Eins", "zwei",  "drei",
                                                                                                          "vier", "fuenf", "sechs"};
    FILE *source = fopen(test_path("data/%s.en", part), "w"), *target = fopen(test_path("data/%s.de", part), "w");
    assert_true(source && target);
    for (int n = first; n < first + count; ++n) {
        const int length = 1 + n % 5;
        for (int i = 0; i < length; ++i) fprintf(source, "%s ", words[(n / 5 + i * (1 + n % 7)) % 6]);
        for (int i = length; i-- > 0;) fprintf(target, "%s ", others[(n / 5 + i * (1 + n % 7)) % 6]);
        fputs(n % 6 == 5 ? "\n\n" : "\n", source), fputs(n % 6 == 5 ? "\n\n" : "\n", target);
    }
    assert_true(!fclose(source) && !fclose(target));
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    assert_ok(bpt_folder_create(folder));
    write_part("train", 0, 400);
    write_part("valid", 400, 40);
    return 0;
}

// ---- Numbers of a run

// BLEU of the evaluation of each step, by the metrics; returns how many there are.
static int read_scores(const char *run, double *score, int most) {
    char *text = test_read_file(test_path("%s/metrics.jsonl", run), NULL);
    int count = 0;
    assert_non_null(text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *object = json_loads(line, 0, NULL), *bleu = json_object_get(object, "bleu");
        assert_int_equal(bleu != NULL, json_object_get(object, "eval") != NULL);
        if (bleu && count < most) score[count++] = json_real_value(bleu);
        json_decref(object);
    }
    free(text);
    return count;
}

static const char *first_lines(const char *language, int lines) {
    char name[32];
    char *text = test_read_file(test_path("data/valid.%s", language), NULL), *end = text;
    for (int i = 0; i < lines; ++i) end = strchr(end, '\n') + 1;
    *end = 0;
    snprintf(name, sizeof name, "sample.%s", language);
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static double translate_and_score(const char *run, int step) {
    test_process_t p =
        test_run_to(0, "translate %s %s --beam 1 --checkpoint %d " ON, test_path("%s", run), first_lines("en", SAMPLE), step);
    const char *written = test_file("written", p.out);
    test_process_free(&p);
    p = test_run_to(0, "bleu %s --ref %s --json", written, first_lines("de", SAMPLE));
    json_t *object = json_loads(p.out, 0, NULL);
    const double score = json_real_value(json_object_get(object, "score"));
    json_decref(object);
    test_process_free(&p);
    return score;
}

static void compare(const char *run) {
    double score[3];
    int best = 0;
    char link[64] = "";
    assert_int_equal(read_scores(run, score, 3), 3);
    for (int i = 0; i < 3; ++i) {
        const double wanted = translate_and_score(run, 20 * (i + 1));
        if (score[i] != wanted) fail_msg("%s, step %d: BLEU %.12g in the metrics, %.12g by hand", run, 20 * (i + 1), score[i], wanted);
        if (score[i] > score[best]) best = i;
    }
    assert_true(score[best] > 0);
    assert_true(readlink(test_path("%s/best", run), link, sizeof link - 1) > 0);
    char wanted[32];
    snprintf(wanted, sizeof wanted, "step-%d", 20 * (best + 1));
    if (!strstr(link, wanted)) fail_msg("%s: best is %s, not %s", run, link, wanted);
}

// ---- Tests

static void the_score_is_that_of_the_commands(void **state) {
    (void)state;
    test_succeed(TRAIN "--positions sinusoidal --bleu-sample 25 --out %s", folder, test_path("words"));
    compare("words");
}

// As many positions as the longest example has: translations end there.
static void models_with_few_positions_are_scored(void **state) {
    (void)state;
    test_succeed(TRAIN "--positions absolute --bleu-sample 25 --out %s", folder, test_path("absolute"));
    compare("absolute");
}

static void documents_are_scored_with_their_context(void **state) {
    (void)state;
    test_succeed(TRAIN "--model bpt --k 2 --context-tokens 12 --bleu-sample 25 --out %s", folder, test_path("documents"));
    compare("documents");
}

static void trees_are_those_of_the_validation(void **state) {
    (void)state;
    test_succeed(TRAIN "--model tree --trees balanced --bleu-sample 25 --out %s", folder, test_path("trees"));
    compare("trees");
}

static void same_file(const char *run, const char *other, const char *file) {
    size_t a_length, b_length;
    char *a = test_read_file(test_path("%s/%s", run, file), &a_length), *b = test_read_file(test_path("%s/%s", other, file), &b_length);
    assert_true(a && b && a_length == b_length && !memcmp(a, b, a_length));
    free(a), free(b);
}

static void a_resumed_run_is_the_same(void **state) {
    (void)state;
    double a[3], b[3];
    test_succeed(TRAIN "--positions sinusoidal --bleu-sample 25 --stop-at 20 --out %s", folder, test_path("resumed"));
    test_succeed("train --resume --stop-at 60 --out %s " ON, test_path("resumed"));
    same_file("words", "resumed", "latest/model.safetensors");
    same_file("words", "resumed", "latest/optimizer.safetensors");
    assert_int_equal(read_scores("words", a, 3), 3);
    assert_int_equal(read_scores("resumed", b, 3), 3);
    assert_memory_equal(a, b, sizeof a);
    // Scoring leaves training alone.
    test_succeed(TRAIN "--positions sinusoidal --best-by loss --out %s", folder, test_path("loss"));
    same_file("words", "loss", "latest/model.safetensors");
    test_refused(2, "--bleu-sample cannot change", "train --resume --bleu-sample 3 --out %s " ON, test_path("resumed"));
}

// Attention in bf16, as in evaluations of the run.
static void every_precision_is_scored(void **state) {
    (void)state;
    double score[3];
    test_succeed(TRAIN "--positions sinusoidal --precision bf16 --bleu-sample 25 --out %s", folder, test_path("bf16"));
    assert_int_equal(read_scores("bf16", score, 3), 3);
    assert_true(score[2] > 0);
}

static void the_curve_is_drawn(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "plot %s", test_path("words"));
    assert_non_null(strstr(p.out, ">BLEU<"));
    test_process_free(&p);
    p = test_run_to(0, "plot %s", test_path("loss"));
    assert_null(strstr(p.out, ">BLEU<"));
    test_process_free(&p);
}

static void what_cannot_be_scored_is_refused(void **state) {
    (void)state;
    const char *ids = test_file("ids.tsv", "1 2\t2 1\n2 1\t1 2\n1 1\t2 2\n2 2\t1 1\n"), *text = test_file("text.txt", "a b c d e f g h\n");
    test_refused(2, "there are only numbers", "train --task translate --unit ids --data %s --best-by bleu --steps 1 --out %s " ON, ids,
                 test_path("no"));
    test_refused(2, "task lm is not measured by bleu", "train --data %s --best-by bleu --steps 1 --context 4 --out %s " ON, text,
                 test_path("no"));
    test_refused(2, "--bleu-sample", "train --data %s --bleu-sample 4 --steps 1 --context 4 --out %s " ON, text, test_path("no"));
    test_refused(2, "--bleu-sample", TRAIN "--bleu-sample 0 --out %s", folder, test_path("no"));
}

// A model that has learned nothing yet writes much more than its positions hold: training goes on, and says how many lines count as empty.
static void translations_that_find_no_room_are_empty(void **state) {
    (void)state;
    static const char *const files[] = {"train.en", "valid.en", "test.en", "train.de", "valid.de", "test.de"};
    char data[512];
    int told = 0;
    snprintf(data, sizeof data, "%s", test_path("narrow"));
    assert_ok(bpt_folder_create(data));
    for (int i = 0; i < 6; ++i)
        test_write_file(test_path("narrow/%s", files[i]), i < 3 ? "x\nx\nx\nx\nx\nx\n\nx\n" : "u\nu\nu\nu\nu\nu\n\nu\n", 15);
    for (int seed = 1; seed <= 8; ++seed) {
        test_process_t p = test_run_to(0,
                                       "train --task translate --model transformer --positions absolute --max-positions 13 --data %s "
                                       "--source en --target de --context-tokens 24 --layers 1 --d-model 8 --heads 2 --steps 4 "
                                       "--eval-every 1 --batch-tokens 64 --best-by bleu --seed %d --backend ref --out %s --quiet",
                                       data, seed, test_path("narrow-%d", seed));
        told += strstr(p.err, "of 8 lines find no room in the model's positions") != NULL;
        test_process_free(&p);
    }
    assert_in_range(told, 1, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_score_is_that_of_the_commands),
        cmocka_unit_test(models_with_few_positions_are_scored),
        cmocka_unit_test(documents_are_scored_with_their_context),
        cmocka_unit_test(translations_that_find_no_room_are_empty),
        cmocka_unit_test(trees_are_those_of_the_validation),
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(every_precision_is_scored),
        cmocka_unit_test(the_curve_is_drawn),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
