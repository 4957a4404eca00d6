// The program of a micro-batch cut where gradients become final, for exchanges that run beside it: the parts compute the bits of the whole,
// and a bucket that is called final is final.
#include "model_fixture.h"
#include "models/nn/shard.h"

static bpt_model_config_t several_buckets(bool tied) {
    bpt_model_config_t c = fixture_lm();
    c.layers = 4;
    c.d_model = c.d_embed = 64;
    c.d_ff = 128;
    c.tied = tied;
    return c;
}

static int64_t trained(const bpt_runner_t *r) { return bpt_runner_params(r)->trained_elements; }

static void train_part(bpt_runner_t *r, const fixture_batch_t *b) {
    const bpt_update_t update = {.rng = 3, .lr = 1e-3f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result;
    bpt_batch_t part = b->batch;
    part.last = false;
    assert_ok(bpt_runner_train(r, &part, &update, &result));
}

// What the sums held when each bucket was called final.
typedef struct {
    bpt_runner_t *runner;
    float *seen, *now;  // [trained]
    int calls;
    bool rest_is_old;  // at the first call the bucket of the embedding still had its old value
} watch_t;

static bpt_status_t note_bucket(void *user, int mark) {
    watch_t *w = user;
    const bpt_elements_t all = bpt_bucket(trained(w->runner), mark);
    BPT_TRY(bpt_runner_read_gradient(w->runner, w->now));
    memcpy(w->seen + all.begin, w->now + all.begin, (size_t)(all.end - all.begin) * sizeof *w->seen);
    if (w->calls++) return BPT_OK;
    w->rest_is_old = mark > 0;
    for (int64_t i = 0; i < bpt_bucket(trained(w->runner), 0).end; ++i) w->rest_is_old &= w->now[i] == 77;
    return BPT_OK;
}

static void check(bpt_device_t *device, bool tied, bpt_step_options_t step) {
    const bpt_model_config_t c = several_buckets(tied);
    const uint32_t lengths[] = {16, 9, 12, 1};
    static fixture_batch_t b;
    if (step.precision == BPT_BF16 && !device->info.bf16) return;
    fixture_fill(&b, &c, 16, 4, lengths, 5);
    bpt_runner_t *whole = fixture_runner(&c, device, (bpt_runner_options_t){.step = step});
    step.marked = true;
    bpt_runner_t *parts = fixture_runner(&c, device, (bpt_runner_options_t){.step = step});
    const int64_t count = trained(parts), n_buckets = bpt_buckets(count);
    const size_t bytes = (size_t)count * sizeof(float);
    watch_t w = {.runner = parts};
    float *expected;
    assert_true(n_buckets > 4);
    assert_ok(bpt_alloc((size_t)count, sizeof(float), &expected));
    assert_ok(bpt_alloc((size_t)count, sizeof(float), &w.seen));
    assert_ok(bpt_alloc((size_t)count, sizeof(float), &w.now));

    train_part(whole, &b);
    train_part(parts, &b);
    assert_ok(bpt_runner_read_gradient(whole, expected));
    assert_ok(bpt_runner_read_gradient(parts, w.now));
    assert_memory_equal(w.now, expected, bytes);

    bpt_program_t *program;
    const bpt_step_key_t key = {.kind = BPT_STEP_MICRO, .shape = b.batch.shape};
    assert_ok(bpt_runner_program(parts, &key, &program));
    assert_true(bpt_program_segments(program) > 4);
    for (int64_t i = 0; i < count; ++i) w.now[i] = 77;
    assert_ok(device->backend->write(device, bpt_runner_state(parts, BPT_STATE_SUMS), 0, w.now, bytes));
    assert_ok(bpt_program_run_marked(program, note_bucket, &w));
    assert_int_equal(w.calls, n_buckets);
    assert_true(w.rest_is_old);
    assert_memory_equal(w.seen, expected, bytes);

    bpt_free(w.now);
    bpt_free(w.seen);
    bpt_free(expected);
    bpt_runner_destroy(parts);
    bpt_runner_destroy(whole);
}

static void the_parts_of_a_program_compute_its_bits(void **state) {
    (void)state;
    static const char *const names[] = {"ref", "cpu", "opencl", "vulkan"};
    for (size_t d = 0; d < BPT_COUNT(names); ++d) {
        if (!test_backend_usable(names[d])) continue;
        bpt_device_t *device = fixture_open(names[d]);
        check(device, true, (bpt_step_options_t){0});
        check(device, false, (bpt_step_options_t){.recompute = true});
        check(device, false, (bpt_step_options_t){.precision = BPT_BF16});
        fixture_close(device);
    }
}

static bpt_status_t refuse(void *user, int mark) {
    (void)mark;
    return ++*(int *)user == 2 ? bpt_fail(BPT_ERR_IO, "no answer") : BPT_OK;
}

static void a_failure_behind_a_part_ends_the_run(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("ref");
    const bpt_model_config_t c = several_buckets(false);
    const uint32_t lengths[] = {16};
    static fixture_batch_t b;
    int calls = 0;
    bpt_program_t *program;
    fixture_fill(&b, &c, 16, 1, lengths, 5);
    bpt_runner_t *r = fixture_runner(&c, device, (bpt_runner_options_t){.step.marked = true});
    train_part(r, &b);
    const bpt_step_key_t key = {.kind = BPT_STEP_MICRO, .shape = b.batch.shape};
    assert_ok(bpt_runner_program(r, &key, &program));
    assert_int_equal(bpt_program_run_marked(program, refuse, &calls), BPT_ERR_IO);
    assert_int_equal(calls, 2);
    bpt_runner_destroy(r);
    fixture_close(device);
}

static void what_is_no_state_cannot_be_marked(void **state) {
    (void)state;
    bpt_graph_t *g;
    assert_ok(bpt_graph_create(&g));
    bpt_graph_mark(g, bpt_scale(g, bpt_input(g, "x", BPT_F32, bpt_shape1(4)), 2));
    assert_int_equal(bpt_graph_status(g), BPT_ERR_INTERNAL);
    bpt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_program_compute_its_bits),
        cmocka_unit_test(a_failure_behind_a_part_ends_the_run),
        cmocka_unit_test(what_is_no_state_cannot_be_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
