// `bpt translate`: a small translator that learns a made-up language; lines in order, whatever goes together; what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "support/process.h"

#define ON "--backend cpu --threads 1 --quiet"

static char folder[512], run[512];

// The other language has other words, in the opposite order.
static const char *const words[] = {"one", "two", "three", "four", "five", "six"}, *const others[] = {"eins", "zwei",  "drei",
                                                                                                      "vier", "fuenf", "sechs"};

static int sentence(int number, int out[6]) {
    const int n = 1 + number % 5;
    for (int i = 0; i < n; ++i) out[i] = (number / 5 + i * (1 + number % 7)) % 6;
    return n;
}

static void write_sentence(FILE *source, FILE *target, int number) {
    int word[6];
    const int n = sentence(number, word);
    for (int i = 0; i < n; ++i) fprintf(source, "%s%s", i ? " " : "", words[word[i]]);
    for (int i = 0; i < n; ++i) fprintf(target, "%s%s", i ? " " : "", others[word[n - 1 - i]]);
    fputc('\n', source), fputc('\n', target);
}

static void write_part(const char *part, int first, int count) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s.en", folder, part);
    FILE *source = fopen(path, "w");
    snprintf(path, sizeof path, "%s/%s.de", folder, part);
    FILE *target = fopen(path, "w");
    assert_true(source && target);
    for (int i = first; i < first + count; ++i) write_sentence(source, target, i);
    assert_true(!fclose(source) && !fclose(target));
}

static int train(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    snprintf(run, sizeof run, "%s", test_path("run"));
    char command[700];
    snprintf(command, sizeof command, "mkdir -p %s", folder);
    assert_int_equal(system(command), 0);
    write_part("train", 0, 400);
    write_part("valid", 400, 20);
    write_part("test", 420, 20);
    test_process_t p =
        test_run_to(0,
                    "train --task translate --model transformer --positions sinusoidal --data %s --source en --target de "
                    "--layers 1 --d-model 32 --heads 2 --d-ff 64 --batch-examples 40 --lr 0.005 --warmup 20 --steps 500 "
                    "--save-every 75 --keep 4 --dropout-input 0 --dropout-hidden 0 --dropout-attention 0 --dropout-head 0 --out %s " ON,
                    folder, run);
    test_process_free(&p);
    return 0;
}

static char *translation_of(const char *input, const char *options) {
    test_process_t p = test_run_to(0, "translate %s %s %s " ON, run, input, options);
    char *out = strdup(p.out);
    test_process_free(&p);
    return out;
}

static void it_learns_a_language_and_its_order_of_words(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/test.en", folder);
    char *out = translation_of(path, "");
    snprintf(path, sizeof path, "%s/test.de", folder);
    char *wanted = test_read_file(path, NULL);
    int right = 0;
    for (char *x = wanted, *y = out; *x && *y; x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1)
        right += strcspn(x, "\n") == strcspn(y, "\n") && !memcmp(x, y, strcspn(x, "\n"));
    if (right < 16) fail_msg("%d of 20 lines are right:\n%s", right, out);
    free(out), free(wanted);
}

// Alone and among others, greedy and in a beam; blank lines stay where they are.
static void lines_do_not_depend_on_what_goes_with_them(void **state) {
    (void)state;
    const char *input = test_file("lines.en", "one two\n\nthree\nthree four five six one\n \none\n");
    char *together = translation_of(input, "--beam 3"), *alone = translation_of(input, "--beam 3 --batch 1");
    assert_string_equal(together, alone);
    assert_string_equal(together, "zwei eins\n\ndrei\neins sechs fuenf vier drei\n\neins\n");
    char *greedy = translation_of(input, "--beam 1"), *mean = translation_of(input, "--average 2");
    assert_string_equal(greedy, together);
    assert_string_equal(mean, together);
    free(together), free(alone), free(greedy), free(mean);
}

enum { MANY = 50 };
typedef struct {
    char *lines, *scores;
} answers_t;

// Of translations of MANY sentences, from the first on or backwards.
static answers_t answers(const char *options, bool backwards) {
    char text[8000] = "";
    size_t used = 0;
    for (int i = 0; i < MANY; ++i) {
        int word[6];
        const int n = sentence(backwards ? MANY - 1 - i : i, word);
        for (int k = 0; k < n; ++k)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", words[word[k]], k + 1 < n ? " " : "\n");
    }
    const char *out = test_path("their-scores");
    test_process_t p =
        test_run_to(0, "translate %s %s --scores-out %s --backend cpu --quiet %s", run, test_file("many.en", text), out, options);
    const answers_t found = {strdup(p.out), test_read_file(out, NULL)};
    test_process_free(&p);
    return found;
}

static void list_lines(const char *text, const char **line) {
    for (; *text; text = strchr(text, '\n') + 1) *line++ = text;
}

// Line i of a is line i of b, or the last but i. Products of another number of rows may round differently, so scores are about the same.
static void expect_same(answers_t a, answers_t b, bool backwards) {
    const char *line[4][MANY];
    list_lines(a.lines, line[0]), list_lines(b.lines, line[1]), list_lines(a.scores, line[2]), list_lines(b.scores, line[3]);
    for (int i = 0; i < MANY; ++i) {
        const int other = backwards ? MANY - 1 - i : i;
        assert_memory_equal(line[0][i], line[1][other], strcspn(line[1][other], "\n") + 1);
        const double x = strtod(line[2][i], NULL), y = strtod(line[3][other], NULL);
        if (!(fabs(x - y) < 1e-5)) fail_msg("line %d has the score %.9g, and elsewhere %.9g", i, x, y);
    }
}

static void free_answers(answers_t a) { free(a.lines), free(a.scores); }

// Batches go side by side on the threads: which ones there are changes nothing, not even the last digit of a score.
static void threads_batches_and_order_change_no_translation(void **state) {
    (void)state;
    static const int beams[] = {1, 5}, batches[] = {1, 7, 16, 64}, threads[] = {1, 2, 3, 8};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; ++b) {
        answers_t first = {NULL, NULL};
        for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
            answers_t alone = {NULL, NULL};
            for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
                char options[80];
                snprintf(options, sizeof options, "--beam %d --batch %d --threads %d", beams[b], batches[i], threads[t]);
                const answers_t found = answers(options, false);
                if (alone.lines) {
                    assert_string_equal(found.lines, alone.lines);
                    assert_string_equal(found.scores, alone.scores);
                    free_answers(found);
                } else {
                    alone = found;
                }
            }
            if (first.lines)
                expect_same(first, alone, false), free_answers(alone);
            else
                first = alone;
        }
        char options[80];
        snprintf(options, sizeof options, "--beam %d --batch 3 --threads 2", beams[b]);
        const answers_t back = answers(options, true);
        expect_same(first, back, true);
        free_answers(back), free_answers(first);
    }
}

static void scores_are_a_line_each(void **state) {
    (void)state;
    const char *input = test_file("two.en", "one two\n\nthree\n"), *scores = test_path("scores");
    test_process_t p = test_run_to(0, "translate %s %s --scores-out %s " ON, run, input, scores);
    char *text = test_read_file(scores, NULL), *rest = text;
    assert_true(strtod(rest, &rest) < 0 && *rest == '\n');
    assert_true(rest[1] == '\n');
    assert_true(strtod(rest + 2, &rest) < 0 && !strcmp(rest, "\n"));
    test_process_free(&p);
    free(text);
}

// A bad line behind them takes nothing from the lines before it; an older file stays where no line has an answer.
static void scores_before_a_bad_line_are_written(void **state) {
    (void)state;
    char scores[512], whole[512];
    char command[2048], *some, *all;
    snprintf(scores, sizeof scores, "%s", test_path("some-scores"));
    snprintf(whole, sizeof whole, "%s", test_path("all-scores"));
    test_process_t p = test_run_to(0, "translate %s %s --scores-out %s " ON, run, test_file("good.en", "one two\n\nthree\n"), whole);
    test_process_free(&p);
    test_write_file(scores, "old\n", 4);
    test_refused(1, "first.en: line 1", "translate %s %s --scores-out %s " ON, run, test_file("first.en", "\xff\none\n"), scores);
    some = test_read_file(scores, NULL);
    assert_string_equal(some, "old\n");
    free(some);
    snprintf(command, sizeof command, "translate %s %s --scores-out %s " ON, run, test_file("later.en", "one two\n\nthree\n\xff\none\n"),
             scores);
    p = test_run_line(command);
    assert_int_equal(p.exit_status, 1);
    assert_string_equal(p.out, "zwei eins\n\ndrei\n");
    if (!strstr(p.err, "later.en: line 4")) fail_msg("%s", p.err);
    test_process_free(&p);
    some = test_read_file(scores, NULL), all = test_read_file(whole, NULL);
    assert_string_equal(some, all);
    free(some), free(all);
}

static void the_longest_translation_is_what_was_asked(void **state) {
    (void)state;
    const char *input = test_file("long.en", "three four five six one\n");
    char *out = translation_of(input, "--max-length-a 0 --max-length-b 3");
    assert_string_equal(out, "eins sechs\n");  // and its end
    free(out);
}

static void what_cannot_be_translated_is_refused(void **state) {
    (void)state;
    const char *bad = test_file("bad.en", "one\n\xff\n"), *text = test_file("text.txt", "a b c d e f g h\n");
    test_refused(2, "reads numbers of tokens", "translate %s %s --unit ids " ON, run, bad);
    test_process_t p = test_run_line("--version");
    test_process_free(&p);
    char line[1024];
    snprintf(line, sizeof line, "translate %s %s " ON, run, bad);
    p = test_run_line(line);
    assert_int_equal(p.exit_status, 1);
    assert_string_equal(p.out, "eins\n");  // the line before it
    if (!strstr(p.err, "bad.en") || !strstr(p.err, "line 2")) fail_msg("%s", p.err);
    test_process_free(&p);
    test_refused(1, "cannot open", "translate %s /no/such/file " ON, run);
    const char *lm = test_path("lm");
    p = test_run_to(0, "train --data %s --unit byte --context 4 --steps 2 --layers 1 --d-model 8 --heads 2 --warmup 1 --out %s " ON, text,
                    lm);
    test_process_free(&p);
    test_refused(2, "which does not translate", "translate %s %s " ON, lm, text);
    test_refused(2, "a translator", "generate %s --prompt one " ON, run);
    test_refused(2, "a translator", "classify %s %s " ON, run, text);
}

static void training_refuses_what_does_not_fit(void **state) {
    (void)state;
    test_refused(2, "star", "train --task translate --model star --data %s --source en --target de --out %s " ON, folder, test_path("no"));
    test_refused(2, "--target", "train --task translate --data %s --source en --out %s " ON, folder, test_path("no"));
    test_refused(1, "fr", "train --task translate --data %s --source en --target fr --out %s " ON, folder, test_path("no"));
    static const char *const parts[] = {"train", "valid", "test"};
    for (int i = 0; i < 3; ++i) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s.it", folder, parts[i]);
        test_write_file(path, "uno\n", 4);
    }
    test_refused(1, "lines", "train --task translate --data %s --source en --target it --out %s " ON, folder, test_path("no"));
}

// Documents of four sentences, with the sentences before as context. Each is translated as it would be alone, since the language has no
// context; a line behind a blank one begins anew.
static void documents_are_translated_sentence_by_sentence(void **state) {
    (void)state;
    const char *data = test_path("documents"), *trained = test_path("document-run");
    char command[700];
    snprintf(command, sizeof command, "mkdir -p %s", data);
    assert_int_equal(system(command), 0);
    static const char *const parts[] = {"train", "valid", "test"};
    for (int part = 0; part < 3; ++part) {
        FILE *source = fopen(test_path("documents/%s.en", parts[part]), "w"),
             *target = fopen(test_path("documents/%s.de", parts[part]), "w");
        assert_true(source && target);
        for (int i = 0; i < (part ? 16 : 800); ++i) {
            write_sentence(source, target, (part ? 800 : 0) + i * 37 % 800);
            if (i % 4 == 3) fputc('\n', source), fputc('\n', target);
        }
        assert_true(!fclose(source) && !fclose(target));
    }
    test_process_t p = test_run_to(
        0,
        "train --task translate --model bpt --k 2 --context-tokens 12 --data %s --source en --target de --layers 1 --d-model 32 --heads 2 "
        "--d-ff 64 --batch-examples 20 --lr 0.005 --warmup 20 --steps 600 --smoothing 0.1 --dropout-input 0 --dropout-hidden 0 "
        "--dropout-attention 0 "
        "--dropout-head 0 --out %s " ON,
        data, trained);
    test_process_free(&p);
    p = test_run_to(0, "translate %s %s --beam 3 " ON, trained, test_path("documents/test.en"));
    char *wanted = test_read_file(test_path("documents/test.de"), NULL), *all = p.out, *a = NULL, *b = NULL;
    int lines = 0, right = 0;
    for (char *x = wanted, *y = all; *x; ++lines) {
        a = strchr(x, '\n'), b = strchr(y, '\n');
        assert_true(a && b);
        right += a - x == b - y && !memcmp(x, y, (size_t)(a - x));
        assert_int_equal(a == x, b == y);  // blank lines
        x = a + 1, y = b + 1;
        if (!*x) assert_int_equal(*y, 0);
    }
    if (right < lines - 3) fail_msg("%d of %d lines are right:\n%s", right, lines, p.out);
    test_process_free(&p);
    free(wanted);
}

// The first of each list is what is printed without; scores fall; of documents, and of more than the beam, there is none.
static void n_best_lists_begin_with_the_best(void **state) {
    (void)state;
    const char *input = test_file("lists.en", "one two\n\nthree four five\n");
    char *best = translation_of(input, ""), *lists = translation_of(input, "--n-best 4"),
         *json = translation_of(input, "--json --n-best 2");
    int lines = 0, firsts = 0;
    double before = 0;
    const char *answer = best;
    for (char *line = strtok(lists, "\n"); line; line = strtok(NULL, "\n"), ++lines) {
        char *rest;
        const long number = strtol(line, &rest, 10);
        static long last = 0;
        if (number == 2) {
            assert_string_equal(line, "2\t\t");
            answer = strchr(answer, '\n') + 1;
        } else {
            const double score = strtod(rest, &rest);
            const char *text = rest + 1;
            const size_t bytes = strcspn(answer, "\n");
            if (number != last) {
                assert_int_equal(strlen(text), bytes);
                assert_memory_equal(text, answer, bytes);
                answer += bytes + 1, ++firsts;
            } else {
                assert_true(score <= before);
                assert_true(strlen(text) != bytes || memcmp(text, answer, bytes));
            }
            before = score;
        }
        last = number;
    }
    assert_int_equal(lines, 9);
    assert_int_equal(firsts, 2);
    assert_non_null(strstr(json, "{\"translation\": \"zwei eins\", \"score\": "));
    assert_non_null(strstr(json, "\"n_best\": [{\"translation\": \"zwei eins\", "));
    assert_non_null(strstr(json, "\n{\"translation\": null, \"n_best\": []}\n"));
    free(best), free(lists), free(json);
    test_process_t p = test_run_to(2, "translate %s %s --n-best 6 " ON, run, input);
    assert_non_null(strstr(p.err, "--n-best 6: a beam of 5 finds at most so many translations; give --beam 6"));
    test_process_free(&p);
}

static int64_t words_of(const char *line) {
    int64_t n = *line && *line != '\n';
    for (; *line && *line != '\n'; ++line) n += *line == ' ';
    return n;
}

// What a search leaves out does not depend on batch mates or threads.
static void translations_are_as_long_and_as_varied_as_asked(void **state) {
    (void)state;
    const char *input = test_file("repeats.en", "one one one one\none\nfive two five two five\ntwo two\n");
    char *plain = translation_of(input, ""), *long_ones = translation_of(input, "--min-tokens 4"),
         *varied = translation_of(input, "--no-repeat 1");
    assert_string_equal(strchr(plain, '\n'), "\neins\nfuenf zwei fuenf zwei fuenf\nzwei zwei\n");
    for (const char *line = long_ones; *line; line = strchr(line, '\n') + 1) assert_true(words_of(line) >= 4);
    for (const char *line = varied; *line; line = strchr(line, '\n') + 1) assert_true(words_of(line) <= 6);
    const char *third = strchr(strchr(varied, '\n') + 1, '\n') + 1;
    const char *fuenf = strstr(third, "fuenf");
    assert_true(!fuenf || !strstr(fuenf + 1, "fuenf") || strchr(third, '\n') < strstr(fuenf + 1, "fuenf"));
    char *one_by_one = translation_of(input, "--no-repeat 1 --batch 1"),
         *threads = translation_of(input, "--no-repeat 1 --threads 3 --batch 2");
    assert_string_equal(varied, one_by_one);
    assert_string_equal(varied, threads);
    free(plain), free(long_ones), free(varied), free(one_by_one), free(threads);
}

// The texts of JSON lines and of CSV are translated as the same texts a line each, and what stands beside them is not.
static void fields_are_read_as_lines_are(void **state) {
    (void)state;
    char line[1400];
    char *plain = translation_of(test_file("fields.en", "one two\n\nthree four\n"), "");
    const char *json = "{\"id\": 7, \"en\": \"one two\", \"de\": \"zwei\"}\n\n{\"en\": \"three\\nfour\"}\n";
    char *objects = translation_of(test_file("fields.jsonl", json), ""),
         *named =
             translation_of(test_file("fields.json", "{\"x\": \"one two\"}\n\n{\"x\": \"three four\"}\n"), "--format jsonl --source x"),
         *records = translation_of(test_file("fields.csv", "id,en\n7,one two\n8,\n9,\"three\nfour\"\n"), "");
    assert_string_equal(objects, plain);
    assert_string_equal(named, plain);
    assert_string_equal(records, plain);
    free(plain), free(objects), free(named), free(records);
    snprintf(line, sizeof line, "translate %s %s " ON, run,
             test_file("bad.jsonl", "{\"en\": \"one two\"}\n{\"en\": \"one\n{\"en\": \"two\"}\n"));
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 1);
    assert_string_equal(p.out, "zwei eins\n");  // the line before it
    if (!strstr(p.err, "bad.jsonl: line 2")) fail_msg("%s", p.err);
    test_process_free(&p);
    test_refused(1, "wrong.jsonl: line 1: field \"en\" is no text", "translate %s %s " ON, run, test_file("wrong.jsonl", "{\"en\": 3}\n"));
    test_refused(1, "other.jsonl: line 1: no field \"en\"", "translate %s %s " ON, run, test_file("other.jsonl", "{\"fr\": \"un\"}\n"));
    test_refused(1, "other.csv: line 1: no column \"en\"", "translate %s %s " ON, run, test_file("other.csv", "fr,it\nun,uno\n"));
    test_refused(1, "open.csv: line 2", "translate %s %s " ON, run, test_file("open.csv", "en,it\n\"one,uno\n"));
    test_refused(2, "--source names a field", "translate %s %s --source x " ON, run, test_file("lines.txt", "one\n"));
    test_refused(2, "--format conll is not for --task translate", "translate %s %s --format conll " ON, run,
                 test_file("lines.txt", "one\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_a_language_and_its_order_of_words),
        cmocka_unit_test(n_best_lists_begin_with_the_best),
        cmocka_unit_test(translations_are_as_long_and_as_varied_as_asked),
        cmocka_unit_test(lines_do_not_depend_on_what_goes_with_them),
        cmocka_unit_test(threads_batches_and_order_change_no_translation),
        cmocka_unit_test(fields_are_read_as_lines_are),
        cmocka_unit_test(scores_are_a_line_each),
        cmocka_unit_test(scores_before_a_bad_line_are_written),
        cmocka_unit_test(the_longest_translation_is_what_was_asked),
        cmocka_unit_test(documents_are_translated_sentence_by_sentence),
        cmocka_unit_test(what_cannot_be_translated_is_refused),
        cmocka_unit_test(training_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, train, NULL);
}
