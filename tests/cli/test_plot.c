// `bpt plot` on metrics that the test writes.
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

static const char *metrics(const char *name, int steps, const char *extra) {
    static char text[65536];
    size_t used = 0;
    for (int step = 1; step <= steps; ++step) {
        used += (size_t)snprintf(text + used, sizeof text - used, "{\"step\": %d, \"loss\": %.3f, \"tokens_per_s\": %d, \"seconds\": %d}\n",
                                 step, 5.0 / step, 1000 + step, step);
        if (step % 10 == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "{\"eval\": \"valid\", \"step\": %d, \"loss\": %.3f%s}\n", step,
                                     6.0 / step, extra);
    }
    return test_file(name, text);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) ++n;
    return n;
}

static test_process_t plot(const char *format, const char *a, const char *b) {
    char line[2048];
    snprintf(line, sizeof line, format, a, b);
    return test_run_line(line);
}

static void one_run_has_a_training_curve_and_a_dot_for_every_evaluation(void **state) {
    (void)state;
    test_process_t p = plot("plot %s%s", metrics("one.jsonl", 50, ""), "");
    assert_int_equal(p.exit_status, 0);
    assert_string_equal(p.err, "");
    assert_memory_equal(p.out, "<svg ", 5);
    assert_non_null(strstr(p.out, "</svg>\n"));
    assert_int_equal(count(p.out, "<circle"), 5);
    assert_int_equal(count(p.out, "<text"), count(p.out, "</text>"));
    assert_non_null(strstr(p.out, "one.jsonl: train 0.100, valid 0.120 (dashed), best 0.120 at step 50"));
    assert_non_null(strstr(p.out, ">tokens/s<"));
    assert_null(strstr(p.out, "nan"));
    test_process_free(&p);
}

static void characters_are_drawn_in_bits_and_words_with_their_perplexity(void **state) {
    (void)state;
    test_process_t bits = plot("plot %s%s", metrics("bits.jsonl", 20, ", \"bits_per_char\": 0.43"), "");
    assert_non_null(strstr(bits.out, "bits per character"));
    test_process_t words = plot("plot %s%s", metrics("words.jsonl", 20, ", \"perplexity\": 1.35"), "");
    assert_non_null(strstr(words.out, "perplexity 1.35"));
    test_process_t classes = plot("plot %s%s", metrics("classes.jsonl", 20, ", \"accuracy\": 0.5"), "");
    assert_non_null(strstr(classes.out, ">accuracy (%)<"));
    test_process_free(&bits), test_process_free(&words), test_process_free(&classes);
}

// A run directory with a configuration, as deep as its name says.
static const char *run_of(const char *name, const char *config) {
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", test_path("%s", name));
    for (char *slash = folder + strlen(test_scratch_dir()); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = 0;
        mkdir(folder, 0700);
    }
    mkdir(folder, 0700);
    char file[1100];
    snprintf(file, sizeof file, "%s/metrics.jsonl", name);
    metrics(file, 9, "");  // no evaluation yet
    snprintf(file, sizeof file, "%s/config.json", name);
    test_file(file, config);
    return test_path("%s", name);
}

static void the_configuration_tells_the_measure(void **state) {
    (void)state;
    static const struct {
        const char *config, *title;
    } cases[] = {
        {"{\"task\": \"lm\", \"unit\": \"byte\"}", ">bits per byte<"},
        {"{\"task\": \"lm\", \"unit\": \"char\"}", ">bits per character<"},
        {"{\"task\": \"lm\", \"unit\": \"word\"}", ">nats per word<"},
        {"{\"task\": \"classify\", \"unit\": \"word\"}", ">loss (nats)<"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char run[600];
        snprintf(run, sizeof run, "%s", run_of("kind", cases[i].config));
        for (int file = 0; file < 2; ++file) {
            test_process_t p = plot("plot %s%s", run, file ? "/metrics.jsonl" : "");
            if (p.exit_status || !strstr(p.out, cases[i].title)) fail_msg("%s: exit %d, %s", cases[i].title, p.exit_status, p.err);
            // The last loss, 5/9 nats.
            assert_non_null(strstr(p.out, i < 2 ? ": train 0.802" : ": train 0.556"));
            test_process_free(&p);
        }
    }
    char bytes[600];
    snprintf(bytes, sizeof bytes, "%s", run_of("bytes", cases[0].config));
    test_process_t p = plot("plot %s %s", bytes, run_of("words", cases[2].config));
    assert_non_null(strstr(p.out, ">loss (nats)<"));
    test_process_free(&p);
}

static void runs_have_the_shortest_names_that_tell_them_apart(void **state) {
    (void)state;
    static const struct {
        const char *runs[3], *names[3];
    } cases[] = {
        {{"runs/a/x", "runs/b/x", "runs/y"}, {"a/x", "b/x", "y"}}, {{"runs/a/x", "runs/b/y", "runs/z"}, {"x", "y", "z"}},
        {{"p/a/x", "q/a/x", "q/b/x"}, {"p/a/x", "q/a/x", "b/x"}},  {{"deep/x", "deep/x/x", "deep/y"}, {"deep/x", "x/x", "y"}},
        {{"runs/a/x", "runs/a/x", "runs/z"}, {"x", "x", "z"}},  // the same run twice
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048] = "plot", one[700];
        for (int r = 0; r < 3; ++r) {
            snprintf(one, sizeof one, " %s", run_of(cases[i].runs[r], "{}"));
            strcat(line, one);
        }
        test_process_t p = test_run_line(line);
        assert_int_equal(p.exit_status, 0);
        for (int r = 0; r < 3; ++r) {
            snprintf(one, sizeof one, ">%s: train", cases[i].names[r]);
            if (!strstr(p.out, one)) fail_msg("case %zu: no '%s'", i, one);
        }
        test_process_free(&p);
    }
}

static void several_runs_share_one_picture_and_names_are_escaped(void **state) {
    (void)state;
    char first[1024];
    snprintf(first, sizeof first, "%s",
             metrics("a<b>&\xFF\xC3\xA9"
                     "c.jsonl",
                     30, ""));
    test_process_t p = plot("plot %s %s", first, metrics("second.jsonl", 40, ""));
    assert_int_equal(p.exit_status, 0);
    assert_non_null(strstr(p.out, "a&lt;b&gt;&amp;\xEF\xBF\xBD\xC3\xA9"
                                  "c.jsonl: train"));
    assert_non_null(strstr(p.out, "second.jsonl: train"));
    assert_int_equal(count(p.out, "<circle"), 7);
    test_process_free(&p);
}

static void png_is_written_or_the_remedy_is_named(void **state) {
    (void)state;
    const char *out = test_path("curve.png");
    test_process_t p = plot("plot %s --out %s", metrics("png.jsonl", 30, ""), out);
    if (p.exit_status == 0) {
        size_t length;
        char *bytes = test_read_file(out, &length);
        assert_memory_equal(bytes, "\x89PNG", 4);
        free(bytes);
    } else {
        assert_int_equal(p.exit_status, 1);
        assert_non_null(strstr(p.err, "librsvg2-bin"));
    }
    test_process_free(&p);
}

static void axes_are_chosen_and_may_be_logarithmic(void **state) {
    (void)state;
    test_process_t p = plot("plot %s%s --x seconds --y loss --log-x --log-y", metrics("axes.jsonl", 50, ", \"seconds\": 30"), "");
    assert_int_equal(p.exit_status, 0);
    assert_true(strstr(p.out, ">seconds<") && strstr(p.out, ">loss<") && strstr(p.out, ">10<") && strstr(p.out, ">0.5<"));
    assert_int_equal(count(p.out, "<circle"), 5);
    assert_null(strstr(p.out, "nan"));
    test_process_free(&p);
    static const struct {
        const char *options;
        int exit_status;
        const char *says;
    } bad[] = {{"--x place", 2, "--x place: runs have step, epoch, tokens and seconds"},
               {"--y speed", 2, "--y speed: no line of metrics has such a number"},
               {"--y f1", 1, "no line has \"f1\""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        p = plot("plot %s %s", metrics("axes.jsonl", 50, ""), bad[i].options);
        if (p.exit_status != bad[i].exit_status || !strstr(p.err, bad[i].says))
            fail_msg("%s: %d '%s'", bad[i].options, p.exit_status, p.err);
        test_process_free(&p);
    }
}

static void lines_of_json_are_drawn_by_their_keys(void **state) {
    (void)state;
    const char *lines = test_file(
        "bench.jsonl", "{\"n\": 800, \"k\": 4, \"s\": 2.5}\n{\"n\": 50, \"k\": 4, \"s\": 0.1}\n{\"n\": 50, \"k\": 8, \"s\": 0.2}\n"
                       "{\"n\": 60, \"k\": 8}\n\n{\"n\": 0, \"k\": 8, \"s\": 1}\n");
    test_process_t p = plot("plot --from %s --x n --y s --by k%s", lines, "");
    assert_int_equal(p.exit_status, 0);
    assert_int_equal(count(p.out, "<circle"), 4);
    assert_true(strstr(p.out, ">k = 4<") && strstr(p.out, ">k = 8<"));
    test_process_free(&p);
    const char *models = "{\"n\": 1, \"s\": 1, \"model\": \"bpt\", \"k\": 4}\n{\"n\": 1, \"s\": 2, \"model\": \"star\"}\n";
    p = plot("plot --from %s --x n --y s --by model,k%s", test_file("models.jsonl", models), "");
    assert_int_equal(p.exit_status, 0);
    assert_true(strstr(p.out, ">model = bpt, k = 4<") && strstr(p.out, ">model = star<"));  // which has no k
    test_process_free(&p);
    p = plot("plot --from %s --x n --y s --log-x%s", lines, "");
    assert_int_equal(count(p.out, "<circle"), 3);  // 0 has no place
    test_process_free(&p);
    const char *near = test_file("near.jsonl", "{\"n\": 1, \"s\": 0.8}\n{\"n\": 2, \"s\": 0.9}\n");
    for (int zoom = 0; zoom < 2; ++zoom) {
        p = plot("plot --from %s --y s%s", near, zoom ? " --zoom" : "");
        assert_true((strstr(p.out, ">0.2<") == NULL) == zoom && strstr(p.out, ">0.8"));
        test_process_free(&p);
    }
    p = plot("plot --from %s --y speed%s", lines, "");
    assert_int_equal(p.exit_status, 1);
    assert_non_null(strstr(p.err, "no line has numbers \"n\" and \"speed\""));
    test_process_free(&p);
    p = plot("plot --from %s%s", test_file("no.jsonl", "{\"n\": 1}\nhello\n"), "");
    assert_int_equal(p.exit_status, 1);
    assert_non_null(strstr(p.err, "line 2 is no JSON object"));
    test_process_free(&p);
}

static void what_cannot_be_drawn_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int exit_status;
        const char *says;
    } cases[] = {
        {"plot", 2, "bpt plot needs a run, or lines of JSON: --from FILE"},
        {"plot x --by k", 2, "--by goes with --from"},
        {"plot x --zoom", 2, "--zoom goes with --from"},
        {"plot --from x --confusion --zoom", 2, "--log-y and --zoom"},
        {"plot x --from y", 2, "cannot be drawn into one picture"},
        {"plot --from /nowhere/lines", 1, "/nowhere/lines"},
        {"plot /nowhere/run", 1, "/nowhere/run"},
        {"plot x --out curve.pdf", 2, "must end in .svg or .png"},
        {"plot x --width 10", 2, "--width must be at least 320"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = test_run_line(cases[i].line);
        if (p.exit_status != cases[i].exit_status || p.out_length || !strstr(p.err, cases[i].says))
            fail_msg("bpt %s: %d '%s'", cases[i].line, p.exit_status, p.err);
        test_process_free(&p);
    }
    test_process_t p = plot("plot %s%s", test_file("empty.jsonl", ""), "");
    assert_int_equal(p.exit_status, 1);
    test_process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_has_a_training_curve_and_a_dot_for_every_evaluation),
        cmocka_unit_test(characters_are_drawn_in_bits_and_words_with_their_perplexity),
        cmocka_unit_test(the_configuration_tells_the_measure),
        cmocka_unit_test(runs_have_the_shortest_names_that_tell_them_apart),
        cmocka_unit_test(several_runs_share_one_picture_and_names_are_escaped),
        cmocka_unit_test(png_is_written_or_the_remedy_is_named),
        cmocka_unit_test(axes_are_chosen_and_may_be_logarithmic),
        cmocka_unit_test(lines_of_json_are_drawn_by_their_keys),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
