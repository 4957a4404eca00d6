// What training on many machines would cost: a step's time from what one machine measures and from what the network between them is said to
// do. A model of the exchanges of bpt_runner_update_together; knows no device.
#ifndef BPT_TOOLS_BENCH_CLUSTER_H
#define BPT_TOOLS_BENCH_CLUSTER_H

#include <stdint.h>

typedef struct {
    double bytes_per_s, latency;  // of each rank's connection, in each direction; seconds that a message takes besides
} cli_network_t;

typedef struct {
    double alone;        // seconds of a step of one process with as many micro-batches as each rank has
    double micro;        // seconds of the forward and backward pass of one micro-batch
    double update;       // seconds from the sums of gradients on the device, through host memory, to new parameters
    int64_t accumulate;  // micro-batches of each rank in a step
    int64_t parameters;  // that are trained
} cli_step_cost_t;

// Seconds that the ranks' sums take on the network: every bucket is cut into slices, each goes to its rank, and the sums come back.
double cli_cluster_exchange(int64_t parameters, int64_t ranks, const cli_network_t *network);
// Of these the seconds that are not hidden behind the backward pass.
double cli_cluster_exposed(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network);
double cli_cluster_step(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network);
// Of a step of `ranks` ranks: what each computes in a second beside what one process alone does.
double cli_cluster_efficiency(const cli_step_cost_t *cost, int64_t ranks, const cli_network_t *network);

#endif
