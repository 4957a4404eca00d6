// The picture of an attention graph: its adjacency matrix as SVG, queries downwards, keys to the right, levels apart and in
// their own colours. When a graph has more nodes than the picture has cells, a cell stands for `scale` nodes each way and
// its strength for the share of possible edges in it. Memory: one byte a cell, whatever the graph's size.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "core/intervals/writer.h"

enum {
    MOST_CELLS = 288,  // each way: keeps the file below 2 MB even when no two neighbouring cells are alike
    STRENGTHS = 6,     // steps of opacity
    GAP = 5,           // pixels between levels
    LEFT = 116,        // of the matrix
    TOP = 104,
    LEGEND = 190,      // width
    LINE = 19,         // of the legend
    AXIS_TITLE = 176,  // pixels of text
};
enum { COLOUR_SELF, COLOUR_SPAN, COLOUR_LEVEL, COLOURS = COLOUR_LEVEL + BPT_MAX_LEVELS };

static const char *const level_colours[] = {"#2166c4", "#d9730d", "#1f8f4d", "#c2307d", "#7552c0", "#a0790a", "#158f9c", "#b5362b"};

typedef struct {
    const bpt_intervals_t *g;
    int levels;
    int64_t scale;                       // nodes a cell, each way
    int pixels;                          // size of a cell
    int cells;                           // each way
    int first_cell[BPT_MAX_LEVELS + 2];  // of a level
    int64_t first_node[BPT_MAX_LEVELS + 2];
    uint8_t *cell;  // [cells, cells]: 0 = no edge, else 1 + colour * STRENGTHS + strength
} picture_t;

static const char *colour_of(int colour) {
    if (colour == COLOUR_SELF) return "#1a1a1a";
    if (colour == COLOUR_SPAN) return "#7d8794";
    return level_colours[(colour - COLOUR_LEVEL) % (int)BPT_COUNT(level_colours)];
}

// ---- From nodes to cells ------------------------------------------------------------------------------------------------

static int lay_out(picture_t *p) {
    int cells = 0;
    int64_t nodes = 0;
    for (int level = 0; level < p->levels; ++level) {
        const int64_t size = bpt_tree_level_size(p->g, level);
        p->first_cell[level] = cells;
        p->first_node[level] = nodes;
        const int64_t more = (size + p->scale - 1) / p->scale;
        if (more > MOST_CELLS) return MOST_CELLS + 1;
        cells += (int)more;
        nodes += size;
    }
    p->first_cell[p->levels] = cells;
    p->first_node[p->levels] = nodes;
    return cells;
}

static void choose_scale(picture_t *p) {
    p->levels = bpt_tree_levels(p->g);
    for (p->scale = 1; lay_out(p) > MOST_CELLS; p->scale *= 2) {
    }
    p->cells = lay_out(p);
    const int fit = 720 / p->cells;
    p->pixels = fit < 3 ? 3 : fit > 26 ? 26 : fit;
}

static int level_of_cell(const picture_t *p, int cell) {
    int level = 0;
    while (cell >= p->first_cell[level + 1]) ++level;
    return level;
}

static int level_of_node(const picture_t *p, int64_t node) {
    int level = 0;
    while (node >= p->first_node[level + 1]) ++level;
    return level;
}

static int cell_of_node(const picture_t *p, int level, int64_t node) {
    return p->first_cell[level] + (int)((node - p->first_node[level]) / p->scale);
}

static int64_t first_node_of_cell(const picture_t *p, int level, int cell) {
    return p->first_node[level] + (cell - p->first_cell[level]) * p->scale;
}

static int64_t nodes_of_cell(const picture_t *p, int cell) {
    const int level = level_of_cell(p, cell);
    const int64_t left = p->first_node[level + 1] - first_node_of_cell(p, level, cell);
    return left < p->scale ? left : p->scale;
}

// Adds the keys of one query to the edges of its row of cells: `edges` counts the partly covered cells at both ends, `full` is
// where runs of fully covered cells begin (+1) and end (-1), so that a slot costs the same however long it is.
static void add_slot(const picture_t *p, const bpt_slot_t *slot, int64_t *edges, int64_t *full) {
    const int level = level_of_node(p, slot->begin);
    const int first = cell_of_node(p, level, slot->begin), last = cell_of_node(p, level, slot->end - 1);
    if (first == last) {
        edges[first] += slot->end - slot->begin;
        return;
    }
    edges[first] += first_node_of_cell(p, level, first + 1) - slot->begin;
    edges[last] += slot->end - first_node_of_cell(p, level, last);
    ++full[first + 1];
    --full[last];
}

static uint8_t shade(const picture_t *p, int row, int column, int64_t edges) {
    if (edges == 0) return 0;
    const double share = (double)edges / ((double)nodes_of_cell(p, row) * (double)nodes_of_cell(p, column));
    int strength = (int)ceil(sqrt(share) * STRENGTHS);  // the root lets sparse cells be seen
    if (strength > STRENGTHS) strength = STRENGTHS;
    int colour = level_of_cell(p, row) > 0 ? COLOUR_SPAN : COLOUR_LEVEL + level_of_cell(p, column);
    if (row == column && p->scale == 1) colour = COLOUR_SELF;
    return (uint8_t)(1 + colour * STRENGTHS + strength - 1);
}

static void fill_cells(picture_t *p) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    for (int row = 0; row < p->cells; ++row) {
        int64_t edges[MOST_CELLS + 1] = {0}, full[MOST_CELLS + 1] = {0}, covered = 0;
        const int64_t begin = first_node_of_cell(p, level_of_cell(p, row), row), end = begin + nodes_of_cell(p, row);
        for (int64_t query = begin; query < end; ++query) {
            const int count = bpt_intervals_keys(p->g, p->g->n, query, slots);
            for (int s = 0; s < count; ++s) add_slot(p, &slots[s], edges, full);
        }
        for (int column = 0; column < p->cells; ++column) {
            covered += full[column];
            p->cell[row * p->cells + column] = shade(p, row, column, edges[column] + covered * nodes_of_cell(p, column));
        }
    }
}

// ---- From cells to pixels ------------------------------------------------------------------------------------------------

static int position(const picture_t *p, int cell) { return cell * p->pixels + level_of_cell(p, cell) * GAP; }
static int extent(const picture_t *p) { return p->cells * p->pixels + (p->levels - 1) * GAP; }
static int level_begin(const picture_t *p, int level) { return p->first_cell[level] * p->pixels + level * GAP; }
static int level_extent(const picture_t *p, int level) { return (p->first_cell[level + 1] - p->first_cell[level]) * p->pixels; }

static void put_background(const picture_t *p, writer_t *w) {
    for (int row = 0; row < p->levels; ++row)
        for (int column = 0; column < p->levels; ++column)
            bpt_writer_put(w, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f0f1f4\"/>\n", level_begin(p, column),
                           level_begin(p, row), level_extent(p, column), level_extent(p, row));
}

// One path for all cells of a colour and strength; neighbours in a row are one rectangle.
static void put_cells(const picture_t *p, writer_t *w) {
    for (int kind = 1; kind <= COLOURS * STRENGTHS; ++kind) {
        const int percent = 35 + 13 * ((kind - 1) % STRENGTHS);
        bool open = false;
        for (int row = 0; row < p->cells; ++row)
            for (int column = 0, end; column < p->cells; column = end) {
                const int level = level_of_cell(p, column);
                const uint8_t *cell = p->cell + row * p->cells;
                for (end = column + 1; end < p->first_cell[level + 1] && cell[end] == cell[column];) ++end;
                if (cell[column] != kind) continue;
                if (!open)
                    bpt_writer_put(w, "<path fill=\"%s\" fill-opacity=\"%d.%02d\" d=\"", colour_of((kind - 1) / STRENGTHS), percent / 100,
                                   percent % 100);
                open = true;
                bpt_writer_put(w, "M%d %dh%dv%dh-%dz", position(p, column), position(p, row), (end - column) * p->pixels, p->pixels,
                               (end - column) * p->pixels);
            }
        if (open) bpt_writer_put(w, "\"/>\n");
    }
}

// Thin lines between the nodes of small graphs.
static void put_cell_borders(const picture_t *p, writer_t *w) {
    if (p->pixels < 9 || p->scale > 1) return;
    bpt_writer_put(w, "<path stroke=\"#fff\" fill=\"none\" d=\"");
    for (int cell = 0; cell < p->cells; ++cell)
        bpt_writer_put(w, "M%d 0v%dM0 %dh%d", position(p, cell), extent(p), position(p, cell), extent(p));
    bpt_writer_put(w, "\"/>\n");
}

// Writes the name of a level, shortened to its number where the level is narrow; returns half the pixels it takes.
static int level_name(const picture_t *p, int level, char name[24]) {
    if (level == 0 || (level == p->levels - 1 && (!p->g->trimmed || p->g->root))) {
        snprintf(name, 24, level == 0 ? "leaves" : "root");
        return 17;
    }
    const bool wide = level_extent(p, level) >= 50;
    snprintf(name, 24, wide ? "level %d" : "%d", level);
    return wide ? 22 : 8;
}

// Levels whose name would run into the one before, or into the root's, have none.
static void put_level_names(const picture_t *p, bool downwards, writer_t *w) {
    const int root = p->levels - 1, root_name = level_begin(p, root) + level_extent(p, root) / 2 - 17;
    for (int level = 0, used = 0; level < p->levels; ++level) {
        char name[24];
        const int half = level_name(p, level, name), middle = level_begin(p, level) + level_extent(p, level) / 2;
        if (level > 0 && (middle - half < used || (level < root && middle + half > root_name))) continue;
        used = middle + half;
        bpt_writer_put(w, downwards ? "<text transform=\"translate(-64 %d) rotate(-90)\"" : "<text x=\"%d\" y=\"-24\"", middle);
        bpt_writer_put(w, " text-anchor=\"middle\">%s</text>\n", name);
    }
}

// Numbers of leaves, a power of two apart.
static void put_ticks(const picture_t *p, bool downwards, writer_t *w) {
    const int room = p->g->n <= 100 ? 18 : p->g->n < 10000 ? 40 : 54, centre = p->scale == 1 ? p->pixels / 2 : 0;
    int64_t step = p->scale;
    while (step / p->scale * p->pixels < room) step *= 2;
    for (int64_t leaf = 0; leaf < p->g->n; leaf += step) {
        const int at = (int)(leaf / p->scale) * p->pixels + centre;
        if (downwards)
            bpt_writer_put(w, "<path d=\"M-6 %dh4\" class=\"line\"/><text x=\"-8\" y=\"%d\" text-anchor=\"end\"", at, at + 4);
        else
            bpt_writer_put(w, "<path d=\"M%d -6v4\" class=\"line\"/><text x=\"%d\" y=\"-9\" text-anchor=\"middle\"", at, at);
        bpt_writer_put(w, " class=\"tick\">%" PRId64 "</text>\n", leaf);
    }
}

static bool has_colour(const picture_t *p, int colour) {
    for (int i = 0; i < p->cells * p->cells; ++i)
        if (p->cell[i] && (p->cell[i] - 1) / STRENGTHS == colour) return true;
    return false;
}

static void put_legend(const picture_t *p, writer_t *w) {
    int y = 0;
    bpt_writer_put(w, "<g transform=\"translate(%d %d)\">\n", LEFT + extent(p) + 24, TOP + 4);
    for (int colour = 0; colour < COLOURS; ++colour) {
        if (!has_colour(p, colour)) continue;
        bpt_writer_put(w, "<rect y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"19\" y=\"%d\">", y, colour_of(colour), y + 10);
        if (colour == COLOUR_SELF)
            bpt_writer_put(w, "node reads itself");
        else if (colour == COLOUR_SPAN)
            bpt_writer_put(w, bpt_intervals_has_spans(p->g) ? "span reads its leaves" : "root reads the leaves");
        else if (colour == COLOUR_LEVEL)
            bpt_writer_put(w, "leaf reads leaves");
        else
            bpt_writer_put(w, "leaf reads level %d", colour - COLOUR_LEVEL);
        bpt_writer_put(w, "</text>\n");
        y += LINE;
    }
    bpt_writer_put(w, "</g>\n");
}

static void put_picture(const picture_t *p, writer_t *w) {
    char title[BPT_INTERVALS_TITLE_SIZE];
    int64_t all, contextual;
    bpt_intervals_title(p->g, title);
    bpt_intervals_count(p->g, p->g->n, &all, &contextual);
    const int size = extent(p), width = LEFT + size + LEGEND < 560 ? 560 : LEFT + size + LEGEND;
    const int legend = LINE * (p->levels + 3), tall = size > legend ? size : legend,
              height = TOP + (tall > AXIS_TITLE ? tall : AXIS_TITLE) + 16;
    bpt_writer_put(w,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                   "font-size=\"12\">\n",
                   width, height, width, height);
    bpt_writer_put(w, "<title>%s</title>\n<style>.tick{font-size:10px;fill:#555}.line{stroke:#888;fill:none}</style>\n", title);
    bpt_writer_put(
        w,
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">%s</text>\n",
        title);
    bpt_writer_put(w, "<text x=\"16\" y=\"43\" fill=\"#444\">%" PRId64 " edge%s, %" PRId64 " of them contextual", all, all == 1 ? "" : "s",
                   contextual);
    if (p->scale > 1) bpt_writer_put(w, "; one cell: %" PRId64 " × %" PRId64 " nodes, the denser the stronger", p->scale, p->scale);
    bpt_writer_put(w, "</text>\n<text x=\"%d\" y=\"%d\" fill=\"#444\">keys: the nodes that are read</text>\n", LEFT, TOP - 40);
    bpt_writer_put(
        w, "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"end\" fill=\"#444\">queries: the nodes that read</text>\n",
        LEFT - 86, TOP);
    bpt_writer_put(w, "<g transform=\"translate(%d %d)\">\n<g shape-rendering=\"crispEdges\">\n", LEFT, TOP);
    put_background(p, w);
    put_cells(p, w);
    put_cell_borders(p, w);
    bpt_writer_put(w, "</g>\n");
    for (int downwards = 0; downwards < 2; ++downwards) {
        put_level_names(p, downwards, w);
        put_ticks(p, downwards, w);
    }
    bpt_writer_put(w, "</g>\n");
    put_legend(p, w);
    bpt_writer_put(w, "</svg>\n");
}

bpt_status_t bpt_intervals_write_svg(const bpt_intervals_t *g, writer_t *w) {
    picture_t p = {.g = g};
    choose_scale(&p);
    BPT_TRY(bpt_alloc((size_t)p.cells * (size_t)p.cells, 1, &p.cell));
    fill_cells(&p);
    put_picture(&p, w);
    bpt_free(p.cell);
    return BPT_OK;
}
