// Gradients of a golden case: PATH.grad.safetensors against the sums of a runner.
#ifndef BPT_TEST_GOLDEN_GRADIENTS_H
#define BPT_TEST_GOLDEN_GRADIENTS_H

#include "model_fixture.h"

#include "bpt/safetensors.h"

// The sums times `scale`: per tensor within 1e-4 of the largest gradient.
static inline void golden_check_gradients(bpt_runner_t *runner, const char *path_of_case, double scale) {
    const char *path = test_path("grad.safetensors");
    bpt_safetensors_t *wanted, *got;
    char golden[600];
    snprintf(golden, sizeof golden, "%s.grad.safetensors", path_of_case);
    assert_ok(bpt_runner_save_gradient(runner, scale, path));
    assert_ok(bpt_safetensors_open(golden, &wanted));
    assert_ok(bpt_safetensors_open(path, &got));
    assert_int_equal(bpt_safetensors_count(wanted), bpt_safetensors_count(got));
    for (size_t t = 0; t < bpt_safetensors_count(wanted); ++t) {
        const bpt_safetensors_tensor_t *a = bpt_safetensors_at(wanted, t), *b = bpt_safetensors_find(got, a->name);
        float *x, *y;
        if (!b) fail_msg("no gradient of %s", a->name);
        assert_int_equal(a->count, b->count);
        assert_ok(bpt_alloc((size_t)a->count, sizeof *x, &x));
        assert_ok(bpt_alloc((size_t)a->count, sizeof *y, &y));
        assert_ok(bpt_safetensors_read_f32(wanted, a, 0, a->count, x));
        assert_ok(bpt_safetensors_read_f32(got, b, 0, a->count, y));
        double largest = 0, off = 0;
        int64_t where = 0;
        for (int64_t i = 0; i < a->count; ++i) {
            const double d = fabs((double)x[i] - (double)y[i]);
            if (fabs((double)x[i]) > largest) largest = fabs((double)x[i]);
            if (d > off || isnan(d)) off = d, where = i;
        }
        // A gradient that is zero but for rounding (keys of a single leaf) is measured against the loss's scale.
        if (!(off <= 1e-4 * largest + 1e-7))
            fail_msg("gradient of %s: off by %g at %lld, largest %g", a->name, off, (long long)where, largest);
        bpt_free(x);
        bpt_free(y);
    }
    bpt_safetensors_close(wanted);
    bpt_safetensors_close(got);
}

#endif
