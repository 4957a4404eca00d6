// The predicted cost of a step on many machines (tools/bpt/bench/bench_cluster.h): closed forms, and what must hold for any network.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/nn/shard.h"
#include "tools/bpt/bench/bench_cluster.h"

static const cli_network_t network = {1e9, 1e-5};

static void assert_near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 + 1e-9 * fabs(b)); }

// Two ranks send half of each bucket twice; each message takes the latency besides.
static void the_exchange_is_that_of_its_messages(void **state) {
    (void)state;
    assert_near(cli_cluster_exchange(1000, 1, &network), 0);
    assert_near(cli_cluster_exchange(1000, 2, &network), 2 * (1e-5 + 2000 / 1e9));
    assert_near(cli_cluster_exchange(1000, 5, &network), 2 * 4 * (1e-5 + 800 / 1e9));
    const int64_t two_buckets = BPT_LEAST_BUCKET + 500;
    assert_near(cli_cluster_exchange(two_buckets, 2, &network), 4 * 1e-5 + (double)two_buckets * 4 / 1e9);
}

// The bytes of a rank never exceed twice the gradient, whatever the number of ranks; efficiency falls with ranks and rises with
// micro-batches.
static void bytes_are_bounded_and_more_micro_batches_hide_them(void **state) {
    (void)state;
    const cli_network_t fast = {1e9, 0};
    cli_step_cost_t cost = {.alone = 0.1, .micro = 0.09, .update = 0.02, .accumulate = 1, .parameters = 10000000};
    double before = 1.1;
    for (int64_t ranks = 1; ranks <= 1024; ranks *= 2) {
        assert_true(cli_cluster_exchange(cost.parameters, ranks, &fast) <= 2 * 4e7 / 1e9);
        const double efficiency = cli_cluster_efficiency(&cost, ranks, &network);
        assert_true(efficiency < before && efficiency > 0);
        before = efficiency;
    }
    cli_step_cost_t more = cost;
    more.accumulate = 8;
    more.alone = cost.alone + 7 * cost.micro;
    assert_true(cli_cluster_efficiency(&more, 64, &network) > cli_cluster_efficiency(&cost, 64, &network));
}

// What is left of an exchange is what the backward pass is too short for, but never less than the last bucket.
static void the_backward_pass_hides_exchanges_but_the_last(void **state) {
    (void)state;
    cli_step_cost_t cost = {.alone = 0.1, .micro = 0.09, .update = 0.02, .accumulate = 1, .parameters = 10000000};
    for (int64_t ranks = 2; ranks <= 1024; ranks *= 2) {
        const double exchange = cli_cluster_exchange(cost.parameters, ranks, &network);
        cost.micro = 100;
        assert_near(cli_cluster_exposed(&cost, ranks, &network), exchange / (double)bpt_buckets(cost.parameters));
        cost.micro = 0;
        assert_near(cli_cluster_exposed(&cost, ranks, &network), exchange);
        cost.micro = exchange / 2;
        assert_near(cli_cluster_exposed(&cost, ranks, &network), exchange - 2.0 / 3 * cost.micro);
    }
}

// The slices of all ranks are the bucket, without gap or overlap, and begin where kernels may begin.
static void slices_cover_every_bucket_once(void **state) {
    (void)state;
    const int64_t counts[] = {1, 63, 64, 1000, BPT_LEAST_BUCKET, 20 * BPT_LEAST_BUCKET + 77, 20 * (int64_t)BPT_LARGEST_BUCKET + 77};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
        for (int size = 1; size <= 9; ++size) {
            int64_t owned = 0;
            for (int64_t b = 0; b < bpt_buckets(counts[c]); ++b) {
                int64_t at = bpt_bucket(counts[c], b).begin;
                for (int rank = 0; rank < size; ++rank) {
                    const bpt_elements_t own = bpt_own_slice(&(bpt_shard_t){rank, size}, counts[c], b);
                    assert_int_equal(own.begin, at);
                    assert_true(own.end >= own.begin && (own.begin % 64 == 0 || own.begin == own.end));
                    at = own.end;
                }
                assert_int_equal(at, bpt_bucket(counts[c], b).end);
            }
            for (int rank = 0; rank < size; ++rank) owned += bpt_own_elements(&(bpt_shard_t){rank, size}, counts[c], 0);
            assert_int_equal(owned, counts[c]);
        }
}

// Every bucket goes once: from the last to the first of those with weights alone, then the others.
static void the_order_of_buckets_has_each_once(void **state) {
    (void)state;
    const int64_t counts[] = {1, 1000, 20 * BPT_LEAST_BUCKET + 77, 40 * (int64_t)BPT_LARGEST_BUCKET};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
        for (int64_t late = 0; late <= counts[c]; late += counts[c] / 7 + 1) {
            const int64_t n = bpt_buckets(counts[c]);
            bool seen[64] = {0};
            assert_true(n <= 64);
            for (int64_t i = 0; i < n; ++i) {
                const int64_t b = bpt_bucket_at(counts[c], late, i);
                assert_true(b >= 0 && b < n && !seen[b]);
                seen[b] = true;
                const bool is_late = bpt_bucket(counts[c], b).end > late;
                if (i && !is_late) assert_true(b == bpt_bucket_at(counts[c], late, i - 1) - 1);
                if (i && bpt_bucket(counts[c], bpt_bucket_at(counts[c], late, i - 1)).end > late) assert_true(is_late);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exchange_is_that_of_its_messages),
        cmocka_unit_test(bytes_are_bounded_and_more_micro_batches_hide_them),
        cmocka_unit_test(the_backward_pass_hides_exchanges_but_the_last),
        cmocka_unit_test(slices_cover_every_bucket_once),
        cmocka_unit_test(the_order_of_buckets_has_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
