// A changed config.json: whatever bit it is, every command that reads the run refuses it, or answers as before; options change on the
// command line of a resumed run. Runs of versions without a checksum of the file are held against their model.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "models/api/model.h"
#include "models/train/run_config.h"
#include "support/check.h"
#include "support/process.h"
#include "support/run_files.h"

#define ON "--backend ref --quiet"

// ---- Runs, trained once

enum { LM, CLASSIFIER, TAGGER, PAIR, SUMMATION, DOCUMENTS, TREES, KINDS };
static const struct {
    const char *name, *data, *options, *answers;  // answers: a command that needs a line of text, NULL: none
} kinds[KINDS] = {
    [LM] = {"lm", "words.txt", "--unit word --context 8 --batch-tokens 64", "generate %s --prompt the --max-tokens 2 --temperature 0"},
    [CLASSIFIER] = {"classifier", "texts.tsv", "--task classify --truncate 4 --batch-examples 8", "classify %s %s"},
    [TAGGER] = {"tagger", "tags.txt", "--task tag --crf --ngram-max 3 --ngram-rows 30 --batch-examples 8", "tag %s %s"},
    [PAIR] = {"pair", "pairs.tsv", "--task pair --batch-examples 8", NULL},
    [SUMMATION] = {"summation", NULL, "--task regress --n 6 --sum 2 --examples 20 --batch-examples 10", NULL},
    [DOCUMENTS] = {"documents", "parts", "--task translate --model bpt --source en --target de --context-tokens 6 --batch-examples 8",
                   "translate %s %s"},
    [TREES] = {"trees", "parts", "--task translate --model tree --source en --target de --trees balanced --batch-examples 8",
               "translate %s %s"},
};

static char runs[KINDS][512], lines[512];

static void write_lines(const char *name, int count, const char *format) {
    FILE *file = fopen(test_path("%s", name), "w");
    assert_non_null(file);
    for (int i = 0; i < count; ++i) fprintf(file, format, i % 2 ? "cat" : "dog", i % 3 ? "sleeps" : "runs");
    assert_int_equal(fclose(file), 0);
}

static void write_data(void) {
    static const char *const parts[] = {"train", "valid", "test"};
    write_lines("words.txt", 200, "the %s %s on the mat\n");
    write_lines("texts.tsv", 40, "%s\tit often %s in the sun and more\n");
    write_lines("tags.txt", 40, "the O\n%s B-PET\n%s O\n\n");
    write_lines("pairs.tsv", 40, "%s\tit %s there\tit does so\n");
    write_lines("lines.txt", 4, "the %s %s\n");
    char line[1024];
    snprintf(line, sizeof line, "mkdir -p %s", test_path("parts"));
    assert_int_equal(system(line), 0);
    for (int i = 0; i < 3; ++i) {
        snprintf(line, sizeof line, "parts/%s.en", parts[i]);
        write_lines(line, i ? 6 : 24, "the %s %s\n");
        snprintf(line, sizeof line, "parts/%s.de", parts[i]);
        write_lines(line, i ? 6 : 24, "das %s wie es %s\n");
    }
    snprintf(lines, sizeof lines, "%s", test_path("lines.txt"));
}

static int train_models(void **state) {
    (void)state;
    write_data();
    for (int k = 0; k < KINDS; ++k) {
        char data[600] = "--data summation";
        snprintf(runs[k], sizeof runs[k], "%s", test_path("%s", kinds[k].name));
        if (kinds[k].data) snprintf(data, sizeof data, "--data %s", test_path("%s", kinds[k].data));
        test_succeed("train --layers 1 --d-model 8 --heads 2 --warmup 1 --steps 4 --save-every 2 --keep 9 %s %s --out %s " ON,
                     kinds[k].options, data, runs[k]);
    }
    return 0;
}

// ---- Commands that read a run

static const char *const commands[] = {"eval", "answers", "export", "average", "init", "resume"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

// A run of another task, with its own data; *none: the run has no such command.
static test_process_t use(const char *command, int kind, const char *run, bool *none) {
    char line[4096], data[600] = "--data summation";
    if (kinds[kind].data) snprintf(data, sizeof data, "--data %s", test_path("%s", kinds[kind].data));
    const char *out = test_path("made");
    snprintf(line, sizeof line, "rm -rf %s", out);
    assert_int_equal(system(line), 0);
    *none = !strcmp(command, "answers") && !kinds[kind].answers;
    if (*none) return (test_process_t){0};
    if (!strcmp(command, "eval"))
        snprintf(line, sizeof line, "eval %s --checkpoint latest %s --split test --nll-out %s " ON, run, data, out);
    if (!strcmp(command, "answers")) {
        const int length = snprintf(line, sizeof line, kinds[kind].answers, run, lines);
        snprintf(line + length, sizeof line - (size_t)length, " --checkpoint latest " ON);
    }
    if (!strcmp(command, "export")) snprintf(line, sizeof line, "export %s --checkpoint latest --out %s --quiet", run, out);
    if (!strcmp(command, "average")) snprintf(line, sizeof line, "average %s --last 2 --out %s --quiet", run, out);
    if (!strcmp(command, "init"))
        snprintf(line, sizeof line, "train --init %s %s %s --steps 1 --out %s " ON, run, kinds[kind].options, data, out);
    if (!strcmp(command, "resume")) snprintf(line, sizeof line, "train --out %s --resume --steps 5 " ON, run);
    return test_run_line(line);
}

// One sentence that holds the text, and nothing made. `status` is that of data that are wrong.
static void expect_refused(const char *command, int kind, const char *run, const char *says) {
    bool none;
    test_process_t p = use(command, kind, run, &none);
    if (none) return;
    const char *newline = strchr(p.err, '\n');
    if (p.exit_status != 1 || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) || !strstr(p.err, says))
        fail_msg("%s of %s: exit %d, stdout '%s', stderr '%s', wanted 1 and '%s'", command, kinds[kind].name, p.exit_status, p.out, p.err,
                 says);
    test_process_free(&p);
}

static void expect_success(const char *command, int kind, const char *run) {
    bool none;
    test_process_t p = use(command, kind, run, &none);
    if (none) return;
    if (p.exit_status) fail_msg("%s of %s: exit %d: %s", command, kinds[kind].name, p.exit_status, p.err);
    test_process_free(&p);
}

static void undamaged_runs_are_used_by_every_command(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; ++k)
        for (int c = 0; c < COMMANDS; ++c) expect_success(commands[c], k, test_copy_run(runs[k]));
}

// ---- Single bits

// What a text says, but for its checksums; NULL: it is refused.
static json_t *said(const char *bytes, size_t length) {
    bpt_run_origin_t origin;
    json_t *config;
    if (bpt_json_parse(bytes, length, "config.json", &config) != BPT_OK) return NULL;
    if (bpt_run_config_check(config, "config.json", &origin) == BPT_OK && origin.known) return config;
    json_decref(config);
    return NULL;
}

static void every_bit_of_config_json_is_under_its_checksum(void **state) {
    (void)state;
    int silent = 0, flips = 0;
    for (int k = 0; k < KINDS; ++k) {
        size_t length;
        char *bytes = test_read_file(test_in_run(runs[k], "config.json"), &length);
        json_t *whole = said(bytes, length);
        assert_non_null(whole);
        for (size_t bit = (size_t)k; bit < 8 * length; bit += KINDS, ++flips) {  // each bit in one of the runs, roughly
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            json_t *changed = said(bytes, length);
            if (changed && !json_equal(changed, whole)) fail_msg("%s: bit %zu of byte %zu passes", kinds[k].name, bit % 8, bit / 8);
            silent += changed != NULL;  // the e of an exponent
            json_decref(changed);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        json_decref(whole);
        free(bytes);
    }
    assert_true(flips > 10000 && silent < flips / 1000);
}

// Each command at places of its own, spread over the file.
static void a_flipped_bit_is_refused_by_every_command(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int k = 0; k < KINDS; ++k) {
        const char *run = test_copy_run(runs[k]), *path = test_in_run(run, "config.json");
        for (int c = 0; c < COMMANDS; ++c) {
            size_t length;
            random = random * 1664525 + 1013904223;
            char *bytes = test_read_file(path, &length);
            const size_t bit = random % (8 * length);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            json_t *same = said(bytes, length);
            test_write_file(path, bytes, length);
            if (!same) expect_refused(commands[c], k, run, "config.json");
            json_decref(same);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            test_write_file(path, bytes, length);
            free(bytes);
        }
    }
}

// What changed answers, losses or the course of training, with status 0.
static void other_values_are_refused(void **state) {
    (void)state;
    static const struct {
        int kind;
        const char *from, *to;
    } changes[] = {{CLASSIFIER, "\"truncate\": 4", "\"truncate\": 5"},
                   {CLASSIFIER, "\"text_column\": \"\"", "\"text_column\": \"1\""},
                   {CLASSIFIER, "\"where\": \"\"", "\"where\": \"1=cat\""},
                   {CLASSIFIER, "\"truncate\"", "\"trumcate\""},
                   {TAGGER, "\"label_column\": \"\"", "\"label_column\": \"1\""},
                   {PAIR, "\"seed\": 1", "\"seed\": 3"},
                   {SUMMATION, "\"sum\": 2", "\"sum\": 3"},
                   {SUMMATION, "\"examples\": 20", "\"examples\": 22"},
                   {SUMMATION, "\"n\": 6", "\"n\": 7"},
                   {DOCUMENTS, "\"context_tokens\": 6", "\"context_tokens\": 7"},
                   {DOCUMENTS, "\"source\": \"en\"", "\"source\": \"de\""},
                   {TREES, "\"trees\": \"balanced\"", "\"trees\": \"flat\""},
                   {TREES, "\"truncate\": 0", "\"truncate\": 4"},
                   {LM, "\"lr\": ", "\"lr\": 1"},
                   {LM, "\"schedule\": \"cosine\"", "\"schedule\": \"constant\""},
                   {LM, "\"beta2\": 0.98", "\"beta2\": 0.99"},
                   {LM, "\"clip\": 0.25", "\"clip\": 0.5"},
                   {LM, "\"accumulate\": 1", "\"accumulate\": 2"},
                   {LM, "\"batch_tokens\": 64", "\"batch_tokens\": 32"},
                   {LM, "\"precision\": \"f32\"", "\"precision\": \"f16\""},
                   {LM, "\"eval_context\": 8", "\"eval_context\": 9"},
                   {LM, "\"lower\": false", "\"lower\": true"},
                   {LM, "\"unit\": \"word\"", "\"unit\": \"ids\""},
                   {LM, "\"keep\": 9", "\"keep\": 7"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        const char *run = test_copy_run(runs[changes[i].kind]);
        test_edit(test_in_run(run, "config.json"), changes[i].from, changes[i].to);
        expect_refused("eval", changes[i].kind, run, "does not match its own checksum");
        expect_refused(commands[1 + i % (COMMANDS - 1)], changes[i].kind, run, "does not match its own checksum");
    }
}

static void the_file_of_another_run_or_version_is_refused(void **state) {
    (void)state;
    char line[2048];
    const char *run = test_copy_run(runs[CLASSIFIER]), *other = test_path("other");
    test_succeed("train --layers 1 --d-model 8 --heads 2 --warmup 1 --steps 4 %s --truncate 3 --data %s --out %s " ON,
                 "--task classify --batch-examples 8", test_path("texts.tsv"), other);
    snprintf(line, sizeof line, "cp %s/config.json %s/config.json", other, run);
    assert_int_equal(system(line), 0);
    for (int c = 0; c < COMMANDS; ++c) expect_refused(commands[c], CLASSIFIER, run, "are of different runs");
    run = test_copy_run(runs[TREES]);
    json_t *config = json_load_file(test_in_run(run, "config.json"), 0, NULL);
    (void)json_object_del(config, "origin"), (void)json_object_del(config, "xxh3");
    assert_int_equal(json_dump_file(config, test_in_run(run, "config.json"), JSON_INDENT(2)), 0);
    json_decref(config);
    for (int c = 0; c < COMMANDS; ++c) expect_refused(commands[c], TREES, run, "config.json has no checksum, ");
}

static void the_library_refuses_a_changed_file(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; ++k) {
        const char *run = test_copy_run(runs[k]);
        bpt_model_options_t options = bpt_model_options();
        bpt_model_t *model;
        options.backend = "ref";
        assert_ok(bpt_model_open(run, &options, &model));
        bpt_model_close(model);
        test_edit(test_in_run(run, "config.json"), "\"max_length\": 0", "\"max_length\": 1");
        assert_fails(bpt_model_open(run, &options, &model), BPT_ERR_INPUT, "does not match its own checksum");
    }
}

// ---- Changes that are meant

static void options_change_when_a_run_is_resumed_and_older_checkpoints_stay(void **state) {
    (void)state;
    bool none;
    char line[2048];
    const char *run = test_copy_run(runs[LM]);
    test_process_t before = use("eval", LM, run, &none);
    test_succeed("train --out %s --resume --steps 9 --eval-every 1 --keep 9 " ON, run);
    test_process_t after = test_run_to(0, "eval %s --checkpoint 4 --data %s --split test " ON, run, test_path("words.txt"));
    *strstr(before.out, " in ") = *strstr(after.out, " in ") = 0;
    assert_string_equal(after.out, before.out);
    test_process_free(&before), test_process_free(&after);
    for (int c = 0; c < COMMANDS - 1; ++c) expect_success(commands[c], LM, run);
    // Killed after config.json was replaced, before the next checkpoint.
    snprintf(line, sizeof line, "cp %s/config.json %s", run, test_path("config.json"));
    assert_int_equal(system(line), 0);
    run = test_copy_run(runs[LM]);
    snprintf(line, sizeof line, "cp %s %s/config.json", test_path("config.json"), run);
    assert_int_equal(system(line), 0);
    for (int c = 0; c < COMMANDS - 1; ++c) expect_success(commands[c], LM, run);
    test_succeed("train --out %s --resume " ON, run);
    expect_success("eval", LM, run);
}

static void a_changed_copy_serves_as_a_config_file(void **state) {
    (void)state;
    const char *run = test_copy_run(runs[CLASSIFIER]);
    test_edit(test_in_run(run, "config.json"), "\"truncate\": 4", "\"truncate\": 3");
    test_succeed("train --config %s --out %s " ON, test_in_run(run, "config.json"), test_path("from-config"));
}

// ---- Runs of versions without checksums

static void a_run_of_a_version_before_gets_its_checksum_when_it_is_resumed(void **state) {
    (void)state;
    const char *run = test_copy_run(runs[CLASSIFIER]);
    test_forget_config_checksum(run);
    test_process_t p = test_run_to(0, "eval %s --backend ref --data %s", run, test_path("texts.tsv"));
    assert_non_null(strstr(p.err, "config.json was written without a checksum"));
    assert_null(strstr(strstr(p.err, "without a checksum") + 1, "without a checksum"));
    test_process_free(&p);
    for (int c = 0; c < COMMANDS; ++c) expect_success(commands[c], CLASSIFIER, run);
    test_edit(test_in_run(run, "config.json"), "\"truncate\": 4", "\"truncate\": 5");
    for (int c = 0; c < COMMANDS; ++c) expect_refused(commands[c], CLASSIFIER, run, "does not match its own checksum");
}

static void without_a_checksum_options_are_held_against_the_model(void **state) {
    (void)state;
    static const struct {
        int kind;
        const char *from, *to, *says;
    } changes[] = {
        {TREES, "\"truncate\": 0", "\"truncate\": 4", "--truncate is not for --model tree"},
        {TREES, "\"context_tokens\": 0", "\"context_tokens\": 4", "--context-tokens is not for --model tree"},
        {CLASSIFIER, "\"where\": \"\"", "\"where\": \"cat\"", "--where"},
        {CLASSIFIER, "\"text_column\": \"\"", "\"text_column\": \"0\"", "--text-column"},
        {LM, "\"protocol\": \"chunks\",\n  \"eval_context\": 8", "\"protocol\": \"half\",\n  \"eval_context\": 9", "must be even"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        const char *run = test_copy_run(runs[changes[i].kind]);
        test_forget_checksums(run);
        test_edit(test_in_run(run, "config.json"), changes[i].from, changes[i].to);
        for (int c = 0; c < COMMANDS - 1; ++c) expect_refused(commands[c], changes[i].kind, run, changes[i].says);
    }
}

static void a_configuration_that_contradicts_the_model_is_refused_with_both_values(void **state) {
    (void)state;
    static const char *const changes[][3] = {{"\"k\": 4", "\"k\": 8", "key \"k\" is 8 in "},
                                             {"\"causal\": true", "\"causal\": false", "causal"},
                                             {"\"rule\": \"paper\"", "\"rule\": \"reference\"", "key \"rule\" is \"reference\" in "},
                                             {"\"dropout_head\": 0.1", "\"dropout_head\": 0.2", "key \"dropout_head\" is 0.2"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        const char *run = test_copy_run(runs[LM]);
        test_forget_checksums(run);
        test_edit(test_in_run(run, "config.json"), changes[i][0], changes[i][1]);
        for (int c = 0; c < COMMANDS; ++c) expect_refused(commands[c], LM, run, changes[i][2]);
    }
    const char *run = test_copy_run(runs[LM]);  // the same number of bytes, in the header of the model
    test_forget_checksums(run);
    size_t length;
    char *bytes = test_read_file(test_in_run(run, "latest/model.safetensors"), &length), *at = memmem(bytes, length, "\\\"k\\\": 4", 8);
    assert_non_null(at);
    at[7] = '8';
    test_write_file(test_in_run(run, "latest/model.safetensors"), bytes, length);
    free(bytes);
    expect_refused("eval", LM, run, "key \"k\" is 4 in ");
    expect_refused("resume", LM, run, "config.json and 8 in ");
}

static void values_out_of_range_are_refused_as_on_the_command_line(void **state) {
    (void)state;
    static const char *const changes[][3] = {
        {"\"eval_context\": 8", "\"eval_context\": -9", "key \"eval_context\" must be at least 0 and at most 67108864, not -9"},
        {"\"protocol\": \"chunks\"", "\"protocol\": \"halves\"", "key \"protocol\" must be chunks, half or released, not 'halves'"},
        {"\"stride\": 8", "\"stride\": -1", "key \"stride\" must be at least 0"},
        {"\"heads\": 2", "\"heads\": 0", "key \"heads\" must be at least 1 and at most 256, not 0"},
        {"\"k\": 4", "\"k\": -4", "key \"k\" must be at least 1 and at most 65536, not -4"},
        {"\"layers\": 1", "\"layers\": 99999", "key \"layers\" must be at least 1 and at most 1000, not 99999"},
        {"\"unit\": \"word\"", "\"unit\": \"syllable\"", "key \"unit\" must be byte, char, word, subword or ids, not 'syllable'"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
        const char *run = test_copy_run(runs[LM]);
        test_forget_config_checksum(run);
        test_edit(test_in_run(run, "config.json"), changes[i][0], changes[i][1]);
        for (int c = 0; c < COMMANDS; ++c) expect_refused(commands[c], LM, run, changes[i][2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undamaged_runs_are_used_by_every_command),
        cmocka_unit_test(every_bit_of_config_json_is_under_its_checksum),
        cmocka_unit_test(a_flipped_bit_is_refused_by_every_command),
        cmocka_unit_test(other_values_are_refused),
        cmocka_unit_test(the_file_of_another_run_or_version_is_refused),
        cmocka_unit_test(the_library_refuses_a_changed_file),
        cmocka_unit_test(options_change_when_a_run_is_resumed_and_older_checkpoints_stay),
        cmocka_unit_test(a_changed_copy_serves_as_a_config_file),
        cmocka_unit_test(a_run_of_a_version_before_gets_its_checksum_when_it_is_resumed),
        cmocka_unit_test(without_a_checksum_options_are_held_against_the_model),
        cmocka_unit_test(a_configuration_that_contradicts_the_model_is_refused_with_both_values),
        cmocka_unit_test(values_out_of_range_are_refused_as_on_the_command_line),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
