// Attention graphs as an edge list and as text (see bpt/intervals_writer.h); the picture is in writer_svg.c.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "core/intervals/rule.h"
#include "core/intervals/writer.h"

enum { LARGEST_MATRIX = 160 };  // nodes: wider lines do not fit a terminal

void bpt_writer_put(writer_t *w, const char *format, ...) {
    if (w->error) return;
    va_list args;
    va_start(args, format);
    errno = 0;
    if (vfprintf(w->out, format, args) < 0) w->error = errno ? errno : EIO;
    va_end(args);
}

bpt_status_t bpt_writer_finish(writer_t *w) {
    errno = 0;
    if (!w->error && (fflush(w->out) != 0 || ferror(w->out))) w->error = errno ? errno : EIO;
    if (w->error) return bpt_fail(BPT_ERR_IO, "the graph could not be written to the end: %s", strerror(w->error));
    return BPT_OK;
}

void bpt_intervals_title(const bpt_intervals_t *g, char title[BPT_INTERVALS_TITLE_SIZE]) {
    const bpt_intervals_rule_t *rule = rule_of(g);
    char detail[64] = "";
    if (rule->describe) rule->describe(g, detail, sizeof detail);
    snprintf(title, BPT_INTERVALS_TITLE_SIZE, "%s graph%s, %s%s, n = %" PRId64, rule->name, detail, g->causal ? "causal" : "both sides",
             bpt_intervals_spans_read_themselves(g) ? ", spans read themselves" : "", g->n);
}

// ---- csv --------------------------------------------------------------------------------------------------------------

static void sort_by_key(bpt_slot_t *slots, int count) {
    for (int i = 1; i < count; ++i) {
        const bpt_slot_t slot = slots[i];
        int at = i;
        for (; at > 0 && slots[at - 1].begin > slot.begin; --at) slots[at] = slots[at - 1];
        slots[at] = slot;
    }
}

static void write_csv(const bpt_intervals_t *g, writer_t *w) {
    const int64_t nodes = bpt_node_count(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    bpt_writer_put(w, "dst,src,rel\n");
    for (int64_t query = 0; query < nodes && !w->error; ++query) {
        const int count = bpt_intervals_keys(g, g->n, query, slots);
        sort_by_key(slots, count);
        for (int s = 0; s < count; ++s) {
            int32_t row = slots[s].rel_row;
            for (int64_t key = slots[s].begin; key < slots[s].end && !w->error; ++key, row += slots[s].rel_step)
                bpt_writer_put(w, "%" PRId64 ",%" PRId64 ",%" PRId32 "\n", query, key, row);
        }
    }
}

// ---- text -------------------------------------------------------------------------------------------------------------

static void put_range(writer_t *w, int64_t first, int64_t last) {
    bpt_writer_put(w, "%" PRId64, first);
    if (last > first) bpt_writer_put(w, "..%" PRId64, last);
}

static void put_slot_text(const bpt_intervals_t *g, const bpt_slot_t *slot, writer_t *w) {
    int level;
    int64_t index;
    bpt_node_position(g, slot->begin, &level, &index);
    const int64_t keys = slot->end - slot->begin;
    bpt_writer_put(w, "  ");
    if (level > 0) bpt_writer_put(w, "L%d:", level);
    put_range(w, index, index + keys - 1);
    if (slot->rel_row < 0) return;
    bpt_writer_put(w, " r%" PRId32, slot->rel_row);
    if (slot->rel_step) {
        const int32_t last = slot->rel_row + (int32_t)(keys - 1) * slot->rel_step;
        if (last != slot->rel_row) bpt_writer_put(w, "..%" PRId32, last);
    }
}

static void write_listing(const bpt_intervals_t *g, writer_t *w) {
    const bool tree = bpt_intervals_has_spans(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    bpt_writer_put(w, "Every line: node number, position (Lj:m = node m of level j, plain numbers = leaves), then the ranges of nodes it "
                      "reads, from near to far;\n"
                      "rA..B = rows of the relative position table used by the first and the last node of a range.\n");
    int64_t node = 0;
    for (int level = 0; level < bpt_tree_levels(g); ++level) {
        const int64_t size = bpt_tree_level_size(g, level);
        const bool root = level == bpt_tree_levels(g) - 1 && (!g->trimmed || g->root);
        bpt_writer_put(w, level == 0 ? "\nleaves\n" : root ? "\nroot\n" : "\nlevel %d\n", level);
        for (int64_t m = 0; m < size && !w->error; ++m, ++node) {
            bpt_writer_put(w, "%6" PRId64 " ", node);
            if (level == 0)
                bpt_writer_put(w, "%-8" PRId64, m);
            else if (tree)
                bpt_writer_put(w, "L%d:%-5" PRId64, level, m * bpt_tree_level_step(g, level));
            else
                bpt_writer_put(w, "%-8s", "virtual");
            const int count = bpt_intervals_keys(g, g->n, node, slots);
            for (int s = 0; s < count; ++s) put_slot_text(g, &slots[s], w);
            bpt_writer_put(w, "\n");
        }
    }
}

static char edge_sign(const bpt_intervals_t *g, int64_t query, int64_t key) {
    if (query == key) return 'o';
    if (query >= g->n) return '+';
    int level;
    int64_t index;
    bpt_node_position(g, key, &level, &index);
    return index << level < query ? '<' : '>';
}

static void write_matrix(const bpt_intervals_t *g, writer_t *w) {
    const int64_t nodes = bpt_node_count(g);
    bpt_slot_t slots[BPT_MAX_SLOTS];
    bpt_writer_put(w, "\nAdjacency: rows are queries, columns are keys, a gap starts the next level;\n"
                      "o itself, < on the left, > on the right, + a leaf of the span, . no edge\n\n");
    int64_t query = 0;
    for (int row_level = 0; row_level < bpt_tree_levels(g); ++row_level) {
        for (int64_t m = 0; m < bpt_tree_level_size(g, row_level); ++m, ++query) {
            char line[LARGEST_MATRIX];
            memset(line, '.', sizeof line);
            const int count = bpt_intervals_keys(g, g->n, query, slots);
            for (int s = 0; s < count; ++s)
                for (int64_t key = slots[s].begin; key < slots[s].end; ++key) line[key] = edge_sign(g, query, key);
            bpt_writer_put(w, "%6" PRId64, query);
            int64_t key = 0;
            for (int level = 0; level < bpt_tree_levels(g); key += bpt_tree_level_size(g, level), ++level)
                bpt_writer_put(w, " %.*s", (int)bpt_tree_level_size(g, level), line + key);
            bpt_writer_put(w, "\n");
        }
        if (query < nodes) bpt_writer_put(w, "\n");
    }
}

static void write_text(const bpt_intervals_t *g, writer_t *w) {
    char title[BPT_INTERVALS_TITLE_SIZE];
    int64_t all, contextual;
    bpt_intervals_title(g, title);
    bpt_intervals_count(g, g->n, &all, &contextual);
    const int64_t nodes = bpt_node_count(g);
    bpt_writer_put(
        w, "%s\n%" PRId64 " nodes on %d level%s, %" PRId64 " edges (%" PRId64 " contextual), %" PRId64 " rows of relative positions\n\n",
        title, nodes, bpt_tree_levels(g), bpt_tree_levels(g) == 1 ? "" : "s", all, contextual, bpt_rel_rows(g));
    write_listing(g, w);
    if (nodes <= LARGEST_MATRIX) write_matrix(g, w);
}

// -----------------------------------------------------------------------------------------------------------------------

bpt_status_t bpt_intervals_write(const bpt_intervals_t *g, bpt_intervals_format_t format, FILE *out) {
    BPT_TRY(bpt_intervals_check(g));
    if (bpt_intervals_is_table(g)) return bpt_fail(BPT_ERR_USAGE, "graph: a table of intervals has no rule to write it by");
    writer_t w = {.out = out};
    switch (format) {
    case BPT_INTERVALS_FORMAT_CSV: write_csv(g, &w); break;
    case BPT_INTERVALS_FORMAT_TEXT: write_text(g, &w); break;
    case BPT_INTERVALS_FORMAT_SVG: BPT_TRY(bpt_intervals_write_svg(g, &w)); break;
    default: return bpt_fail(BPT_ERR_USAGE, "graph: format %d is unknown", (int)format);
    }
    return bpt_writer_finish(&w);
}
