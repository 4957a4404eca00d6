// The values of a line's inputs (bpt/line.h): a function of the seed, the input and the place of an element in it.
#include <math.h>
#include <string.h>

#include "bpt/q8.h"
#include "bpt/rng.h"
#include "core/graph/internal.h"
#include "core/lines/forms.h"
#include "core/lines/reads.h"

typedef struct {
    const bpt_op_line_t *line;
    const bpt_operand_t *operand;
    int input;
    bpt_holds_t holds;
    int64_t of, count;  // count: elements
} input_t;

static uint32_t word(const input_t *in, int64_t i) {
    const uint32_t counter[4] = {(uint32_t)(i >> 2), (uint32_t)(i >> 34), (uint32_t)in->input, 0};
    const uint32_t key[2] = {(uint32_t)in->line->seed, 0x6C696E65u};
    uint32_t out[4];
    bpt_philox(counter, key, out);
    return out[i & 3];
}

// ---- Numbers

static void store(const input_t *in, void *data, int64_t i, float x) {
    switch (in->operand->dtype) {
    case BPT_F32: ((float *)data)[i] = x; break;
    case BPT_BF16: ((uint16_t *)data)[i] = bpt_to_bf16(x); break;
    case BPT_F16: ((uint16_t *)data)[i] = bpt_to_f16(x); break;
    case BPT_U32: break;
    }
}

static void fill_floats(const input_t *in, const bpt_content_t *content, void *data) {
    for (int64_t i = 0; i < in->count; ++i) {
        const float unit = bpt_uniform01(word(in, i));
        float x = 2 * unit - 1;
        if (content && in->holds == BPT_HOLDS_ONES) x = 1;
        if (content && in->holds == BPT_HOLDS_POSITIVE) x = 0.5f + unit;
        if (content && in->holds == BPT_HOLDS_LOG) x = in->of > 1 ? logf((float)in->of) : 0;
        store(in, data, i, x);
    }
}

// ---- Row numbers

// A row whose rank r comes up about as often as 1/r: a power of two by chance, then any rank up to the next one.
static uint32_t zipf(uint32_t a, uint32_t b, uint64_t rows) {
    uint32_t powers = 1;
    while (powers < 32 && (uint64_t)1 << powers < rows) ++powers;
    const uint64_t first = (uint64_t)1 << a % powers;
    return (uint32_t)((first + b % first - 1) % rows);
}

static uint32_t index_of(const input_t *in, int64_t i) {
    const uint64_t rows = (uint64_t)in->of;
    if (!rows) return BPT_NO_ROW;
    switch (in->line->indices) {
    case BPT_INDICES_ORDERED: return (uint32_t)((uint64_t)i % rows);
    case BPT_INDICES_ZIPF: return zipf(word(in, 2 * i), word(in, 2 * i + 1), rows);
    case BPT_INDICES_ONE: return 0;
    case BPT_INDICES_SPREAD: break;
    }
    return (uint32_t)(word(in, i) % rows);
}

// Steps by a prime that does not divide the number of rows come to each row once.
static uint32_t distinct_index_of(const input_t *in, int64_t i) {
    const uint64_t rows = (uint64_t)in->of, step = rows % 7919 ? 7919 : rows % 7907 ? 7907 : 1;
    return (uint64_t)i < rows ? (uint32_t)((uint64_t)i * step % rows) : BPT_NO_ROW;
}

static uint32_t begin_of_range(const input_t *in, int64_t range, int64_t ranges) { return (uint32_t)(in->of * range / ranges); }

static uint32_t place_in_range(const input_t *in, int64_t i) {
    const int64_t columns = bpt_shape_columns(&in->operand->shape), ranges = bpt_shape_rows(&in->operand->shape);
    const uint32_t begin = begin_of_range(in, i / columns, ranges), end = begin_of_range(in, i / columns + 1, ranges);
    return begin < end ? begin + word(in, i) % (end - begin) : BPT_NO_ROW;
}

// ---- Codes of nodes: rows are the leaves of all sequences, then their other nodes

static void fill_node_keys(const input_t *in, uint32_t *data) {
    const bpt_attention_attrs_t *a = &in->line->call.attrs.attention;
    const bool table = bpt_intervals_is_table(&a->graph);
    const int64_t n = a->graph.n, others = table ? 0 : bpt_node_count(&a->graph) - n, leaves = a->batch * n;
    for (int64_t row = 0; row < in->count / 2; ++row) {
        const bool leaf = row < leaves;
        const int64_t node = leaf ? row % n : others ? n + (row - leaves) % others : 0;
        data[2 * row] = table ? bpt_node_code(0, (uint32_t)row & 0x3FFFFFFu) : bpt_intervals_node_code(&a->graph, node);
        data[2 * row + 1] = table ? 0 : (uint32_t)(leaf ? row / n : others ? (row - leaves) / others : 0);
    }
}

// ---- Trees: halves of halves, as deep as the nodes reach and the attribute allows; nodes in post-order

typedef struct {
    uint32_t *links;
    int64_t next;  // row of a node
} planting_t;

static void link_row(planting_t *p, int64_t row, uint32_t above, uint32_t first, uint32_t end) {
    p->links[3 * row] = above, p->links[3 * row + 1] = first, p->links[3 * row + 2] = end;
}

// A node over leaves [first, end), and at most nodes - 1 below it. Returns its row.
static int64_t plant(planting_t *p, int64_t first, int64_t end, int64_t nodes, int64_t depth) {
    const int64_t middle = (first + end) / 2, begins[2] = {first, middle}, ends[2] = {middle, end};
    int64_t child[2] = {-1, -1}, left = nodes - 1;
    for (int half = 0; half < 2 && depth > 1; ++half) {
        const int64_t share = half ? left : (left + 1) / 2, most = ends[half] - begins[half] - 1, wanted = share < most ? share : most;
        if (wanted < 1) continue;
        child[half] = plant(p, begins[half], ends[half], wanted, depth - 1);
        left -= wanted;
    }
    const int64_t row = p->next++;
    link_row(p, row, BPT_NO_ROW, (uint32_t)first, (uint32_t)end);
    for (int half = 0; half < 2; ++half) {
        if (child[half] >= 0) p->links[3 * child[half]] = (uint32_t)row;
        for (int64_t leaf = begins[half]; child[half] < 0 && leaf < ends[half]; ++leaf) link_row(p, leaf, (uint32_t)row, 0, 0);
    }
    return row;
}

typedef struct {
    int64_t rows, leaves, trees, depth;
} grove_t;

static grove_t grove_of(const bpt_op_line_t *line) {
    const bpt_op_call_t *call = &line->call;
    return (grove_t){.rows = operand_rows(&call->in[0]),
                     .leaves = operand_rows(&call->in[1]),
                     .trees = operand_rows(&call->in[5]),
                     .depth = call->attrs.tree_values.depth ? call->attrs.tree_values.depth : INT64_MAX};
}

// Nodes of a tree: one less than it has leaves, as in binary trees, if there are so many; of one leaf one.
static int64_t nodes_of(const grove_t *g, int64_t tree) {
    const int64_t leaves = g->leaves * (tree + 1) / g->trees - g->leaves * tree / g->trees, nodes = g->rows - g->leaves;
    const int64_t room = nodes * (tree + 1) / g->trees - nodes * tree / g->trees, wanted = leaves > 1 ? leaves - 1 : leaves;
    return room < wanted ? room : wanted;
}

// Either of the two inputs, or both.
static void fill_trees(const bpt_op_line_t *line, uint32_t *links, uint32_t *trees) {
    const grove_t g = grove_of(line);
    planting_t p = {.links = links};
    for (int64_t row = 0; links && row < g.rows; ++row) link_row(&p, row, BPT_NO_ROW, 0, 0);
    for (int64_t tree = 0; tree < g.trees; ++tree) {
        const int64_t first = g.leaves * tree / g.trees, end = g.leaves * (tree + 1) / g.trees, nodes = nodes_of(&g, tree);
        const int64_t begin = g.leaves + (g.rows - g.leaves) * tree / g.trees;
        p.next = begin;
        if (links && nodes > 0) (void)plant(&p, first, end, nodes, g.depth);
        if (trees) {
            trees[4 * tree] = (uint32_t)first, trees[4 * tree + 1] = (uint32_t)end;
            trees[4 * tree + 2] = (uint32_t)begin, trees[4 * tree + 3] = (uint32_t)(begin + nodes);
        }
    }
}

// ---- One input

// Scales of 2^-7, and bytes that are not negative.
static uint32_t packed_word(const input_t *in, int64_t i) {
    return i % (in->of * BPT_Q8_UNIT_WORDS) < in->of ? 0x20002000u : word(in, i) & 0x7F7F7F7Fu;
}

static void fill_words(const input_t *in, const bpt_content_t *content, uint32_t *data) {
    for (int64_t i = 0; i < in->count; ++i) {
        if (!content)
            data[i] = word(in, i);
        else if (in->holds == BPT_HOLDS_IDS)
            data[i] = index_of(in, i);
        else if (in->holds == BPT_HOLDS_DISTINCT_IDS)
            data[i] = distinct_index_of(in, i);
        else if (in->holds == BPT_HOLDS_LENGTHS)
            data[i] = (uint32_t)in->of;
        else if (in->holds == BPT_HOLDS_PACKED)
            data[i] = packed_word(in, i);
        else if (in->holds == BPT_HOLDS_RANGES)
            data[i] = begin_of_range(in, (i + 1) / 2, in->count / 2);
        else if (in->holds == BPT_HOLDS_PLACES)
            data[i] = place_in_range(in, i);
        else if (in->holds == BPT_HOLDS_NODE_CODES)
            data[i] = bpt_node_code(0, (uint32_t)i & 0x3FFFFFFu);
    }
    if (!content) return;
    if (in->holds == BPT_HOLDS_NODE_KEYS) fill_node_keys(in, data);
    if (in->holds == BPT_HOLDS_TABLE) bpt_line_fill_table(in->line, data);
    if (in->holds == BPT_HOLDS_BACK) bpt_line_fill_back(in->line, data);
    if (in->holds == BPT_HOLDS_LINKS) fill_trees(in->line, data, NULL);
    if (in->holds == BPT_HOLDS_TREES) fill_trees(in->line, NULL, data);
}

static const char *name_of(const bpt_line_forms_t *forms, int input) {
    for (int i = 0; i < forms->count; ++i)
        if (!forms->form[i].output && forms->form[i].slot == input) return forms->form[i].name;
    return NULL;
}

bpt_status_t bpt_line_fill(const bpt_op_line_t *line, int input, void *data) {
    bpt_line_forms_t forms;
    BPT_TRY(bpt_line_forms(&line->call, &forms));
    const char *name = name_of(&forms, input);
    GRAPH_EXPECT(name && line->call.in[input].present, "%s has no input %d to fill", bpt_op_name(line->call.op), input);
    const bpt_content_t *content = bpt_line_content(line->call.op, name);
    input_t in = {.line = line, .operand = &line->call.in[input], .input = input, .count = bpt_shape_count(&line->call.in[input].shape)};
    if (content) in.holds = content->holds, in.of = content->of ? content->of(&line->call) : 0;
    if (in.operand->dtype == BPT_U32)
        fill_words(&in, content, data);
    else
        fill_floats(&in, content, data);
    return BPT_OK;
}

int bpt_line_same_tensor(const bpt_op_line_t *line, int input) {
    bpt_line_forms_t forms;
    if (bpt_line_forms(&line->call, &forms) != BPT_OK) return input;
    const char *name = name_of(&forms, input);
    for (int i = 0; name && i < input; ++i)
        if (name_of(&forms, i) && !strcmp(name_of(&forms, i), name)) return i;
    return input;
}

uint32_t bpt_line_changes(const bpt_op_line_t *line) { return bpt_op_info(line->call.op)->mutates; }

// ---- Work

static bpt_value_t value_of(bpt_graph_t *g, const bpt_operand_t *operand) {
    return operand->present ? bpt_new_value(g, BPT_VALUE_INPUT, operand->dtype, operand->shape, "") : BPT_NO_VALUE;
}

bpt_status_t bpt_line_work(const bpt_op_line_t *line, double *flops, double *bytes) {
    const bpt_op_info_t *info = bpt_op_info(line->call.op);
    bpt_graph_t *g;
    bpt_node_t node = bpt_node_init(line->call.op);
    BPT_TRY(bpt_graph_create(&g));
    node.attrs = line->call.attrs;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) node.in[i] = value_of(g, &line->call.in[i]);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) node.out[i] = value_of(g, &line->call.out[i]);
    const bpt_status_t status = bpt_graph_status(g);
    if (status == BPT_OK) {
        const bpt_line_reads_t reads = bpt_line_reads(line);
        if (line->edges) node.attrs.attention.bounds.queries = (bpt_table_side_t){.edges = reads.edges};
        *flops = info->flops ? info->flops(g, &node) : 0;
        *bytes = bpt_node_bytes(g, &node);
    }
    bpt_graph_destroy(g);
    return status;
}
