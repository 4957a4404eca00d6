// Line charts as SVG text: panels above each other with a common x axis. Knows nothing of training or files.
#ifndef BPT_TOOLS_CHART_H
#define BPT_TOOLS_CHART_H

#include "bpt/strbuf.h"

typedef enum {
    CHART_LINE,    // faint line and, over many points, a running mean
    CHART_POINTS,  // dots joined by a dashed line
} chart_style_t;

typedef struct {
    double *x, *y;  // n of each, x ascending; owned, freed by chart_free
    size_t n, capacity;
    int colour;  // the same number = the same colour
    chart_style_t style;
} chart_series_t;

typedef struct {
    const char *title;  // what the y axis shows
    chart_series_t *series;
    size_t n, capacity;
    double share;  // of the height
    bool from_zero;
} chart_panel_t;

enum { CHART_MAX_PANELS = 7 };

typedef struct {
    const char *x_title;
    int width, height;
    bool log_x, log_y;  // axes in powers of ten; points that are not above 0 are left out
    chart_panel_t panel[CHART_MAX_PANELS];
    int n_panels;
    char **legend;  // one line a colour; owned, freed by chart_free
    size_t n_legend, legend_capacity;
} chart_t;

// A new empty series of the panel, valid until the next call.
bpt_status_t chart_add_series(chart_panel_t *panel, int colour, chart_style_t style, chart_series_t **out) BPT_MUST_USE;
bpt_status_t chart_add_point(chart_series_t *series, double x, double y) BPT_MUST_USE;
bpt_status_t chart_add_legend(chart_t *chart, const char *text) BPT_MUST_USE;
// Appends the whole picture.
bpt_status_t chart_write(const chart_t *chart, bpt_strbuf_t *out) BPT_MUST_USE;
void chart_free(chart_t *chart);

#endif
