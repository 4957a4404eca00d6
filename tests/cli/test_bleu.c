// `bpt bleu`: the lines and scores of sacreBLEU, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "bleu_cases.h"
#include "support/process.h"

#define CASES (sizeof bleu_cases / sizeof bleu_cases[0])

// The command with the case's options, references and, as its last argument, hypothesis.
static const char *command_of(size_t i, const char *more) {
    static char line[4096];
    size_t used = (size_t)snprintf(line, sizeof line, "bleu %s %s", bleu_cases[i].options, more);
    for (int r = 0; r < 3 && bleu_cases[i].references[r]; ++r) {
        char name[32];
        snprintf(name, sizeof name, "ref-%d", r);
        used += (size_t)snprintf(line + used, sizeof line - used, " --ref %s", test_file(name, bleu_cases[i].references[r]));
    }
    snprintf(line + used, sizeof line - used, " %s", test_file("hyp", bleu_cases[i].hypothesis));
    return line;
}

// Arguments are separated by single blanks.
static test_process_t run_case(size_t i, const char *more) {
    char line[4096];
    size_t n = 0;
    for (const char *c = command_of(i, more); *c; ++c)
        if (*c != ' ' || (n && line[n - 1] != ' ')) line[n++] = *c;
    line[n] = 0;
    return test_run_line(line);
}

static void lines_are_those_of_sacrebleu(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; ++i) {
        test_process_t p = run_case(i, "");
        if (p.exit_status || strcmp(p.out, bleu_cases[i].line))
            fail_msg("%s: exit %d, %s%swanted %s", bleu_cases[i].name, p.exit_status, p.out, p.err, bleu_cases[i].line);
        test_process_free(&p);
    }
}

static double number_of(const char *json, const char *key) {
    const char *at = strstr(json, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

static void json_has_the_score_unrounded(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; ++i) {
        test_process_t p = run_case(i, "--json");
        assert_int_equal(p.exit_status, 0);
        const double score = number_of(p.out, "\"score\": "), wanted = bleu_cases[i].score;
        if (!(score >= wanted - 1e-12 && score <= wanted + 1e-12)) fail_msg("%s: %.17g, not %.17g", bleu_cases[i].name, score, wanted);
        // The signature is the part of the line in front of " = ".
        char signature[200];
        snprintf(signature, sizeof signature, "\"signature\": \"%.*s\"",
                 (int)(strstr(bleu_cases[i].line, " = ") - bleu_cases[i].line - strlen("BLEU|")), bleu_cases[i].line + strlen("BLEU|"));
        assert_non_null(strstr(p.out, signature));
        assert_true((long)number_of(p.out, "\"hyp_len\": ") == (long)number_of(bleu_cases[i].line, "hyp_len = "));
        assert_true((long)number_of(p.out, "\"ref_len\": ") == (long)number_of(bleu_cases[i].line, "ref_len = "));
        test_process_free(&p);
    }
}

static void decimals_can_be_chosen(void **state) {
    (void)state;
    test_process_t p = run_case(0, "--width 4");
    char wanted[64];
    snprintf(wanted, sizeof wanted, "version:2.6.0 = %.4f ", bleu_cases[0].score);
    assert_non_null(strstr(p.out, wanted));
    test_process_free(&p);
}

static void expect_refusal(int status, const char *line, const char *part) {
    test_process_t p = test_run_line(line);
    if (p.exit_status != status || !strstr(p.err, part) || *p.out) fail_msg("%s: exit %d, %s%s", line, p.exit_status, p.out, p.err);
    test_process_free(&p);
}

static void texts_that_do_not_fit_are_refused(void **state) {
    (void)state;
    char line[2048], part[1200], one[512], two[512], bad[512], empty[512];
    snprintf(one, sizeof one, "%s", test_file("one", "a b\n"));
    snprintf(two, sizeof two, "%s", test_file("two", "a b\nc d\n"));
    snprintf(bad, sizeof bad, "%s", test_file("bad", "a b\nc \xff d\n"));
    snprintf(empty, sizeof empty, "%s", test_file("empty", ""));
    snprintf(line, sizeof line, "bleu --ref %s --ref %s %s", one, two, one);
    snprintf(part, sizeof part, "%s has 1 lines, but %s has 2", one, two);
    expect_refusal(1, line, part);
    snprintf(line, sizeof line, "bleu --ref %s %s", two, bad);
    snprintf(part, sizeof part, "%s: line 2, byte 3 of the line: not valid UTF-8 (byte 0xFF)", bad);
    expect_refusal(1, line, part);
    snprintf(line, sizeof line, "bleu --ref %s %s", bad, two);
    expect_refusal(1, line, part);
    snprintf(line, sizeof line, "bleu --ref %s %s", one, empty);
    expect_refusal(1, line, "is empty");
    snprintf(line, sizeof line, "bleu --ref %s %s", empty, one);
    expect_refusal(1, line, "is empty");
    snprintf(line, sizeof line, "bleu %s", one);
    expect_refusal(2, line, "needs at least one reference: --ref FILE");
    snprintf(line, sizeof line, "bleu --ref - --ref %s", one);
    expect_refusal(2, line, "only one text can come from standard input");
    snprintf(line, sizeof line, "bleu --ref %s --tokenize chr %s", one, one);
    expect_refusal(2, line, "did you mean char?");
    snprintf(line, sizeof line, "bleu --ref %s --tokenize ja-mecab %s", one, one);
    expect_refusal(2, line, "none, 13a, intl, char or zh");
    snprintf(line, sizeof line, "bleu --ref %s.gone %s", one, one);
    expect_refusal(1, line, "one.gone");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_sacrebleu),
        cmocka_unit_test(json_has_the_score_unrounded),
        cmocka_unit_test(decimals_can_be_chosen),
        cmocka_unit_test(texts_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
