// Progress of a long job on stderr: one line that is rewritten on a terminal, a plain line now and then elsewhere.
// Knows nothing of models; stdout is never touched.
#ifndef BPT_TOOLS_PROGRESS_H
#define BPT_TOOLS_PROGRESS_H

#include "bpt/status.h"

typedef enum { CLI_LOSS_BITS, CLI_LOSS_PERPLEXITY, CLI_LOSS_NATS } cli_loss_kind_t;

enum { CLI_RATE_WINDOW = 64 };

typedef struct {
    bool quiet, terminal;
    cli_loss_kind_t kind;          // what the loss is shown as besides nats
    double line_seconds;           // off a terminal: at most one line in so many seconds
    double silent_seconds;         // of an evaluation, before its first line
    double last_line;              // when it was written (monotonic clock)
    bool line_open;                // the cursor stands behind a progress line
    double rate[CLI_RATE_WINDOW];  // the last rates, a ring
    int n_rates, next_rate;
    double usual_rate;  // the best median so far
    bool warned;        // that throughput has dropped; reset when it is back
} cli_progress_t;

// A number that is NaN is not shown.
typedef struct {
    int64_t step, steps;
    double loss_scale;      // of f16 training; NaN: not shown
    int64_t skipped_steps;  // and steps that changed nothing
    double epoch, loss, lr, grad_norm, tokens_per_s;
    double seconds_per_step;  // for the time left
} cli_progress_point_t;

void cli_progress_start(cli_progress_t *progress, bool quiet, cli_loss_kind_t kind);
void cli_progress_update(cli_progress_t *progress, const cli_progress_point_t *point);
// How far an evaluation has come: a share of 0 to 1 after so many seconds. Silent in the first seconds.
void cli_progress_evaluation(cli_progress_t *progress, double share, double seconds);
// Clears the rewritten line, so that other text can be printed.
void cli_progress_clear(cli_progress_t *progress);
// A line that stays, such as the result of an evaluation.
void cli_progress_say(cli_progress_t *progress, const char *format, ...) BPT_PRINTF(2, 3);
// Median of the last rates, NaN before the first.
double cli_progress_rate(const cli_progress_t *progress);
// "1:02:03", "4:05", "17 s"
void cli_duration_text(double seconds, char *buffer, size_t bytes);
// "4.852 nats, perplexity 128.00" and the like.
void cli_loss_text(cli_loss_kind_t kind, double loss, char *buffer, size_t bytes);

#endif
