// `bpt plot`: loss and throughput of one or more runs as a picture. Knows metrics.jsonl only through models/train/metrics.h.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "models/train/metrics.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/platform/system.h"
#include "tools/bpt/report/chart.h"
#include "tools/bpt/report/confusion_picture.h"
#include "tools/bpt/report/plot_lines.h"

// What a loss is told in.
typedef enum {
    PLOT_BYTES,       // bits per byte
    PLOT_CHARACTERS,  // bits per character
    PLOT_WORDS,       // nats per word, and perplexities
    PLOT_SUBWORDS,    // the same per subword
    PLOT_OTHER,       // nats
} plot_kind_t;

typedef struct {
    char *path;        // absolute, if it can be found out
    const char *name;  // its last parts, as many as tell it from other runs
    plot_kind_t kind;
    bpt_metrics_line_t *lines;
    size_t n;
} plot_run_t;

// ---- Names
static bpt_status_t absolute(const char *path, char **out) {
    char *real = realpath(path, NULL);
    const bpt_status_t status = bpt_strdup(real ? real : path, out);
    free(real);
    return status;
}

// One more part of the path at the front of the name; false when there is none.
static bool lengthen(const char *path, const char **name) {
    const char *p = *name;
    if (p - path < 2) return false;
    for (p -= 2; p > path && *p != '/'; --p) {
    }
    *name = *p == '/' ? p + 1 : p;
    return true;
}

static void shortest_names(plot_run_t *runs, int n) {
    bool same[CLI_MAX_ARGUMENTS], any = true;
    for (int r = 0; r < n; ++r) {
        const char *slash = strrchr(runs[r].path, '/');
        runs[r].name = slash && slash[1] ? slash + 1 : runs[r].path;
    }
    while (any) {
        any = false;
        for (int r = 0; r < n; ++r) {
            same[r] = false;
            for (int other = 0; other < n; ++other)
                same[r] |= other != r && !strcmp(runs[r].name, runs[other].name) && strcmp(runs[r].path, runs[other].path);
        }
        for (int r = 0; r < n; ++r) any |= same[r] && lengthen(runs[r].path, &runs[r].name);
    }
}

// ---- Reading

// By the run's configuration.
static bpt_status_t configured_kind(const char *path, plot_kind_t *kind) {
    static const plot_kind_t kinds[] = {[BPT_UNIT_BYTE] = PLOT_BYTES,
                                        [BPT_UNIT_CHAR] = PLOT_CHARACTERS,
                                        [BPT_UNIT_WORD] = PLOT_WORDS,
                                        [BPT_UNIT_IDS] = PLOT_OTHER,
                                        [BPT_UNIT_SUBWORD] = PLOT_SUBWORDS};
    cli_options_t o;
    bpt_status_t status = cli_options_init(&o, CLI_TRAIN, "train");
    if (status == BPT_OK) status = cli_options_from_file(&o, path, CLI_FROM_RUN, false);
    if (status == BPT_OK) *kind = bpt_task_of(&o.model)->predicts_text ? kinds[o.data.unit] : PLOT_OTHER;
    cli_options_destroy(&o);
    return status;
}

// By its evaluations, where there is no configuration.
static plot_kind_t evaluated_kind(const plot_run_t *run) {
    for (size_t i = 0; i < run->n; ++i) {
        if (!isnan(run->lines[i].bits_per_char)) return PLOT_CHARACTERS;
        if (!isnan(run->lines[i].perplexity)) return PLOT_WORDS;
    }
    return PLOT_OTHER;
}

static bpt_status_t read_run(const char *path, plot_run_t *run) {
    BPT_TRY(absolute(path, &run->path));
    const bool folder = bpt_folder_exists(path);
    const char *slash = strrchr(run->path, '/');
    char *metrics = NULL, *config = NULL;
    bpt_status_t status = bpt_path_format(&metrics, "%s%s", path, folder ? "/metrics.jsonl" : "");
    if (status == BPT_OK && folder) status = bpt_path_format(&config, "%s/config.json", path);
    if (status == BPT_OK && !folder)
        status = bpt_path_format(&config, "%.*s/config.json", slash ? (int)(slash - run->path) : 1, slash ? run->path : ".");
    if (status == BPT_OK) status = bpt_metrics_read(metrics, &run->lines, &run->n);
    if (status == BPT_OK) run->kind = evaluated_kind(run);
    if (status == BPT_OK && bpt_file_exists(config)) status = configured_kind(config, &run->kind);
    bpt_free(metrics);
    bpt_free(config);
    return status;
}

// ---- What is drawn

// Runs of one kind are drawn in their own measure, others in nats.
static plot_kind_t common_kind(const plot_run_t *runs, int n_runs) {
    for (int r = 1; r < n_runs; ++r)
        if (runs[r].kind != runs[0].kind) return PLOT_OTHER;
    return runs[0].kind;
}

static const char *const loss_titles[] = {[PLOT_BYTES] = "bits per byte",
                                          [PLOT_CHARACTERS] = "bits per character",
                                          [PLOT_WORDS] = "nats per word",
                                          [PLOT_SUBWORDS] = "nats per subword",
                                          [PLOT_OTHER] = "loss (nats)"};

static bool in_bits(plot_kind_t kind) { return kind == PLOT_BYTES || kind == PLOT_CHARACTERS; }

// ---- Axes

static double step_of(const bpt_metrics_line_t *line) { return (double)line->step; }
static double epoch_of(const bpt_metrics_line_t *line) { return line->epoch; }
static double tokens_of(const bpt_metrics_line_t *line) { return line->tokens < 0 ? NAN : (double)line->tokens; }
static double seconds_of(const bpt_metrics_line_t *line) { return line->seconds; }

typedef double (*x_of_t)(const bpt_metrics_line_t *line);
static const struct {
    const char *name;
    x_of_t of;
} x_axes[] = {{"step", step_of}, {"epoch", epoch_of}, {"tokens", tokens_of}, {"seconds", seconds_of}};

static bpt_status_t find_x(const char *name, x_of_t *out) {
    for (size_t i = 0; i < BPT_COUNT(x_axes); ++i)
        if (!strcmp(x_axes[i].name, *name ? name : "step")) {
            *out = x_axes[i].of;
            return BPT_OK;
        }
    return bpt_fail(BPT_ERR_USAGE, "--x %s: runs have step, epoch, tokens and seconds", name);
}

typedef double (*field_t)(const bpt_metrics_line_t *line, plot_kind_t kind);
static double loss_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return in_bits(kind) ? line->loss / log(2) : line->loss; }
static double rate_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, line->tokens_per_s; }
static double accuracy_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, 100 * line->accuracy; }
static double bleu_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, line->bleu; }

static double f1_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, 100 * line->f1; }
static double learning_rate_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, line->lr; }
static double gradient_of(const bpt_metrics_line_t *line, plot_kind_t kind) { return (void)kind, line->grad_norm; }

// Numbers that have a panel of their own where a run has them, of evaluations or ("") of training.
static const struct {
    const char *title, *eval;
    field_t of;
} measured[] = {{"accuracy (%)", "valid", accuracy_of},
                {"f1 (%)", "valid", f1_of},
                {"BLEU", "valid", bleu_of},
                {"learning rate", "", learning_rate_of},
                {"gradient norm", "", gradient_of}};

static bool has(const plot_run_t *runs, int n_runs, field_t field) {
    for (int r = 0; r < n_runs; ++r)
        for (size_t i = 0; i < runs[r].n; ++i)
            if (!isnan(field(&runs[r].lines[i], runs[r].kind))) return true;
    return false;
}

static bpt_status_t add_curve(chart_panel_t *panel, const plot_run_t *run, int colour, const char *eval, field_t field, x_of_t x_of,
                              plot_kind_t kind) {
    chart_series_t *series;
    BPT_TRY(chart_add_series(panel, colour, *eval ? CHART_POINTS : CHART_LINE, &series));
    for (size_t i = 0; i < run->n; ++i) {
        const double x = x_of(&run->lines[i]), y = field(&run->lines[i], kind);
        if (!strcmp(run->lines[i].eval, eval) && isfinite(x) && isfinite(y)) BPT_TRY(chart_add_point(series, x, y));
    }
    return BPT_OK;
}

// "name: train 1.83, valid 1.95 (dashed), best 1.94 at step 400"
static bpt_status_t add_legend(chart_t *chart, const plot_run_t *run, plot_kind_t kind) {
    double train = NAN, valid = NAN, best = NAN;
    int64_t best_step = 0;
    for (size_t i = 0; i < run->n; ++i) {
        const double loss = loss_of(&run->lines[i], kind);
        if (!*run->lines[i].eval) train = loss;
        if (strcmp(run->lines[i].eval, "valid")) continue;
        valid = loss;
        if (isnan(best) || loss < best) best = loss, best_step = run->lines[i].step;
    }
    bpt_strbuf_t text = {0};
    bpt_status_t status = bpt_strbuf_printf(&text, "%s: ", run->name);
    if (status == BPT_OK && !isnan(train)) status = bpt_strbuf_printf(&text, "train %.3f%s", train, isnan(valid) ? "" : ", ");
    if (status == BPT_OK && !isnan(valid))
        status = bpt_strbuf_printf(&text, "valid %.3f (dashed), best %.3f at step %lld", valid, best, (long long)best_step);
    if (status == BPT_OK && !isnan(best) && (run->kind == PLOT_WORDS || run->kind == PLOT_SUBWORDS))
        status = bpt_strbuf_printf(&text, ", perplexity %.2f", exp(best));
    if (status == BPT_OK) status = chart_add_legend(chart, text.data);
    bpt_strbuf_free(&text);
    return status;
}

static bpt_status_t add_measured(chart_t *chart, const plot_run_t *runs, int n_runs, x_of_t x_of) {
    for (size_t m = 0; m < BPT_COUNT(measured); ++m) {
        if (!has(runs, n_runs, measured[m].of)) continue;
        chart_panel_t *panel = &chart->panel[chart->n_panels++];
        *panel = (chart_panel_t){.title = measured[m].title, .share = 1};
        for (int r = 0; r < n_runs; ++r) BPT_TRY(add_curve(panel, &runs[r], r, measured[m].eval, measured[m].of, x_of, runs[r].kind));
    }
    return BPT_OK;
}

static bpt_status_t fill_chart(chart_t *chart, const plot_run_t *runs, int n_runs, x_of_t x_of) {
    const plot_kind_t kind = common_kind(runs, n_runs);
    chart_panel_t *loss = &chart->panel[chart->n_panels++];
    *loss = (chart_panel_t){.title = loss_titles[kind], .share = 2};
    BPT_TRY(add_measured(chart, runs, n_runs, x_of));
    chart_panel_t *rate = &chart->panel[chart->n_panels++];
    *rate = (chart_panel_t){.title = "tokens/s", .share = 1, .from_zero = true};
    for (int r = 0; r < n_runs; ++r) {
        BPT_TRY(add_legend(chart, &runs[r], kind));
        BPT_TRY(add_curve(loss, &runs[r], r, "", loss_of, x_of, kind));
        BPT_TRY(add_curve(loss, &runs[r], r, "valid", loss_of, x_of, kind));
        BPT_TRY(add_curve(rate, &runs[r], r, "", rate_of, x_of, kind));
    }
    return BPT_OK;
}

// One number of the lines of evaluations, or of training where evaluations do not have it.
static bpt_status_t fill_metric(chart_t *chart, const plot_run_t *runs, int n_runs, x_of_t x_of, const char *key) {
    chart_panel_t *panel = &chart->panel[chart->n_panels++];
    size_t points = 0;
    *panel = (chart_panel_t){.title = key, .share = 1};
    for (int r = 0; r < n_runs; ++r) {
        for (int evaluations = 1; evaluations >= 0; --evaluations) {
            chart_series_t *series;
            BPT_TRY(chart_add_series(panel, r, evaluations ? CHART_POINTS : CHART_LINE, &series));
            for (size_t i = 0; i < runs[r].n; ++i) {
                const double *y = bpt_metrics_line_number(&runs[r].lines[i], key);
                const double x = x_of(&runs[r].lines[i]);
                if (!y) return bpt_fail(BPT_ERR_USAGE, "--y %s: no line of metrics has such a number; loss, accuracy, f1 are some", key);
                if ((*runs[r].lines[i].eval != 0) != evaluations || !isfinite(*y) || !isfinite(x)) continue;
                BPT_TRY(chart_add_point(series, x, *y));
                ++points;
            }
        }
        BPT_TRY(chart_add_legend(chart, runs[r].name));
    }
    return points ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "%s: no line has \"%s\"", runs[0].path, key);
}

// ---- Writing
static bpt_status_t convert(const char *svg, size_t length, FILE *in, FILE *out) {
    if (fwrite(svg, 1, length, in) != length || fflush(in) || fseek(in, 0, SEEK_SET))
        return bpt_fail(BPT_ERR_IO, "cannot write a temporary file: %s", strerror(errno));
    static const char *const program[] = {"rsvg-convert", "--format", "png", NULL};
    int status;
    if (!cli_system_filter(program, in, out, &status)) return bpt_fail(BPT_ERR_IO, "cannot start rsvg-convert: %s", strerror(errno));
    if (status == 127)
        return bpt_fail(BPT_ERR_UNAVAILABLE,
                        "PNG needs the program rsvg-convert (Debian: sudo apt-get install librsvg2-bin); an .svg needs nothing");
    if (status) return bpt_fail(BPT_ERR_IO, "rsvg-convert failed to make the PNG");
    return BPT_OK;
}

static bpt_status_t copy_file(FILE *from, const char *path) {
    bpt_strbuf_t bytes = {0};
    char block[65536];
    bpt_status_t status = BPT_OK;
    rewind(from);
    for (size_t n; status == BPT_OK && (n = fread(block, 1, sizeof block, from)) > 0;) status = bpt_strbuf_append(&bytes, block, n);
    if (status == BPT_OK) status = bpt_file_write(path, bytes.data, bytes.length);
    bpt_strbuf_free(&bytes);
    return status;
}

static bpt_status_t write_png(const bpt_strbuf_t *svg, const char *path) {
    FILE *in = tmpfile(), *out = tmpfile();
    bpt_status_t status = in && out ? BPT_OK : bpt_fail(BPT_ERR_IO, "cannot make a temporary file: %s", strerror(errno));
    if (status == BPT_OK) status = convert(svg->data, svg->length, in, out);
    if (status == BPT_OK) status = copy_file(out, path);
    if (in) fclose(in);
    if (out) fclose(out);
    return status;
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static bpt_status_t write_picture(const bpt_strbuf_t *svg, const char *path) {
    if (ends_with(path, ".png")) return write_png(svg, path);
    if (*path) return bpt_file_write(path, svg->data, svg->length);
    fwrite(svg->data, 1, svg->length, stdout);
    return BPT_OK;
}

static bpt_status_t draw_runs(const cli_options_t *o, plot_run_t *runs, chart_t *chart) {
    x_of_t x_of = NULL;
    if (!o->n_arguments) return bpt_fail(BPT_ERR_USAGE, "bpt plot needs a run, or lines of JSON: --from FILE");
    if (*o->tool.by || o->tool.zoom) return bpt_fail(BPT_ERR_USAGE, "--%s goes with --from", *o->tool.by ? "by" : "zoom");
    BPT_TRY(find_x(o->tool.x, &x_of));
    chart->x_title = *o->tool.x ? o->tool.x : "step";
    for (int i = 0; i < o->n_arguments; ++i) BPT_TRY(read_run(o->arguments[i], &runs[i]));
    shortest_names(runs, o->n_arguments);
    return *o->tool.y ? fill_metric(chart, runs, o->n_arguments, x_of, o->tool.y) : fill_chart(chart, runs, o->n_arguments, x_of);
}

static bpt_status_t draw_lines(const cli_options_t *o, chart_t *chart) {
    const cli_plot_lines_t lines = {.path = o->tool.from,
                                    .x = *o->tool.x ? o->tool.x : "n",
                                    .y = *o->tool.y ? o->tool.y : "tokens_per_s",
                                    .by = o->tool.by,
                                    .zoom = o->tool.zoom};
    if (o->n_arguments)
        return bpt_fail(BPT_ERR_USAGE, "--from %s and the run %s cannot be drawn into one picture", o->tool.from, o->arguments[0]);
    return cli_plot_lines(&lines, chart);
}

static bpt_status_t draw_confusion(const cli_options_t *o, bpt_strbuf_t *svg) {
    if (!*o->tool.from || o->n_arguments)
        return bpt_fail(BPT_ERR_USAGE, "--confusion draws what bpt eval --json wrote: name that file by --from FILE, and no run");
    if (*o->tool.x || *o->tool.y || *o->tool.by || o->tool.log_x || o->tool.log_y || o->tool.zoom)
        return bpt_fail(BPT_ERR_USAGE, "--confusion draws no curves: leave out --x, --y, --by, --log-x, --log-y and --zoom");
    return cli_confusion_picture(o->tool.from, (int)o->tool.width, (int)o->tool.height, svg);
}

static bpt_status_t draw_curves(const cli_options_t *o, plot_run_t *runs, bpt_strbuf_t *svg) {
    chart_t chart = {.width = (int)o->tool.width, .height = (int)o->tool.height, .log_x = o->tool.log_x, .log_y = o->tool.log_y};
    bpt_status_t status = *o->tool.from ? draw_lines(o, &chart) : draw_runs(o, runs, &chart);
    if (status == BPT_OK) status = chart_write(&chart, svg);
    chart_free(&chart);
    return status;
}

static bpt_status_t run_plot(cli_options_t *o) {
    if (*o->use.file && !ends_with(o->use.file, ".svg") && !ends_with(o->use.file, ".png"))
        return bpt_fail(BPT_ERR_USAGE, "--out %s must end in .svg or .png", o->use.file);
    plot_run_t runs[CLI_MAX_ARGUMENTS] = {0};
    bpt_strbuf_t svg = {0};
    bpt_status_t status = o->tool.confusion ? draw_confusion(o, &svg) : draw_curves(o, runs, &svg);
    if (status == BPT_OK) status = write_picture(&svg, o->use.file);
    bpt_strbuf_free(&svg);
    for (int i = 0; i < o->n_arguments; ++i) {
        bpt_free(runs[i].path);
        bpt_free(runs[i].lines);
    }
    return status;
}

const cli_command_t cli_command_plot = {
    .bit = CLI_PLOT,
    .name = "plot",
    .arguments = "[RUN...]",
    .purpose = "draw the loss and throughput curves of runs",
    .description =
        "RUN is a run directory or a metrics.jsonl file; the run may still be training. Several runs are drawn into one "
        "picture, each named by the last part of its path. Losses are shown in bits per byte for models on bytes, in "
        "bits per character for models on code points, and in nats for models on words, together with the perplexity of "
        "the best evaluation. Runs of different kinds are shown in nats. --x and --y choose other axes. With --from, lines of JSON are "
        "drawn in place of runs: one of their numbers against another, or with --confusion which label a classifier or tagger gave in "
        "place of "
        "which.",
    .examples = "  bpt plot RUN --out curves.svg\n  bpt plot RUN-A RUN-B --out both.png\n  bpt plot RUN --x epoch --y f1 --out f1.svg\n"
                "  bpt bench train --n 512,2048,8192 --json | bpt plot --from - --x n --y tokens_per_s --log-x --out speed.svg\n"
                "  bpt eval RUN --json | bpt plot --from - --confusion --out confusion.svg\n",
    .min_arguments = 0,
    .max_arguments = CLI_MAX_ARGUMENTS,
    .run = run_plot,
};
