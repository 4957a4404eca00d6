// A picture of lines of JSON, such as those of `bpt bench --json` and `bpt eval --json`: one number against another, a curve for each value
// of further keys. Knows no runs.
#ifndef BPT_TOOLS_PLOT_LINES_H
#define BPT_TOOLS_PLOT_LINES_H

#include "tools/bpt/report/chart.h"

typedef struct {
    const char *path;   // "-": the standard input
    const char *x, *y;  // keys of numbers
    const char *by;     // keys with commas between them; "": one curve
    bool zoom;          // the y axis begins at the smallest value instead of at 0
} cli_plot_lines_t;

// Adds a panel with the curves, points in the order of x; lines without one of the keys are left out. BPT_ERR_INPUT with file and line for
// what is no JSON object, or when no line has both numbers.
bpt_status_t cli_plot_lines(const cli_plot_lines_t *lines, chart_t *chart) BPT_MUST_USE;

#endif
