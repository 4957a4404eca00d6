// Learning rates, and parameters: initial values and files.
#include "model_fixture.h"

#include "models/train/schedule.h"

static float first[16384], second[16384];

static void learning_rates_follow_their_formulas(void **state) {
    (void)state;
    const struct {
        bpt_schedule_t schedule;
        int64_t step, epoch;
        double lr;
    } cases[] = {
        {BPT_SCHEDULE_CONSTANT, 1, 0, 0.5},
        {BPT_SCHEDULE_CONSTANT, 5, 0, 1},
        {BPT_SCHEDULE_COSINE, 2, 0, 1},
        {BPT_SCHEDULE_COSINE, 51, 0, 0.5},
        {BPT_SCHEDULE_COSINE, 101, 0, 0},
        {BPT_SCHEDULE_EXPONENTIAL, 9, 2, 0.25},
        {BPT_SCHEDULE_PLATEAU, 9, 0, 0.125},
        {BPT_SCHEDULE_NOAM, 4, 0, 0.125},
        {BPT_SCHEDULE_NOAM, 1, 0, 0.25 * 0.35355339059327373},
        {BPT_SCHEDULE_INVERSE_SQRT, 1, 0, 0.5},
        {BPT_SCHEDULE_INVERSE_SQRT, 2, 0, 1},
        {BPT_SCHEDULE_INVERSE_SQRT, 8, 3, 0.5},
        {BPT_SCHEDULE_WARMUP_STABLE_DECAY, 1, 0, 0.5},
        {BPT_SCHEDULE_WARMUP_STABLE_DECAY, 81, 0, 1},
        {BPT_SCHEDULE_WARMUP_STABLE_DECAY, 91, 0, 0.5},
        {BPT_SCHEDULE_WARMUP_STABLE_DECAY, 101, 0, 0},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const bpt_train_config_t t = {
            .schedule = cases[i].schedule, .steps = 100, .warmup = 2, .lr = 1, .lr_decay = 0.5, .decay_share = 0.2, .lr_factor = 1};
        const double plateau = cases[i].schedule == BPT_SCHEDULE_PLATEAU ? 0.125 : 1;
        assert_true(fabs(bpt_schedule_lr(&t, 16, cases[i].step, cases[i].epoch, plateau) - cases[i].lr) < 1e-12);
    }
}

static void initial_values_depend_on_seed_and_name_alone(void **state) {
    (void)state;
    bpt_model_config_t c = fixture_lm();
    bpt_device_t *ref = fixture_open("ref"), *cpu = fixture_open("cpu");
    bpt_runner_t *a = fixture_runner(&c, ref, (bpt_runner_options_t){0});
    c.layers = 3;
    bpt_runner_t *b = fixture_runner(&c, cpu, (bpt_runner_options_t){.frozen = {.embed = true}});
    static const char *const names[] = {"embed.weight", "layers.1.attn.rel_key.weight", "head.bias"};
    for (size_t i = 0; i < BPT_COUNT(names); ++i) {
        memset(first, 0, sizeof first);
        memset(second, 0, sizeof second);
        assert_ok(bpt_runner_get(a, names[i], first));
        assert_ok(bpt_runner_get(b, names[i], second));
        assert_memory_equal(first, second, sizeof first);
    }
    const float bound = sqrtf(6.0f / (31 + 8));
    float largest = 0;
    assert_ok(bpt_runner_get(a, names[1], first));
    for (int i = 0; i < 31 * 8; ++i) largest = fmaxf(largest, fabsf(first[i]));
    assert_true(largest < bound && largest > 0.9f * bound);
    bpt_runner_destroy(a);
    bpt_runner_destroy(b);
    fixture_close(ref);
    fixture_close(cpu);
}

static void parameters_begin_where_every_device_can_bind_them(void **state) {
    (void)state;
    const bpt_model_config_t c = fixture_lm();
    bpt_device_t *device = fixture_open("ref");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.frozen = {.embed = true}});
    const bpt_params_t *p = bpt_runner_params(r);
    int64_t joined = 0;
    for (size_t i = 0; i < p->count; ++i) {
        joined += p->items[i].joined;
        if (!p->items[i].joined) assert_int_equal((size_t)p->items[i].offset * sizeof(float) % BPT_TENSOR_ALIGNMENT, 0);
    }
    assert_int_equal(joined, 2 * c.layers);
    assert_int_equal((size_t)p->trained_elements * sizeof(float) % BPT_TENSOR_ALIGNMENT, 0);
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void a_model_file_of_another_shape_is_refused(void **state) {
    (void)state;
    bpt_model_config_t c = fixture_lm();
    bpt_device_t *device = fixture_open("ref");
    const char *path = test_path("model.safetensors");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    assert_ok(bpt_runner_save(r, path, NULL));
    bpt_runner_destroy(r);
    const struct {
        int32_t layers, d_ff;
        const char *part;
    } cases[] = {
        {3, 24, "no tensor \"layers.2."}, {1, 24, "belongs to no part"}, {2, 25, "is [24,16], the configuration asks for [25,16]"}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        c.layers = cases[i].layers;
        c.d_ff = cases[i].d_ff;
        r = fixture_runner(&c, device, (bpt_runner_options_t){0});
        assert_fails(bpt_runner_load(r, path, false, NULL), BPT_ERR_INPUT, cases[i].part);
        bpt_runner_destroy(r);
    }
    fixture_close(device);
}

// Across the pieces in which a file is read; the checksum is that of the file in any case.
static void weights_that_are_not_finite_are_counted_and_placed(void **state) {
    (void)state;
    bpt_model_config_t c = fixture_lm();
    c.vocab = 20000;  // 320,000 numbers in embed.weight
    bpt_device_t *device = fixture_open("ref");
    const char *path = test_path("not-finite.safetensors");
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){0});
    static float values[320000];
    assert_ok(bpt_runner_get(r, "embed.weight", values));
    values[131073] = NAN, values[131074] = INFINITY, values[319999] = -INFINITY;
    assert_ok(bpt_runner_set(r, "embed.weight", values));
    bpt_checksum_t written, read, whole;
    assert_ok(bpt_runner_save(r, path, &written));
    assert_fails(bpt_runner_load(r, path, false, NULL), BPT_ERR_INPUT,
                 "tensor \"embed.weight\" has 3 numbers of 320000 that are not finite, the first at index 131073");
    assert_ok(bpt_runner_load(r, path, true, &read));
    assert_ok(bpt_checksum_read(path, &whole));
    assert_true(bpt_checksum_equal(&written, &whole) && bpt_checksum_equal(&read, &whole));
    bpt_runner_destroy(r);
    fixture_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_rates_follow_their_formulas),
        cmocka_unit_test(initial_values_depend_on_seed_and_name_alone),
        cmocka_unit_test(parameters_begin_where_every_device_can_bind_them),
        cmocka_unit_test(a_model_file_of_another_shape_is_refused),
        cmocka_unit_test(weights_that_are_not_finite_are_counted_and_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
