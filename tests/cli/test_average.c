// `bpt average`: the new run holds the means, other commands take it, and what cannot be averaged is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/process.h"

#define ON "--backend ref --quiet"

static char lm[512], classifier[512], words[512], examples[512];

static void succeed(const char *format, ...) BPT_PRINTF(1, 2);
static void succeed(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("%s: exit %d: %s", line, p.exit_status, p.err);
    test_process_free(&p);
}

// Exit status, no output, one sentence with this part; nothing is left under `out`.
static void refuse(int status, const char *line, const char *part, const char *out) {
    test_process_t p = test_run_line(line);
    if (p.exit_status != status || p.out_length || !strstr(p.err, part))
        fail_msg("%s: exit %d, %s%s, wanted %d and %s", line, p.exit_status, p.out, p.err, status, part);
    if (out && access(out, F_OK) == 0) fail_msg("%s: %s was made", line, out);
    test_process_free(&p);
}

static int train_models(void **state) {
    (void)state;
    snprintf(words, sizeof words, "%s", test_path("words.txt"));
    snprintf(examples, sizeof examples, "%s", test_path("examples.tsv"));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    FILE *text = fopen(words, "w"), *rows = fopen(examples, "w");
    assert_true(text && rows);
    for (int i = 0; i < 200; ++i) fprintf(text, "the cat sat on the %s and saw the %s\n", i % 3 ? "mat" : "hat", i % 5 ? "dog" : "bird");
    for (int i = 0; i < 60; ++i) fprintf(rows, i % 2 ? "bad\tdull film %d\n" : "good\tfine play %d\n", i % 4);
    assert_true(!fclose(text) && !fclose(rows));
    succeed("train --data %s --unit word --context 8 --batch-tokens 64 --steps 8 --save-every 2 --keep 9 --layers 1 --d-model 8 --heads 2 "
            "--schedule inverse-sqrt --warmup 1 --lr 0.01 --smoothing 0.1 --out %s " ON,
            words, lm);
    succeed("train --task classify --data %s --batch-examples 16 --steps 4 --save-every 1 --keep 9 --layers 1 --d-model 8 --heads 2 "
            "--warmup 1 --lr 0.01 --out %s " ON,
            examples, classifier);
    return 0;
}

static bpt_safetensors_t *open_model(const char *run, const char *checkpoint) {
    bpt_safetensors_t *file;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/model.safetensors", run, checkpoint);
    assert_ok(bpt_safetensors_open(path, &file));
    return file;
}

static void read_tensor(const bpt_safetensors_t *file, const char *name, float *out) {
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(file, name);
    assert_non_null(t);
    assert_true(t->count <= 4096);
    assert_ok(bpt_safetensors_read_f32(file, t, 0, t->count, out));
}

static void every_tensor_is_the_mean_of_the_last_two(void **state) {
    (void)state;
    static float a[4096], b[4096], mean[4096];
    const char *out = test_path("mean-2");
    succeed("average %s --last 2 --out %s", lm, out);
    bpt_safetensors_t *files[] = {open_model(lm, "checkpoints/step-6"), open_model(lm, "checkpoints/step-8"), open_model(out, "latest")};
    int64_t differ = 0;
    assert_int_equal(bpt_safetensors_count(files[2]), bpt_safetensors_count(files[0]));
    assert_string_equal(bpt_safetensors_metadata(files[2], "config"), bpt_safetensors_metadata(files[0], "config"));
    for (size_t i = 0; i < bpt_safetensors_count(files[2]); ++i) {
        const bpt_safetensors_tensor_t *t = bpt_safetensors_at(files[2], i);
        read_tensor(files[0], t->name, a);
        read_tensor(files[1], t->name, b);
        read_tensor(files[2], t->name, mean);
        for (int64_t e = 0; e < t->count; ++e) {
            const float wanted = (float)(((double)a[e] + (double)b[e]) / 2);
            if (memcmp(&mean[e], &wanted, sizeof wanted))
                fail_msg("%s[%d] is %a, not %a", t->name, (int)e, (double)mean[e], (double)wanted);
            differ += memcmp(&a[e], &b[e], sizeof *a) != 0;
        }
    }
    assert_true(differ > 100);
    for (int i = 0; i < 3; ++i) bpt_safetensors_close(files[i]);
}

// The same texts: the mean of one checkpoint is that checkpoint.
static void the_mean_of_one_is_evaluated_as_itself(void **state) {
    (void)state;
    const char *out = test_path("mean-1");
    char line[2048];
    succeed("average %s --last 1 --out %s", lm, out);
    snprintf(line, sizeof line, "eval %s --checkpoint 8 --json " ON, lm);
    test_process_t wanted = test_run_line(line);
    snprintf(line, sizeof line, "eval %s --json " ON, out);
    test_process_t got = test_run_line(line);
    assert_int_equal(wanted.exit_status, 0);
    if (got.exit_status) fail_msg("%s", got.err);
    const char *loss = strstr(wanted.out, "\"loss\": ");
    assert_non_null(loss);
    char part[64];
    snprintf(part, sizeof part, "%.*s", (int)strcspn(loss, ",}"), loss);
    if (!strstr(got.out, part)) fail_msg("%s and %s", wanted.out, got.out);
    test_process_free(&wanted), test_process_free(&got);
}

static void other_commands_take_the_new_run(void **state) {
    (void)state;
    char lm_mean[512], classifier_mean[512], line[2048];
    snprintf(lm_mean, sizeof lm_mean, "%s", test_path("lm-mean"));
    snprintf(classifier_mean, sizeof classifier_mean, "%s", test_path("classifier-mean"));
    succeed("average %s --last 3 --out %s", lm, lm_mean);
    succeed("average %s --last 3 --out %s", classifier, classifier_mean);
    succeed("generate %s --prompt 'the cat' --max-tokens 4 " ON, lm_mean);
    succeed("eval %s " ON, classifier_mean);
    succeed("classify %s %s " ON, classifier_mean, examples);
    succeed("export %s --out %s", lm_mean, test_path("mean.safetensors"));
    succeed("train --init %s --data %s --context 8 --batch-tokens 64 --steps 2 --warmup 1 --out %s " ON, lm_mean, words, test_path("next"));
    // The settings of training are the new run's: smoothing is not taken over.
    char *config;
    size_t length;
    assert_ok(bpt_file_read(test_path("next/config.json"), 1 << 20, &config, &length));
    assert_non_null(strstr(config, "\"smoothing\": 0"));
    assert_null(strstr(config, "\"smoothing\": 0.1"));
    bpt_free(config);
    snprintf(line, sizeof line, "train --resume --out %s --steps 20 " ON, lm_mean);
    refuse(2, line, "holds weights but no state of training", NULL);
}

static void what_cannot_be_averaged_is_refused(void **state) {
    (void)state;
    char line[4096], out[512], copy[512];
    snprintf(out, sizeof out, "%s", test_path("refused"));
    snprintf(copy, sizeof copy, "%s", test_path("copy"));
    snprintf(line, sizeof line, "average %s --last 5 --out %s", lm, out);
    refuse(1, line, "has 4 checkpoints, not 5; average fewer, or train with a larger --keep", out);
    snprintf(line, sizeof line, "average %s --last 2", lm);
    refuse(2, line, "needs --out RUN", NULL);
    snprintf(line, sizeof line, "average %s --out %s", lm, out);
    refuse(2, line, "needs --last N", out);
    snprintf(line, sizeof line, "average %s --last -1 --out %s", lm, out);
    refuse(2, line, "--last", out);
    snprintf(line, sizeof line, "average %s --last 2 --out %s", lm, classifier);
    refuse(2, line, "already holds a run, and bpt average makes a new one", NULL);
    snprintf(line, sizeof line, "average %s --last 2 --out %s", lm, lm);
    refuse(2, line, "already holds a run", NULL);
    snprintf(line, sizeof line, "average %s --last 2 --out %s", test_path("nothing"), out);
    refuse(1, line, "is not a run", out);

    // One byte of a tensor of an older checkpoint.
    snprintf(line, sizeof line, "cp -a %s %s", lm, copy);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "%s/checkpoints/step-6/model.safetensors", copy);
    FILE *file = fopen(line, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -5, SEEK_END), 0);
    const int byte = fgetc(file) ^ 1;
    assert_true(!fseek(file, -5, SEEK_END) && fputc(byte, file) == byte && !fclose(file));
    snprintf(line, sizeof line, "average %s --last 2 --out %s", copy, out);
    refuse(1, line, "step-6/model.safetensors has the checksum", out);
    snprintf(line, sizeof line, "average %s --last 1 --out %s", copy, test_path("sound"));
    test_process_t sound = test_run_line(line);
    assert_int_equal(sound.exit_status, 0);
    test_process_free(&sound);

    // A checkpoint of another model.
    snprintf(line, sizeof line, "rm -r %s/checkpoints/step-4 && cp -a %s/checkpoints/step-4 %s/checkpoints/", copy, classifier, copy);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "average %s --last 3 --out %s", copy, out);
    refuse(1, line, "step-4/state.json are of different runs", out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor_is_the_mean_of_the_last_two),
        cmocka_unit_test(the_mean_of_one_is_evaluated_as_itself),
        cmocka_unit_test(other_commands_take_the_new_run),
        cmocka_unit_test(what_cannot_be_averaged_is_refused),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
