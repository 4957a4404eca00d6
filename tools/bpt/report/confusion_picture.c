// A picture of a confusion (see confusion_picture.h).
#include "tools/bpt/report/confusion_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/json.h"
#include "data/text/text.h"
#include "tools/bpt/report/svg.h"

enum { LEFT = 130, TOP = 50, RIGHT = 24, BOTTOM = 110, SHOWN_BYTES = 16, MOST_NUMBERS = 24, MOST_NAMES = 60 };

typedef struct {
    const json_t *labels, *counts;
    size_t n;
} confusion_t;

// ---- Reading

static bpt_status_t no_confusion(const bpt_range_t *line, const char *what) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: \"confusion\" %s; lines that bpt eval --json wrote have it", line->path,
                    (unsigned long long)line->line, what);
}

static bool is_row(const json_t *row, size_t n) {
    if (!json_is_array(row) || json_array_size(row) != n) return false;
    for (size_t i = 0; i < n; ++i)
        if (!json_is_integer(json_array_get(row, i)) || json_integer_value(json_array_get(row, i)) < 0) return false;
    return true;
}

static bpt_status_t check(const json_t *of, const bpt_range_t *line, confusion_t *c) {
    c->labels = json_object_get(of, "labels");
    c->counts = json_object_get(of, "counts");
    c->n = json_array_size(c->labels);
    if (!c->n || json_array_size(c->counts) != c->n) return no_confusion(line, "needs as many lists in \"counts\" as names in \"labels\"");
    for (size_t i = 0; i < c->n; ++i) {
        if (!json_is_string(json_array_get(c->labels, i))) return no_confusion(line, "has a label that is no text");
        if (!is_row(json_array_get(c->counts, i), c->n)) return no_confusion(line, "needs a count, 0 or more, for every pair of labels");
    }
    return BPT_OK;
}

// The first line that has a confusion; *out is released with json_decref.
static bpt_status_t find(const bpt_text_t *text, confusion_t *c, json_t **out) {
    bpt_range_t rest = bpt_text_range(text), line;
    while (bpt_range_next_line(&rest, &line)) {
        json_t *object = NULL;
        BPT_TRY(bpt_json_parse_line(line.data, line.bytes, line.path, line.line, &object));
        const json_t *of = json_object_get(object, "confusion");
        *out = object;
        if (of) return check(of, &line, c);
        if (!json_is_object(object))
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu is no JSON object; lines that bpt eval --json wrote are needed", line.path,
                            (unsigned long long)line.line);
        json_decref(object);
        *out = NULL;
    }
    return bpt_fail(BPT_ERR_INPUT, "%s: no line has a \"confusion\"; bpt eval --json writes it for classifiers, pairs and taggers",
                    bpt_text_range(text).path);
}

// ---- Drawing

static int64_t count_at(const confusion_t *c, size_t wanted, size_t found) {
    return json_integer_value(json_array_get(json_array_get(c->counts, wanted), found));
}

static double row_sum(const confusion_t *c, size_t wanted) {
    double sum = 0;
    for (size_t f = 0; f < c->n; ++f) sum += (double)count_at(c, wanted, f);
    return sum;
}

// A name in as many bytes as fit, whole characters.
static void shown(const confusion_t *c, size_t label, char name[SHOWN_BYTES + 8]) {
    const char *all = json_string_value(json_array_get(c->labels, label));
    size_t bytes = strlen(all);
    if (bytes > SHOWN_BYTES)
        for (bytes = SHOWN_BYTES; bytes && (all[bytes] & 0xc0) == 0x80;) --bytes;
    snprintf(name, SHOWN_BYTES + 8, "%.*s%s", (int)bytes, all, all[bytes] ? "…" : "");
}

// White for nothing to blue for the whole row.
static bpt_status_t write_cell(bpt_strbuf_t *out, double x, double y, double side, double share) {
    return bpt_strbuf_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%02x%02x%02x\"/>\n", x, y, side, side,
                             (int)lround(255 - 255 * share), (int)lround(255 - 141 * share), (int)lround(255 - 77 * share));
}

static bpt_status_t write_row(const confusion_t *c, size_t wanted, double side, bpt_strbuf_t *out) {
    const double sum = row_sum(c, wanted), y = TOP + side * (double)wanted;
    for (size_t f = 0; f < c->n; ++f) {
        const int64_t count = count_at(c, wanted, f);
        const double share = sum > 0 ? (double)count / sum : 0, x = LEFT + side * (double)f;
        char text[32], attributes[80];
        if (count) BPT_TRY(write_cell(out, x, y, side, share));
        if (c->n > MOST_NUMBERS) continue;
        snprintf(text, sizeof text, "%lld", (long long)count);
        snprintf(attributes, sizeof attributes, "text-anchor=\"middle\" style=\"fill:%s\"", share > 0.5 ? "#fff" : "#222");
        BPT_TRY(svg_text(out, x + side / 2, y + side / 2 + 4, attributes, text));
    }
    return BPT_OK;
}

// Names of rows at the left, of columns below, turned.
static bpt_status_t write_names(const confusion_t *c, double side, bpt_strbuf_t *out) {
    const size_t step = 1 + (c->n - 1) / MOST_NAMES;
    for (size_t l = 0; l < c->n; l += step) {
        const double at = side * (double)l + side / 2, below = TOP + side * (double)c->n + 14;
        char name[SHOWN_BYTES + 8], turned[120];
        shown(c, l, name);
        snprintf(turned, sizeof turned, "text-anchor=\"end\" transform=\"rotate(-45 %.1f %.1f)\"", LEFT + at + 4, below);
        BPT_TRY(svg_text(out, LEFT - 8, TOP + at + 4, "text-anchor=\"end\"", name));
        BPT_TRY(svg_text(out, LEFT + at + 4, below, turned, name));
    }
    return BPT_OK;
}

static bpt_status_t draw(const confusion_t *c, int width, int height, bpt_strbuf_t *out) {
    const double across = width - LEFT - RIGHT, down = height - TOP - BOTTOM;
    const double side = (across < down ? across : down) / (double)c->n, edge = side * (double)c->n;
    BPT_TRY(svg_open(width, height, out));
    BPT_TRY(svg_text(out, LEFT, TOP - 26, "class=\"title\"", "rows: labels of the data; columns: labels given"));
    BPT_TRY(svg_text(out, LEFT, TOP - 10, "", "the darker a cell, the larger a part of its row"));
    for (size_t w = 0; w < c->n; ++w) BPT_TRY(write_row(c, w, side, out));
    BPT_TRY(bpt_strbuf_printf(out, "<path class=\"axis\" d=\"M%d %dh%.2fv%.2fh%.2fz\"/>\n", LEFT, TOP, edge, edge, -edge));
    BPT_TRY(write_names(c, side, out));
    return bpt_strbuf_printf(out, "</svg>\n");
}

bpt_status_t cli_confusion_picture(const char *path, int width, int height, bpt_strbuf_t *out) {
    bpt_text_t *text = NULL;
    json_t *object = NULL;
    confusion_t confusion = {0};
    bpt_status_t status = bpt_text_open(path, &text);
    if (status == BPT_OK) status = find(text, &confusion, &object);
    if (status == BPT_OK) status = draw(&confusion, width, height, out);
    json_decref(object);
    bpt_text_close(text);
    return status;
}
