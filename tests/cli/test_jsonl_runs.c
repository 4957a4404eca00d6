// JSON lines through the program: every task learns the same from them as from its other formats, trained models read them, and what cannot
// be read is refused.
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
#include "support/scratch.h"

#define ON "--backend ref --quiet"
#define SMALL "--layers 1 --d-model 8 --heads 2 --batch-examples 8 --lr 0.02 --warmup 1 --steps 4 --seed 3 " ON

enum { EXAMPLES = 40 };

// Example i of a task as a line of its usual format, and as an object.
typedef void write_t(int i, char *usual, char *object);

static void classify(int i, char *usual, char *object) {
    sprintf(usual, "%s\ta film%d \"q\"\n", i % 2 ? "good" : "bad", i % 5);
    sprintf(object, "{\"label\": \"%s\", \"text\": \"a film%d\\n\\\"q\\\"\", \"idx\": %d}\n", i % 2 ? "good" : "bad", i % 5, i);
}
static void number(int i, char *usual, char *object) {
    sprintf(usual, "%d.5\ta film%d\n", i, i % 5);
    sprintf(object, "{\"sentence\": \"a film%d\", \"score\": %d.5}\n", i % 5, i);
}
static void pair(int i, char *usual, char *object) {
    sprintf(usual, "%d\ta film%d\tb c\n", i % 3, i % 5);
    sprintf(object, "{\"premise\": \"a film%d\", \"hypothesis\": \"b c\", \"label\": %d}\n", i % 5, i % 3);
}
static void tags(int i, char *usual, char *object) {
    sprintf(usual, "a O\nfilm%d B-X\nb I-X\n\n", i % 5);
    sprintf(object, "{\"tokens\": [\"a\", \"film%d\", \"b\"], \"ner_tags\": [\"O\", \"B-X\", \"I-X\"]}\n", i % 5);
}

static const struct {
    const char *name, *options, *usual_name;
    write_t *write;
} tasks[] = {
    {"classify", "--task classify", "train.tsv", classify},
    {"regress", "--task regress", "train.tsv", number},
    {"pair", "--task pair --model star", "train.tsv", pair},
    {"tag", "--task tag --model star --tag-scheme bioes", "train.txt", tags},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

static const char *folder_of(size_t t, const char *form) { return test_path("%s-%s", tasks[t].name, form); }
static const char *file_of(size_t t, bool usual) {
    return test_path("%s-%s/%s", tasks[t].name, usual ? "usual" : "jsonl", usual ? tasks[t].usual_name : "train.jsonl");
}

static void write_data(size_t t) {
    char usual[EXAMPLES * 120] = "", objects[EXAMPLES * 120] = "";
    for (int i = 0; i < EXAMPLES; ++i) tasks[t].write(i, usual + strlen(usual), objects + strlen(objects));
    assert_true(!mkdir(folder_of(t, "usual"), 0777) && !mkdir(folder_of(t, "jsonl"), 0777));
    test_write_file(file_of(t, true), usual, strlen(usual));
    test_write_file(file_of(t, false), objects, strlen(objects));
}

static char *said(const char *format, ...) BPT_PRINTF(1, 2);
static char *said(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    test_process_t p = test_run_to(0, "%s", line);
    char *out = p.out;
    p.out = NULL;
    test_process_free(&p);
    return out;
}

static void expect_same_model(const char *one, const char *other) {
    size_t a, b;
    char *first = test_read_file(test_path("%s/latest/model.safetensors", one), &a),
         *second = test_read_file(test_path("%s/latest/model.safetensors", other), &b);
    assert_true(a == b && !memcmp(first, second, a));
    free(first), free(second);
}

static void expect_same_text(char *one, char *other) {
    assert_string_equal(one, other);
    free(one), free(other);
}

static int setup(void **state) {
    (void)state;
    for (size_t t = 0; t < TASKS; ++t) {
        write_data(t);
        for (int usual = 0; usual < 2; ++usual)
            test_succeed("train %s " SMALL " --data %s --out %s", tasks[t].options, file_of(t, usual),
                         test_path("run-%s-%s", tasks[t].name, usual ? "usual" : "jsonl"));
    }
    return 0;
}

static void every_task_learns_the_same_from_them(void **state) {
    (void)state;
    for (size_t t = 0; t < TASKS; ++t) {
        char one[100], other[100];
        snprintf(one, sizeof one, "run-%s-usual", tasks[t].name);
        snprintf(other, sizeof other, "run-%s-jsonl", tasks[t].name);
        expect_same_model(one, other);
    }
}

// ---- Running text, and texts and translations by lines
#define TRANSLATE "--task translate --source en --target de "

static void write_running(void) {
    char text[EXAMPLES * 60] = "", objects[EXAMPLES * 80] = "", both[EXAMPLES * 80] = "", en[EXAMPLES * 30] = "", de[EXAMPLES * 30] = "";
    for (int i = 0; i < EXAMPLES; ++i) {
        sprintf(text + strlen(text), "a text%d\nof \"two\" lines\n", i % 7);
        sprintf(objects + strlen(objects), "{\"id\": %d, \"text\": \"a text%d\\nof \\\"two\\\" lines\"}\n%s", i, i % 7, i % 5 ? "" : "\n");
        sprintf(en + strlen(en), "go %d\n%s", i % 7, i % 5 ? "" : "\n");
        sprintf(de + strlen(de), "%d geh\n%s", i % 7, i % 5 ? "" : "\n");
        sprintf(both + strlen(both), "{\"translation\": {\"en\": \"go\\n%d\", \"de\": \"%d geh\"}}\n%s", i % 7, i % 7, i % 5 ? "" : "\n");
    }
    test_write_file(test_path("text.txt"), text, strlen(text));
    test_write_file(test_path("text.jsonl"), objects, strlen(objects));
    assert_true(!mkdir(test_path("files"), 0777) && !mkdir(test_path("lines"), 0777));
    test_write_file(test_path("files/train.en"), en, strlen(en));
    test_write_file(test_path("files/train.de"), de, strlen(de));
    test_write_file(test_path("lines/train.jsonl"), both, strlen(both));
}

static void language_models_and_translators_read_the_fields(void **state) {
    (void)state;
#define LM "--layers 1 --d-model 8 --heads 2 --context 8 --steps 3 --warmup 1 " ON
    write_running();
    for (int words = 0; words < 2; ++words) {
        const char *unit = words ? "word" : "byte";
        char from_text[32], from_lines[32];
        snprintf(from_text, sizeof from_text, "lm-text-%s", unit), snprintf(from_lines, sizeof from_lines, "lm-jsonl-%s", unit);
        test_succeed("train --unit %s " LM " --data %s --out %s", unit, test_path("text.txt"), test_path("%s", from_text));
        test_succeed("train --unit %s " LM " --data %s --out %s --format jsonl", unit, test_path("text.jsonl"),
                     test_path("%s", from_lines));
        expect_same_model(from_text, from_lines);
        char *one = said("eval %s --data %s " ON, test_path("%s", from_lines), test_path("text.jsonl"));
        expect_same_text(said("eval %s --data %s --format text " ON, test_path("%s", from_lines), test_path("text.txt")), one);
        test_succeed("train --resume --steps 4 --out %s " ON, test_path("%s", from_lines));
    }
    for (int documents = 0; documents < 2; ++documents) {
        const char *more = documents ? "--context-tokens 12" : "";
        test_succeed("train " TRANSLATE SMALL " %s --data %s --out %s", more, test_path("files"), test_path("tr-files-%d", documents));
        test_succeed("train " TRANSLATE SMALL " %s --data %s --out %s --format jsonl", more, test_path("lines"),
                     test_path("tr-lines-%d", documents));
        char one[32], other[32];
        snprintf(one, sizeof one, "tr-files-%d", documents), snprintf(other, sizeof other, "tr-lines-%d", documents);
        expect_same_model(one, other);
        char *of_files = said("translate %s %s --beam 2 " ON, test_path("%s", one), test_path("files/train.en"));
        expect_same_text(said("translate %s %s --beam 2 " ON, test_path("%s", other), test_path("lines/train.jsonl")), of_files);
    }
    free(said("eval %s --split train " ON, test_path("tr-lines-1")));
    // Without --format the file is read as it is, which is said.
    test_process_t p = test_run_to(0, "train --unit byte " LM " --data %s --out %s", test_path("text.jsonl"), test_path("lm-raw"));
    assert_non_null(strstr(p.err, "text.jsonl is read as it is"));
    test_process_free(&p);
    test_refused(1, "no field \"en\" for the text", "translate %s %s " ON, test_path("tr-lines-0"), test_path("text.jsonl"));
    test_refused(1, "no field \"fr\" for the text",
                 "train --task translate --source en --target fr " SMALL " --format jsonl --data %s --out %s", test_path("lines"),
                 test_path("refused"));
    test_refused(1, "field \"id\" is no text", "train " LM " --format jsonl --text-field id --data %s --out %s", test_path("text.jsonl"),
                 test_path("refused"));
    test_refused(2, "--format jsonl is not for --trees file", "train " TRANSLATE SMALL " --model tree --format jsonl --data %s --out %s",
                 test_path("lines"), test_path("refused"));
}

// The format is that of the file, and not of what the model was trained on.
static void a_model_is_evaluated_on_either(void **state) {
    (void)state;
    for (size_t t = 0; t < TASKS; ++t)
        for (int usual = 0; usual < 2; ++usual) {
            const char *run = test_path("run-%s-%s", tasks[t].name, usual ? "usual" : "jsonl");
            char *own = said("eval %s --split train " ON, run);
            expect_same_text(said("eval %s --data %s " ON, run, file_of(t, true)), said("eval %s --data %s " ON, run, file_of(t, false)));
            free(own);
        }
}

static void classify_and_tag_read_them(void **state) {
    (void)state;
    static const char own[] = "{\"body\": \"a film1\"}\n\n{\"body\": \"a film2 \\u0022q\\u0022\"}\n", same[] = "a film1\n\na film2 \"q\"\n";
    test_write_file(test_path("own.txt"), own, sizeof own - 1);
    test_write_file(test_path("same.txt"), same, sizeof same - 1);
    char *text = said("classify %s %s " ON, test_path("run-classify-jsonl"), file_of(0, true));
    expect_same_text(said("classify %s %s " ON, test_path("run-classify-jsonl"), file_of(0, false)), text);
    text = said("tag %s %s --format conll " ON, test_path("run-tag-jsonl"), file_of(3, true));
    expect_same_text(said("tag %s %s " ON, test_path("run-tag-jsonl"), file_of(3, false)), text);
    text = said("classify %s %s " ON, test_path("run-classify-jsonl"), test_path("same.txt"));
    expect_same_text(said("classify %s %s --format jsonl --text-field body " ON, test_path("run-classify-jsonl"), test_path("own.txt")),
                     text);
}

static void what_cannot_be_read_is_refused(void **state) {
    (void)state;
    enum { LINES, TSV };
    const struct {
        int status;
        const char *message, *options;
        int file;
    } cases[] = {
        {2, "--header goes with --format text, columns, trees or csv, not with jsonl: its fields have names", "--header", LINES},
        {2, "--where goes with --format columns or csv, not with jsonl", "--where 1=x", LINES},
        {2, "--label-column goes with --format columns or csv, not with jsonl", "--label-column 2", LINES},
        {2, "--text-field goes with --format jsonl or csv, not with text", "--format text --text-field body", TSV},
        {1, "not valid JSON", "--text-field body", TSV},
        {2, "--text-column goes with --format columns or csv, not with jsonl", "--label-field x --text-column 2", TSV},
        {2, "a pair needs two fields, such as premise,hypothesis", "--task pair --text-field a", LINES},
        {2, "a pair needs two fields, such as premise,hypothesis", "--task pair --text-field a,", LINES},
        {2, "texts in jsonl have no trees; make them with --trees", "--model tree", LINES},
        {1, "line 1, column 3: not valid JSON", "--format jsonl", TSV},
        {1, "line 1: no field \"body\" for the text", "--text-field body", LINES},
        {1, "line 1: no tab", "--format text", LINES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        test_refused(cases[i].status, cases[i].message, "train --task classify %s --data %s --out %s " ON, cases[i].options,
                     file_of(0, cases[i].file == TSV), test_path("refused"));
    assert_null(test_read_file(test_path("refused/config.json"), NULL));
    test_refused(2, "--text-field goes with --format jsonl or csv, not with text", "classify %s %s --format text --text-field a " ON,
                 test_path("run-classify-usual"), file_of(0, true));
    test_refused(2, "--header goes with", "classify %s %s --header " ON, test_path("run-classify-usual"), file_of(0, false));
}

// Lines before a bad one are answered.
// A folder does not say the format, and its files do; a model with named fields reads plain lines too.
static void fields_are_named_for_folders(void **state) {
    (void)state;
    static const char plain[] = "a film1\n", object[] = "{\"text\": \"a film1\"}\n";
    test_write_file(test_path("plain.txt"), plain, sizeof plain - 1);
    test_write_file(test_path("object.jsonl"), object, sizeof object - 1);
    test_succeed("train --task classify " SMALL " --text-field text --data %s --out %s", test_path("classify-jsonl"), test_path("named"));
    char *text = said("classify %s %s " ON, test_path("named"), test_path("plain.txt"));
    expect_same_text(said("classify %s %s " ON, test_path("named"), test_path("object.jsonl")), text);
    text = said("eval %s --data %s --format text " ON, test_path("named"), file_of(0, true));
    expect_same_text(said("eval %s --data %s " ON, test_path("named"), file_of(0, false)), text);
}

// How the files of a run are read does not go with files of another format.
static void columns_of_a_run_are_not_for_its_other_files(void **state) {
    (void)state;
    char text[EXAMPLES * 40] = "review\tlabel\n";
    for (int i = 0; i < EXAMPLES; ++i) sprintf(text + strlen(text), "a film%d \"q\"\t%s\n", i % 5, i % 2 ? "good" : "bad");
    test_write_file(test_path("columns.tsv"), text, strlen(text));
    test_succeed("train --task classify " SMALL " --header --label-column 2 --text-column 1 --data %s --out %s", test_path("columns.tsv"),
                 test_path("columns"));
    text[0] = 0;
    char *whole = said("eval %s --data %s " ON, test_path("columns"), file_of(0, false));
    expect_same_text(said("eval %s --data %s --header " ON, test_path("columns"), test_path("columns.tsv")), whole);
    char *part = said("eval %s --data %s --split test " ON, test_path("columns"), file_of(0, false));
    expect_same_text(said("eval %s --data %s --split test --header " ON, test_path("columns"), test_path("columns.tsv")), part);
}

static void a_bad_line_ends_the_answers_with_its_place(void **state) {
    (void)state;
    static const char text[] = "{\"text\": \"a film1\"}\n{\"text\": \"a film2\"}\n{\"text\": 3}\n";
    const char *file = test_path("bad.jsonl");
    test_write_file(file, text, sizeof text - 1);
    test_process_t p = test_run_to(1, "classify %s %s " ON, test_path("run-classify-jsonl"), file);
    assert_non_null(strstr(p.err, "bad.jsonl: line 3: field \"text\" is no text"));
    const char *first = strchr(p.out, '\n');
    assert_true(first && strchr(first + 1, '\n') && !strchr(first + 1, '\n')[1]);
    test_process_free(&p);
}

static void a_run_goes_on_with_the_same_fields_only(void **state) {
    (void)state;
    const char *out = "two";
    char text[EXAMPLES * 80] = "";
    for (int i = 0; i < EXAMPLES; ++i)
        sprintf(text + strlen(text), "{\"a\": \"x y%d\", \"b\": \"x y%d\", \"label\": %d, \"other\": %d}\n", i % 3, i % 4, i % 2,
                i / 7 % 2);
    test_write_file(test_path("two.jsonl"), text, strlen(text));
    test_succeed("train --task classify " SMALL " --text-field a --stop-at 2 --data %s --out %s", test_path("two.jsonl"),
                 test_path("%s", out));
    test_refused(2, "--text-field", "train --resume --text-field b --out %s " ON, test_path("%s", out));
    test_succeed("train --resume --out %s " ON, test_path("%s", out));
    free(said("eval %s --split valid " ON, test_path("%s", out)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_learns_the_same_from_them),
        cmocka_unit_test(language_models_and_translators_read_the_fields),
        cmocka_unit_test(a_model_is_evaluated_on_either),
        cmocka_unit_test(classify_and_tag_read_them),
        cmocka_unit_test(what_cannot_be_read_is_refused),
        cmocka_unit_test(fields_are_named_for_folders),
        cmocka_unit_test(columns_of_a_run_are_not_for_its_other_files),
        cmocka_unit_test(a_bad_line_ends_the_answers_with_its_place),
        cmocka_unit_test(a_run_goes_on_with_the_same_fields_only),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
