// Options of `bpt train`: strictness, config files, presets, precedence, resumption. Nothing is trained but a few tiny steps.
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

#include "bpt/clock.h"
#include "support/process.h"

static void expect_refusal(const char *line, int exit_status, const char *says) {
    test_process_t p = test_run_line(line);
    const char *newline = strchr(p.err, '\n');
    if (p.exit_status != exit_status || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) ||
        !strstr(p.err, says))
        fail_msg("bpt %s: exit %d, stdout '%s', stderr '%s', wanted %d and '%s'", line, p.exit_status, p.out, p.err, exit_status, says);
    test_process_free(&p);
}

// The resolved configuration of `bpt train LINE --print-config`.
static json_t *resolved(const char *line) {
    char full[2048];
    snprintf(full, sizeof full, "train --print-config %s", line);
    test_process_t p = test_run_line(full);
    if (p.exit_status || p.err_length) fail_msg("bpt %s: exit %d, stderr '%s'", full, p.exit_status, p.err);
    json_t *config = json_loads(p.out, 0, NULL);
    assert_non_null(config);
    test_process_free(&p);
    return config;
}

static double number(const json_t *config, const char *key) {
    const json_t *value = json_object_get(config, key);
    if (!json_is_number(value)) fail_msg("no number %s", key);
    return json_number_value(value);
}
static const char *text(const json_t *config, const char *key) { return json_string_value(json_object_get(config, key)); }
static bool yes(const json_t *config, const char *key) { return json_is_true(json_object_get(config, key)); }

static void flags_that_cannot_be_are_refused_by_name(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"--layrs 3", "did you mean --layers?"},
        {"--dropuot-input 0.1", "did you mean --dropout-input?"},
        {"--no-causl", "did you mean --no-causal?"},
        {"--vocab 4", "unknown option --vocab"},
        {"--temperature 1", "--temperature"},
        {"--lr nan", "--lr needs a finite number, not 'nan'"},
        {"--lr inf", "--lr needs a finite number"},
        {"--lr 1e999", "--lr is too large"},
        {"--lr 1e-3k", "--lr needs a finite number, not '1e-3k'"},
        {"--lr 0x1p-3", "--lr needs a finite number"},
        {"--lr -0.1", "--lr must be at least 0"},
        {"--lr 1e39", "--lr must be at least 0 and at most"},
        {"--lr ''", "--lr needs a finite number, not ''"},
        {"--lr", "--lr needs a value"},
        {"--dropout-input 1", "--dropout-input must be at least 0 and less than 1, not 1"},
        {"--beta2 1.5", "--beta2 must be at least 0 and less than 1"},
        {"--eps 0", "--eps must be greater than 0"},
        {"--k 0", "--k must be at least 1"},
        {"--k -4", "--k must be at least 1"},
        {"--k 4.5", "--k needs a whole number, not '4.5'"},
        {"--layers 99999999999999999999", "--layers must be at least 1"},
        {"--layers 5000", "--layers must be at least 1 and at most 1000"},
        {"--model transformer --max-positions 8", "--max-positions 8 is less than the 512"},
        {"--heads 512 --d-model 512", "--heads must be at least 1 and at most 256"},
        {"--steps 10k", "--steps needs a whole number, not '10k'"},
        {"--context 0", "--context must be at least 1"},
        {"--schedule cosin", "did you mean cosine?"},
        {"--task nli", "--task must be lm, classify, tag, pair, regress, translate or mlm, not 'nli'"},
        {"--span-self", "--span-self is for --model segtree, and this is --model bpt"},
        {"--model transformer --k 4", "--k is for --model bpt, and this is --model transformer"},
        {"--model segtree --rule reference", "--rule is for --model bpt, and this is --model segtree"},
        {"--attention window", "--attention is for --model transformer, and this is --model bpt"},
        {"--model transformer --window 8", "--window is for --attention window"},
        {"--max-positions 1024", "--max-positions is for --positions absolute, and this is --positions relative"},
        {"--model transformer --rel-levels 5", "--rel-levels is for --positions relative, and this is --positions absolute"},
        {"--model transformer --freeze-rel", "--freeze-rel is for --positions relative"},
        {"--max-length 9", "--max-length is for --task classify"},
        {"--schedule noam --lr 0.1", "--lr is without effect with --schedule noam; give --lr-factor"},
        {"--lr-factor 2", "--lr-factor is for --schedule noam, and this is --schedule cosine; give --lr"},
        {"--decay-share 0.1", "--decay-share is for --schedule warmup-stable-decay, and this is --schedule cosine"},
        {"--schedule warmup-stable-decay --decay-share 0", "--decay-share must be greater than 0"},
        {"--lr-decay 0.9", "--lr-decay is for --schedule exponential and plateau"},
        {"--model lstm", "--model must be bpt, segtree, transformer, star or tree"},
        {"--unit bytes", "did you mean byte?"},
        {"--rule released", "--rule must be paper or reference"},
        {"--heads 3", "heads do not divide d_model"},
        {"--heads 40 --d-model 30", "40 heads are more than the columns of d_model = 30; choose 30 heads or d_model = 40"},
        {"--task classify --model star --d-model 30 --heads 7",
         "7 heads do not divide d_model = 30; choose 6 heads or d_model = 35, or give head_dim"},
        {"--task classify --model star --d-model 30 --heads 40", "40 heads are more than the columns of d_model = 30"},
        {"--tied --d-embed 10", "tied embeddings need d_embed = d_model"},
        {"--task classify --model star --positions rotary", "model star has no rotary positions"},
        {"--d-model 12 --heads 4 --positions rotary", "4 heads of d_model = 12 have 3 columns each; choose an even number"},
        {"--task classify --model tree --ffn swiglu", "--ffn is for --model bpt, segtree and transformer, and this is --model tree"},
        {"--no-causal", "a language model must be causal"},
        {"--stride 600", "--stride 600 would leave out text"},
        {"--batch-tokens 100", "--batch-tokens 100 has no room for one window of --context 512"},
        {"--protocol half --eval-context 33", "--eval-context 33 must be even"},
        {"--subtrees", "--subtrees is for --task classify, and this is --task lm"},
        {"--task classify --context 64", "--context is for --task lm and mlm, and this is --task classify"},
        {"--task classify --stride 64", "--stride is for --task lm and mlm, and this is --task classify"},
        {"--task classify --eval-context 64", "--eval-context is for --task lm and mlm, and this is --task classify"},
        {"--preset sst5-1 --protocol half", "--protocol is for --task lm and mlm, and this is --task classify"},
        {"--preset sst5-1 --accumulate 2", "--accumulate has no meaning with --batch-examples 1024"},
        {"--task classify --deep-supervision", "--deep-supervision is for --task lm, and this is --task classify"},
        {"--task classify --unit byte", "--task classify reads words, subwords or ids, not --unit byte"},
        {"--freeze-embed", "a frozen embedding needs --vectors"},
        {"--vectors v", "--vectors is for --unit word, and this is --unit byte"},
        {"--lower", "--lower is for --unit word and subword, and this is --unit byte"},
        {"--task classify --unit ids --lower", "--lower is for --unit word and subword, and this is --unit ids"},
        {"--task classify --unit ids --vectors v", "--vectors is for --unit word"},
        {"--schedule noam --warmup 0", "--schedule noam needs --warmup"},
        {"--schedule inverse-sqrt --warmup 0", "--schedule inverse-sqrt needs --warmup of at least 1"},
        {"--schedule inverse-sqr", "did you mean inverse-sqrt?"},
        {"--smoothing 1", "--smoothing must be at least 0 and less than 1"},
        {"--task regress --smoothing 0.1", "--smoothing is for --task lm"},
        {"--task tag --crf --smoothing 0.1", "smoothing is for cross-entropy, and a CRF has another loss"},
        {"--steps 10 --stop-at 20", "--stop-at 20 is behind the end"},
        {"--preset ptb6", "did you mean ptb-6?"},
        {"--preset nothing-like-it", "`bpt presets` lists them"},
        {"--resume=yes", "--resume takes no value"},
        {"extra", "unexpected argument 'extra'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[512];
        snprintf(line, sizeof line, "train --data x --out y %s", cases[i][0]);
        expect_refusal(line, 2, cases[i][1]);
    }
    expect_refusal("train", 2, "needs --data");
    expect_refusal("train --data x", 2, "needs --out");
    expect_refusal("train --resume", 2, "--resume needs --out");
}

static void config_files_are_read_strictly(void **state) {
    (void)state;
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{\n  \"k\": 4,\n  \"lr\" 0.1\n}", "line 3"},
        {"{\n  \"k\": 4,\n  \"layrs\": 2\n}", "line 3: unknown key \"layrs\"; did you mean layers?"},
        {"{\n  \"k\": \"4\"\n}", "line 2: key \"k\" must be a whole number, not a string"},
        {"{\"k\": 4.0}", "key \"k\" must be a whole number"},
        {"{\"k\": 0}", "key \"k\" must be at least 1"},
        {"{\"lr\": true}", "key \"lr\" must be a number, not true or false"},
        {"{\"lr\": -1}", "key \"lr\" must be at least 0"},
        {"{\"causal\": 1}", "key \"causal\" must be true or false, not a whole number"},
        {"{\"schedule\": \"linear\"}", "key \"schedule\" must be constant, cosine"},
        {"{\"data\": null}", "key \"data\" must be a string or a list of strings, not null"},
        {"{\"d-model\": 64}", "unknown key \"d-model\"; did you mean d_model?"},
        {"{\"out\": \"run\"}", "unknown key \"out\""},
        {"{\"k\": 4, \"k\": 5}", "line 1"},
        {"[1, 2]", "needs one JSON object of options, not a list"},
        {"", "line 1"},
        {"{\"seed\": 99999999999999999999}", "line 1"},
        {"{\"lr\": NaN}", "line 1"},
        {"{\"k\": 4} x", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[1024];
        snprintf(line, sizeof line, "train --data x --out y --config %s", test_file("config.json", cases[i].json));
        expect_refusal(line, 2, cases[i].says);
    }
    expect_refusal("train --data x --out y --config /nowhere/at/all.json", 1, "/nowhere/at/all.json");
}

static void flags_win_over_the_config_file_and_that_over_the_preset(void **state) {
    (void)state;
    char line[1024];
    const char *path = test_file("layers.json", "{\"preset\": \"ptb-6\", \"lr\": 0.5, \"layers\": 3}");
    snprintf(line, sizeof line, "--layers 2 --config %s", path);
    json_t *c = resolved(line);
    assert_int_equal(number(c, "layers"), 2);      // flag
    assert_true(number(c, "lr") == 0.5);           // file
    assert_int_equal(number(c, "d_model"), 320);   // preset
    assert_int_equal(number(c, "accumulate"), 1);  // default
    json_decref(c);
}

static void steps_and_epochs_of_a_preset_give_way_to_a_flag_of_either(void **state) {
    (void)state;
    static const struct {
        const char *line;
        double steps, epochs;
    } cases[] = {
        {"--preset enwik8-512", 400000, 72},
        {"--preset enwik8-512 --epochs 2", 0, 2},
        {"--preset enwik8-512 --steps 10", 10, 0},
        {"--preset small --epochs 3", 0, 3},
        {"--preset ptb-6 --steps 10", 10, 0},
        {"--steps 10 --epochs 3", 10, 3},
        {"--preset small", 600, 0},
        {"", 0, 0},  // by the amount of data
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        json_t *c = resolved(cases[i].line);
        if (number(c, "steps") != cases[i].steps || number(c, "epochs") != cases[i].epochs)
            fail_msg("%s: %g steps, %g epochs", cases[i].line, number(c, "steps"), number(c, "epochs"));
        json_decref(c);
    }
}

static void the_resolved_configuration_reads_back_to_itself(void **state) {
    (void)state;
    static const char *const lines[] = {"--preset enwik8-512 --seed 9007199254740992 --lr 0.1 --dropout-input 0.3 --data some/path",
                                        "--preset sst5-1 --data some/path",
                                        "--model transformer --positions relative --context 70000 --batch-tokens 70000 --data some/path"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        json_t *c = resolved(lines[i]);
        assert_int_equal(json_object_set_new(c, "preset", json_string("")), 0);  // all of it is in the other keys
        char *written = json_dumps(c, 0), line[1024];
        snprintf(line, sizeof line, "--config %s", test_file("resolved.json", written));
        json_t *again = resolved(line);
        assert_true(json_equal(c, again));
        free(written);
        json_decref(c), json_decref(again);
    }
}

static void what_is_left_open_follows_from_the_task_and_the_context(void **state) {
    (void)state;
    json_t *lm = resolved("--context 1000 --d-model 64"), *classify = resolved("--task classify"),
           *dense = resolved("--model transformer --context 64");
    assert_true(yes(lm, "causal") && yes(lm, "tied"));
    assert_string_equal(text(lm, "unit"), "byte");
    assert_int_equal(number(lm, "stride"), 1000);
    assert_int_equal(number(lm, "eval_context"), 1000);
    assert_int_equal(number(lm, "d_ff"), 256);
    assert_int_equal(number(lm, "d_embed"), 64);
    assert_int_equal(number(lm, "rel_levels"), 10);
    assert_false(yes(classify, "causal") || yes(classify, "tied"));
    assert_string_equal(text(classify, "unit"), "word");
    assert_string_equal(text(dense, "positions"), "absolute");
    assert_int_equal(number(dense, "max_positions"), 64);
    json_decref(lm), json_decref(classify), json_decref(dense);
}

static void presets_have_the_values_of_the_papers(void **state) {
    (void)state;
    static const struct {
        const char *preset, *key;
        double value;
    } cases[] = {
        {"ptb-6", "k", 4},
        {"ptb-6", "rel_levels", 5},
        {"ptb-6", "d_model", 320},
        {"ptb-6", "batch_tokens", 16 * 320},
        {"ptb-6", "epochs", 25},
        {"ptb-6", "stride", 320},
        {"wiki-6", "stride", 320},
        {"wiki-6", "lr", 1e-3},
        {"wiki-6", "clip", 0.25},
        {"enwik8-512", "k", 64},
        {"enwik8-512", "stride", 256},
        {"enwik8-512", "rel_levels", 3},
        {"enwik8-512", "lr", 4.1e-4},
        {"enwik8-8192", "batch_tokens", 65536},
        {"enwik8-8192", "lr", 5.8e-4},
        {"enwik8-8192", "steps", 200000},
        {"enwik8-4096", "eval_context", 8192},
        {"text8-1024", "epochs", 108},
        {"text8-8192", "rel_levels", 7},
        {"sst5-1", "rel_levels", 4},
        {"sst5-2", "lr_decay", 0.98},
        {"sst5-16", "rel_levels", 2},
        {"sst5-4", "batch_examples", 1024},
        {"imdb-64", "rel_levels", 2},
        {"imdb-1", "rel_levels", 8},
        {"imdb-4", "lr", 1e-4},
        {"imdb-4", "epochs", 40},
        {"imdb-4", "weight_decay", 5e-5},
        {"imdb-4", "heads", 6},
        {"segtree-ptb-70-3", "layers", 3},
        {"segtree-ptb-70-3", "batch_tokens", 64 * 70},
        {"segtree-wiki-320-6", "layers", 6},
        {"segtree-wiki-320-6", "warmup", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[64];
        snprintf(line, sizeof line, "--preset %s", cases[i].preset);
        json_t *c = resolved(line);
        if (number(c, cases[i].key) != cases[i].value) fail_msg("%s: %s is %g", cases[i].preset, cases[i].key, number(c, cases[i].key));
        json_decref(c);
    }
}

static void what_belongs_to_a_presets_window_follows_its_context(void **state) {
    (void)state;
    static const struct {
        const char *line;
        double stride, eval_context, rel_levels;
    } cases[] = {
        {"--preset enwik8-512", 256, 1024, 3},
        {"--preset enwik8-512 --context 512", 256, 1024, 3},
        {"--preset enwik8-512 --context 2048", 1024, 4096, 5},  // as enwik8-2048
        {"--preset enwik8-4096 --context 512", 256, 1024, 3},   // as enwik8-512
        {"--preset enwik8-512 --context 300", 150, 600, 3},
        {"--preset enwik8-512 --context 2", 1, 4, 1},
        {"--preset enwik8-8192 --context 33", 16, 34, 1},
        {"--preset enwik8-512 --context 2048 --stride 2048 --eval-context 512 --rel-levels 9", 2048, 512, 9},
        {"--preset ptb-6 --context 640", 640, 640, 6},
        {"--preset small --context 64", 64, 64, 6},
        {NULL, 512, 2048, 4},  // a config file with the preset and another context
    };
    char file[512];
    snprintf(file, sizeof file, "%s", test_file("longer.json", "{\"preset\": \"text8-512\", \"context\": 1024}"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[1024];
        snprintf(line, sizeof line, "%s%s", cases[i].line ? "" : "--config ", cases[i].line ? cases[i].line : file);
        json_t *c = resolved(line);
        if (number(c, "stride") != cases[i].stride || number(c, "eval_context") != cases[i].eval_context ||
            number(c, "rel_levels") != cases[i].rel_levels)
            fail_msg("%s: stride %g, eval-context %g, rel-levels %g", line, number(c, "stride"), number(c, "eval_context"),
                     number(c, "rel_levels"));
        json_decref(c);
    }
}

// Each is listed with typed settings, and these are what --preset sets; as a config file they set the same.
static void every_preset_can_be_resolved(void **state) {
    (void)state;
    test_process_t p = test_run_line("presets --json");
    json_t *presets = json_loads(p.out, 0, NULL), *preset, *value;
    size_t i;
    assert_int_equal(json_array_size(presets), 88);
    json_array_foreach(presets, i, preset) {
        char line[1024], file[512];
        const char *key;
        const json_t *settings = json_object_get(preset, "settings");
        snprintf(line, sizeof line, "--preset %s", text(preset, "name"));
        json_t *c = resolved(line);
        assert_string_equal(text(c, "preset"), text(preset, "name"));
        assert_true(*text(preset, "description") && json_object_size(settings) > 3 && json_is_integer(json_object_get(settings, "layers")));
        json_object_foreach((json_t *)settings, key, value) {
            if (!json_equal(json_object_get(c, key), value)) fail_msg("%s: %s", line, key);
        }
        snprintf(file, sizeof file, "%s", test_path("preset.json"));
        assert_int_equal(json_dump_file(settings, file, 0), 0);
        snprintf(line, sizeof line, "--config %s", file);
        json_t *again = resolved(line);
        json_object_del(again, "preset"), json_object_del(c, "preset");
        assert_true(json_equal(again, c));
        json_decref(again), json_decref(c);
    }
    json_decref(presets);
    test_process_free(&p);
}

// ---- Resumption
enum { TEXT_BYTES = 4000 };
#define TINY "--backend ref --layers 1 --d-model 8 --heads 2 --context 16 --batch-tokens 64 --log-every 1 --eval-every 2 --quiet"

static const char *text_of(const char *name, int letters) {
    static char bytes[TEXT_BYTES + 1];
    for (int i = 0; i < TEXT_BYTES; ++i) bytes[i] = (char)('a' + (i * 7 + i / 11) % letters);
    return test_file(name, bytes);
}

static const char *sample(void) { return text_of("sample.txt", 26); }

static int run(const char *format, const char *a, const char *b) {
    char line[2048];
    snprintf(line, sizeof line, format, a, b);
    test_process_t p = test_run_line(line);
    const int status = p.exit_status;
    if (status) fprintf(stderr, "bpt %s: %s", line, p.err);
    assert_string_equal(p.out, "");
    test_process_free(&p);
    return status;
}

static void a_resumed_run_changes_only_what_it_may(void **state) {
    (void)state;
    char line[2048], out[512], data[512];
    snprintf(out, sizeof out, "%s", test_path("run-resumed"));
    snprintf(data, sizeof data, "%s", sample());
    assert_int_equal(run("train --data %s --out %s --steps 4 " TINY, data, out), 0);
    static const char *const refused[][2] = {{"--lr 0.5", "--lr cannot change when a run is resumed: it was '0.001', not '0.5'"},
                                             {"--k 2", "--k cannot change"},
                                             {"--seed 2", "--seed cannot change"},
                                             {"--context 8", "--context cannot change"},
                                             {"--preset small", "cannot change"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        snprintf(line, sizeof line, "train --out %s --resume %s", out, refused[i][0]);
        expect_refusal(line, 2, refused[i][1]);
    }
    assert_int_equal(run("train --out %s --resume --steps 6 --eval-every 3 --save-every 1 --keep 9 --threads 1 --quiet%s", out, ""), 0);
    // The same command line once more, with --resume: nothing left to do.
    assert_int_equal(run("train --data %s --out %s --resume --steps 6 " TINY, data, out), 0);
    static const char *const too_early[] = {"--steps 5", "--steps 9 --stop-at 5"};
    char config[600];
    size_t length;
    snprintf(config, sizeof config, "%s/config.json", out);
    char *before = test_read_file(config, &length);
    for (int i = 0; i < 2; ++i) {
        snprintf(line, sizeof line, "train --out %s --resume %s --quiet", out, too_early[i]);
        expect_refusal(line, 2, "the run has reached step 6, so it cannot end at step 5");
        char *after = test_read_file(config, &length);
        assert_string_equal(before, after);
        free(after);
    }
    free(before);
    expect_refusal("train --out /nowhere/run --resume", 1, "/nowhere/run");
    snprintf(line, sizeof line, "train --data %s --out %s --steps 4 " TINY, data, out);
    expect_refusal(line, 2, "--resume");
}

// state.json keeps the seconds of the steps alone, without those of rest.
static void a_training_that_rests_computes_the_same(void **state) {
    (void)state;
    char data[512], out[2][512], path[1100], *weights[2];
    size_t length[2];
    double passed = 0;
    snprintf(data, sizeof data, "%s", sample());
    for (int i = 0; i < 2; ++i) {
        snprintf(out[i], sizeof out[i], "%s", test_path(i ? "run-rests" : "run-works"));
        const double start = bpt_clock_seconds();
        assert_int_equal(run(i ? "train --data %s --out %s --steps 5 --duty 0.1 " TINY : "train --data %s --out %s --steps 5 " TINY, data, out[i]), 0);
        passed = bpt_clock_seconds() - start;
        snprintf(path, sizeof path, "%s/latest/model.safetensors", out[i]);
        weights[i] = test_read_file(path, &length[i]);
    }
    snprintf(path, sizeof path, "%s/latest/state.json", out[1]);
    json_t *kept = json_load_file(path, 0, NULL);
    assert_true(passed > 10 * json_number_value(json_object_get(kept, "seconds")));
    json_decref(kept);
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(weights[0], weights[1], length[0]);
    free(weights[0]), free(weights[1]);
    expect_refusal("train --data nothing --duty 0.01", 2, "--duty must be at least 0.05 and at most 1");
}

static void data_may_move_between_resumptions_but_not_change(void **state) {
    (void)state;
    char line[2048], out[512], data[512], moved[512], config[600];
    size_t length;
    snprintf(out, sizeof out, "%s", test_path("run-moved"));
    snprintf(data, sizeof data, "%s", sample());
    snprintf(moved, sizeof moved, "%s", test_path("moved.txt"));
    assert_int_equal(run("train --data %s --out %s --steps 2 " TINY, data, out), 0);
    assert_int_equal(rename(data, moved), 0);
    snprintf(line, sizeof line, "train --out %s --resume --steps 4 --quiet", out);
    expect_refusal(line, 1, data);
    snprintf(config, sizeof config, "%s/config.json", out);
    char *before = test_read_file(config, &length);
    snprintf(line, sizeof line, "train --data %s --out %s --resume --steps 4 --quiet", text_of("other.txt", 25), out);
    expect_refusal(line, 2, "the training data are not those the run was started with");
    char *after = test_read_file(config, &length);
    assert_string_equal(before, after);
    free(before), free(after);
    assert_int_equal(run("train --data %s --out %s --resume --steps 4 --quiet", moved, out), 0);
    assert_int_equal(run("train --out %s --resume --steps 6 --quiet%s", out, ""), 0);  // the new place is remembered
}

static void a_run_that_overrode_its_preset_resumes_with_the_preset_named_again(void **state) {
    (void)state;
    char out[512], config[1024];
    snprintf(out, sizeof out, "%s", test_path("run-of-preset"));
    snprintf(config, sizeof config, "%s/config.json", out);
    assert_int_equal(run("train --preset small --data %s --out %s --lr 0.01 --warmup 0 --steps 2 " TINY, sample(), out), 0);
    assert_int_equal(run("train --preset small --out %s --resume --quiet%s", out, ""), 0);
    json_t *c = json_load_file(config, 0, NULL);
    assert_int_equal(number(c, "steps"), 2);  // not the preset's 600
    assert_true(number(c, "lr") == 0.01);
    json_decref(c);
}

static void a_refused_resumption_leaves_the_run_alone(void **state) {
    (void)state;
    const char *out = test_path("run-other-data"), *data = sample();
    char line[2048], config[1024];
    assert_int_equal(run("train --data %s --out %s --steps 2 " TINY, data, out), 0);
    snprintf(config, sizeof config, "%s/config.json", out);
    size_t length;
    char *before = test_read_file(config, &length);
    test_file(
        "sample.txt",
        "abcdefghijklmnopqrstuvwxyz is another text that is long enough for a window of sixteen letters and its test parts, it seems; "
        "some more words are needed for the parts of validation and test to have more than a letter or two in them");
    snprintf(line, sizeof line, "train --out %s --resume --steps 9 --quiet", out);
    expect_refusal(line, 2, "data");
    char *after = test_read_file(config, &length);
    assert_string_equal(before, after);
    free(before), free(after);
}

// Texts of 7 tokens lie in a bucket of 8, for which the table has no position.
static void absolute_positions_of_a_classifier_reach_to_its_longest_text(void **state) {
    (void)state;
    static const char text[] = "x\ta b c d e f g\ny\tb c d\nx\ta b\ny\tc d e\nx\tb b\n";
    static const char *const options =
        "--task classify --model transformer --positions absolute --layers 1 --d-model 8 --heads 2 --steps 2 "
        "--backend ref --quiet";
    char line[2048], data[512], out[512], longer[512];
    snprintf(data, sizeof data, "%s", test_file("short.tsv", text));
    snprintf(longer, sizeof longer, "%s", test_file("longer.tsv", "x\ta b c d e f g a\n"));
    snprintf(out, sizeof out, "%s", test_path("run-positions"));
    snprintf(line, sizeof line, "train --data %s --out %s %s --max-positions 6", data, out, options);
    expect_refusal(line, 1, "short.tsv: line 1: 7 tokens are more than the model's 6 positions");
    snprintf(line, sizeof line, "train --data %s --out %s %s", data, out, options);
    assert_int_equal(run("%s%s", line, ""), 0);
    snprintf(line, sizeof line, "eval %s --data %s --quiet", out, longer);
    expect_refusal(line, 1, "longer.tsv: line 1: 8 tokens are more than the model's 7 positions");
}

static void dry_run_tells_the_size_and_writes_nothing(void **state) {
    (void)state;
    const char *out = test_path("run-dry");
    char line[2048];
    snprintf(line, sizeof line, "train --dry-run --data %s --out %s --epochs 2 " TINY, sample(), out);
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 0);
    assert_non_null(strstr(p.out, "parameters "));
    assert_non_null(strstr(p.out, "workspace "));
    assert_non_null(strstr(p.out, "steps             114, 57 an epoch"));
    assert_int_equal(access(out, F_OK), -1);
    test_process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_that_cannot_be_are_refused_by_name),
        cmocka_unit_test(config_files_are_read_strictly),
        cmocka_unit_test(flags_win_over_the_config_file_and_that_over_the_preset),
        cmocka_unit_test(steps_and_epochs_of_a_preset_give_way_to_a_flag_of_either),
        cmocka_unit_test(the_resolved_configuration_reads_back_to_itself),
        cmocka_unit_test(what_is_left_open_follows_from_the_task_and_the_context),
        cmocka_unit_test(presets_have_the_values_of_the_papers),
        cmocka_unit_test(what_belongs_to_a_presets_window_follows_its_context),
        cmocka_unit_test(every_preset_can_be_resolved),
        cmocka_unit_test(a_resumed_run_changes_only_what_it_may),
        cmocka_unit_test(a_training_that_rests_computes_the_same),
        cmocka_unit_test(data_may_move_between_resumptions_but_not_change),
        cmocka_unit_test(a_run_that_overrode_its_preset_resumes_with_the_preset_named_again),
        cmocka_unit_test(a_refused_resumption_leaves_the_run_alone),
        cmocka_unit_test(absolute_positions_of_a_classifier_reach_to_its_longest_text),
        cmocka_unit_test(dry_run_tells_the_size_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
