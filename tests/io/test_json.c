// JSON with positions, strict types and exact numbers; the model configuration, the state of a run and its metrics as JSON.
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/config_keys.h"
#include "models/config/config_names.h"
#include "models/config/model_file.h"
#include "models/kinds/kind.h"
#include "models/train/checkpoint.h"
#include "models/train/metrics.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

static bpt_status_t parse_config(const char *text, const char *where, bpt_model_config_t *config) {
    json_t *object;
    BPT_TRY(bpt_json_parse(text, strlen(text), where, &object));
    const bpt_status_t status = bpt_model_config_from_json(object, where, config);
    json_decref(object);
    return status;
}

static void errors_name_line_and_column(void **state) {
    (void)state;
    const char *text = "{\n  \"a\": 1,\n  \"a\": 2\n}";
    json_t *value;
    assert_fails(bpt_json_parse(text, strlen(text), "c.json", &value), BPT_ERR_INPUT,
                 "c.json: line 3, column 5: not valid JSON: duplicate");
    assert_fails(bpt_json_parse("", 0, "c.json", &value), BPT_ERR_INPUT, "c.json: line 1");
    assert_fails(bpt_json_read(test_path("absent.json"), &value), BPT_ERR_IO, "absent.json");
}

static void a_byte_order_mark_is_no_part_of_json(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF{\"a\": 1}", twice[] = "\xEF\xBB\xBF\xEF\xBB\xBF{}";
    json_t *value;
    int64_t number;
    assert_ok(bpt_json_parse(text, sizeof text - 1, "c.json", &value));
    assert_ok(bpt_json_get_int(value, "a", 0, 9, &number));
    json_decref(value);
    assert_fails(bpt_json_parse(twice, sizeof twice - 1, "c.json", &value), BPT_ERR_INPUT, "c.json: line 1");
    assert_fails(bpt_json_parse("\xEF\xBB", 2, "c.json", &value), BPT_ERR_INPUT, "c.json: line 1");
}

static void numbers_read_back_exactly_and_stay_short(void **state) {
    (void)state;
    json_t *object = json_object();
    assert_ok(bpt_json_set_real(object, "a", 0.1));
    assert_ok(bpt_json_set_float(object, "b", 0.1f));
    assert_ok(bpt_json_set_real(object, "c", 1.0 / 3));
    assert_ok(bpt_json_set_real(object, "d", 2));
    assert_ok(bpt_json_set_u64(object, "e", UINT64_MAX));
    assert_ok(bpt_json_set_u64(object, "f", 7));
    assert_ok(bpt_json_set_text(object, "g", "é\"\n"));
    assert_fails(bpt_json_set_real(object, "h", NAN), BPT_ERR_INPUT, "finite");
    assert_fails(bpt_json_set_text(object, "h", "\xff"), BPT_ERR_INPUT, "UTF-8");
    char *text;
    assert_ok(bpt_json_format(object, 0, &text));
    assert_string_equal(text, "{\"a\": 0.1, \"b\": 0.1, \"c\": 0.3333333333333333, \"d\": 2.0, \"e\": \"18446744073709551615\", \"f\": 7, "
                              "\"g\": \"é\\\"\\n\"}");
    json_t *again;
    assert_ok(bpt_json_parse(text, strlen(text), "text", &again));
    assert_true(json_equal(object, again));
    uint64_t big = 0;
    assert_ok(bpt_json_get_u64(again, "e", &big));
    assert_true(big == UINT64_MAX);
    uint64_t bits = 1;
    for (int i = 0; i < 2000; ++i) {  // any double
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double x;
        memcpy(&x, &bits, 8);
        if (!isfinite(x)) continue;
        json_t *holder = json_object();
        char *one;
        double y = 0;
        assert_ok(bpt_json_set_real(holder, "x", x));
        assert_ok(bpt_json_format(holder, 2, &one));
        json_decref(holder);
        assert_ok(bpt_json_parse(one, strlen(one), "one", &holder));
        assert_ok(bpt_json_get_real(holder, "x", -INFINITY, INFINITY, &y));
        assert_true(x == y);
        const float f = (float)x;
        if (isfinite(f)) {
            assert_ok(bpt_json_set_float(holder, "f", f));
            assert_ok(bpt_json_get_real(holder, "f", -INFINITY, INFINITY, &y));
            assert_true((float)y == f);
        }
        json_decref(holder);
        bpt_free(one);
    }
    bpt_free(text);
    json_decref(object);
    json_decref(again);
}

static void wrong_types_and_ranges_name_the_key(void **state) {
    (void)state;
    const char *text = "{\"i\": 5, \"t\": \"x\", \"r\": 1.5, \"n\": null, \"neg\": -1, \"u\": \"18446744073709551616\"}";
    json_t *o;
    assert_ok(bpt_json_parse(text, strlen(text), "text", &o));
    int64_t i = 42;
    int32_t s = 42;
    double r = 42;
    bool b;
    const char *t;
    uint64_t u;
    assert_ok(bpt_json_get_int(o, "absent", 0, 1, &i));
    assert_int_equal(i, 42);
    assert_ok(bpt_json_get_real(o, "i", 0, 10, &r));
    assert_true(r == 5);
    assert_fails(bpt_json_get_int(o, "i", 6, 10, &i), BPT_ERR_INPUT, "key \"i\" is 5, must be 6 to 10");
    assert_fails(bpt_json_get_int(o, "r", 0, 10, &i), BPT_ERR_INPUT, "key \"r\" must be an integer, not a real number");
    assert_fails(bpt_json_get_int32(o, "t", 0, 10, &s), BPT_ERR_INPUT, "key \"t\" must be an integer, not a text");
    assert_fails(bpt_json_get_real(o, "n", 0, 1, &r), BPT_ERR_INPUT, "key \"n\" must be a number, not null");
    assert_fails(bpt_json_get_bool(o, "i", &b), BPT_ERR_INPUT, "key \"i\" must be true or false");
    assert_fails(bpt_json_get_text(o, "i", &t), BPT_ERR_INPUT, "key \"i\" must be a text");
    assert_fails(bpt_json_get_u64(o, "neg", &u), BPT_ERR_INPUT, "key \"neg\"");
    assert_fails(bpt_json_get_u64(o, "u", &u), BPT_ERR_INPUT, "key \"u\"");
    assert_fails(bpt_json_get_u64(o, "t", &u), BPT_ERR_INPUT, "key \"t\"");
    json_decref(o);
}

// ---- model configuration

static const bpt_model_config_t good = {.task = BPT_TASK_LM,
                                        .model = BPT_MODEL_BPT,
                                        .causal = true,
                                        .tied = true,
                                        .layers = 2,
                                        .d_model = 16,
                                        .d_embed = 16,
                                        .d_ff = 24,
                                        .heads = 2,
                                        .k = 4,
                                        .rel_levels = 5,
                                        .vocab = 256,
                                        .dropout_input = 0.1f,
                                        .dropout_attention = 0.25f};

static void every_model_survives_its_json(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    bpt_model_config_t models[5];
    for (int i = 0; i < 5; ++i) models[i] = good;
    models[1].model = BPT_MODEL_SEGTREE, models[1].k = 0, models[1].task = BPT_TASK_CLASSIFY, models[1].classes = 5, models[1].tied = false;
    models[1].causal = false, models[1].span_self = true;
    models[2].reference_rule = true;
    models[3].model = BPT_MODEL_TRANSFORMER, models[3].positions = BPT_POSITIONS_ABSOLUTE, models[3].max_positions = 5000, models[3].k = 0;
    models[3].rel_levels = 0;
    models[4].model = BPT_MODEL_TRANSFORMER, models[4].attention = BPT_ATTENTION_WINDOW, models[4].window = 64, models[4].k = 0;
    for (int i = 0; i < 5; ++i) {
        char *text;
        bpt_model_config_t back;
        memset(&back, 0xAA, sizeof back);
        assert_ok(bpt_model_config_check(&models[i]));
        assert_ok(bpt_model_config_format(&models[i], &text));
        assert_ok(parse_config(text, "text", &back));
        char *again;
        assert_ok(bpt_model_config_format(&back, &again));
        assert_string_equal(text, again);
        assert_int_equal(back.model, models[i].model);
        assert_int_equal(back.causal, models[i].causal);
        assert_int_equal(back.tied, models[i].tied);
        assert_int_equal(back.reference_rule, models[i].reference_rule);
        assert_int_equal(back.span_self, models[i].span_self);
        assert_int_equal(back.k, models[i].k);
        assert_int_equal(back.window, models[i].window);
        assert_int_equal(back.classes, models[i].classes);
        assert_int_equal(back.positions, models[i].positions);
        assert_true(back.dropout_input == 0.1f && back.dropout_attention == 0.25f);
        bpt_free(text);
        bpt_free(again);
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void wrong_models_are_refused_with_a_remedy(void **state) {
    (void)state;
#define CASE(field, value, text)                                       \
    {                                                                  \
        bpt_model_config_t c = good;                                   \
        c.field = value;                                               \
        assert_fails(bpt_model_config_check(&c), BPT_ERR_USAGE, text); \
    }
    CASE(heads, 3, "3 heads do not divide d_model = 16; choose 2 heads or d_model = 18")
    CASE(heads, 24, "24 heads are more than the columns of d_model = 16; choose 16 heads or d_model = 24")
    CASE(heads, 0, "heads is 0")
    CASE(k, 0, "k is 0; it must be 1 to")
    CASE(layers, 0, "layers is 0")
    CASE(layers, 100000, "layers is 100000")
    CASE(d_model, -1, "d_model is -1")
    CASE(d_ff, 0, "d_ff is 0")
    CASE(d_embed, 8, "tied embeddings need d_embed = d_model, not 8 and 16")
    CASE(vocab, 0, "vocab is 0")
    CASE(rel_levels, 0, "rel_levels is 0")
    CASE(rel_levels, 40, "rel_levels is 40")
    CASE(causal, false, "must be causal")
    CASE(span_self, true, "span_self is for segtree")
    CASE(task, BPT_TASK_CLASSIFY, "classes is 0")
    CASE(dropout_hidden, 1, "dropout_hidden is 1")
    CASE(dropout_head, NAN, "dropout_head is")
    CASE(positions, BPT_POSITIONS_ABSOLUTE, "max_positions is 0")
#undef CASE
}

static void wrong_configurations_in_files_name_place_and_key(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"nonsense", "m: line 1, column"},
        {"[]", "m: the model's configuration is not a JSON object"},
        {"{}", "m: key \"model\" is missing"},
        {"{\"model\": \"bpt\"}", "key \"task\" is missing"},
        {"{\"model\": \"bp\", \"task\": \"lm\"}", "key model \"bp\" is unknown; choose bpt, segtree, transformer, star or tree"},
        {"{\"model\": 3, \"task\": \"lm\"}", "key \"model\" must be a text"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": \"2\"}", "key \"layers\" must be an integer, not a text"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 2, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"rel_levels\": 1, \"vocab\": "
         "5}",
         "key \"k\" is missing"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 2, \"d_model\": 8, \"d_ff\": 8, \"heads\": 3, \"k\": 1, \"rel_levels\": 1, "
         "\"vocab\": 5}",
         "m: 3 heads do not divide"},
        {"{\"model\": \"star\", \"task\": \"classify\", \"layers\": 2, \"d_model\": 30, \"d_ff\": 8, \"heads\": 7, \"vocab\": 5, "
         "\"classes\": 2, "
         "\"max_positions\": 9}",
         "m: 7 heads do not divide d_model = 30; choose 6 heads or d_model = 35, or give head_dim"},
        {"{\"model\": \"star\", \"task\": \"classify\", \"layers\": 2, \"d_model\": 30, \"d_ff\": 8, \"heads\": 40, \"vocab\": 5, "
         "\"classes\": 2, "
         "\"max_positions\": 9}",
         "m: 40 heads are more than the columns of d_model = 30; choose 30 heads or d_model = 40, or give head_dim"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 2, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 99999999999, "
         "\"rel_levels\": 1, \"vocab\": 5}",
         "key \"k\" is 99999999999"},
        {"{\"model\": \"bpt\", \"task\": \"classify\", \"layers\": 2, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 1, \"rel_levels\": "
         "1, \"vocab\": 5}",
         "key \"classes\" is missing"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_model_config_t c;
        assert_fails(parse_config(cases[i].text, "m", &c), BPT_ERR_INPUT, cases[i].message);
    }
}

static void unknown_keys_are_ignored_and_defaults_taken(void **state) {
    (void)state;
    bpt_model_config_t c;
    assert_ok(parse_config("{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 2, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 1, "
                           "\"rel_levels\": 1, \"vocab\": 5, \"future\": true}",
                           "m", &c));
    assert_int_equal(c.d_embed, 8);
    assert_true(c.causal && !c.tied && !c.reference_rule && c.positions == BPT_POSITIONS_RELATIVE);
}

// A gap in the places, a condition that names nothing or a kind that names no key would be silent.
static void every_key_has_a_place_and_conditions_that_exist(void **state) {
    (void)state;
    for (int i = 0; i < bpt_config_key_count; ++i) {
        const bpt_config_key_t *key = &bpt_config_keys[i];
        assert_non_null(key->name);
        assert_ptr_equal(bpt_config_key_find(key->name), key);
        assert_non_null(key->fallback);
        assert_non_null(key->help);
        if (!key->when) continue;
        char name[40];
        const char *value = strchr(key->when, '=');
        snprintf(name, sizeof name, "%.*s", (int)(value - key->when), key->when);
        const bpt_config_key_t *other = bpt_config_key_find(name);
        int index;
        assert_non_null(other);
        assert_ok(bpt_name_parse(name, other->choices, value + 1, &index));
    }
    for (int kind = 0; kind < BPT_N_KINDS; ++kind)
        for (const char *const *own = bpt_kinds[kind]->keys; *own; ++own) assert_non_null(bpt_config_key_find(*own));
}

static void names_are_found_and_wrong_ones_listed(void **state) {
    (void)state;
    int index = -1;
    assert_ok(bpt_name_parse("--schedule", bpt_schedule_names, "noam", &index));
    assert_int_equal(index, BPT_SCHEDULE_NOAM);
    assert_fails(bpt_name_parse("--optimizer", bpt_optimizer_names, "sgd", &index), BPT_ERR_USAGE,
                 "--optimizer \"sgd\" is unknown; choose adam, adamw or muon");
}

static void golden_models_have_readable_configurations(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/golden", test_shared_dir());
    char **names;
    size_t count, read = 0;
    assert_ok(bpt_folder_list(folder, &names, &count));
    for (size_t i = 0; i < count; ++i) {
        if (!strstr(names[i], ".safetensors") || strstr(names[i], ".grad.")) continue;
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        bpt_safetensors_t *f;
        bpt_model_config_t c;
        assert_ok(bpt_safetensors_open(path, &f));
        assert_ok(bpt_model_file_config(f, &c));
        assert_int_equal(bpt_safetensors_find(f, "embed.weight")->shape[1], c.d_embed);
        bpt_safetensors_close(f);
        ++read;
    }
    bpt_names_free(names, count);
    assert_true(read > 0);
}

// ---- state of a run

static void state_reads_back_exactly(void **state) {
    (void)state;
    bpt_run_state_t a, b;
    bpt_run_state_init(&a, UINT64_MAX - 3);
    assert_ok(bpt_run_state_write(test_scratch_dir(), &a));
    assert_ok(bpt_run_state_read(test_scratch_dir(), &b));
    assert_true(b.seed == a.seed && isinf(b.best_loss) && isinf(b.plateau_best) && b.best_step == -1);
    assert_string_equal(b.version, BPT_VERSION_STRING);
    a.step = 1234567890123, a.tokens = 99, a.epoch = 1.0 / 3, a.seconds = 12.5, a.best_loss = M_PI, a.best_step = 1200;
    a.plateau_factor = 0.125, a.plateau_best = 1e-300, a.loss_scale = 65536, a.scale_steps = 17;
    a.window_loss = 100.0 / 3, a.window_steps = 7;
    strcpy(a.data, "xxh3:0123456789abcdef");
    assert_ok(bpt_run_state_write(test_scratch_dir(), &a));
    assert_ok(bpt_run_state_read(test_scratch_dir(), &b));
    assert_memory_equal(&a.step, &b.step, offsetof(bpt_run_state_t, version));
    assert_string_equal(a.data, b.data);
}

static void broken_states_are_refused(void **state) {
    (void)state;
    bpt_run_state_t s;
    bpt_run_state_init(&s, 1);
    assert_ok(bpt_run_state_write(test_scratch_dir(), &s));
    char *text = test_read_file(test_path("state.json"), NULL);
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"step\": 0", "\"step\": -1", "key \"step\" is -1"},
        {"\"step\": 0", "\"step\": 0.0", "key \"step\" must be an integer"},
        {"\"step\"", "\"stop\"", "key \"step\" is missing"},
        {"\"seed\": 1", "\"seed\": 1, \"best\": 2", "unknown key \"best\""},
        {"\"loss_scale\": 1.0", "\"loss_scale\": 0", "key \"loss_scale\""},
        {"}", "", "not valid JSON"},
        {"\"data\": \"\"", "\"data\": []", "key \"data\" must be a text"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char changed[4096];
        const char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
        test_write_file(test_path("state.json"), changed, strlen(changed));
        assert_fails(bpt_run_state_read(test_scratch_dir(), &s), BPT_ERR_INPUT, cases[i].message);
        assert_non_null(strstr(bpt_error_message(), "state.json"));
    }
    free(text);
}

static void sums_of_files_read_back_and_one_flipped_bit_is_seen(void **state) {
    (void)state;
    bpt_run_state_t a, b;
    bpt_run_state_init(&a, 1);
    a.step = 20, a.best_loss = 2.5, a.best_step = 10;
    a.sums.known = true;
    for (int i = 0; i < BPT_RUN_FILES; ++i)
        if (i != BPT_RUN_LABELS)
            bpt_run_sums_add(&a.sums, (bpt_run_file_t)i, (bpt_checksum_t){1000 + (uint64_t)i, UINT64_MAX - (uint64_t)i});
    assert_ok(bpt_run_state_write(test_scratch_dir(), &a));
    assert_ok(bpt_run_state_read(test_scratch_dir(), &b));
    assert_true(b.sums.known && !b.sums.listed[BPT_RUN_LABELS]);
    for (int i = 0; i < BPT_RUN_FILES; ++i)
        if (i != BPT_RUN_LABELS) assert_true(b.sums.listed[i] && bpt_checksum_equal(&a.sums.sum[i], &b.sums.sum[i]));
    size_t length;
    char *text = test_read_file(test_path("state.json"), &length);
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i + 1 < length; ++i) {  // the last byte is the line end
        text[i] = (char)(text[i] ^ (1 << i % 8));
        test_write_file(test_path("state.json"), text, length);
        if (bpt_run_state_read(test_scratch_dir(), &b) != BPT_ERR_INPUT) fail_msg("byte %zu is not missed:\n%s", i, text);
        text[i] = (char)(text[i] ^ (1 << i % 8));
    }
    assert_int_equal(bpt_alloc_live(), live);
    free(text);
}

// Only a difference in what a model is: keys that do not apply are not compared.
static void the_first_key_that_differs_is_named_with_both_values(void **state) {
    (void)state;
    bpt_model_config_t a = good, b = good;
    b.window = 77;  // of window attention, which this model has not
    assert_ok(bpt_model_config_compare(&a, "A", &b, "B"));
    b.k = 9;
    assert_fails(bpt_model_config_compare(&a, "A", &b, "B"), BPT_ERR_INPUT, "key \"k\" is 4 in A and 9 in B");
    b = good, b.dropout_hidden = 0.5f;
    assert_fails(bpt_model_config_compare(&a, "A", &b, "B"), BPT_ERR_INPUT, "\"dropout_hidden\" is ");
    b = good, b.model = BPT_MODEL_SEGTREE;
    assert_fails(bpt_model_config_compare(&a, "A", &b, "B"), BPT_ERR_INPUT, "\"model\" is \"bpt\" in A and \"segtree\" in");
}

// ---- metrics

static bpt_metrics_line_t train_line(int64_t step) {
    bpt_metrics_line_t line;
    bpt_metrics_line_init(&line);
    line.step = step, line.epoch = (double)step / 8, line.tokens = step * 1000, line.loss = 5.5 / (double)(step + 1), line.lr = 0.001;
    line.grad_norm = 0.5, line.tokens_per_s = 12345, line.seconds = (double)step, line.peak_host_bytes = 1 << 30;
    return line;
}

static void append_lines(const char *path, int64_t steps) {
    for (int64_t step = 1; step <= steps; ++step) {
        bpt_metrics_line_t line = train_line(step);
        assert_ok(bpt_metrics_append(NULL, path, &line));
        if (step % 5) continue;
        line.lr = line.grad_norm = line.tokens_per_s = NAN;
        line.perplexity = exp(line.loss);
        strcpy(line.eval, "valid");
        assert_ok(bpt_metrics_append(NULL, path, &line));
    }
}

static void metrics_read_back_as_written(void **state) {
    (void)state;
    const char *path = test_path("m1.jsonl");
    append_lines(path, 10);
    bpt_metrics_line_t nan_loss = train_line(11);
    nan_loss.loss = NAN;
    assert_ok(bpt_metrics_append(NULL, path, &nan_loss));
    bpt_metrics_line_t *lines;
    size_t count;
    assert_ok(bpt_metrics_read(path, &lines, &count));
    assert_int_equal(count, 13);
    assert_string_equal(lines[5].eval, "valid");
    assert_int_equal(lines[5].step, 5);
    assert_true(lines[5].perplexity == exp(5.5 / 6) && isnan(lines[5].lr) && lines[5].peak_device_bytes == -1);
    assert_true(lines[4].lr == 0.001 && lines[4].tokens_per_s == 12345 && lines[4].peak_host_bytes == 1 << 30);
    assert_true(isnan(lines[12].loss));
    bpt_free(lines);
    char *text = test_read_file(path, NULL);
    assert_int_equal(strncmp(text, "{\"step\": 1, \"epoch\": 0.125, \"tokens\": 1000, \"loss\": 2.75, \"lr\": 0.001,", 70), 0);
    free(text);
}

static void cutting_back_keeps_what_came_before_the_step(void **state) {
    (void)state;
    const char *path = test_path("m2.jsonl");
    assert_ok(bpt_metrics_cut(path, 5));  // no file yet
    assert_false(bpt_file_exists(path));
    append_lines(path, 10);
    assert_ok(bpt_file_append(path, "{\"step\": 3, \"lo", 15));  // what a killed trainer may leave
    assert_ok(bpt_metrics_cut(path, 7));
    bpt_metrics_line_t *lines;
    size_t count;
    assert_ok(bpt_metrics_read(path, &lines, &count));
    assert_int_equal(count, 8);
    assert_int_equal(lines[7].step, 7);
    bpt_free(lines);
    char *before = test_read_file(path, NULL);
    assert_ok(bpt_metrics_cut(path, 7));
    char *after = test_read_file(path, NULL);
    assert_string_equal(before, after);
    free(before);
    free(after);
    append_lines(path, 1);
    assert_ok(bpt_metrics_cut(path, 0));
    assert_fails(bpt_metrics_read(path, &lines, &count), BPT_ERR_INPUT, "no usable line");
}

static void unusable_lines_are_skipped(void **state) {
    (void)state;
    const char *path = test_path("m3.jsonl");
    const char *text =
        "hello\n{\"step\": 1, \"loss\": 2}\n\n[1]\n{\"step\": \"x\"}\n{\"loss\": 1}\n{\"step\": 2, \"loss\": 1, \"new\": [1]}\n"
        "{\"step\": 3, \"eval\": \"a name that is far too long\"}\n{\"step\": 4, \"loss";
    test_write_file(path, text, strlen(text));
    bpt_metrics_line_t *lines;
    size_t count;
    assert_ok(bpt_metrics_read(path, &lines, &count));
    assert_int_equal(count, 2);
    assert_true(lines[0].step == 1 && lines[0].loss == 2 && lines[1].step == 2);
    bpt_free(lines);
    test_write_file(path, "", 0);
    assert_fails(bpt_metrics_read(path, &lines, &count), BPT_ERR_INPUT, "m3.jsonl has no usable line");
    assert_fails(bpt_metrics_read(test_path("absent"), &lines, &count), BPT_ERR_IO, "absent");
}

static void a_full_disk_stops_the_metrics(void **state) {
    (void)state;
    const bpt_metrics_line_t line = train_line(1);
    assert_fails(bpt_metrics_append(NULL, "/dev/full", &line), BPT_ERR_IO, "No space left");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_json),
        cmocka_unit_test(numbers_read_back_exactly_and_stay_short),
        cmocka_unit_test(wrong_types_and_ranges_name_the_key),
        cmocka_unit_test(every_model_survives_its_json),
        cmocka_unit_test(wrong_models_are_refused_with_a_remedy),
        cmocka_unit_test(wrong_configurations_in_files_name_place_and_key),
        cmocka_unit_test(unknown_keys_are_ignored_and_defaults_taken),
        cmocka_unit_test(every_key_has_a_place_and_conditions_that_exist),
        cmocka_unit_test(names_are_found_and_wrong_ones_listed),
        cmocka_unit_test(golden_models_have_readable_configurations),
        cmocka_unit_test(state_reads_back_exactly),
        cmocka_unit_test(broken_states_are_refused),
        cmocka_unit_test(sums_of_files_read_back_and_one_flipped_bit_is_seen),
        cmocka_unit_test(the_first_key_that_differs_is_named_with_both_values),
        cmocka_unit_test(metrics_read_back_as_written),
        cmocka_unit_test(cutting_back_keeps_what_came_before_the_step),
        cmocka_unit_test(unusable_lines_are_skipped),
        cmocka_unit_test(a_full_disk_stops_the_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
