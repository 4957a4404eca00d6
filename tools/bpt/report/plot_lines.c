// A picture of lines of JSON (see plot_lines.h).
#include "tools/bpt/report/plot_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "data/text/text.h"

enum { NAME_BYTES = 160 };

typedef struct {
    char name[NAME_BYTES];  // "k = 4, model = star"
    double x, y;
    size_t order;  // in the file
} point_t;

typedef struct {
    point_t *items;
    size_t count, capacity;
} points_t;

// What tells the curve of a line from others. A key that the line does not have is left out.
static void name_curve(const json_t *object, const char *by, char name[NAME_BYTES]) {
    *name = 0;
    for (const char *key = by; *key;) {
        const size_t length = strcspn(key, ","), used = strlen(name);
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)length, key);
        key += length + (key[length] == ',');
        const json_t *item = json_object_get(object, text);
        if (!item) continue;
        char *value = json_is_string(item) ? strdup(json_string_value(item)) : json_dumps(item, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        snprintf(name + used, NAME_BYTES - used, "%s%s = %s", used ? ", " : "", text, value ? value : "");
        free(value);
    }
}

static bpt_status_t add_line(const cli_plot_lines_t *p, const bpt_range_t *line, points_t *points) {
    json_error_t error;
    json_t *object = json_loadb(line->data, line->bytes, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object)) {
        json_decref(object);
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu is no JSON object; lines such as those of bpt bench --json are needed", line->path,
                        (unsigned long long)line->line);
    }
    const json_t *x = json_object_get(object, p->x), *y = json_object_get(object, p->y);
    bpt_status_t status = BPT_OK;
    if (json_is_number(x) && json_is_number(y)) {
        status = bpt_grow(&points->items, points->count, &points->capacity, sizeof *points->items);
        if (status == BPT_OK) {
            point_t *point = &points->items[points->count];
            *point = (point_t){.x = json_number_value(x), .y = json_number_value(y), .order = points->count};
            name_curve(object, p->by, point->name);
            ++points->count;
        }
    }
    json_decref(object);
    return status;
}

static bpt_status_t read_points(const cli_plot_lines_t *p, points_t *points) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(p->path, &text));
    bpt_range_t rest = bpt_text_range(text), line;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        status = bpt_range_check_line(&line);
        if (status == BPT_OK && line.bytes) status = add_line(p, &line, points);
    }
    bpt_text_close(text);
    if (status == BPT_OK && !points->count)
        status =
            bpt_fail(BPT_ERR_INPUT, "%s: no line has numbers \"%s\" and \"%s\"; --x and --y name keys of its objects", p->path, p->x, p->y);
    return status;
}

// By the place of the curve in the file, then by x.
static int by_x(const void *a, const void *b) {
    const point_t *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->order < q->order ? -1 : p->order > q->order;
}

static bpt_status_t add_curve(chart_t *chart, chart_panel_t *panel, const points_t *points, const char *name, int colour) {
    chart_series_t *series;
    BPT_TRY(chart_add_series(panel, colour, CHART_POINTS, &series));
    for (size_t i = 0; i < points->count; ++i)
        if (!strcmp(points->items[i].name, name)) BPT_TRY(chart_add_point(series, points->items[i].x, points->items[i].y));
    return chart_add_legend(chart, *name ? name : panel->title);
}

static bpt_status_t add_curves(chart_t *chart, chart_panel_t *panel, points_t *points) {
    char(*names)[NAME_BYTES] = NULL;
    size_t n = 0, capacity = 0;
    bpt_status_t status = BPT_OK;
    for (size_t i = 0, k; i < points->count && status == BPT_OK; ++i) {  // in the order of the file
        for (k = 0; k < n && strcmp(names[k], points->items[i].name); ++k) {
        }
        if (k < n) continue;
        status = bpt_grow(&names, n, &capacity, sizeof *names);
        if (status == BPT_OK) memcpy(names[n++], points->items[i].name, NAME_BYTES);
    }
    if (status == BPT_OK) qsort(points->items, points->count, sizeof *points->items, by_x);
    for (size_t i = 0; i < n && status == BPT_OK; ++i) status = add_curve(chart, panel, points, names[i], (int)i);
    bpt_free(names);
    return status;
}

bpt_status_t cli_plot_lines(const cli_plot_lines_t *p, chart_t *chart) {
    points_t points = {0};
    chart_panel_t *panel = &chart->panel[chart->n_panels++];
    *panel = (chart_panel_t){.title = p->y, .share = 1, .from_zero = !p->zoom};
    chart->x_title = p->x;
    bpt_status_t status = read_points(p, &points);
    if (status == BPT_OK) status = add_curves(chart, panel, &points);
    bpt_free(points.items);
    return status;
}
