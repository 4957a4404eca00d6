// Files as people have them: other names of parts, headers, lines without text, blanks and byte order marks. Each is taken as its owner
// meant, or named with the remedy.
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

#include "bpt/strbuf.h"
#include "support/check.h"
#include "support/process.h"

#define SMALL "--layers 1 --d-model 16 --heads 2 --threads 1 --backend cpu --steps 1 --model transformer --d-ff 16 "

// A file of a first line, lines that are repeated, and last lines.
static const char *file_of(const char *name, const char *first, const char *lines, int times, const char *last) {
    bpt_strbuf_t text = {0};
    assert_ok(bpt_strbuf_printf(&text, "%s", first));
    for (int i = 0; i < times; ++i) assert_ok(bpt_strbuf_printf(&text, "%s", lines));
    assert_ok(bpt_strbuf_printf(&text, "%s", last));
    const char *path = test_file(name, text.data);
    bpt_strbuf_free(&text);
    return path;
}

static void expect_said(const test_process_t *p, const char *part) {
    if (!strstr(p->err, part)) fail_msg("wanted '%s' in '%s'", part, p->err);
}
static void expect_unsaid(const test_process_t *p, const char *part) {
    if (strstr(p->err, part)) fail_msg("'%s' in '%s'", part, p->err);
}

static void a_header_is_named_and_left_out_on_request(void **state) {
    (void)state;
    static const struct {
        const char *name, *options, *header, *lines, *classes;
    } cases[] = {
        {"texts", "--task classify", "label\tsentence\n", "pos\tgood film\nneg\tbad film\n", "of 2 classes (neg: 18, pos: 18)"},
        {"columns", "--task classify --label-column 2 --text-column 3", "id\tlabel\ttext\n", "1\tpos\tgood\n2\tneg\tbad\n",
         "of 2 classes (neg: 18, pos: 18)"},
        {"pairs", "--task pair --d-mlp 8", "gold_label\tsentence1\tsentence2\n", "yes\ta\tb\nno\ta\tc\n", "of 2 classes (no: 18, yes: 18)"},
        {"tags", "--task tag", "Token Tag\n", "a X\nb Y\nc X\n\nd X\n\n", "with 2 tags (X: "},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char data[600], run[600];
        snprintf(data, sizeof data, "%s", file_of(cases[i].name, cases[i].header, cases[i].lines, 20, ""));
        snprintf(run, sizeof run, "%s", test_path("run-%s", cases[i].name));
        test_process_t p = test_run_to(0, "train %s " SMALL "--data %s --out %s.not", cases[i].options, data, run);
        expect_said(&p, "line 1: this looks like the names of columns, and no other line has '");
        expect_said(&p, "--header leaves such a line out");
        test_process_free(&p);
        p = test_run_to(0, "train %s " SMALL "--header --data %s --out %s", cases[i].options, data, run);
        expect_unsaid(&p, "line 1: ");
        expect_said(&p, cases[i].classes);
        test_process_free(&p);
        const char *other = file_of("other", cases[i].header, cases[i].lines, 1, "");  // of the same kind
        char more[700];
        snprintf(more, sizeof more, "--data %s", other);
        assert_true(test_evaluate(run, more, "scored") == (i == 3 ? 4 : 2));
        other = file_of("other", "", cases[i].lines, 1, "");
        p = test_run_to(0, "eval %s --backend cpu --data %s", run, other);
        expect_said(&p, "line 1: left out because of --header, though it looks like an example of '");
        test_process_free(&p);
        snprintf(more, sizeof more, "--no-header --data %s", other);
        assert_true(test_evaluate(run, more, "scored") == (i == 3 ? 4 : 2));
    }
    test_process_t p = test_run_to(0, "classify %s %s --header --backend cpu --quiet", test_path("run-texts"),
                                   test_file("ask", "label\ttext\npos\tgood\nneg\tbad\n"));
    int lines = 0;
    for (const char *c = p.out; *c; ++c) lines += *c == '\n';
    assert_int_equal(lines, 2);
    test_process_free(&p);
    const char *numbers = file_of("numbers", "score\ttext\n", "1.5 \tgood\n -2\tbad\n", 20, "");
    test_refused(1, "line 1: 'score' in the label column is not a finite number; --header leaves out",
                 "train --task regress " SMALL "--data %s --out %s", numbers, test_path("run-numbers"));
    p = test_run_to(0, "train --task regress " SMALL "--pool mean --header --data %s --out %s", numbers, test_path("run-numbers"));
    expect_said(&p, "data: 36 training examples with numbers from -2 to 1.5, 2 for validation, 2 for test");
    test_process_free(&p);
}

static void lines_without_text_are_left_out_on_request(void **state) {
    (void)state;
    static const struct {
        const char *name, *options, *lines, *empty, *message;
    } cases[] = {
        {"no-text", "--task classify", "pos\tgood film\nneg\tbad film\n", "pos\t\nneg\t \n", "no text"},
        {"no-half", "--task pair --d-mlp 8", "yes\ta\tb\nno\ta\tc\n", "yes\ta\t\nno\t\tb\n", "an empty text"},
        {"no-number", "--task regress --pool mean", "1\ta\n2\tb\n", "1\t\n2\t\n", "an empty text"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char data[600], run[600], more[700];
        snprintf(data, sizeof data, "%s", file_of(cases[i].name, "", cases[i].lines, 20, cases[i].empty));
        snprintf(run, sizeof run, "%s", test_path("run-%s", cases[i].name));
        test_process_t p = test_run_to(1, "train %s " SMALL "--data %s --out %s", cases[i].options, data, run);
        expect_said(&p, "line 41: ");
        expect_said(&p, cases[i].message);
        expect_said(&p, "--skip-empty leaves out such lines");
        test_process_free(&p);
        p = test_run_to(0, "train %s " SMALL "--skip-empty --data %s --out %s", cases[i].options, data, run);
        expect_said(&p, "line 41: no text; 2 such lines are left out (--skip-empty)");
        expect_said(&p, "data: 36 training examples");
        test_process_free(&p);
        snprintf(more, sizeof more, "--data %s", data);
        assert_true(test_evaluate(run, more, "scored") == 40);  // as trained
        test_refused(1, "--skip-empty leaves out such lines", "eval %s --no-skip-empty --data %s --backend cpu", run, data);
    }
}

static void what_is_around_labels_is_no_class(void **state) {
    (void)state;
    static const char mark[] = "\xEF\xBB\xBF";
    char lines[200];
    snprintf(lines, sizeof lines, "pos\tgood film\n%sneg\tbad film\n\npos \tgood\n neg\tbad\n", mark);
    const char *data = file_of("around", "", lines, 15, "\n\n \n");
    test_process_t p = test_run_to(0, "train --task classify " SMALL "--data %s --out %s", data, test_path("run-around"));
    expect_said(&p, "data: 54 training examples of 2 classes (neg: 27, pos: 27), 3 for validation, 3 for test");
    test_process_free(&p);
}

static void parts_may_be_called_val(void **state) {
    (void)state;
    const char *folder = test_path("val");
    assert_int_equal(mkdir(folder, 0777), 0);
    static const char *const parts[] = {"train", "val", "test"};
    for (int i = 0; i < 3; ++i) {
        char name[64];
        snprintf(name, sizeof name, "val/%s.tsv", parts[i]);
        (void)file_of(name, "", "pos\tgood film\nneg\tbad film\n", i ? 2 : 20, "");
    }
    test_process_t p = test_run_to(0, "train --task classify " SMALL "--data %s --out %s", test_path("val"), test_path("run-val"));
    expect_said(&p, "data: 40 training examples of 2 classes (neg: 20, pos: 20), 4 for validation, 4 for test");
    expect_said(&p, "best validation loss");
    test_process_free(&p);
    assert_true(test_evaluate(test_path("run-val"), "--split valid", "scored") == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_named_and_left_out_on_request),
        cmocka_unit_test(lines_without_text_are_left_out_on_request),
        cmocka_unit_test(what_is_around_labels_is_no_class),
        cmocka_unit_test(parts_may_be_called_val),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
