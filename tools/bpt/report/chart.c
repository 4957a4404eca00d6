// Line charts as SVG text (see chart.h).
#include "tools/bpt/report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/report/sort.h"
#include "tools/bpt/report/svg.h"

enum { LEFT = 76, RIGHT = 24, TOP = 20, LEGEND_LINE = 20, BOTTOM = 52, GAP = 40, SMOOTH_FROM = 80, MAX_TICKS = 16 };

// Colours that people with the usual colour blindnesses tell apart (Okabe and Ito 2008).
static const char *const palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b4c9a", "#444444"};
static const char *colour_of(int colour) { return palette[(size_t)colour % BPT_COUNT(palette)]; }

bpt_status_t chart_add_series(chart_panel_t *panel, int colour, chart_style_t style, chart_series_t **out) {
    BPT_TRY(bpt_grow(&panel->series, panel->n, &panel->capacity, sizeof *panel->series));
    panel->series[panel->n] = (chart_series_t){.colour = colour, .style = style};
    *out = &panel->series[panel->n++];
    return BPT_OK;
}

bpt_status_t chart_add_point(chart_series_t *s, double x, double y) {
    size_t capacity = s->capacity;
    BPT_TRY(bpt_grow(&s->x, s->n, &capacity, sizeof *s->x));
    BPT_TRY(bpt_grow(&s->y, s->n, &s->capacity, sizeof *s->y));
    s->x[s->n] = x;
    s->y[s->n++] = y;
    return BPT_OK;
}

bpt_status_t chart_add_legend(chart_t *chart, const char *text) {
    BPT_TRY(bpt_grow(&chart->legend, chart->n_legend, &chart->legend_capacity, sizeof *chart->legend));
    BPT_TRY(bpt_strdup(text, &chart->legend[chart->n_legend]));
    ++chart->n_legend;
    return BPT_OK;
}

void chart_free(chart_t *chart) {
    for (int p = 0; p < chart->n_panels; ++p) {
        for (size_t i = 0; i < chart->panel[p].n; ++i) {
            bpt_free(chart->panel[p].series[i].x);
            bpt_free(chart->panel[p].series[i].y);
        }
        bpt_free(chart->panel[p].series);
    }
    for (size_t i = 0; i < chart->n_legend; ++i) bpt_free(chart->legend[i]);
    bpt_free(chart->legend);
}

// ---- Axes -------------------------------------------------------------------------------------------------------------
typedef struct {
    double min, max, step;
    bool log;  // min and max are logarithms
} axis_t;

typedef struct {
    axis_t x, y;
    double left, top, width, height;
} frame_t;

static double nice_step(double span, int parts) {
    const double raw = span / parts, power = pow(10, floor(log10(raw))), leading = raw / power;
    return power * (leading <= 1 ? 1 : leading <= 2 ? 2 : leading <= 5 ? 5 : 10);
}

// An axis that covers min..max. `whole`: begin and end on a tick.
static axis_t axis_for(double min, double max, int parts, bool whole) {
    if (!(min <= max)) min = 0, max = 1;  // no point at all
    if (max - min < 1e-12 * fmax(1, fabs(max))) {
        const double margin = max != 0 ? fabs(max) * 0.1 : 1;
        min -= margin, max += margin;
    }
    const double step = nice_step(max - min, parts);
    return whole ? (axis_t){floor(min / step + 1e-9) * step, ceil(max / step - 1e-9) * step, step} : (axis_t){min, max, step};
}

// All ticks of an axis share one unit, but for powers of ten.
static void tick_text(double value, const axis_t *axis, char *buffer, size_t bytes) {
    if (axis->log) {
        snprintf(buffer, bytes,
                 value >= 1e9   ? "%gG"
                 : value >= 1e6 ? "%gM"
                 : value >= 1e4 ? "%gk"
                                : "%g",
                 value / (value >= 1e9   ? 1e9
                          : value >= 1e6 ? 1e6
                          : value >= 1e4 ? 1e3
                                         : 1));
        return;
    }
    const double size = fmax(fabs(axis->min), fabs(axis->max)), step = axis->step;
    const char *unit = size >= 1e9 ? "G" : size >= 1e6 ? "M" : size >= 1e4 ? "k" : "";
    const double scale = *unit == 'G' ? 1e9 : *unit == 'M' ? 1e6 : *unit == 'k' ? 1e3 : 1;
    int digits = 0;
    while (digits < 6 && fabs(step / scale - round(step / scale * pow(10, digits)) / pow(10, digits)) > 1e-9 * (step / scale)) ++digits;
    if (fabs(value) < step * 1e-6) value = 0;
    snprintf(buffer, bytes, "%.*f%s", digits, value / scale, value == 0 ? "" : unit);
}

static double on_axis(const axis_t *a, double value) { return ((a->log ? log10(value) : value) - a->min) / (a->max - a->min); }
static double place_x(const frame_t *f, double x) { return f->left + on_axis(&f->x, x) * f->width; }
static double place_y(const frame_t *f, double y) { return f->top + f->height - on_axis(&f->y, y) * f->height; }

// An axis in powers of ten around min..max, both above 0.
static axis_t log_axis(double min, double max) {
    if (!(min > 0 && min <= max)) min = 1, max = 10;
    if (max < 1.001 * min) min /= 2, max *= 2;
    return (axis_t){.min = log10(min) - 0.02, .max = log10(max) + 0.02, .log = true};
}

// The first tick at or after `value`, in the unit of the axis: 1, 2 and 5 in each power of ten, or the powers alone where there are many.
static double next_tick(const axis_t *a, double value) {
    if (!a->log) return ceil(value / a->step - 1e-9) * a->step;
    const double power = pow(10, floor(log10(value) + 1e-9)), leading = value / power * (1 - 1e-9);
    if (a->max - a->min > 3) return leading <= 1 ? power : 10 * power;
    return power * (leading <= 1 ? 1 : leading <= 2 ? 2 : leading <= 5 ? 5 : 10);
}
static double first_tick(const axis_t *a) { return next_tick(a, a->log ? pow(10, a->min) : a->min); }
static double tick_after(const axis_t *a, double tick) { return a->log ? next_tick(a, tick * 1.01) : tick + a->step; }
static bool has_tick(const axis_t *a, double tick) { return a->log ? log10(tick) <= a->max : tick <= a->max + 1e-9 * a->step; }

static bpt_status_t write_axes(const frame_t *f, const char *title, const char *x_title, bpt_strbuf_t *out) {
    char label[40];
    for (double y = first_tick(&f->y); has_tick(&f->y, y); y = tick_after(&f->y, y)) {
        const double at = place_y(f, y);
        BPT_TRY(bpt_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, at, f->width));
        tick_text(y, &f->y, label, sizeof label);
        BPT_TRY(svg_text(out, f->left - 8, at + 4, "text-anchor=\"end\"", label));
    }
    for (double x = first_tick(&f->x); has_tick(&f->x, x); x = tick_after(&f->x, x)) {
        const double at = place_x(f, x);
        BPT_TRY(bpt_strbuf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n", at, f->top, f->height));
        tick_text(x, &f->x, label, sizeof label);
        if (x_title) BPT_TRY(svg_text(out, at, f->top + f->height + 18, "text-anchor=\"middle\"", label));
    }
    BPT_TRY(bpt_strbuf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fv%.1fh%.1f\"/>\n", f->left, f->top, f->height, f->width));
    char attributes[96];
    const double middle = f->top + f->height / 2;
    snprintf(attributes, sizeof attributes, "text-anchor=\"middle\" class=\"title\" transform=\"rotate(-90 18 %.1f)\"", middle);
    BPT_TRY(svg_text(out, 18, middle, attributes, title));
    if (!x_title) return BPT_OK;
    return svg_text(out, f->left + f->width / 2, f->top + f->height + 38, "text-anchor=\"middle\" class=\"title\"", x_title);
}

// ---- Series -----------------------------------------------------------------------------------------------------------
static bpt_status_t begin_path(bpt_strbuf_t *out, const char *css, int colour) {
    return bpt_strbuf_printf(out, "<path class=\"%s\" stroke=\"%s\" d=\"", css, colour_of(colour));
}

// At most one point a pixel: the mean of the points that share it.
static bpt_status_t write_raw(const frame_t *f, const chart_series_t *s, const char *css, bpt_strbuf_t *out) {
    BPT_TRY(begin_path(out, css, s->colour));
    char command = 'M';
    for (size_t i = 0; i < s->n;) {
        const double pixel = floor(place_x(f, s->x[i]));
        double x = 0, y = 0;
        size_t count = 0;
        for (; i < s->n && floor(place_x(f, s->x[i])) == pixel; ++i, ++count) x += s->x[i], y += s->y[i];
        BPT_TRY(bpt_strbuf_printf(out, "%c%.1f %.1f", command, place_x(f, x / (double)count), place_y(f, y / (double)count)));
        command = 'L';
    }
    return bpt_strbuf_printf(out, "\"/>\n");
}

// Mean over a centred window of a fortieth of the points, shorter at both ends.
static bpt_status_t write_smooth(const frame_t *f, const chart_series_t *s, bpt_strbuf_t *out) {
    const size_t half = s->n / 80 + 1, stride = s->n / 600 + 1;
    BPT_TRY(begin_path(out, "line", s->colour));
    for (size_t i = 0; i < s->n; i += stride) {
        const size_t reach = i < half ? i : s->n - 1 - i < half ? s->n - 1 - i : half;
        double sum = 0;
        for (size_t j = i - reach; j <= i + reach; ++j) sum += s->y[j];
        BPT_TRY(bpt_strbuf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', place_x(f, s->x[i]), place_y(f, sum / (double)(2 * reach + 1))));
    }
    return bpt_strbuf_printf(out, "\"/>\n");
}

static bpt_status_t write_points(const frame_t *f, const chart_series_t *s, bpt_strbuf_t *out) {
    BPT_TRY(write_raw(f, s, "dash", out));
    for (size_t i = 0; i < s->n; ++i)
        BPT_TRY(bpt_strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"#fff\" stroke=\"%s\" stroke-width=\"1.8\"/>\n",
                                  place_x(f, s->x[i]), place_y(f, s->y[i]), colour_of(s->colour)));
    return BPT_OK;
}

static bpt_status_t write_series(const frame_t *f, const chart_series_t *s, bpt_strbuf_t *out) {
    if (!s->n) return BPT_OK;
    if (s->style == CHART_POINTS) return write_points(f, s, out);
    if (s->n < SMOOTH_FROM) return write_raw(f, s, "line", out);
    BPT_TRY(write_raw(f, s, "faint", out));
    return write_smooth(f, s, out);
}

// ---- The picture ------------------------------------------------------------------------------------------------------
static void widen(const double *values, size_t n, double *min, double *max) {
    for (size_t i = 0; i < n; ++i) *min = fmin(*min, values[i]), *max = fmax(*max, values[i]);
}

static axis_t common_x(const chart_t *chart) {
    double min = INFINITY, max = -INFINITY;
    for (int p = 0; p < chart->n_panels; ++p)
        for (size_t i = 0; i < chart->panel[p].n; ++i) widen(chart->panel[p].series[i].x, chart->panel[p].series[i].n, &min, &max);
    return chart->log_x ? log_axis(min, max) : axis_for(fmin(min, 0), max, chart->width / 110, false);
}

// The first steps of a long run are far above all others: when a few points need more than half of the height they are cut off.
static bpt_status_t upper_end(const chart_panel_t *panel, double min, double *max) {
    size_t n = 0;
    for (size_t i = 0; i < panel->n; ++i) n += panel->series[i].n;
    if (n < 100) return BPT_OK;
    double *all;
    BPT_TRY(bpt_alloc(n, sizeof *all, &all));
    size_t used = 0;
    for (size_t i = 0; i < panel->n; ++i) {
        memcpy(all + used, panel->series[i].y, panel->series[i].n * sizeof *all);
        used += panel->series[i].n;
    }
    cli_sort(all, n);
    const double usual = all[n - 1 - n / 33];
    bpt_free(all);
    if (*max > min + 2 * (usual - min)) *max = usual + 0.1 * (usual - min);
    return BPT_OK;
}

static bpt_status_t write_panel(const chart_panel_t *panel, int number, bool log_y, frame_t *f, const char *x_title, bpt_strbuf_t *out) {
    double min = panel->from_zero && !log_y ? 0 : INFINITY, max = -INFINITY;
    for (size_t i = 0; i < panel->n; ++i) widen(panel->series[i].y, panel->series[i].n, &min, &max);
    if (!log_y) BPT_TRY(upper_end(panel, min, &max));
    const int parts = (int)(f->height / 45);
    f->y = log_y ? log_axis(min, max) : axis_for(min, max, parts < 2 ? 2 : parts, true);
    BPT_TRY(write_axes(f, panel->title, x_title, out));
    BPT_TRY(bpt_strbuf_printf(out,
                              "<clipPath id=\"panel%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n"
                              "<g clip-path=\"url(#panel%d)\">\n",
                              number, f->left - 4, f->top - 4, f->width + 8, f->height + 8, number));
    for (size_t i = 0; i < panel->n; ++i) BPT_TRY(write_series(f, &panel->series[i], out));
    return bpt_strbuf_printf(out, "</g>\n");
}

static bpt_status_t write_legend(const chart_t *chart, bpt_strbuf_t *out) {
    for (size_t i = 0; i < chart->n_legend; ++i) {
        const double y = TOP + LEGEND_LINE * (double)i;
        BPT_TRY(begin_path(out, "line", (int)i));
        BPT_TRY(bpt_strbuf_printf(out, "M%d %.1fh22\"/>\n", LEFT, y));
        BPT_TRY(svg_text(out, LEFT + 30, y + 4, "", chart->legend[i]));
    }
    return BPT_OK;
}

// Points that a logarithmic axis cannot show.
static void drop_points(const chart_t *chart) {
    for (int p = 0; p < chart->n_panels; ++p)
        for (size_t i = 0; i < chart->panel[p].n; ++i) {
            chart_series_t *s = &chart->panel[p].series[i];
            size_t kept = 0;
            for (size_t k = 0; k < s->n; ++k)
                if ((!chart->log_x || s->x[k] > 0) && (!chart->log_y || s->y[k] > 0)) s->x[kept] = s->x[k], s->y[kept++] = s->y[k];
            s->n = kept;
        }
}

bpt_status_t chart_write(const chart_t *chart, bpt_strbuf_t *out) {
    drop_points(chart);
    BPT_TRY(svg_open(chart->width, chart->height, out));
    BPT_TRY(write_legend(chart, out));
    const double top = TOP + LEGEND_LINE * (double)chart->n_legend;
    const double room = chart->height - top - BOTTOM - GAP * (chart->n_panels - 1);
    double shares = 0;
    for (int p = 0; p < chart->n_panels; ++p) shares += chart->panel[p].share;
    frame_t f = {.x = common_x(chart), .left = LEFT, .top = top, .width = chart->width - LEFT - RIGHT};
    for (int p = 0; p < chart->n_panels; ++p) {
        f.height = room * chart->panel[p].share / shares;
        BPT_TRY(write_panel(&chart->panel[p], p, chart->log_y, &f, p + 1 == chart->n_panels ? chart->x_title : NULL, out));
        f.top += f.height + GAP;
    }
    return bpt_strbuf_printf(out, "</svg>\n");
}
