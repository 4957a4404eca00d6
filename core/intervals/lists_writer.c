// Attention graphs that are tables, as an edge list, as text and as a picture (see bpt/intervals_writer.h).
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "core/intervals/writer.h"

enum { LARGEST_MATRIX = 160, MOST_CELLS = 288, LEFT = 116, TOP = 104, GAP = 5 };

// Range `slot` of what a node reads; false: it is empty.
static bool range_of(const bpt_lists_t *l, int64_t node, int64_t slot, int64_t *begin, int64_t *end) {
    const uint32_t *entry = l->table + 4 * (node * l->slots + slot);
    *begin = entry[0], *end = entry[1];
    return *begin < *end;
}

static int64_t count_edges(const bpt_lists_t *l) {
    int64_t edges = 0, begin, end;
    for (int64_t node = 0; node < l->queries; ++node)
        for (int64_t slot = 0; slot < l->slots; ++slot)
            if (range_of(l, node, slot, &begin, &end)) edges += end - begin;
    return edges;
}

// ---- csv: sorted by key; a key that is read twice has two lines

static void write_csv(const bpt_lists_t *l, writer_t *w) {
    bpt_writer_put(w, "dst,src,rel\n");
    for (int64_t node = 0; node < l->queries; ++node) {
        int64_t begin, end, last = -1;
        for (int64_t key = -1; !w->error; last = key) {
            int64_t times = 0;
            key = INT64_MAX;
            for (int64_t slot = 0; slot < l->slots; ++slot) {
                if (!range_of(l, node, slot, &begin, &end)) continue;
                const int64_t first = begin > last ? begin : last + 1;
                if (first < end && first < key) key = first;
            }
            for (int64_t slot = 0; slot < l->slots; ++slot) times += range_of(l, node, slot, &begin, &end) && key >= begin && key < end;
            if (key == INT64_MAX) break;
            for (int64_t i = 0; i < times; ++i) bpt_writer_put(w, "%" PRId64 ",%" PRId64 ",-1\n", node, key);
        }
    }
}

// ---- text

static void write_matrix(const bpt_lists_t *l, const bpt_lists_groups_t *groups, writer_t *w) {
    bpt_writer_put(w, "\nAdjacency: rows are queries, columns are keys; o itself, x another node, digits: so many times, . no edge\n\n");
    for (int64_t node = 0; node < l->queries; ++node) {
        int64_t begin, end, key = 0;
        int times[LARGEST_MATRIX] = {0};
        for (int64_t slot = 0; slot < l->slots; ++slot)
            for (int64_t k = range_of(l, node, slot, &begin, &end) ? begin : end; k < end; ++k) ++times[k];
        bpt_writer_put(w, "%6" PRId64, node);
        for (int g = 0; g < groups->count; ++g) {
            bpt_writer_put(w, " ");
            for (int64_t i = 0; i < groups->group[g].nodes; ++i, ++key)
                bpt_writer_put(w, "%c", times[key] > 1 ? '0' + times[key] : !times[key] ? '.' : key == node ? 'o' : 'x');
        }
        bpt_writer_put(w, "\n");
    }
}

static void write_text(const bpt_lists_t *l, const bpt_lists_groups_t *groups, writer_t *w) {
    bpt_writer_put(w, "%s\n%" PRId64 " nodes, %" PRId64 " edges\n\nEvery line: node number, then the ranges of nodes that it reads.\n",
                   groups->title, l->queries, count_edges(l));
    int64_t node = 0;
    for (int g = 0; g < groups->count; ++g) {
        bpt_writer_put(w, "\n%s\n", groups->group[g].name);
        for (int64_t i = 0; i < groups->group[g].nodes && !w->error; ++i, ++node) {
            bpt_writer_put(w, "%6" PRId64 " ", node);
            for (int64_t slot = 0, begin, end; slot < l->slots; ++slot) {
                if (!range_of(l, node, slot, &begin, &end)) continue;
                bpt_writer_put(w, "  %" PRId64, begin);
                if (end > begin + 1) bpt_writer_put(w, "..%" PRId64, end - 1);
            }
            bpt_writer_put(w, "\n");
        }
    }
    if (l->queries <= LARGEST_MATRIX) write_matrix(l, groups, w);
}

// ---- svg: a cell stands for `scale` nodes each way, the darker the more of its edges exist

typedef struct {
    int64_t scale, nodes;
    int cells, pixels;
    uint32_t *edges;  // [cells, cells]
} picture_t;

static void add_edges(picture_t *p, const bpt_lists_t *l) {
    int64_t begin, end;
    for (int64_t node = 0; node < l->queries; ++node)
        for (int64_t slot = 0; slot < l->slots; ++slot)
            for (int64_t key = range_of(l, node, slot, &begin, &end) ? begin : end; key < end; ++key)
                ++p->edges[node / p->scale * p->cells + key / p->scale];
}

static void put_cells(const picture_t *p, writer_t *w) {
    for (int row = 0; row < p->cells; ++row)
        for (int column = 0; column < p->cells; ++column) {
            const double share = (double)p->edges[row * p->cells + column] / (double)(p->scale * p->scale);
            if (share <= 0) continue;
            bpt_writer_put(w, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
                           column * p->pixels, row * p->pixels, p->pixels, p->pixels, row == column ? "#1a1a1a" : "#2166c4",
                           share > 0.75 ? 1 : 0.4 + 0.8 * share);
        }
}

static void put_groups(const picture_t *p, const bpt_lists_groups_t *groups, writer_t *w) {
    int64_t first = 0;
    for (int g = 0; g < groups->count; first += groups->group[g++].nodes) {
        const int at = (int)(first * p->pixels / p->scale), size = (int)(groups->group[g].nodes * p->pixels / p->scale),
                  middle = at + size / 2;
        bpt_writer_put(w, "<path d=\"M%d -4v%dM-4 %dh%d\" stroke=\"#888\" fill=\"none\"/>\n", at, p->cells * p->pixels + 4, at,
                       p->cells * p->pixels + 4);
        bpt_writer_put(w, "<text x=\"%d\" y=\"-%d\" text-anchor=\"middle\">%s</text>\n", middle, 10 + 14 * (g % 2), groups->group[g].name);
        bpt_writer_put(w, "<text x=\"-10\" y=\"%d\" text-anchor=\"end\">%s</text>\n", middle + 4, groups->group[g].name);
    }
}

static bpt_status_t write_svg(const bpt_lists_t *l, const bpt_lists_groups_t *groups, writer_t *w) {
    picture_t p = {.nodes = l->queries};
    for (p.scale = 1; (p.nodes + p.scale - 1) / p.scale > MOST_CELLS; p.scale *= 2) {
    }
    p.cells = (int)((p.nodes + p.scale - 1) / p.scale);
    p.pixels = 720 / p.cells < 3 ? 3 : 720 / p.cells > 26 ? 26 : 720 / p.cells;
    BPT_TRY(bpt_alloc((size_t)p.cells * (size_t)p.cells, sizeof *p.edges, &p.edges));
    add_edges(&p, l);
    const int size = p.cells * p.pixels, width = LEFT + size + 24 < 560 ? 560 : LEFT + size + 24, height = TOP + size + 24;
    bpt_writer_put(w,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                   "font-size=\"12\">\n<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   width, height, width, height, groups->title);
    bpt_writer_put(w,
                   "<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">%s</text>\n<text x=\"16\" y=\"43\" fill=\"#444\">%" PRId64
                   " edges",
                   groups->title, count_edges(l));
    if (p.scale > 1) bpt_writer_put(w, "; one cell: %" PRId64 " × %" PRId64 " nodes, the denser the stronger", p.scale, p.scale);
    bpt_writer_put(w, "; rows are queries, columns are keys</text>\n<g transform=\"translate(%d %d)\">\n", LEFT, TOP);
    bpt_writer_put(w, "<rect width=\"%d\" height=\"%d\" fill=\"#f0f1f4\"/>\n<g shape-rendering=\"crispEdges\">\n", size, size);
    put_cells(&p, w);
    bpt_writer_put(w, "</g>\n");
    put_groups(&p, groups, w);
    bpt_writer_put(w, "</g>\n</svg>\n");
    bpt_free(p.edges);
    return BPT_OK;
}

bpt_status_t bpt_lists_write(const bpt_lists_t *l, const bpt_lists_groups_t *groups, bpt_intervals_format_t format, FILE *out) {
    writer_t w = {.out = out};
    switch (format) {
    case BPT_INTERVALS_FORMAT_CSV: write_csv(l, &w); break;
    case BPT_INTERVALS_FORMAT_TEXT: write_text(l, groups, &w); break;
    case BPT_INTERVALS_FORMAT_SVG: BPT_TRY(write_svg(l, groups, &w)); break;
    default: return bpt_fail(BPT_ERR_USAGE, "graph: format %d is unknown", (int)format);
    }
    return bpt_writer_finish(&w);
}
