// Training: accumulation, overfitting, exact resumption, recomputation, frozen parameters, numeric failures.
#include "fixture_source.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/config/config_json.h"
#include "models/train/evaluate.h"
#include "models/train/schedule.h"
#include "models/train/trainer.h"

static const char *const backends[] = {"ref", "cpu"};
static float first[16384], second[16384];

static bpt_train_config_t plain_training(int64_t steps) {
    bpt_train_config_t t = fixture_training(steps);
    t.clip = 0.5, t.warmup = 3, t.lr_decay = 0.9, t.log_every = 5;
    return t;
}

static void read_params(bpt_runner_t *r, float *out) {
    bpt_device_t *device = bpt_runner_device(r);
    const int64_t count = bpt_runner_params(r)->elements;
    assert_true(count <= 16384);
    memset(out, 0, 16384 * sizeof *out);
    assert_ok(device->backend->read(device, bpt_runner_state(r, BPT_STATE_PARAMS), 0, out, (size_t)count * sizeof *out));
}

static void expect_equal_bits(bpt_runner_t *r) {
    const bpt_params_t *p = bpt_runner_params(r);
    for (size_t i = 0; i < p->count; ++i)
        if (memcmp(first + p->items[i].offset, second + p->items[i].offset, (size_t)p->items[i].count * sizeof *first))
            fail_msg("%s differs", p->items[i].name);
}

// One optimiser step on the same eight ragged sequences in micro-batches of `batch`.
static void one_step(bpt_device_t *device, const bpt_model_config_t *c, int64_t batch, float *gradient_norm, float *out) {
    fixture_source_t source;
    fixture_source(&source, c, 12, batch, 8 / batch);
    bpt_runner_t *r = fixture_runner(c, device, (bpt_runner_options_t){0});
    const bpt_update_t update = {.lr = 1e-3f, .clip = 0.25f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result = {0};
    bool end;
    for (bpt_batch_t b = {0}; !b.last;) {
        assert_ok(source.base.next(&source.base, &b, &end));
        assert_ok(bpt_runner_train(r, &b, &update, &result));
    }
    assert_true(result.updated);
    *gradient_norm = (float)result.grad_norm;
    read_params(r, out);
    bpt_runner_destroy(r);
}

static void micro_batches_of_any_size_make_the_same_step(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier()};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d)
        for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
            bpt_device_t *device = fixture_open(backends[d]);
            float norm, other;
            one_step(device, &configs[c], 8, &norm, first);
            for (int64_t batch = 1; batch <= 4; batch *= 4) {
                one_step(device, &configs[c], batch, &other, second);
                assert_true(fabsf(norm - other) < 1e-4f * norm);
                int64_t far = 0;  // Adam's first step is the sign of the gradient: where that is nothing but rounding it may flip
                for (int64_t i = 0; i < 16384; ++i) far += fabsf(first[i] - second[i]) > 2e-5f;
                assert_true(far < 100);
            }
            fixture_close(device);
        }
}

static bpt_trainer_t *trainer(const bpt_model_config_t *c, const bpt_train_config_t *t, bpt_device_t *device, fixture_source_t *data,
                              fixture_source_t *valid, bpt_run_t *run, bool resume) {
    bpt_trainer_t *out;
    const bpt_trainer_options_t options = {.model = c,
                                           .train = t,
                                           .device = device,
                                           .train_data = &data->base,
                                           .valid_data = valid ? &valid->base : NULL,
                                           .run = run,
                                           .resume = resume,
                                           .data = "fixture",
                                           .characters = true};
    assert_ok(bpt_trainer_create(&options, &out));
    return out;
}

static bpt_model_config_t with_dropout(bpt_model_config_t c) {
    c.dropout_input = c.dropout_hidden = c.dropout_attention = c.dropout_head = 0.2f;
    return c;
}

static void write_config(const char *path, const bpt_model_config_t *c) {
    char name[600], *text;
    snprintf(name, sizeof name, "%s/config.json", path);
    assert_ok(bpt_model_config_format(c, &text));
    test_write_file(name, text, strlen(text));
    bpt_free(text);
}

static void twenty_steps_are_ten_and_ten_more_bit_for_bit(void **state) {
    (void)state;
    for (size_t d = 0; d < BPT_COUNT(backends); ++d)
        for (int64_t micro_batches = 1; micro_batches <= 2; ++micro_batches) {
            const bpt_model_config_t c = with_dropout(fixture_lm());
            bpt_train_config_t t = plain_training(20);
            t.schedule = BPT_SCHEDULE_PLATEAU;
            t.eval_every = 5;
            t.accumulate = micro_batches;
            bpt_device_t *device = fixture_open(backends[d]);
            fixture_source_t data, valid;
            fixture_source(&data, &c, 12, 4, micro_batches);
            fixture_source(&valid, &c, 16, 2, 1)->ends = true;
            bpt_trainer_t *whole = trainer(&c, &t, device, &data, &valid, NULL, false);
            assert_ok(bpt_trainer_run(whole));
            read_params(bpt_trainer_runner(whole), first);
            bpt_trainer_destroy(whole);
            for (int part = 0; part < 2; ++part) {
                const char *path = test_path("run-%s-%d", backends[d], (int)micro_batches);
                bpt_run_t *run;
                t.stop_at = part == 0 ? 10 : 0;
                assert_ok(part ? bpt_run_resume(path, &run) : bpt_run_create(path, &run));
                if (part == 0) write_config(path, &c);
                bpt_trainer_t *half = trainer(&c, &t, device, &data, &valid, run, part == 1);
                assert_ok(bpt_trainer_run(half));
                read_params(bpt_trainer_runner(half), second);
                if (part) expect_equal_bits(bpt_trainer_runner(half));
                bpt_trainer_destroy(half);
                bpt_run_close(run);
            }
            fixture_close(device);
        }
}

// What every line of metrics says whatever the machine and the time: one text.
static char *timeless_metrics(const char *path) {
    bpt_metrics_line_t *lines;
    size_t count, used = 0;
    static char text[8192];
    assert_ok(bpt_metrics_read(path, &lines, &count));
    for (size_t i = 0; i < count; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %d %d %.17g %.17g %.17g %.17g\n", lines[i].eval, (int)lines[i].step,
                                 (int)lines[i].tokens, lines[i].epoch, lines[i].loss, lines[i].lr, lines[i].grad_norm);
    assert_true(used < sizeof text);
    bpt_free(lines);
    return text;
}

static bool stop_after(void *user) { return (*(int *)user)-- == 0; }

// Stopped when asked the questions-th time whether to stop (before a step, after a batch of an evaluation), never if negative; true: came
// to the end before.
static bool run_interrupted(const bpt_model_config_t *c, const bpt_train_config_t *t, bpt_device_t *device, const char *path, int questions,
                            bool resume) {
    fixture_source_t data, valid;
    bpt_run_t *run;
    bpt_trainer_t *tr;
    fixture_source(&data, c, 12, 4, 1);
    fixture_source(&valid, c, 16, 2, 1)->ends = true;
    assert_ok(resume ? bpt_run_resume(path, &run) : bpt_run_create(path, &run));
    if (!resume) write_config(path, c);
    const bpt_trainer_options_t options = {.model = c,
                                           .train = t,
                                           .device = device,
                                           .train_data = &data.base,
                                           .valid_data = &valid.base,
                                           .run = run,
                                           .resume = resume,
                                           .should_stop = stop_after,
                                           .user = &questions};
    assert_ok(bpt_trainer_create(&options, &tr));
    const bpt_status_t status = bpt_trainer_run(tr);
    assert_true(status == BPT_OK || status == BPT_ERR_INTERRUPTED);
    bpt_trainer_destroy(tr);
    bpt_run_close(run);
    return status == BPT_OK;
}

static void expect_same_run(const char *a, const char *b) {
    char path[600], link[2][600] = {{0}, {0}};
    snprintf(path, sizeof path, "%s/metrics.jsonl", a);
    char *wanted = strdup(timeless_metrics(path));
    assert_non_null(wanted);
    snprintf(path, sizeof path, "%s/metrics.jsonl", b);
    assert_string_equal(timeless_metrics(path), wanted);
    free(wanted);
    for (int i = 0; i < 2; ++i) {
        snprintf(path, sizeof path, "%s/best", i ? b : a);
        assert_true(bpt_link_read(path, link[i], sizeof link[i]));
    }
    assert_string_equal(link[0], link[1]);
}

// Lines every 4 of 18 steps, evaluations after 9 and 18; stopped at every place where it can be, and again after the first question: the
// lines average the same steps as without stopping, no evaluation is lost, the learning rate and the best checkpoint are the same.
static void metrics_of_a_resumed_run_are_those_of_one_that_never_stopped(void **state) {
    (void)state;
    static const bpt_schedule_t schedules[] = {BPT_SCHEDULE_PLATEAU, BPT_SCHEDULE_COSINE};
    const bpt_model_config_t c = with_dropout(fixture_lm());
    bpt_device_t *device = fixture_open("cpu");
    for (size_t s = 0; s < BPT_COUNT(schedules); ++s) {
        bpt_train_config_t t = plain_training(18);
        t.log_every = 4;
        t.eval_every = 9;
        t.schedule = schedules[s];
        char whole[512], parts[512];
        snprintf(whole, sizeof whole, "%s", test_path("whole-%zu", s));
        assert_true(run_interrupted(&c, &t, device, whole, -1, false));
        bool ended = false;
        int stops = 0;
        for (; !ended; ++stops) {
            snprintf(parts, sizeof parts, "%s", test_path("parts-%zu-%d", s, stops));
            ended = run_interrupted(&c, &t, device, parts, stops, false);
            if (!ended) (void)run_interrupted(&c, &t, device, parts, 0, true);
            assert_true(run_interrupted(&c, &t, device, parts, -1, true));
            expect_same_run(whole, parts);
        }
        assert_true(stops > 20);  // 18 steps and at least one question for each evaluation
    }
    fixture_close(device);
}

static void a_stop_is_saved_and_reported(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    const bpt_train_config_t t = plain_training(20);
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    fixture_source(&data, &c, 12, 4, 1);
    bpt_run_t *run;
    bpt_trainer_t *tr;
    int left = 3;
    char *folder;
    assert_ok(bpt_run_create(test_path("stopped"), &run));
    const bpt_trainer_options_t options = {
        .model = &c, .train = &t, .device = device, .train_data = &data.base, .run = run, .should_stop = stop_after, .user = &left};
    assert_ok(bpt_trainer_create(&options, &tr));
    assert_fails(bpt_trainer_run(tr), BPT_ERR_INTERRUPTED, "step 3");
    assert_ok(bpt_run_checkpoint_find(run, "3", &folder));
    bpt_free(folder);
    bpt_trainer_destroy(tr);
    bpt_run_close(run);
    fixture_close(device);
}

static void a_log_that_cannot_be_written_costs_no_step(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    const bpt_train_config_t t = plain_training(20);
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    fixture_source(&data, &c, 12, 4, 1);
    bpt_run_t *run;
    char *folder;
    assert_ok(bpt_run_create(test_path("no-log"), &run));
    bpt_trainer_t *tr = trainer(&c, &t, device, &data, NULL, run, false);
    test_make_folder(test_path("no-log/metrics.jsonl"));
    assert_fails(bpt_trainer_run(tr), BPT_ERR_IO, "the state after step 5 is saved");
    assert_non_null(strstr(bpt_error_message(), "metrics.jsonl"));
    assert_ok(bpt_run_checkpoint_find(run, "5", &folder));
    bpt_free(folder);
    bpt_trainer_destroy(tr);
    bpt_run_close(run);
    fixture_close(device);
}

static void a_stop_during_evaluation_is_saved_too(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    bpt_train_config_t t = plain_training(20);
    t.eval_every = 2;
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data, valid;
    fixture_source(&data, &c, 12, 4, 1);
    fixture_source(&valid, &c, 12, 4, 1)->ends = true;
    bpt_run_t *run;
    bpt_trainer_t *tr;
    int left = 2;  // two steps, then the first batch of the evaluation
    assert_ok(bpt_run_create(test_path("stopped-evaluating"), &run));
    const bpt_trainer_options_t options = {.model = &c,
                                           .train = &t,
                                           .device = device,
                                           .train_data = &data.base,
                                           .valid_data = &valid.base,
                                           .run = run,
                                           .should_stop = stop_after,
                                           .user = &left};
    assert_ok(bpt_trainer_create(&options, &tr));
    assert_fails(bpt_trainer_run(tr), BPT_ERR_INTERRUPTED, "step 2");
    int64_t *steps;
    size_t count;
    assert_ok(bpt_run_checkpoint_list(run, &steps, &count));
    assert_int_equal(count, 1);
    assert_int_equal(steps[0], 2);
    bpt_free(steps);
    bpt_trainer_destroy(tr);
    bpt_run_close(run);
    fixture_close(device);
}

static void a_small_text_is_learnt_by_heart(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier()};
    for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
        bpt_train_config_t t = plain_training(150);
        t.lr = 1e-2;
        t.clip = 0;
        bpt_device_t *device = fixture_open("cpu");
        fixture_source_t data, valid;
        fixture_source(&data, &configs[c], 8, 4, 1)->steps_per_epoch = 1;
        fixture_source(&valid, &configs[c], 8, 4, 1)->steps_per_epoch = 1;
        valid.ends = true;
        bpt_trainer_t *tr = trainer(&configs[c], &t, device, &data, &valid, NULL, false);
        assert_ok(bpt_trainer_run(tr));
        const double loss = bpt_trainer_state(tr)->best_loss;
        if (!(loss < 0.1)) fail_msg("task %d: loss %g", (int)configs[c].task, loss);
        bpt_trainer_destroy(tr);
        fixture_close(device);
    }
}

static void train_once(bpt_device_t *device, const bpt_model_config_t *c, bpt_train_config_t t, float *out) {
    fixture_source_t data;
    fixture_source(&data, c, 12, 4, 1);
    bpt_trainer_t *tr = trainer(c, &t, device, &data, NULL, NULL, false);
    assert_ok(bpt_trainer_run(tr));
    read_params(bpt_trainer_runner(tr), out);
    bpt_trainer_destroy(tr);
}

// The mean smoothed loss of a batch, from the logits: 1 - e for the target, e / (V - 1) for each other class.
static double smoothed_loss(bpt_runner_t *r, const fixture_batch_t *b, double e) {
    static float logits[4096];
    const int64_t outputs = bpt_task_of(bpt_runner_config(r))->outputs(bpt_runner_config(r));
    double sum = 0;
    assert_ok(bpt_runner_logits(r, &b->batch, logits));
    for (int64_t i = 0; i < b->batch.n_targets; ++i) {
        const float *z = logits + i * outputs;
        double total = 0, exponentials = 0;
        if (!(b->weights[i] > 0)) continue;
        for (int64_t v = 0; v < outputs; ++v) total += (double)z[v], exponentials += exp((double)z[v]);
        const double target = (double)z[b->targets[i]];
        sum += log(exponentials) - (1 - e) * target - e / (double)(outputs - 1) * (total - target);
    }
    return sum / (double)b->batch.window_scored;
}

// A step with learning rate 0 leaves its gradient: it is that of the smoothed loss, by central differences, and the loss of the step is
// the smoothed one. Evaluations report the loss without smoothing, and its gradient.
static void labels_are_smoothed_in_training_alone(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier()};
    const uint32_t lengths[] = {12, 5, 9, 1};
    static const char *const names[] = {"embed.weight", "layers.1.attn.out_proj.weight", "layers.0.ffn.fc1.weight", "head.bias"};
    static fixture_batch_t b;
    const double e = 0.3, delta = 2e-3;
    for (size_t d = 0; d < BPT_COUNT(backends); ++d)
        for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
            bpt_model_config_t smooth = configs[c];
            smooth.smoothing = (float)e;
            bpt_device_t *device = fixture_open(backends[d]);
            bpt_runner_t *r = fixture_runner(&smooth, device, (bpt_runner_options_t){0});
            const bpt_update_t update = {.lr = 0, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
            bpt_update_result_t result;
            double plain;
            fixture_fill(&b, &smooth, 12, 4, lengths, 0);
            assert_ok(bpt_runner_train(r, &b.batch, &update, &result));
            assert_true(fabs(result.loss - smoothed_loss(r, &b, e)) < 1e-5);
            assert_ok(bpt_runner_evaluate(r, &b.batch, NULL, &plain));
            plain /= (double)b.batch.window_scored;
            assert_true(fabs(plain - smoothed_loss(r, &b, 0)) < 1e-5);
            assert_true(fabs(plain - result.loss) > 1e-3);
            const bpt_params_t *params = bpt_runner_params(r);
            assert_ok(device->backend->read(device, bpt_runner_state(r, BPT_STATE_GRADS), 0, first,
                                            (size_t)params->trained_elements * sizeof *first));
            assert_ok(bpt_runner_gradient(r, &b.batch, true, &plain));
            assert_ok(bpt_runner_read_gradient(r, second));
            double apart = 0;
            for (size_t i = 0; i < BPT_COUNT(names); ++i) {
                const bpt_param_t *p = bpt_params_find(params, names[i]);
                static float values[4096];
                assert_non_null(p);
                assert_ok(bpt_runner_get(r, names[i], values));
                for (int64_t k = 1; k < p->count; k += 1 + p->count / 5) {
                    const float kept = values[k];
                    double loss[2], without[2];
                    for (int side = 0; side < 2; ++side) {
                        values[k] = kept + (float)(side ? delta : -delta);
                        assert_ok(bpt_runner_set(r, names[i], values));
                        loss[side] = smoothed_loss(r, &b, e);
                        without[side] = smoothed_loss(r, &b, 0);
                    }
                    values[k] = kept;
                    assert_ok(bpt_runner_set(r, names[i], values));
                    const double wanted = (loss[1] - loss[0]) / (2 * delta), got = (double)first[p->offset + k];
                    const double unsmoothed = (without[1] - without[0]) / (2 * delta);
                    const double evaluated = (double)second[p->offset + k] / (double)b.batch.window_scored;
                    if (!(fabs(got - wanted) < 1e-2 * (fabs(wanted) + 0.02)))
                        fail_msg("%s, %s[%d]: gradient %g, differences %g", backends[d], names[i], (int)k, got, wanted);
                    if (!(fabs(evaluated - unsmoothed) < 1e-2 * (fabs(unsmoothed) + 0.02)))
                        fail_msg("%s, %s[%d]: gradient of an evaluation %g, differences %g", backends[d], names[i], (int)k, evaluated,
                                 unsmoothed);
                    apart = fmax(apart, fabs(wanted - unsmoothed));
                }
            }
            assert_true(apart > 1e-2);
            bpt_runner_destroy(r);
            fixture_close(device);
        }
}

static void recomputation_changes_no_bit(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {with_dropout(fixture_lm()), with_dropout(fixture_classifier())};
    for (size_t d = 0; d < BPT_COUNT(backends); ++d)
        for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
            bpt_train_config_t t = plain_training(3);
            bpt_device_t *device = fixture_open(backends[d]);
            train_once(device, &configs[c], t, first);
            t.recompute = true;
            train_once(device, &configs[c], t, second);
            assert_memory_equal(first, second, sizeof first);
            fixture_close(device);
        }
}

static void recomputation_saves_memory(void **state) {
    (void)state;
    bpt_model_config_t c = with_dropout(fixture_lm());
    c.layers = 8;
    bpt_device_t *device = fixture_open("ref");
    size_t bytes[2];
    for (int recompute = 0; recompute < 2; ++recompute) {
        bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.recompute = recompute});
        const bpt_step_key_t key = {.kind = BPT_STEP_TRAIN, .shape = bpt_batch_buckets(64, 8)};
        bpt_plan_summary_t summary;
        assert_ok(bpt_runner_plan(r, &key, &summary, NULL));
        bytes[recompute] = summary.workspace_bytes;
        bpt_runner_destroy(r);
    }
    if (bytes[1] * 2 > bytes[0]) fail_msg("%zu bytes with recomputation, %zu without", bytes[1], bytes[0]);
    fixture_close(device);
}

static void backends_train_alike(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {with_dropout(fixture_lm()), with_dropout(fixture_classifier())};
    for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
        const bpt_train_config_t t = plain_training(4);
        bpt_device_t *ref = fixture_open("ref"), *cpu = fixture_open("cpu");
        train_once(ref, &configs[c], t, first);
        train_once(cpu, &configs[c], t, second);
        int64_t far = 0;
        for (int64_t i = 0; i < 16384; ++i) far += fabsf(first[i] - second[i]) > 1e-3f;
        assert_true(far < 100);
        fixture_close(ref);
        fixture_close(cpu);
    }
}

// bf16 has 8 bits: losses agree to a percent, the gradient's length to a few.
static void low_precision_is_close_to_f32(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier()};
    const bpt_dtype_t precisions[] = {BPT_BF16, BPT_F16};
    const uint32_t lengths[] = {12, 5, 9, 1};
    static fixture_batch_t b;
    for (size_t c = 0; c < BPT_COUNT(configs); ++c) {
        bpt_device_t *device = fixture_open("ref");
        double loss[3], norm[3];
        for (int p = 0; p < 3; ++p) {
            bpt_runner_t *r =
                fixture_runner(&configs[c], device, (bpt_runner_options_t){.step.precision = p ? precisions[p - 1] : BPT_F32});
            fixture_fill(&b, &configs[c], 12, 4, lengths, 0);
            assert_ok(bpt_runner_gradient(r, &b.batch, true, &loss[p]));
            assert_ok(bpt_runner_read_gradient(r, first));
            norm[p] = 0;
            for (int64_t i = 0; i < bpt_runner_params(r)->trained_elements; ++i) norm[p] += (double)first[i] * (double)first[i];
            norm[p] = sqrt(norm[p]);
            bpt_runner_destroy(r);
        }
        for (int p = 1; p < 3; ++p) {
            assert_true(fabs(loss[p] - loss[0]) < (p == 1 ? 0.01 : 0.002) * loss[0]);
            assert_true(fabs(norm[p] - norm[0]) < (p == 1 ? 0.04 : 0.01) * norm[0]);
            assert_true(loss[p] != loss[0]);
        }
        fixture_close(device);
    }
}

static void f16_finds_a_loss_scale_and_learns(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    bpt_train_config_t t = plain_training(40);
    t.precision = BPT_F16;
    t.lr = 1e-2;
    bpt_device_t *device = fixture_open("ref");
    fixture_source_t data, valid;
    fixture_source(&data, &c, 8, 4, 1)->steps_per_epoch = 1;
    fixture_source(&valid, &c, 8, 4, 1)->ends = true;
    bpt_trainer_t *tr = trainer(&c, &t, device, &data, &valid, NULL, false);
    ((bpt_run_state_t *)bpt_trainer_state(tr))->loss_scale = 0x1p30;  // no gradient fits
    assert_ok(bpt_trainer_run(tr));
    const bpt_run_state_t *s = bpt_trainer_state(tr);
    if (!(s->best_loss < 1.5))
        fail_msg("loss %g, scale %g, %lld steps passed over", s->best_loss, s->loss_scale, (long long)s->skipped_steps);
    assert_in_range(s->skipped_steps, 1, 20);
    assert_true(s->loss_scale == ldexp(0x1p30, (int)-s->skipped_steps));  // each step that was passed over halved it
    bpt_trainer_destroy(tr);
    fixture_close(device);
}

static void frozen_parameters_stay(void **state) {
    (void)state;
    bpt_model_config_t c = fixture_classifier();
    bpt_train_config_t t = plain_training(3);
    t.freeze_embed = t.freeze_rel = true;
    t.weight_decay = 0.1;
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    fixture_source(&data, &c, 12, 4, 1);
    bpt_trainer_t *tr = trainer(&c, &t, device, &data, NULL, NULL, false);
    const bpt_params_t *p = bpt_runner_params(bpt_trainer_runner(tr));
    read_params(bpt_trainer_runner(tr), first);
    assert_ok(bpt_trainer_run(tr));
    read_params(bpt_trainer_runner(tr), second);
    for (size_t i = 0; i < p->count; ++i) {
        const bpt_param_t *q = &p->items[i];
        const bool same = !memcmp(first + q->offset, second + q->offset, (size_t)q->count * sizeof *first);
        assert_int_equal(same, !strcmp(q->name, "embed.weight") || strstr(q->name, "rel_key") != NULL);
    }
    bpt_trainer_destroy(tr);
    fixture_close(device);
}

static void weights_that_are_not_finite_stop_training_and_are_named(void **state) {
    (void)state;
    for (int64_t micro_batches = 1; micro_batches <= 2; ++micro_batches) {
        const bpt_model_config_t c = fixture_lm();
        bpt_train_config_t t = plain_training(5);
        t.accumulate = micro_batches;
        bpt_device_t *device = fixture_open("cpu");
        fixture_source_t data;
        fixture_source(&data, &c, 12, 4, micro_batches);
        bpt_trainer_t *tr = trainer(&c, &t, device, &data, NULL, NULL, false);
        float bias[16] = {0, NAN};
        assert_ok(bpt_runner_set(bpt_trainer_runner(tr), "layers.1.ffn.fc2.bias", bias));
        read_params(bpt_trainer_runner(tr), first);
        assert_fails(bpt_trainer_run(tr), BPT_ERR_NUMERIC, "step 1: the loss is not finite");
        read_params(bpt_trainer_runner(tr), second);
        assert_memory_equal(first, second, sizeof first);
        bpt_trainer_destroy(tr);
        fixture_close(device);
    }
}

static void deep_supervision_moves_from_all_layers_to_the_last(void **state) {
    (void)state;
    const bpt_train_config_t on = {.deep_supervision = true}, off = {0};
    const int32_t wanted[] = {1, 1, 2, 2, 3, 3};
    for (int64_t epoch = 0; epoch < 6; ++epoch) assert_int_equal(bpt_schedule_first_head(&on, 3, epoch, 6), wanted[epoch]);
    assert_int_equal(bpt_schedule_first_head(&on, 12, 71, 72), 12);
    assert_int_equal(bpt_schedule_first_head(&off, 3, 0, 6), 3);
    bpt_model_config_t c = fixture_lm();
    c.layers = 3;
    bpt_train_config_t t = plain_training(12);
    t.deep_supervision = true;
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    fixture_source(&data, &c, 12, 4, 1);  // three epochs of four steps
    bpt_trainer_t *tr = trainer(&c, &t, device, &data, NULL, NULL, false);
    assert_ok(bpt_trainer_run(tr));
    bpt_trainer_destroy(tr);
    fixture_close(device);
}

static void every_nll_comes_in_file_order(void **state) {
    (void)state;
    const bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier()};
    for (size_t i = 0; i < BPT_COUNT(configs); ++i) {
        bpt_device_t *device = fixture_open("cpu");
        fixture_source_t source;
        fixture_source(&source, &configs[i], 12, 4, 2)->ends = true;
        bpt_runner_t *r = fixture_runner(&configs[i], device, (bpt_runner_options_t){0});
        bpt_evaluation_t result, other;
        float *nll;
        size_t count;
        double sum = 0;
        assert_ok(bpt_evaluate_nll(r, &source.base, NULL, NULL, &result, &nll, &count));
        assert_int_equal(count, result.n_scored);
        for (size_t k = 0; k < count; ++k) sum += (double)nll[k];
        assert_true(fabs(sum / (double)count - result.loss) < 1e-5);
        assert_int_equal(isnan(result.metric[0]) != 0, configs[i].task == BPT_TASK_LM);
        assert_ok(bpt_evaluate_gradient(r, &source.base, &other));
        assert_true(fabs(other.loss - result.loss) < 1e-5);
        bpt_free(nll);
        bpt_runner_destroy(r);
        fixture_close(device);
    }
}

static void a_gradient_that_is_not_finite_is_not_written(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    bpt_device_t *device = fixture_open("ref");
    fixture_source_t source;
    fixture_source(&source, &c, 12, 4, 2)->ends = true;
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    bpt_evaluation_t result;
    char path[600];
    snprintf(path, sizeof path, "%s", test_path("infinite.safetensors"));
    assert_ok(bpt_evaluate_gradient(r, &source.base, &result));
    assert_fails(bpt_runner_save_gradient(r, INFINITY, path), BPT_ERR_NUMERIC, "the gradient is not finite");
    assert_int_not_equal(access(path, F_OK), 0);
    assert_ok(bpt_runner_save_gradient(r, 1, path));
    bpt_runner_destroy(r);
    fixture_close(device);
}

// A rate so high that the validation loss soon rises: after its best three evaluations more, with patience 3; and two more with patience 5,
// stopped in between or not.
static void patience_ends_a_training_that_gets_worse(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    bpt_device_t *device = fixture_open("cpu");
    bpt_train_config_t t = plain_training(200);
    t.lr = 1, t.eval_every = 2;
    int64_t end[3], best[3];
    for (int way = 0; way < 3; ++way) {  // 0: patience 3, 1: resumed with 5, 2: 5 at once
        fixture_source_t data, valid;
        bpt_run_t *run;
        char path[600];
        snprintf(path, sizeof path, "%s", test_path(way == 2 ? "patient" : "impatient"));
        fixture_source(&data, &c, 12, 4, 1);
        fixture_source(&valid, &c, 16, 2, 1)->ends = true;
        t.patience = way == 0 ? 3 : 5;
        assert_ok(way == 1 ? bpt_run_resume(path, &run) : bpt_run_create(path, &run));
        if (way != 1) write_config(path, &c);
        bpt_trainer_t *trained = trainer(&c, &t, device, &data, &valid, run, way == 1);
        assert_ok(bpt_trainer_run(trained));
        assert_true(bpt_trainer_waited_enough(trained));
        end[way] = bpt_trainer_state(trained)->step, best[way] = bpt_trainer_state(trained)->best_step;
        read_params(bpt_trainer_runner(trained), way == 1 ? first : second);
        if (way == 2) expect_equal_bits(bpt_trainer_runner(trained));
        bpt_trainer_destroy(trained);
        bpt_run_close(run);
    }
    assert_true(end[0] == best[0] + 6 && end[0] < 200);
    assert_true(best[1] == best[2] && end[1] == end[2] && end[1] == best[1] + 10);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_ends_a_training_that_gets_worse),
        cmocka_unit_test(micro_batches_of_any_size_make_the_same_step),
        cmocka_unit_test(labels_are_smoothed_in_training_alone),
        cmocka_unit_test(recomputation_changes_no_bit),
        cmocka_unit_test(recomputation_saves_memory),
        cmocka_unit_test(backends_train_alike),
        cmocka_unit_test(low_precision_is_close_to_f32),
        cmocka_unit_test(f16_finds_a_loss_scale_and_learns),
        cmocka_unit_test(frozen_parameters_stay),
        cmocka_unit_test(weights_that_are_not_finite_stop_training_and_are_named),
        cmocka_unit_test(deep_supervision_moves_from_all_layers_to_the_last),
        cmocka_unit_test(every_nll_comes_in_file_order),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_not_written),
        cmocka_unit_test(a_small_text_is_learnt_by_heart),
        cmocka_unit_test(twenty_steps_are_ten_and_ten_more_bit_for_bit),
        cmocka_unit_test(metrics_of_a_resumed_run_are_those_of_one_that_never_stopped),
        cmocka_unit_test(a_stop_is_saved_and_reported),
        cmocka_unit_test(a_log_that_cannot_be_written_costs_no_step),
        cmocka_unit_test(a_stop_during_evaluation_is_saved_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
