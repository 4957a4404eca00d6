// Tables of attention by a rule (see reads.h).
#include "core/lines/reads.h"

#include "core/lines/forms.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The input that holds this, -1: there is none.
static int input_of(const bpt_op_line_t *line, bpt_holds_t what) {
    bpt_line_forms_t forms;
    if (bpt_line_forms(&line->call, &forms) != BPT_OK) return -1;
    for (int i = 0; i < forms.count; ++i) {
        const bpt_content_t *content = bpt_line_content(line->call.op, forms.form[i].name);
        if (content && content->holds == what && !forms.form[i].output) return forms.form[i].slot;
    }
    return -1;
}

int bpt_line_table(const bpt_op_line_t *line) { return input_of(line, BPT_HOLDS_TABLE); }

// The most edges that a query may have by what is known of its side.
static int64_t bound_of(const bpt_table_side_t *side, int64_t rows, int64_t all) {
    int64_t bound = all;
    if (side->light > 0 && side->light_edges > 0) bound = least(bound, side->light_edges);
    if (side->light < rows && side->edges > 0) bound = least(bound, side->edges);
    return bound;
}

bpt_line_reads_t bpt_line_reads(const bpt_op_line_t *line) {
    bpt_line_reads_t r = {.queries = operand_rows(&line->call.in[0]), .keys = operand_rows(&line->call.in[1])};
    const int64_t bound = bound_of(&line->call.attrs.attention.bounds.queries, r.queries, r.keys);
    r.edges = line->edges ? line->edges : bound;
    return r;
}

static int64_t place(const bpt_line_reads_t *r, int64_t query) {
    return r->queries > 1 ? (int64_t)((double)(r->keys - r->edges) * (double)query / (double)(r->queries - 1)) : 0;
}

// Queries first .. end - 1 read the key.
static void readers(const bpt_line_reads_t *r, int64_t key, int64_t *first, int64_t *end) {
    int64_t low = 0, high = r->queries;  // the first query whose keys do not all lie before it
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (place(r, middle) + r->edges > key)
            high = middle;
        else
            low = middle + 1;
    }
    *first = low;
    for (high = r->queries; low < high;) {  // the first whose keys all lie behind it
        const int64_t middle = (low + high) / 2;
        if (place(r, middle) > key)
            high = middle;
        else
            low = middle + 1;
    }
    *end = low;
}

bpt_status_t bpt_line_reads_check(const bpt_op_line_t *line) {
    const bpt_op_call_t *call = &line->call;
    if (bpt_line_table(line) < 0) return BPT_OK;
    const bpt_line_reads_t r = bpt_line_reads(line);
    const int64_t most = bound_of(&call->attrs.attention.bounds.queries, r.queries, r.keys);
    if (r.edges > most)
        return bpt_fail(BPT_ERR_USAGE, "%s: edges=%lld is not possible; a query reads at most %lld keys here", bpt_op_name(call->op),
                        (long long)r.edges, (long long)most);
    const bpt_table_side_t *side = &call->attrs.attention.bounds.keys;
    for (int64_t key = 0; key < r.keys && (side->light_edges || side->edges); ++key) {
        const int64_t bound = key < side->light ? side->light_edges : side->edges;
        int64_t first, end;
        readers(&r, key, &first, &end);
        if (bound && end - first > bound)
            return bpt_fail(BPT_ERR_USAGE, "%s: edges=%lld is not possible; key %lld would be read by %lld queries, %s allows %lld",
                            bpt_op_name(call->op), (long long)r.edges, (long long)key, (long long)(end - first),
                            key < side->light ? "light_key_edges" : "key_edges", (long long)bound);
    }
    return BPT_OK;
}

void bpt_line_reads_fit(bpt_op_line_t *line) {
    while (bpt_line_reads_check(line) != BPT_OK) {
        const int64_t edges = bpt_line_reads(line).edges;
        if (edges <= 1) return;
        line->edges = edges - 1 - edges / 16;
    }
}

void bpt_line_measure(bpt_op_line_t *line, const uint32_t *table) {
    const bpt_shape_t *shape = &line->call.in[bpt_line_table(line)].shape;
    const int64_t queries = shape->dim[0], ranges = queries * shape->dim[1];
    int64_t edges = 0;
    for (int64_t i = 0; i < ranges; ++i)
        if (table[4 * i] < table[4 * i + 1]) edges += table[4 * i + 1] - table[4 * i];
    if (!edges) return;
    line->edges = (edges + queries / 2) / queries;
    if (!line->edges) line->edges = 1;
    bpt_line_reads_fit(line);
}

void bpt_line_fill_table(const bpt_op_line_t *line, uint32_t *table) {
    const bpt_line_reads_t r = bpt_line_reads(line);
    const int64_t slots = line->call.in[bpt_line_table(line)].shape.dim[1];
    const int64_t rel_rows = line->call.in[2].present ? operand_rows(&line->call.in[2]) : 0;
    for (int64_t query = 0; query < r.queries; ++query)
        for (int64_t slot = 0; slot < slots; ++slot, table += 4) {
            const int64_t begin = place(&r, query) + r.edges * slot / slots, end = place(&r, query) + r.edges * (slot + 1) / slots;
            const int64_t room = rel_rows - (end - begin);  // rows follow each other where there are enough of them
            table[0] = (uint32_t)begin, table[1] = (uint32_t)end;
            table[2] = !rel_rows ? BPT_NO_ROW : (uint32_t)(room >= 0 ? begin % (room + 1) : begin % rel_rows);
            table[3] = rel_rows && room >= 0;
        }
}

void bpt_line_fill_back(const bpt_op_line_t *line, uint32_t *back) {
    const bpt_line_reads_t r = bpt_line_reads(line);
    const int64_t slots = line->call.in[input_of(line, BPT_HOLDS_BACK)].shape.dim[1];
    for (int64_t key = 0; key < r.keys; ++key)
        for (int64_t slot = 0; slot < slots; ++slot, back += 2) {
            int64_t first = 0, end = 0;
            if (slot == 0) readers(&r, key, &first, &end);
            back[0] = (uint32_t)first, back[1] = (uint32_t)end;
        }
}
