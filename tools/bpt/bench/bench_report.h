// Results of `bpt bench`, as text or as one JSON object a line. Knows nothing of how they are measured.
#ifndef BPT_TOOLS_BENCH_REPORT_H
#define BPT_TOOLS_BENCH_REPORT_H

#include "bpt/backend.h"
#include "bpt/program.h"
#include "tools/bpt/bench/bench_op.h"
#include "tools/bpt/bench/rates.h"

// What every line says of its place.
typedef struct {
    const bpt_device_t *device;
    const char *model;  // "bpt"
    const char *trees;  // that it reads, "balanced"; NULL: none
    bool has_k;         // the model has such a number
    bpt_dtype_t precision;
    bool json;
} cli_bench_place_t;

typedef struct {
    const char *bench;
    int64_t n, k;
    double s_per_step, p99, slowest, tokens_per_s, gflops, gbytes_per_s;  // NaN: does not apply
    uint64_t device_bytes;                                                // 0: does not apply
    int ranks;                                                            // that took part; 0: no team
    double hidden;                                                        // share of `exchange` behind which the step went on; NAN: unknown
    double exchange;                                                      // of s_per_step: their exchanges, waiting included
    double rows_given, bytes_given;                                       // of shared sequences, in a step, of the rank that gives most
    double efficiency;                                                    // what a rank does beside one process alone; 0: does not apply
    // Translations; beam 0: it is another bench. Seconds of a step of the search, in its first and its last quarter; NaN: it is too short.
    int64_t beam, texts, most_tokens;
    double texts_per_s, source_tokens_per_s, first_s_per_token, last_s_per_token;
} cli_bench_result_t;

// Ops of one kind and shape in a step.
typedef struct {
    bpt_op_timing_t one;  // their sums
    int count;
} cli_bench_ops_t;

// The fastest that the device does.
typedef struct {
    double gflops, gbytes_per_s;
} cli_bench_limits_t;

// Ops of a step that have the same line.
typedef struct {
    char *text;
    int count;
    double seconds, flops;  // their sums; NaN seconds: nothing ran
} cli_bench_line_t;

typedef struct {
    cli_product_t product;
    char rule[BPT_TUNING_TEXT];  // which product ran, "" on the cpu
    double seconds;
} cli_bench_product_t;

bpt_status_t cli_bench_print(const cli_bench_place_t *place, const cli_bench_result_t *result) BPT_MUST_USE;
// One op, by its line.
bpt_status_t cli_bench_print_op(const bpt_device_t *device, bool json, const char *line, const cli_op_result_t *result) BPT_MUST_USE;
bpt_status_t cli_bench_print_ops(const cli_bench_place_t *place, int64_t n, int64_t k, const cli_bench_limits_t *limits,
                                 const cli_bench_ops_t *groups, int count) BPT_MUST_USE;
// The lines of a training step; `preset`: of this preset, NULL: of the model that is measured, with n and k.
bpt_status_t cli_bench_print_lines(const cli_bench_place_t *place, const char *preset, int64_t n, int64_t k, const cli_bench_line_t *lines,
                                   int count) BPT_MUST_USE;
// Each with its share of the best rate among all.
bpt_status_t cli_bench_print_products(const cli_bench_place_t *place, const cli_bench_product_t *products, int count) BPT_MUST_USE;

#endif
