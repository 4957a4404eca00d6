// Packed data, data from standard input and lines of fastText through the program: whatever reads a text reads it packed, with the same
// results; damaged, cut and missing ones are said in one sentence.
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

#include "bpt/base.h"
#include "support/gzip.h"
#include "support/process.h"

#define ON "--backend ref --quiet"
#define SMALL "--layers 1 --d-model 8 --heads 2 --lr 0.02 --warmup 1 --steps 4 --seed 3 " ON

static char example_lines[8192], vector_lines[2048], plain[512], packed[512];

// NAME as it is, and NAME.gz.
static void write_both(const char *name, const char *text) {
    test_write_file(test_path("plain/%s", name), text, strlen(text));
    test_write_gzip(test_path("packed/%s.gz", name), text, strlen(text));
}

static int setup(void **state) {
    (void)state;
    size_t used = 0;
    char source[2048] = "", target[2048] = "", tags[4096] = "";
    snprintf(plain, sizeof plain, "%s", test_path("plain"));
    snprintf(packed, sizeof packed, "%s", test_path("packed"));
    if (mkdir(plain, 0777) || mkdir(packed, 0777)) return 1;
    for (int i = 0; i < 60; ++i) {
        used += (size_t)snprintf(example_lines + used, sizeof example_lines - used, "%s\t%s film %d\n", i % 2 ? "bad" : "good",
                                 i % 2 ? "awful" : "fine", i % 10);
        sprintf(source + strlen(source), "go %d\n", i % 7);
        sprintf(target + strlen(target), "%d geh\n", i % 7);
        sprintf(tags + strlen(tags), "a O\nfilm%d B-X\n\n", i % 5);
    }
    for (int i = 0; i < 10; ++i) sprintf(vector_lines + strlen(vector_lines), "%d 0.%d 0.5 -0.25 1 0 0 0 1\n", i, i);
    write_both("train.tsv", example_lines);
    write_both("examples.txt", example_lines);
    write_both("vectors.txt", vector_lines);
    write_both("train.en", source), write_both("train.de", target);
    write_both("tags.txt", tags);
    write_both("lines.jsonl", "{\"text\": \"a text\"}\n{\"text\": \"another text\"}\n{\"text\": \"the last text\"}\n");
    return 0;
}

static void expect_same_model(const char *one, const char *other) {
    size_t a, b;
    char *first = test_read_file(test_path("%s/latest/model.safetensors", one), &a),
         *second = test_read_file(test_path("%s/latest/model.safetensors", other), &b);
    assert_true(first && second && a == b && !memcmp(first, second, a));
    free(first), free(second);
}

static char *said(const char *line) {
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: %s", line, p.err);
    char *out = p.out, *scored = strstr(out, "\nscored "), *seconds = scored ? strstr(scored, " in ") : NULL;
    if (seconds) *seconds = '\0';
    p.out = NULL;
    test_process_free(&p);
    return out;
}

static void expect_same_answer(const char *one, const char *other) {
    char *first = said(one), *second = said(other);
    assert_string_equal(first, second);
    assert_true(*first);
    free(first), free(second);
}

static char *line(const char *format, ...) BPT_PRINTF(1, 2);
static char *line(const char *format, ...) {
    static char text[2][4096];
    static int next;
    va_list args;
    va_start(args, format);
    vsnprintf(text[next ^= 1], sizeof text[0], format, args);
    va_end(args);
    return text[next];
}

static void packed_data_teach_the_same(void **state) {
    (void)state;
    static const struct {
        const char *name, *options, *data;  // the file of a folder, or its parts: ""
    } cases[] = {
        {"bytes", "--unit byte --context 16 --batch-tokens 64", "examples.txt"},
        {"words", "--unit word --context 8 --batch-tokens 64", "examples.txt"},
        {"lines", "--unit char --context 4 --batch-tokens 16 --format jsonl", "lines.jsonl"},
        {"classify", "--task classify --batch-examples 8", "train.tsv"},
        {"vectors", "--task classify --batch-examples 8 --vectors %s/vectors.txt%s", "train.tsv"},
        {"tag", "--task tag --model star --batch-examples 8", "tags.txt"},
        {"translate", "--task translate --source en --target de --batch-examples 8", ""},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        for (int as_packed = 0; as_packed < 2; ++as_packed) {
            const char *folder = as_packed ? packed : plain, *end = as_packed ? ".gz" : "";
            char options[1024];
            snprintf(options, sizeof options, "%s", cases[i].options);
            char *mark = strstr(options, "%s/vectors");
            if (mark) snprintf(mark, sizeof options - (size_t)(mark - options), "%s/vectors.txt%s", folder, end);
            test_succeed("train %s " SMALL " --data %s/%s%s --out %s", options, folder, cases[i].data, *cases[i].data ? end : "",
                         test_path("%s-%d", cases[i].name, as_packed));
        }
        char one[64], other[64];
        snprintf(one, sizeof one, "%s-0", cases[i].name), snprintf(other, sizeof other, "%s-1", cases[i].name);
        expect_same_model(one, other);
    }
}

static void trained_models_read_packed_texts(void **state) {
    (void)state;
    expect_same_answer(line("eval %s --data %s/train.tsv " ON, test_path("classify-0"), plain),
                       line("eval %s --data %s/train.tsv.gz " ON, test_path("classify-0"), packed));
    expect_same_answer(line("classify %s %s/train.tsv " ON, test_path("classify-0"), plain),
                       line("classify %s %s/train.tsv.gz " ON, test_path("classify-0"), packed));
    expect_same_answer(line("tag %s %s/tags.txt --format conll " ON, test_path("tag-0"), plain),
                       line("tag %s %s/tags.txt.gz --format conll " ON, test_path("tag-0"), packed));
    expect_same_answer(line("translate %s %s/train.en " ON, test_path("translate-0"), plain),
                       line("translate %s %s/train.en.gz " ON, test_path("translate-0"), packed));
    expect_same_answer(line("bleu %s/train.en --ref %s/train.de", plain, plain),
                       line("bleu %s/train.en.gz --ref %s/train.de.gz", packed, packed));
    expect_same_answer(line("generate %s --prompts %s/train.en --max-tokens 3 " ON, test_path("bytes-0"), plain),
                       line("generate %s --prompts %s/train.en.gz --max-tokens 3 " ON, test_path("bytes-0"), packed));
}

// Through a pipe, packed or not, one file or several behind one another; run by a shell.
static void expect_from_pipe(const char *producer, const char *name) {
    char shell[4096];
    snprintf(shell, sizeof shell,
             "%s | \"$BPT_PROGRAM\" train --task classify --batch-examples 8 " SMALL " --data - --out '%s' >/dev/null 2>&1", producer,
             test_path("%s", name));
    assert_int_equal(system(shell), 0);
    expect_same_model("classify-0", name);
}

static void the_standard_input_is_a_file(void **state) {
    (void)state;
    char producer[2048];
    snprintf(producer, sizeof producer, "cat '%s/train.tsv'", plain);
    expect_from_pipe(producer, "piped");
    snprintf(producer, sizeof producer, "cat '%s/train.tsv.gz'", packed);
    expect_from_pipe(producer, "piped-packed");
    const size_t half = strlen(example_lines) / 2;
    test_write_gzip(test_path("1.gz"), example_lines, half);
    test_write_gzip(test_path("2.gz"), example_lines + half, strlen(example_lines) - half);
    snprintf(producer, sizeof producer, "cat '%s' '%s'", test_path("1.gz"), test_path("2.gz"));
    expect_from_pipe(producer, "piped-parts");
}

static void lines_of_fasttext_teach_the_same(void **state) {
    (void)state;
    char lines[16384] = "";
    size_t used = 0;
    for (const char *at = example_lines; *at; at = strchr(at, '\n') + 1) {
        const int label = (int)strcspn(at, "\t"), all = (int)strcspn(at, "\n");
        used += (size_t)snprintf(lines + used, sizeof lines - used, "__label__%.*s %.*s\n", label, at, all - label - 1, at + label + 1);
    }
    test_write_gzip(test_path("train.ft.txt.gz"), lines, strlen(lines));
    test_succeed("train --task classify --batch-examples 8 " SMALL " --data %s --out %s", test_path("train.ft.txt.gz"),
                 test_path("fasttext"));
    expect_same_model("classify-0", "fasttext");
    expect_same_answer(line("eval %s --data %s " ON, test_path("fasttext"), test_path("train.ft.txt.gz")),
                       line("eval %s --data %s/train.tsv " ON, test_path("fasttext"), plain));
    expect_same_answer(line("classify %s %s " ON, test_path("fasttext"), test_path("train.ft.txt.gz")),
                       line("classify %s %s/train.tsv " ON, test_path("classify-0"), plain));
    test_refused(2, "--format fasttext is not for --task lm", "train " SMALL " --format fasttext --data %s/examples.txt --out %s", plain,
                 test_path("refused"));
    test_refused(2, "--label-column goes with", "train --task classify --label-column 2 " SMALL " --data %s --out %s",
                 test_path("train.ft.txt.gz"), test_path("refused"));
}

// Lines are those of the text that was packed.
static void bad_lines_of_packed_texts_are_named(void **state) {
    (void)state;
    test_write_gzip(test_path("bad.tsv.gz"), "good\ta\nbad\tb\nno tab\n", 20);
    test_refused(1, "bad.tsv.gz: line 3: no tab", "train --task classify " SMALL " --data %s --out %s", test_path("bad.tsv.gz"),
                 test_path("refused"));
    test_write_gzip(test_path("bad.jsonl.gz"), "{\"text\": \"a\", \"label\": 1}\n{\"text\": \n", 36);
    test_refused(1, "bad.jsonl.gz: line 2", "train --task classify " SMALL " --data %s --out %s", test_path("bad.jsonl.gz"),
                 test_path("refused"));
}

// Columns and fields have no brackets, so that no phrase of them could be an example.
static void phrases_are_those_of_brackets(void **state) {
    (void)state;
    char lines[4000] = "";
    for (int i = 0; i < 40; ++i)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "{\"text\": \"word%d\", \"label\": \"%c\"}\n", i, "ab"[i % 2]);
    test_write_file(test_path("phrases.jsonl"), lines, strlen(lines));
    test_refused(2,
                 "--subtrees makes examples of phrases in brackets, which --format text or trees has and jsonl has not; say --no-subtrees",
                 "train --task classify --subtrees " SMALL " --data %s --out %s", test_path("phrases.jsonl"), test_path("refused"));
    test_write_file(test_path("phrases.tsv"), "a\tone\nb\ttwo\nb\tthree\n", 20);
    test_refused(1, "phrases.tsv: line 1: --subtrees makes examples of phrases in brackets, and no line has any; say --no-subtrees",
                 "train --task classify --subtrees " SMALL " --data %s --out %s", test_path("phrases.tsv"), test_path("refused"));
}

static void cut_and_damaged_files_are_refused(void **state) {
    (void)state;
    size_t length;
    char *bytes = test_read_file(test_path("packed/train.tsv.gz"), &length);
    test_write_file(test_path("cut.tsv.gz"), bytes, length - 3);
    test_refused(1, "cut.tsv.gz: line 61 of what is unpacked: the gzip data are cut off here; fetch or pack the file anew",
                 "train --task classify " SMALL " --data %s --out %s", test_path("cut.tsv.gz"), test_path("refused"));
    bytes[length / 2] ^= 1;
    test_write_file(test_path("changed.tsv.gz"), bytes, length);
    test_refused(1, "the gzip data are damaged (incorrect data check)", "classify %s %s " ON, test_path("classify-0"),
                 test_path("changed.tsv.gz"));
    free(bytes);
}

static void a_missing_library_names_its_package(void **state) {
    (void)state;
    setenv("BPT_ZLIB_LIBRARY", "none", 1);
    test_refused(1, "BPT_ZLIB_LIBRARY=none leaves no library", "train --task classify " SMALL " --data %s/train.tsv.gz --out %s", packed,
                 test_path("refused"));
    unsetenv("BPT_ZLIB_LIBRARY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_data_teach_the_same),          cmocka_unit_test(trained_models_read_packed_texts),
        cmocka_unit_test(the_standard_input_is_a_file),        cmocka_unit_test(lines_of_fasttext_teach_the_same),
        cmocka_unit_test(bad_lines_of_packed_texts_are_named), cmocka_unit_test(cut_and_damaged_files_are_refused),
        cmocka_unit_test(a_missing_library_names_its_package), cmocka_unit_test(phrases_are_those_of_brackets),
    };
    return cmocka_run_group_tests_name("data_as_it_lies", tests, setup, NULL);
}
