// `bpt bleu`: chrF2 and TER beside BLEU, and the test of several systems. Numbers and lines are those of sacreBLEU 2.6.0 with numpy 2.4.6:
// `sacrebleu REF.. -i HYP -m bleu chrf ter`, `metric.corpus_score(..).score`, and `PairedTest(..., "bs", 1000)` with its seed of 12345.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "support/process.h"

static const char first[] = "A man sits quietly on the old bench near the river.\n"
                            "On the table lies a red apple, and two green pears.\n"
                            "the the the cat cat sat on on the mat mat\n"
                            "\n"
                            "ÄPFEL und Öl kosten 3,50 € – ΟΔΟΣ!\n"
                            "completely other words here\n"
                            "this sentence is quite a bit longer than the one it is compared with\n"
                            "b c d e f g h i j a k l m n o p\n";
static const char second[] = "The man sits quietly on an old bench beside the river.\n"
                             "Two green pears and a red apple lie on the table.\n"
                             "the cat sat on the mat\n"
                             "\n"
                             "Äpfel und Öl kosten 3,50 € – οδος!\n"
                             "words of a completely different kind\n"
                             "this one is short\n"
                             "a b c d e f g h i j k l m n o p\n";
static const char one[] = "A man is quietly sitting on the old bench by the river.\n"
                          "A red apple and two green pears lie on the table.\n"
                          "the cat sat on the mat\n"
                          "nothing was written here\n"
                          "Äpfel und Öl kosten 3,50 € – Οδος!\n"
                          "nothing in common\n"
                          "it is compared with this one\n"
                          "a b c d e f g h i j k l m n o p\n";
static const char other[] = "Near the river, a man sits on an old bench.\n"
                            "On the table there are two green pears and a red apple.\n"
                            "\n"
                            "this line was left out\n"
                            "Äpfel und Öl: 3,50 €\n"
                            "quite different\n"
                            "this sentence is quite a bit longer than it\n"
                            "p o n m l k j i h g f e d c b a\n";

// `more`, and the references and systems of the case.
static test_process_t run(const char *more, int references, int systems) {
    char line[4096];
    size_t used = (size_t)snprintf(line, sizeof line, "bleu %s --ref %s", more, test_file("one", one));
    if (references > 1) used += (size_t)snprintf(line + used, sizeof line - used, " --ref %s", test_file("other", other));
    used += (size_t)snprintf(line + used, sizeof line - used, " %s", test_file("first", first));
    if (systems > 1) snprintf(line + used, sizeof line - used, " %s", test_file("second", second));
    return test_run_line(line);
}

static void lines_are_those_of_sacrebleu(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int references;
        const char *lines;
    } cases[] = {
        {"--metrics bleu,chrf,ter", 1,
         "        BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 42.8 68.4/51.4/36.9/25.9 (BP = 1.000 ratio = 1.145 "
         "hyp_len = 79 ref_len = 69)\n"
         "      chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 57.0\n"
         "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 50.0\n"},
        {"--metrics ter,bleu,chrf,ter --lowercase", 1,
         "           BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0 = 49.3 73.4/58.3/44.6/31.0 (BP = 1.000 ratio = 1.145 "
         "hyp_len = 79 ref_len = 69)\n"
         "         chrF2|nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 62.7\n"
         "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 50.0\n"},
        {"--metrics chrf --width 4", 2, "chrF2|nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 61.8164\n"},
        {"--metrics ter", 2, "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 44.8\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        test_process_t p = run(cases[i].options, cases[i].references, 1);
        if (p.exit_status || strcmp(p.out, cases[i].lines))
            fail_msg("%s: exit %d\n%s%swanted\n%s", cases[i].options, p.exit_status, p.out, p.err, cases[i].lines);
        test_process_free(&p);
    }
}

// The number behind a key of the part of a JSON text that begins with the n-th `part`.
static double number_in(const char *json, const char *part, int n, const char *key) {
    const char *at = json;
    while (n-- >= 0) {
        at = strstr(at, part);
        assert_non_null(at);
        at += strlen(part);
    }
    at = strstr(at, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

static void expect(const char *what, double found, double wanted) {
    if (!(found >= wanted - 1e-12 && found <= wanted + 1e-12)) fail_msg("%s: %.17g, not %.17g", what, found, wanted);
}

static void json_has_scores_unrounded(void **state) {
    (void)state;
    test_process_t p = run("--metrics ter,chrf,bleu --json", 2, 1);
    assert_int_equal(p.exit_status, 0);
    assert_memory_equal(p.out, "[{\"name\": \"BLEU\"", 16);
    expect("BLEU", number_in(p.out, "\"BLEU\"", 0, "\"score\": "), 54.52295191768748);
    expect("chrF2", number_in(p.out, "\"chrF2\"", 0, "\"score\": "), 61.81638891326372);
    expect("TER", number_in(p.out, "\"TER\"", 0, "\"score\": "), 44.800000000000004);
    test_process_free(&p);
}

// The first system's samples are the same in each; scores of samples of chrF2 and TER are of single precision.
static void systems_are_tested_as_sacrebleu_tests_them(void **state) {
    (void)state;
    static const struct {
        const char *options, *metric;
        int references;
        double score[2], mean[2], ci[2], p;
    } cases[] = {
        {"",
         "\"BLEU\"",
         1,
         {42.79561399872997, 56.344031150979525},
         {40.92785202800824, 53.58265655722117},
         {19.57100093897516, 28.65088303358432},
         0.07092907092907093},
        {"",
         "\"chrF2\"",
         1,
         {56.98106079227443, 58.44127855046646},
         {56.42545700073242, 58.40104675292969},
         {14.236513137817383, 21.117826461791992},
         0.2937062937062937},
        {"",
         "\"TER\"",
         1,
         {50.0, 31.818181818181817},
         {52.52570724487305, 33.678802490234375},
         {35.39881134033203, 27.95699119567871},
         0.0969030969030969},
        {"--lowercase ",
         "\"BLEU\"",
         2,
         {60.45548135742041, 71.9365888289085},
         {58.60429120534893, 69.0105305867248},
         {20.206291739643923, 25.546632751281926},
         0.11988011988011989},
        {"--lowercase ",
         "\"chrF2\"",
         2,
         {67.90669089636168, 66.46445846141134},
         {67.31259155273438, 66.39263153076172},
         {17.85809326171875, 21.044010162353516},
         0.3276723276723277},
        {"--lowercase ",
         "\"TER\"",
         2,
         {44.800000000000004, 32.0},
         {47.594783782958984, 33.879615783691406},
         {31.196582794189453, 26.73992919921875},
         0.11688311688311688},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char options[100];
        snprintf(options, sizeof options, "--metrics bleu,chrf,ter %s--json --paired-bs", cases[i].options);
        test_process_t p = run(options, cases[i].references, 2);
        assert_int_equal(p.exit_status, 0);
        for (int s = 0; s < 2; ++s) {
            expect("score", number_in(p.out, cases[i].metric, s, "\"score\": "), cases[i].score[s]);
            expect("mean", number_in(p.out, cases[i].metric, s, "\"mean\": "), cases[i].mean[s]);
            expect("ci", number_in(p.out, cases[i].metric, s, "\"ci\": "), cases[i].ci[s]);
        }
        expect("p", number_in(p.out, cases[i].metric, 1, "\"p_value\": "), cases[i].p);
        assert_non_null(strstr(p.out, "|bs:1000|seed:12345|case:"));
        test_process_free(&p);
    }
}

static void a_table_has_a_line_for_each_system(void **state) {
    (void)state;
    char wanted[4096], name[2][512];
    snprintf(name[0], sizeof name[0], "%s", test_file("first", first));
    snprintf(name[1], sizeof name[1], "%s", test_file("second", second));
    test_process_t p = run("--paired-bs", 1, 2);
    snprintf(wanted, sizeof wanted,
             "BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0\n"
             "  %-*s  42.8 (40.9 ± 19.6)  baseline\n  %s  56.3 (53.6 ± 28.7)  p = 0.0709\n",
             (int)strlen(name[1]), name[0], name[1]);
    assert_string_equal(p.out, wanted);
    test_process_free(&p);
    p = run("--metrics ter", 1, 2);
    snprintf(wanted, sizeof wanted, "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0\n  %-*s  50.0\n  %s  31.8\n",
             (int)strlen(name[1]), name[0], name[1]);
    assert_string_equal(p.out, wanted);
    test_process_free(&p);
    p = run("--paired-bs --paired-bs-n 10 --seed 7", 1, 2);
    assert_non_null(strstr(p.out, "|bs:10|seed:7|"));
    test_process_free(&p);
}

static void what_cannot_be_computed_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int systems;
        const char *part;
    } cases[] = {
        {"--metrics bleu,rouge", 1, "there is no metric 'rouge'; known are bleu, chrf and ter"},
        {"--metrics chrf,", 1, "there is no metric ''"},
        {"--metrics chrf2", 1, "there is no metric 'chrf2'"},
        {"--paired-bs", 1, "name the translations of at least two, the baseline first"},
        {"--paired-bs-n 100", 2, "--paired-bs, which is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        test_process_t p = run(cases[i].options, 1, cases[i].systems);
        if (p.exit_status != 2 || !strstr(p.err, cases[i].part) || *p.out)
            fail_msg("%s: exit %d, %s%s", cases[i].options, p.exit_status, p.out, p.err);
        test_process_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_sacrebleu),
        cmocka_unit_test(json_has_scores_unrounded),
        cmocka_unit_test(systems_are_tested_as_sacrebleu_tests_them),
        cmocka_unit_test(a_table_has_a_line_for_each_system),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
