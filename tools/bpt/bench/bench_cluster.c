// The cost of a step on many machines (see bench_cluster.h).
#include "tools/bpt/bench/bench_cluster.h"

#include "models/nn/shard.h"

// Both halves of an exchange, exchange and collect, send size - 1 of the slices of a bucket and receive as many, one after the other.
double cli_cluster_exchange(int64_t parameters, int64_t ranks, const cli_network_t *network) {
    double seconds = 0;
    for (int64_t b = 0; b < bpt_buckets(parameters); ++b) {
        const bpt_elements_t all = bpt_bucket(parameters, b);
        const double bytes = (double)(all.end - all.begin) * sizeof(float), others = (double)(ranks - 1);
        seconds += 2 * others * (network->latency + bytes / (double)ranks / network->bytes_per_s);
    }
    return seconds;
}

// The share of a micro-batch's time that is the backward pass: two of its three products.
static const double BACKWARD = 2.0 / 3;

// Exchanges go on beside the backward pass of the last micro-batch; the last bucket is final at its end.
double cli_cluster_exposed(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network) {
    const double exchange = cli_cluster_exchange(cost->parameters, ranks, network), left = exchange - BACKWARD * cost->micro;
    const double last = exchange / (double)bpt_buckets(cost->parameters);
    return left > last ? left : last;
}

double cli_cluster_step(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network) {
    if (ranks == 1) return cost->alone;
    return (double)cost->accumulate * cost->micro + cost->update + cli_cluster_exposed(cost, ranks, network);
}

double cli_cluster_efficiency(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network) {
    return cost->alone / cli_cluster_step(cost, ranks, network);
}
