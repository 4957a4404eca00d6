// Taggers through the program: tokens in columns as people have them, `bpt tag` on such files, tag schemes, and F1 where it can be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/support.h"

#define ON "--backend cpu --threads 1 --quiet"
#define SMALL "--task tag --model transformer --d-ff 16 --layers 1 --d-model 16 --heads 2 --lr 0.02 " ON " "

// A folder whose three parts are these sentences, the training part a few times.
static const char *data_folder(const char *name, const char *sentences) {
    static const char *const parts[] = {"train.txt", "valid.txt", "test.txt"};
    static char folder[512];
    char text[8192] = "";
    snprintf(folder, sizeof folder, "%s", test_path("%s", name));
    assert_ok(bpt_folder_create(folder));
    for (int i = 0; i < 6; ++i) {
        assert_true(strlen(text) + strlen(sentences) < sizeof text);
        strcat(text, sentences);
    }
    for (int part = 0; part < 3; ++part) {
        char path[700];
        const char *content = part ? sentences : text;
        snprintf(path, sizeof path, "%s/%s", folder, parts[part]);
        test_write_file(path, content, strlen(content));
    }
    return folder;
}

static const char *run_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s", test_path("%s", name));
    return path;
}

#define U(n, form, tag) n "\t" form "\t_\t" tag "\t_\t_\t_\t_\t_\t_\n"
static const char conllu[] = "# text = He paid 26 000\n" U("1", "He", "PRON") U("2-3", "paid26", "_") U("2", "paid", "VERB")
    U("3", "26 000", "NUM") "\n# n = 2\n" U("1", "New York", "PROPN") U("1.1", "x", "_") U("2", "a\xC2\xA0z", "X") "\n";

static void words_with_blanks_go_through_every_command(void **state) {
    (void)state;
    char run[512], file[512], other[512];
    const char *folder = data_folder("conllu", conllu);
    snprintf(run, sizeof run, "%s", run_of("run-u"));
    snprintf(file, sizeof file, "%s", test_path("model.bpt"));
    snprintf(other, sizeof other, "%s", test_path("run-imported"));
    test_succeed("train " SMALL "--label-column upos --data %s --steps 30 --out %s", folder, run);
    test_succeed("train " SMALL "--label-column upos --data %s --steps 40 --resume --out %s", folder, run);
    test_succeed("eval %s " ON, run);
    test_process_t p = test_run_to(0, "tag %s %s/test.txt --format conllu " ON, run, folder);
    assert_string_equal(p.out, "He\tPRON\npaid\tVERB\n26 000\tNUM\n\nNew York\tPROPN\na\xC2\xA0z\tX\n\n");
    // What it writes is a file of tokens again.
    test_process_t again = test_run_to(0, "tag %s %s --format conll " ON, run, test_file("tagged.txt", p.out));
    assert_string_equal(again.out, p.out);
    test_process_free(&again);
    test_succeed("export %s --out %s --quiet", run, file);
    test_succeed("import %s --out %s --quiet", file, other);
    again = test_run_to(0, "tag %s %s/test.txt --format conllu " ON, other, folder);
    assert_string_equal(again.out, p.out);
    test_process_free(&again);
    test_process_free(&p);
    test_succeed("average %s --out %s --last 2 --quiet", run, test_path("run-average"));
    test_succeed("train " SMALL "--label-column upos --data %s --steps 2 --init %s --out %s", folder, run, test_path("run-init"));
    test_succeed("train " SMALL "--label-column upos --data %s --steps 2 --vectors %s --out %s", folder,
                 test_file("vectors.txt", "He 1 2 3\nNew York 1 0 2\n"), test_path("run-vectors"));
}

static void only_the_line_of_a_document_mark_goes(void **state) {
    (void)state;
    char first[512], second[512];
    const char *const text[] = {"-DOCSTART- -X- O\nAnna N B-PER\nruns V O\n\nGent N B-LOC\n\n",
                                "-DOCSTART- -X- O\n\nAnna N B-PER\nruns V O\n\nGent N B-LOC\n\n"};
    char *weights[2];
    size_t bytes[2];
    snprintf(first, sizeof first, "%s", data_folder("docstart", text[0]));
    snprintf(second, sizeof second, "%s", data_folder("docstart-blank", text[1]));
    for (int i = 0; i < 2; ++i) {
        test_succeed("train " SMALL "--data %s --steps 3 --out %s", i ? second : first, test_path("run-doc-%d", i));
        weights[i] = test_read_file(test_path("run-doc-%d/checkpoints/step-3/model.safetensors", i), &bytes[i]);
        for (int k = 0; k < 2; ++k) {
            test_process_t p = test_run_to(0, "eval %s --data %s/test.txt " ON, test_path("run-doc-%d", i), k ? second : first);
            assert_non_null(strstr(p.out, "scored       3 tokens"));
            test_process_free(&p);
        }
    }
    assert_true(bytes[0] == bytes[1] && !memcmp(weights[0], weights[1], bytes[0]));
    free(weights[0]);
    free(weights[1]);
}

// ---- bpt tag on files of tokens

static char tagger[512];

static const char spans[] = "Anna B-PER\nlives O\nin O\nGent B-LOC\nNorth I-LOC\n\nOslo B-LOC\nEast I-LOC\nCape I-LOC\n\nShe O\n\n";

static void train_tagger(void) {
    if (*tagger) return;
    snprintf(tagger, sizeof tagger, "%s", run_of("tagger"));
    test_succeed("train " SMALL "--data %s --tag-scheme bioes --best-by f1 --steps 60 --out %s", data_folder("spans", spans), tagger);
}

static void files_of_tokens_are_tagged_as_lines_of_text_are(void **state) {
    (void)state;
    enum { SENTENCES = 90000 };  // several blocks of input
    static char tokens[4 << 20], lines[4 << 20];
    size_t t = 0, l = 0;
    static const char *const words[] = {"Anna", "lives", "in", "Gent", "North", "Oslo"};
    train_tagger();
    for (int i = 0; i < SENTENCES; ++i) {
        for (int k = 0; k <= i * 7 % 5; ++k) {
            const char *word = words[(i + k * k) % 6];
            t += (size_t)sprintf(tokens + t, "%s x%d y\n", word, k);
            l += (size_t)sprintf(lines + l, "%s ", word);
        }
        t += (size_t)sprintf(tokens + t, i % 1000 ? "\n" : "\n \n-DOCSTART- -X- -X-\n\n");
        l += (size_t)sprintf(lines + l, "\n");
        assert_true(t + 200 < sizeof tokens);
    }
    test_process_t of_text = test_run_to(0, "tag %s %s " ON, tagger, test_file("lines.txt", lines));
    test_process_t of_tokens = test_run_to(0, "tag %s %s --format conll " ON, tagger, test_file("tokens.txt", tokens));
    assert_true(of_text.out_length == of_tokens.out_length && !memcmp(of_text.out, of_tokens.out, of_text.out_length));
    test_process_free(&of_text);
    test_process_free(&of_tokens);
}

static void sentences_before_a_bad_line_are_tagged(void **state) {
    (void)state;
    train_tagger();
    test_process_t p = test_run_to(1, "tag %s %s --format conll " ON, tagger,
                                   test_file("bad.txt", "Oslo\tO\nEast\tO\nCape\tO\n\nGent\tO\nNorth\nin\tO\n"));
    assert_string_equal(p.out, "Oslo\tB-LOC\nEast\tI-LOC\nCape\tE-LOC\n\n");
    assert_non_null(strstr(p.err, "bad.txt: line 6: 1 column between tabs, and line 1 has 2"));
    test_process_free(&p);
    p = test_run_to(0, "tag %s %s --format conll --text-column 2 --json --with-input " ON, tagger,
                    test_file("second.txt", "1\tOslo\n2\tEast\n3\tthe Cape\n\n"));
    assert_non_null(strstr(p.out, "\"tags\": [\"B-LOC\""));
    assert_non_null(strstr(p.out, "\"tokens\": [\"Oslo\", \"East\", \"the Cape\"]"));
    test_process_free(&p);
    test_refused(2, "--text-column goes with --format conll or csv, not with text", "tag %s /dev/null --text-column 2 " ON, tagger);
    test_refused(1, "1 column; the token is in column 3", "tag %s %s --format conll --text-column 3 " ON, tagger,
                 test_file("one.txt", "Anna\n"));
}

static void tags_are_written_in_the_scheme_that_is_asked_for(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"keep", "B-LOC\nI-LOC\nE-LOC"},
                                           {"data", "B-LOC\nI-LOC\nI-LOC"},
                                           {"iob1", "I-LOC\nI-LOC\nI-LOC"},
                                           {"bilou", "B-LOC\nI-LOC\nL-LOC"},
                                           {"bmes", "B-LOC\nM-LOC\nE-LOC"}};
    char run[512];
    train_tagger();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        test_process_t p = test_run_to(0, "tag %s %s --tag-scheme %s " ON, tagger, test_file("oslo.txt", "Oslo East Cape\n"), cases[i][0]);
        char want[200];
        snprintf(want, sizeof want, "Oslo\t%.5s\nEast\t%.5s\nCape\t%.5s\n\n", cases[i][1], cases[i][1] + 6, cases[i][1] + 12);
        assert_string_equal(p.out, want);
        test_process_free(&p);
    }
    snprintf(run, sizeof run, "%s", run_of("run-bare"));
    test_succeed("train " SMALL "--data %s --tag-scheme bilou --best-by f1 --steps 60 --out %s",
                 data_folder("bmes", "a B\nb M\nc E\nd S\nx O\n\n"), run);
    test_process_t p = test_run_to(0, "tag %s %s --tag-scheme data " ON, run, test_file("abc.txt", "a b c d x\n"));
    assert_string_equal(p.out, "a\tB\nb\tM\nc\tE\nd\tS\nx\tO\n\n");
    test_process_free(&p);
    test_refused(2, "are not those of spans, such as B-PER I-PER O", "tag %s /dev/null --tag-scheme iob2 " ON, test_path("run-u"));
}

// ---- F1

static void every_scheme_has_its_f1(void **state) {
    (void)state;
    static const char *const cases[] = {"Anna U-PER\nlives O\nGent B-LOC\nNorth L-LOC\n\n",
                                        "Anna S-PER\nlives O\nGent B-LOC\nMid M-LOC\nNorth E-LOC\n\n",
                                        "Anna B\nlives O\nGent B\nNorth I\n\n", "Anna I-PER\nlives O\nGent I-LOC\nNorth B-LOC\n\n"};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char name[40];
        snprintf(name, sizeof name, "scheme-%zu", i);
        const char *folder = data_folder(name, cases[i]);
        test_succeed("train " SMALL "--data %s --best-by f1 --steps 60 --out %s-run", folder, folder);
        test_process_t p = test_run_to(0, "eval %s-run " ON, folder);
        if (!strstr(p.out, "f1           100.0000 %")) fail_msg("%s: %s", cases[i], p.out);
        test_process_free(&p);
    }
}

static void a_tag_without_spans_is_named_where_f1_is_wanted(void **state) {
    (void)state;
    static const char typo[] = "Anna B-PER\nlives O\nGent B-LOC\nNorth I-LOC\n\nBob B_PER\n\n", pos[] = "Anna NOUN\nlives VERB\nB B\n\n",
                      outside[] = "a O\n\n";
    const char *folder = data_folder("typo", typo);
    test_refused(1, "train.txt: line 6: 'B_PER' is not a tag of spans as the others are, which --best-by f1 needs",
                 "train " SMALL "--data %s --best-by f1 --steps 2 --out %s", folder, test_path("no-run"));
    assert_false(bpt_folder_exists(test_path("no-run")));
    test_process_t p = test_run_to(0, "train " SMALL "--data %s --steps 2 --out %s", folder, test_path("run-typo"));
    assert_non_null(strstr(p.err, "train.txt: line 6: 'B_PER' is not a tag of spans as the others are, so there is no F1"));
    test_process_free(&p);
    p = test_run_to(0, "eval %s " ON, test_path("run-typo"));
    assert_non_null(strstr(p.err, "the tag 'B_PER', which is not a tag of spans"));
    test_process_free(&p);
    folder = data_folder("pos", pos);
    p = test_run_to(0, "train " SMALL "--data %s --steps 2 --out %s", folder, test_path("run-pos"));
    assert_null(strstr(p.err, "spans"));
    test_process_free(&p);
    test_refused(1, "train.txt: line 1: 'NOUN' is not a tag of spans, which --best-by precision needs",
                 "train " SMALL "--data %s --best-by precision --steps 2 --out %s", folder, test_path("no-run"));
    folder = data_folder("outside", spans);
    char valid[700];
    snprintf(valid, sizeof valid, "%s/valid.txt", folder);
    test_write_file(valid, outside, strlen(outside));
    test_refused(1, "valid.txt: every tag of the validation part is O, so --best-by f1 cannot choose",
                 "train " SMALL "--data %s --best-by f1 --steps 2 --out %s", folder, test_path("no-run"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_with_blanks_go_through_every_command),       cmocka_unit_test(only_the_line_of_a_document_mark_goes),
        cmocka_unit_test(files_of_tokens_are_tagged_as_lines_of_text_are),  cmocka_unit_test(sentences_before_a_bad_line_are_tagged),
        cmocka_unit_test(tags_are_written_in_the_scheme_that_is_asked_for), cmocka_unit_test(every_scheme_has_its_f1),
        cmocka_unit_test(a_tag_without_spans_is_named_where_f1_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
