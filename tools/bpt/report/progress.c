// Progress on stderr (see progress.h).
#include "tools/bpt/report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpt/clock.h"
#include "bpt/log.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/sort.h"

enum { PLAIN_LINE_SECONDS = 10, MIN_RATES = 8, PART_BYTES = 64 };
static const double short_evaluation = 1, rewrite_pause = 0.2;  // seconds: not worth a line, between two changes of it
static const double drop = 0.7;                                 // of the usual rate: below it is worth a warning

void cli_progress_start(cli_progress_t *progress, bool quiet, cli_loss_kind_t kind) {
    *progress = (cli_progress_t){.quiet = quiet,
                                 .terminal = isatty(STDERR_FILENO) != 0,
                                 .kind = kind,
                                 .line_seconds = PLAIN_LINE_SECONDS,
                                 .silent_seconds = short_evaluation};
    progress->last_line = -INFINITY;
}

void cli_duration_text(double seconds, char *buffer, size_t bytes) {
    if (!(seconds >= 0) || seconds > 1e8)
        snprintf(buffer, bytes, "?");
    else if (seconds < 100)
        snprintf(buffer, bytes, "%.0f s", seconds);
    else if (seconds < 3600)
        snprintf(buffer, bytes, "%d:%02d", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(buffer, bytes, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60, (int)seconds % 60);
}

void cli_loss_text(cli_loss_kind_t kind, double loss, char *buffer, size_t bytes) {
    if (kind == CLI_LOSS_BITS)
        snprintf(buffer, bytes, "loss %.4f (%.3f bits)", loss, loss / log(2));
    else if (kind == CLI_LOSS_PERPLEXITY)
        snprintf(buffer, bytes, "loss %.4f (perplexity %.2f)", loss, exp(loss));
    else
        snprintf(buffer, bytes, "loss %.4f", loss);
}

// ---- Throughput
double cli_progress_rate(const cli_progress_t *progress) {
    if (!progress->n_rates) return NAN;
    double sorted[CLI_RATE_WINDOW];
    memcpy(sorted, progress->rate, sizeof(double) * (size_t)progress->n_rates);
    return cli_quantile(sorted, (size_t)progress->n_rates, 0.5);
}

// The median of the last few rates against the best median so far: one slow step is no reason to warn.
static void watch_rate(cli_progress_t *progress, double rate) {
    if (!(rate > 0)) return;
    progress->rate[progress->next_rate] = rate;
    progress->next_rate = (progress->next_rate + 1) % CLI_RATE_WINDOW;
    if (progress->n_rates < CLI_RATE_WINDOW) ++progress->n_rates;
    double recent[MIN_RATES];
    if (progress->n_rates < MIN_RATES) return;
    for (int i = 0; i < MIN_RATES; ++i) recent[i] = progress->rate[(progress->next_rate - 1 - i + CLI_RATE_WINDOW) % CLI_RATE_WINDOW];
    const double median = cli_quantile(recent, MIN_RATES, 0.5);
    if (median > progress->usual_rate) progress->usual_rate = median;
    if (median > 0.9 * progress->usual_rate) progress->warned = false;
    if (progress->warned || median >= drop * progress->usual_rate) return;
    progress->warned = true;
    cli_progress_clear(progress);
    bpt_warn("throughput fell to %.0f tokens/s from %.0f: another program, heat or a power limit may slow this machine", median,
             progress->usual_rate);
}

// ---- The line
typedef struct {
    char text[10][PART_BYTES];
    int n;
} parts_t;

static void add_part(parts_t *parts, bool shown, const char *format, ...) BPT_PRINTF(3, 4);
static void add_part(parts_t *parts, bool shown, const char *format, ...) {
    if (!shown) return;
    va_list args;
    va_start(args, format);
    vsnprintf(parts->text[parts->n++], PART_BYTES, format, args);
    va_end(args);
}

// The parts that fit into `width` columns, most important first in their own order; at least the first one.
static void join(const parts_t *parts, int width, char *line, size_t bytes) {
    size_t used = 0;
    line[0] = 0;
    for (int i = 0; i < parts->n; ++i) {
        const size_t need = strlen(parts->text[i]) + (i ? 2 : 0);
        if (used + need >= bytes || (i && width && (int)(used + need) > width)) break;
        used += (size_t)snprintf(line + used, bytes - used, "%s%s", i ? "  " : "", parts->text[i]);
    }
}

static void fill_parts(const cli_progress_t *progress, const cli_progress_point_t *point, parts_t *parts) {
    char loss[PART_BYTES], left[PART_BYTES];
    const double rate = cli_progress_rate(progress);
    cli_loss_text(progress->kind, point->loss, loss, sizeof loss);
    // At the rate shown, the median of many windows: one slow or quick window does not move it.
    const double seconds_per_step = point->seconds_per_step * (rate > 0 ? point->tokens_per_s / rate : 1);
    cli_duration_text((double)(point->steps - point->step) * seconds_per_step, left, sizeof left);
    if (point->steps > 0)
        add_part(parts, true, "step %lld/%lld", (long long)point->step, (long long)point->steps);
    else
        add_part(parts, true, "step %lld", (long long)point->step);
    add_part(parts, !isnan(point->loss), "%s", loss);
    add_part(parts, !isnan(rate), "%.0f tokens/s", rate);
    add_part(parts, point->steps > 0 && !isnan(point->seconds_per_step), "%s left", left);
    add_part(parts, !isnan(point->epoch), "epoch %.2f", point->epoch);
    add_part(parts, !isnan(point->lr), "lr %.2e", point->lr);
    add_part(parts, !isnan(point->grad_norm), "grad %.2f", point->grad_norm);
    add_part(parts, point->skipped_steps > 0, "skipped %lld, loss scale %g", (long long)point->skipped_steps, point->loss_scale);
}

void cli_progress_clear(cli_progress_t *progress) {
    if (progress->line_open) fputs("\r\033[K", stderr);
    progress->line_open = false;
}

void cli_progress_update(cli_progress_t *progress, const cli_progress_point_t *point) {
    watch_rate(progress, point->tokens_per_s);
    if (progress->quiet) return;
    const double time = bpt_clock_seconds();
    if (!progress->terminal && point->step != point->steps && time - progress->last_line < progress->line_seconds) return;
    progress->last_line = time;
    parts_t parts = {0};
    char line[512];
    fill_parts(progress, point, &parts);
    join(&parts, progress->terminal ? cli_columns(STDERR_FILENO, 80) - 1 : 0, line, sizeof line);
    fprintf(stderr, progress->terminal ? "\r%s\033[K" : "%s\n", line);
    fflush(stderr);
    progress->line_open = progress->terminal;
}

void cli_progress_evaluation(cli_progress_t *progress, double share, double seconds) {
    const double time = bpt_clock_seconds(), pause = progress->terminal ? rewrite_pause : progress->line_seconds;
    char left[PART_BYTES];
    if (progress->quiet || seconds < progress->silent_seconds || time - progress->last_line < pause) return;
    progress->last_line = time;
    cli_duration_text(seconds * (1 - share) / share, left, sizeof left);
    fprintf(stderr, progress->terminal ? "\revaluating: %.0f %%  %s left\033[K" : "evaluating: %.0f %%  %s left\n", 100 * share, left);
    fflush(stderr);
    progress->line_open = progress->terminal;
}

void cli_progress_say(cli_progress_t *progress, const char *format, ...) {
    if (progress->quiet) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_progress_clear(progress);
    fprintf(stderr, "%s\n", text);
}
