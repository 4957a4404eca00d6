// Damaged, mixed and contradicting files of runs and model files: every command that reads them refuses with one sentence that names the
// file, and nothing is accepted in silence.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/model_file.h"
#include "support/process.h"
#include "support/run_files.h"

#define ON "--backend ref --quiet"

// ---- Running the program

static test_process_t bpt(const char *format, ...) BPT_PRINTF(1, 2);
static test_process_t bpt(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return test_run_line(line);
}

static void expect_success(test_process_t p) {
    if (p.exit_status) fail_msg("exit %d: %s", p.exit_status, p.err);
    test_process_free(&p);
}

// Exit status 1, no output, one sentence that holds both texts.
static void expect_refusal(const char *what, test_process_t p, const char *says, const char *also) {
    const char *newline = strchr(p.err, '\n');
    if (p.exit_status != 1 || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) || !strstr(p.err, says) ||
        !strstr(p.err, also))
        fail_msg("%s: exit %d, stdout '%s', stderr '%s', wanted 1, '%s' and '%s'", what, p.exit_status, p.out, p.err, says, also);
    test_process_free(&p);
}

// ---- Runs, trained once: `lm` and `other` have the same shapes and the same text, `classifier` reads labels

static char lm[512], other[512], classifier[512], text[512], examples[512];

static void train(const char *out, const char *options) {
    expect_success(bpt("train --layers 1 --d-model 8 --heads 2 --warmup 1 --lr 0.01 --out %s %s " ON, out, options));
}

static int train_models(void **state) {
    (void)state;
    char line[2048];
    snprintf(text, sizeof text, "%s", test_path("words.txt"));
    snprintf(examples, sizeof examples, "%s", test_path("examples.tsv"));
    FILE *words = fopen(text, "w"), *rows = fopen(examples, "w");
    assert_true(words && rows);
    for (int i = 0; i < 200; ++i) fprintf(words, "the cat sat on the %s and saw the %s\n", i % 3 ? "mat" : "hat", i % 5 ? "dog" : "bird");
    for (int i = 0; i < 60; ++i) fprintf(rows, i % 2 ? "bad\tdull film %d\n" : "good\tfine play %d\n", i % 4);
    assert_true(!fclose(words) && !fclose(rows));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(other, sizeof other, "%s", test_path("other"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    snprintf(line, sizeof line, "--data %s --unit word --context 8 --batch-tokens 64 --steps 6 --save-every 3", text);
    train(lm, line);
    strcat(line, " --seed 2");
    train(other, line);
    snprintf(line, sizeof line, "--task classify --data %s --batch-examples 16 --steps 4", examples);
    train(classifier, line);
    return 0;
}

// ---- Damage

static void change(const char *path, int64_t offset, const void *bytes, size_t length) {  // a negative offset counts from the end
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int64_t data_start(const char *model) {
    uint64_t header;
    char *bytes = test_read_file(model, NULL);
    memcpy(&header, bytes, 8);
    free(bytes);
    return 8 + (int64_t)header;
}

static void set_weight(const char *model, const char *tensor, int64_t index, float value) {
    bpt_safetensors_t *file;
    assert_ok(bpt_safetensors_open(model, &file));
    const int64_t offset = (int64_t)bpt_safetensors_find(file, tensor)->offset + 4 * index;
    bpt_safetensors_close(file);
    change(model, data_start(model) + offset, &value, sizeof value);
}

static void replace(const char *path, const char *with) {
    size_t length;
    char *bytes = test_read_file(with, &length);
    assert_non_null(bytes);
    test_write_file(path, bytes, length);
    free(bytes);
}

// ---- Commands that read a run

static test_process_t use(const char *command, const char *run) {
    const char *out = test_path("out.safetensors"), *nll = test_path("nll.json"), *more = test_path("more");
    const char *data = access(test_in_run(run, "labels.txt"), F_OK) ? text : examples;
    char line[1024];
    snprintf(line, sizeof line, "rm -rf %s %s %s", out, nll, more);
    assert_int_equal(system(line), 0);
    if (!strcmp(command, "eval")) return bpt("eval %s --checkpoint latest --data %s --json --nll-out %s " ON, run, data, nll);
    if (!strcmp(command, "generate"))
        return bpt("generate %s --checkpoint latest --prompt the --max-tokens 2 --logits-out %s " ON, run, nll);
    if (!strcmp(command, "classify")) return bpt("classify %s %s --checkpoint latest --json " ON, run, text);
    if (!strcmp(command, "export")) return bpt("export %s --checkpoint latest --out %s " ON, run, out);
    if (!strcmp(command, "resume")) return bpt("train --out %s --resume --steps 8 " ON, run);
    assert_string_equal(command, "init");  // it takes the best checkpoint
    return bpt(
        "train --data %s --unit word --init %s --out %s --layers 1 --d-model 8 --heads 2 --context 8 --batch-tokens 64 --steps 1 " ON, text,
        run, more);
}

static void expect_refused(const char *command, const char *run, const char *says, const char *also) {
    expect_refusal(command, use(command, run), says, also);
    assert_int_not_equal(access(test_path("out.safetensors"), F_OK), 0);
    assert_int_not_equal(access(test_path("nll.json"), F_OK), 0);
}

static const char *const of_lm[] = {"eval", "generate", "export", "resume"}, *const of_classifier[] = {"eval", "classify", "export",
                                                                                                       "resume"};
enum { COMMANDS = 4 };

// ---- Checkpoints

static void an_undamaged_copy_is_used_by_every_command(void **state) {
    (void)state;
    for (int i = 0; i < COMMANDS; ++i) {
        expect_success(use(of_lm[i], test_copy_run(lm)));
        expect_success(use(of_classifier[i], test_copy_run(classifier)));
    }
    expect_success(use("init", test_copy_run(lm)));
}

static void a_flipped_bit_of_the_weights_is_refused_wherever_it_is(void **state) {
    (void)state;
    const int64_t data = data_start(test_in_run(lm, "latest/model.safetensors"));
    const int64_t places[] = {0, 9, data / 2, data - 1, data, data + 1001, -700, -1};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; ++p)
        for (int i = 0; i < COMMANDS; ++i) {
            const char *run = test_copy_run(lm);
            test_flip(test_in_run(run, "latest/model.safetensors"), places[p], (int)p % 8);
            expect_refused(of_lm[i], run, "model.safetensors has the checksum", "state.json lists");
        }
    const char *run = test_copy_run(classifier);
    test_flip(test_in_run(run, "latest/model.safetensors"), -5, 3);
    expect_refused("classify", run, "model.safetensors has the checksum", "state.json lists");
    run = test_copy_run(lm);
    test_flip(test_in_run(run, "best/model.safetensors"), -5, 3);
    expect_refused("init", run, "model.safetensors has the checksum", "state.json lists");
}

static void a_flipped_bit_of_the_moments_is_refused_when_training_goes_on(void **state) {
    (void)state;
    const int64_t data = data_start(test_in_run(lm, "latest/optimizer.safetensors"));
    const int64_t places[] = {1, 12, data - 1, data, data + 901, -1};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; ++p) {
        const char *run = test_copy_run(lm);
        test_flip(test_in_run(run, "latest/optimizer.safetensors"), places[p], 0);
        expect_refused("resume", run, "optimizer.safetensors has the checksum", "state.json lists");
    }
}

static void a_file_that_is_cut_off_or_longer_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"latest/model.safetensors", "latest/optimizer.safetensors"};
    for (int n = 0; n < 2; ++n) {
        size_t length;
        char *bytes = test_read_file(test_in_run(lm, names[n]), &length), *longer = calloc(length + 1, 1);
        memcpy(longer, bytes, length);
        const size_t lengths[] = {0, 5, 100, length / 2, length - 1, length + 1};
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
            const char *run = test_copy_run(lm);
            test_write_file(test_in_run(run, names[n]), longer, lengths[i]);
            expect_refused("resume", run, n ? "optimizer.safetensors has " : "model.safetensors has ", " bytes, ");
            if (n == 0) expect_refused("eval", run, "model.safetensors has ", " bytes, ");
        }
        free(bytes), free(longer);
    }
}

static void files_of_another_run_or_checkpoint_are_refused(void **state) {
    (void)state;
    for (int i = 0; i < COMMANDS; ++i) {
        const char *run = test_copy_run(lm);
        replace(test_in_run(run, "latest/model.safetensors"), test_in_run(other, "latest/model.safetensors"));
        expect_refused(of_lm[i], run, "model.safetensors has the checksum",
                       "copy the checkpoint again, or use another with --checkpoint N");
        run = test_copy_run(lm);
        replace(test_in_run(run, "latest/model.safetensors"), test_in_run(run, "checkpoints/step-3/model.safetensors"));
        expect_refused(of_lm[i], run, "model.safetensors has the checksum", "there are checkpoints 3");
    }
    const char *run = test_copy_run(lm);
    replace(test_in_run(run, "latest/optimizer.safetensors"), test_in_run(other, "latest/optimizer.safetensors"));
    expect_refused("resume", run, "optimizer.safetensors has the checksum", "state.json lists");
    unlink(test_in_run(run, "latest/optimizer.safetensors"));
    expect_refused("resume", run, "optimizer.safetensors is missing", "state.json lists it");
    run = test_copy_run(lm);
    replace(test_in_run(run, "latest/state.json"), test_in_run(other, "latest/state.json"));
    for (int i = 0; i < COMMANDS; ++i) expect_refused(of_lm[i], run, "are of different runs", "step-6/state.json");
    unlink(test_in_run(run, "latest/state.json"));
    for (int i = 0; i < COMMANDS; ++i) expect_refused(of_lm[i], run, "state.json", "No such file");
}

static void a_checkpoint_under_the_name_of_another_is_refused(void **state) {
    (void)state;
    const char *run = test_copy_run(lm);
    char line[2048];
    snprintf(line, sizeof line, "rm -r %s/checkpoints/step-6 && mv %s/checkpoints/step-3 %s/checkpoints/step-6", run, run, run);
    assert_int_equal(system(line), 0);
    for (int i = 0; i < COMMANDS; ++i) expect_refused(of_lm[i], run, "checkpoints/step-6/state.json is of step 3", "copy it again");
}

// The remedy that the sentence gives.
static void training_goes_on_from_the_checkpoint_before_when_the_damaged_one_is_deleted(void **state) {
    (void)state;
    const char *run = test_copy_run(lm);
    char line[2048];
    test_flip(test_in_run(run, "checkpoints/step-6/model.safetensors"), -1, 0);
    expect_refused("resume", run, "train --resume: delete ", "checkpoints/step-6");
    snprintf(line, sizeof line, "rm -r %s/checkpoints/step-6", run);
    assert_int_equal(system(line), 0);
    expect_success(use("resume", run));
    json_t *state_json = json_load_file(test_in_run(run, "latest/state.json"), 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(state_json, "step")), 8);
    json_decref(state_json);
    expect_success(use("eval", run));
}

// ---- Vocabulary and labels

static void change_lines(const char *path, int how) {  // 0: one less, 1: one more, 2: two swapped, 3: one letter
    char *old = test_read_file(path, NULL), changed[4096];
    char *last = strrchr(old, '\n');
    *last = 0;
    char *before = strrchr(old, '\n');
    const int kept = (int)(before + 1 - old);
    if (how == 0) snprintf(changed, sizeof changed, "%.*s", kept, old);
    if (how == 1) snprintf(changed, sizeof changed, "%s\nzebra\n", old);
    if (how == 2) {
        *before = 0;
        char *start = strrchr(old, '\n');
        start = start ? start + 1 : old;
        snprintf(changed, sizeof changed, "%.*s%s\n%s\n", (int)(start - old), old, before + 1, start);
    }
    if (how == 3) snprintf(changed, sizeof changed, "%sx\n", old);
    test_write_file(path, changed, strlen(changed));
    free(old);
}

static void another_vocabulary_or_other_labels_are_refused(void **state) {
    (void)state;
    for (int how = 0; how < 4; ++how) {
        const char *run = test_copy_run(lm);
        change_lines(test_in_run(run, "vocab.txt"), how);
        for (int i = 0; i < COMMANDS; ++i) expect_refused(of_lm[i], run, "vocab.txt", "state.json lists");
        expect_refused("init", run, "vocab.txt", "state.json lists");
        run = test_copy_run(classifier);
        change_lines(test_in_run(run, "labels.txt"), how);
        for (int i = 0; i < COMMANDS; ++i) expect_refused(of_classifier[i], run, "labels.txt", "state.json lists");
    }
    const char *run = test_copy_run(classifier);
    unlink(test_in_run(run, "labels.txt"));
    for (int i = 0; i < COMMANDS - 1; ++i) expect_refused(of_classifier[i], run, "labels.txt is missing", "state.json lists it");
    run = test_copy_run(lm);
    unlink(test_in_run(run, "vocab.txt"));
    for (int i = 0; i < COMMANDS - 1; ++i) expect_refused(of_lm[i], run, "vocab.txt is missing", "state.json lists it");
}

static void without_checksums_the_numbers_of_lines_must_agree(void **state) {
    (void)state;
    for (int how = 0; how < 2; ++how) {
        const char *run = test_copy_run(lm);
        test_forget_checksums(run);
        change_lines(test_in_run(run, "vocab.txt"), how);
        for (int i = 0; i < COMMANDS; ++i)
            expect_refused(of_lm[i], run, how ? "vocab.txt has 13 lines" : "vocab.txt has 11 lines", " 12 tokens");
        run = test_copy_run(classifier);
        test_forget_checksums(run);
        change_lines(test_in_run(run, "labels.txt"), how);
        for (int i = 0; i < COMMANDS; ++i)
            expect_refused(of_classifier[i], run, how ? "labels.txt has 3 lines" : "labels.txt has 1 lines", " 2 classes");
    }
}

// ---- Runs of versions without checksums

static void a_run_without_checksums_is_used_with_a_remark(void **state) {
    (void)state;
    test_process_t with = use("eval", test_copy_run(lm));
    const char *run = test_copy_run(lm);
    test_forget_checksums(run);
    test_process_t quiet = use("eval", run), p = bpt("eval %s --checkpoint latest --data %s --json --backend ref", run, text);
    assert_int_equal(quiet.exit_status, 0);
    assert_int_equal(quiet.err_length, 0);
    assert_non_null(strstr(p.err, "was written without checksums"));
    assert_null(strstr(strstr(p.err, "without checksums") + 1, "without checksums"));
    json_t *a = json_loads(with.out, 0, NULL), *b = json_loads(quiet.out, 0, NULL);
    assert_true(json_real_value(json_object_get(a, "loss")) == json_real_value(json_object_get(b, "loss")));
    json_decref(a), json_decref(b);
    test_process_free(&with), test_process_free(&quiet), test_process_free(&p);
    for (int i = 1; i < COMMANDS; ++i) expect_success(use(of_lm[i], run));
    test_flip(test_in_run(run, "latest/model.safetensors"), -1, 0);  // it has been resumed, so there are checksums now
    expect_refused("eval", run, "model.safetensors has the checksum", "state.json lists");
}

// Those of one that a newer version wrote, or of a file that was made to be slow.
static void unknown_keys_without_a_checksum_are_one_warning(void **state) {
    (void)state;
    static const char *const keys[] = {"{\"zzz\": 1,", "{\"zzz\": 1, \"yyy\": [2], \"d-model\": 8,"};
    static const char *const says[] = {"config.json: unknown key \"zzz\" is ignored",
                                       "config.json: unknown key \"zzz\" and 2 more are ignored"};
    for (int i = 0; i < 2; ++i) {
        const char *run = test_copy_run(lm);
        test_forget_checksums(run);
        test_edit(test_in_run(run, "config.json"), "{", keys[i]);
        test_process_t p = bpt("eval %s --checkpoint latest --data %s --backend ref", run, text);
        const char *said = strstr(p.err, says[i]);
        if (p.exit_status || !said || strstr(said + strlen(says[i]), "unknown key")) fail_msg("%d: %s", p.exit_status, p.err);
        test_process_free(&p);
    }
}

static void numbers_that_are_not_finite_are_refused_without_checksums(void **state) {
    (void)state;
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (int v = 0; v < 3; ++v)
        for (int i = 0; i < COMMANDS; ++i) {
            const char *run = test_copy_run(i % 2 ? classifier : lm);
            test_forget_checksums(run);
            set_weight(test_in_run(run, "latest/model.safetensors"), "layers.0.ffn.fc1.weight", 7, values[v]);
            set_weight(test_in_run(run, "latest/model.safetensors"), "layers.0.ffn.fc1.weight", 9, values[v]);
            expect_refused(i % 2 ? of_classifier[i] : of_lm[i], run, "tensor \"layers.0.ffn.fc1.weight\" has 2 numbers of 256",
                           "the first at index 7");
        }
    const char *run = test_copy_run(lm);
    test_forget_checksums(run);
    set_weight(test_in_run(run, "latest/optimizer.safetensors"), "v.embed.weight", 3, NAN);
    expect_refused("resume", run, "tensor \"v.embed.weight\" has 1 numbers of 96", "the first at index 3");
}

// ---- Single files

static char *exported(const char *run) {
    static char path[512];
    snprintf(path, sizeof path, "%s", test_path("exported.safetensors"));
    expect_success(bpt("export %s --out %s " ON, run, path));
    return path;
}

static void a_run_that_was_imported_has_checksums(void **state) {
    (void)state;
    const char *models[] = {lm, classifier};
    for (int m = 0; m < 2; ++m) {
        char back[512];
        snprintf(back, sizeof back, "%s", test_path("imported-%d", m));
        expect_success(bpt("import %s --out %s " ON, exported(models[m]), back));
        expect_success(use("eval", back));
        test_flip(test_in_run(back, "latest/model.safetensors"), -1, 6);
        expect_refused("eval", back, "model.safetensors has the checksum", "there is no other one");
        test_flip(test_in_run(back, "latest/model.safetensors"), -1, 6);
        change_lines(test_in_run(back, m ? "labels.txt" : "vocab.txt"), 3);
        expect_refused("eval", back, m ? "labels.txt" : "vocab.txt", "state.json lists");
    }
}

static void weights_that_are_not_finite_are_imported_only_on_demand_and_give_no_result(void **state) {
    (void)state;
    const char *models[] = {lm, classifier};
    char made[512];
    snprintf(made, sizeof made, "%s", test_path("not-finite"));
    for (int m = 0; m < 2; ++m) {
        char line[1024], *file = exported(models[m]);
        set_weight(file, "layers.0.ffn_norm.bias", 5, NAN);
        expect_refusal("import", bpt("import %s --out %s " ON, file, made), "tensor \"layers.0.ffn_norm.bias\" has 1 numbers of 8",
                       "the first at index 5");
        assert_int_not_equal(access(made, F_OK), 0);
        expect_success(bpt("import %s --out %s --allow-non-finite " ON, file, made));
        expect_refused("eval", made, "the loss is", "which is no result");
        expect_refused(m ? "classify" : "generate", made, "logit", m ? "is not finite" : "not finite");
        snprintf(line, sizeof line, "%s", test_path("grad.safetensors"));
        expect_refusal("gradient", bpt("eval %s --data %s --grad-out %s " ON, made, m ? examples : text, line), "the loss is", "");
        assert_int_not_equal(access(line, F_OK), 0);
        snprintf(line, sizeof line, "rm -r %s", made);
        assert_int_equal(system(line), 0);
    }
}

// The model file again, with one other value among its metadata.
static const char *with_metadata(const char *from_path, const char *key, const char *value) {
    test_metadata_t metadata[] = {{"format", NULL},       {"config", NULL}, {"unit", NULL},   {"lower", NULL},
                                  {"eval_context", NULL}, {"vocab", NULL},  {"labels", NULL}, {"reading", NULL}};
    static char path[512];
    snprintf(path, sizeof path, "%s", test_path("changed.safetensors"));
    for (size_t i = 0; i < sizeof metadata / sizeof metadata[0]; ++i)
        if (!strcmp(metadata[i].key, key)) metadata[i].value = value;
    test_copy_model(from_path, path, metadata, sizeof metadata / sizeof metadata[0]);
    return path;
}

static void metadata_out_of_range_or_of_another_model_make_no_run(void **state) {
    (void)state;
    const struct {
        const char *run, *key, *from, *to, *says;  // from NULL: the whole value
    } cases[] = {
        {lm, "eval_context", NULL, "-9", "metadata key \"eval_context\" must be at least 0 and at most 67108864, not -9"},
        {lm, "eval_context", NULL, "many", "metadata key \"eval_context\" needs a whole number, not 'many'"},
        {lm, "unit", NULL, "syllable", "metadata key \"unit\" must be byte, char, word, subword or ids, not 'syllable'"},
        {lm, "lower", NULL, "perhaps", "metadata key \"lower\" must be yes or no, not 'perhaps'"},
        {lm, "config", "\"heads\": 2", "\"heads\": 0", "key \"heads\" must be at least 1 and at most 256, not 0"},
        {lm, "config", "\"k\": 4", "\"k\": -1", "key \"k\" must be at least 1 and at most 65536, not -1"},
        {lm, "config", "\"layers\": 1", "\"layers\": 100000", "key \"layers\" must be at least 1 and at most 1000, not 100000"},
        {lm, "config", "\"rule\": \"paper\"", "\"rule\": \"plastic\"", "key \"rule\" must be paper or reference, not 'plastic'"},
        {lm, "config", "\"vocab\": 12", "\"vocab\": 13", "tensor \"embed.weight\" is [12,8], the configuration asks for [13,8]"},
        {lm, "config", "\"layers\": 1", "\"layers\": 2", "no tensor \"layers.1."},
        {lm, "vocab", NULL, "<unk>\n<eos>\nthe\n", "\"vocab\" has 3 lines, the model in "},
        {lm, "labels", NULL, "bad\ngood\n", "\"labels\" is there, but the model is a language model"},
        {classifier, "reading", "\"truncate\": 0", "\"truncate\": -4", "key \"truncate\" must be at least 0"},
        {classifier, "reading", "\"truncate\": 0", "\"truncate\": \"4\"", "key \"truncate\" must be a whole number, not a string"},
        {classifier, "reading", "\"truncate\"", "\"shorten\"", "metadata key \"reading\": unknown key \"shorten\"; a newer version"},
        {classifier, "reading", "\"truncate\"", "\"steps\"", "metadata key \"reading\": unknown key \"steps\"; a newer version"},
        {classifier, "reading", "\"text_column\": \"\"", "\"text_column\": \"two\"", "does not fit its model: "},
        {classifier, "reading", NULL, "[]", "metadata key \"reading\": needs one JSON object, not a list"},
        {classifier, "reading", NULL, "{\"truncate\": 0", "metadata key \"reading\""},
        {classifier, "labels", NULL, "bad\ngood\nugly\n", "\"labels\" has 3 lines, the model in "},
        {classifier, "labels", NULL, "good\nbad\n", "labels must be sorted"},
        {classifier, "config", "\"classes\": 2", "\"classes\": -2", "key \"classes\" must be at least 0"},
    };
    char made[512];
    snprintf(made, sizeof made, "%s", test_path("no-run"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char value[4096], *file = exported(cases[i].run);
        snprintf(value, sizeof value, "%s", cases[i].to);
        if (cases[i].from) {
            bpt_safetensors_t *open;
            assert_ok(bpt_safetensors_open(file, &open));
            test_write_file(test_path("value"), bpt_safetensors_metadata(open, cases[i].key),
                            strlen(bpt_safetensors_metadata(open, cases[i].key)));
            bpt_safetensors_close(open);
            test_edit(test_path("value"), cases[i].from, cases[i].to);
            char *edited = test_read_file(test_path("value"), NULL);
            snprintf(value, sizeof value, "%s", edited);
            free(edited);
        }
        expect_refusal(cases[i].says, bpt("import %s --out %s " ON, with_metadata(file, cases[i].key, value), made), cases[i].says,
                       "changed.safetensors");
        assert_int_not_equal(access(made, F_OK), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_undamaged_copy_is_used_by_every_command),
        cmocka_unit_test(a_flipped_bit_of_the_weights_is_refused_wherever_it_is),
        cmocka_unit_test(a_flipped_bit_of_the_moments_is_refused_when_training_goes_on),
        cmocka_unit_test(a_file_that_is_cut_off_or_longer_is_refused),
        cmocka_unit_test(files_of_another_run_or_checkpoint_are_refused),
        cmocka_unit_test(a_checkpoint_under_the_name_of_another_is_refused),
        cmocka_unit_test(training_goes_on_from_the_checkpoint_before_when_the_damaged_one_is_deleted),
        cmocka_unit_test(another_vocabulary_or_other_labels_are_refused),
        cmocka_unit_test(without_checksums_the_numbers_of_lines_must_agree),
        cmocka_unit_test(a_run_without_checksums_is_used_with_a_remark),
        cmocka_unit_test(unknown_keys_without_a_checksum_are_one_warning),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused_without_checksums),
        cmocka_unit_test(a_run_that_was_imported_has_checksums),
        cmocka_unit_test(weights_that_are_not_finite_are_imported_only_on_demand_and_give_no_result),
        cmocka_unit_test(metadata_out_of_range_or_of_another_model_make_no_run),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
