// What every `bpt bench` needs: the model that is measured, a batch of random tokens, lines of results.
#ifndef BPT_TOOLS_BENCH_MODEL_H
#define BPT_TOOLS_BENCH_MODEL_H

#include "data/examples/examples.h"
#include "models/run/runner.h"
#include "tools/bpt/bench/bench_report.h"
#include "tools/bpt/options/options.h"

enum { CLI_BENCH_VOCAB = 256, CLI_BENCH_DECODED = 200, CLI_BENCH_CELLS = 32 };

// The numbers of a list option.
typedef struct {
    int64_t value[CLI_BENCH_CELLS];
    int count;
} cli_bench_list_t;

typedef struct {
    cli_options_t *o;
    bpt_device_t *device;
    bpt_ranks_t *ranks;  // NULL: this process alone
    bool translates;     // the model has an encoder and a decoder
    int64_t n, k;
    cli_bench_list_t beams, ranks_of_cluster;  // of the benches that go through them
} cli_bench_t;

typedef struct {
    bpt_batch_t batch;
    uint32_t *words;  // tokens, targets, start, lengths, sequences
    uint32_t *trees;  // of models that read them
    float *weights;
} cli_bench_tokens_t;

bpt_trees_t cli_bench_trees(const cli_bench_t *b);  // the trees over its sequences, for models that read them
cli_bench_place_t cli_bench_place(const cli_bench_t *b);
cli_timing_t cli_bench_timing(const cli_bench_t *b);
// A result of which nothing is known but what was asked for.
cli_bench_result_t cli_bench_empty(const cli_bench_t *b, const char *bench);
// Prints it, on rank 0.
bpt_status_t cli_bench_say(const cli_bench_t *b, const cli_bench_result_t *result) BPT_MUST_USE;

bpt_model_config_t cli_bench_config(const cli_bench_t *b);
// With initial weights.
bpt_status_t cli_bench_open_runner(const cli_bench_t *b, bpt_runner_t **out) BPT_MUST_USE;
// As many sequences of n as make --tokens, all of them scored. Release with cli_bench_free_tokens.
bpt_status_t cli_bench_make_tokens(const cli_bench_t *b, cli_bench_tokens_t *t) BPT_MUST_USE;
void cli_bench_free_tokens(cli_bench_tokens_t *t);

// Products of the layers of the model, by themselves.
bpt_status_t cli_bench_gemm(const cli_bench_t *b) BPT_MUST_USE;

#endif
