// Tree Transformer (Nguyen et al. 2020): the tokens of a text and the nodes of a tree over it. Tokens read tokens; a node reads its
// subtree, where the values of nodes are means over the branches below them. Its graph are tables of ranges (bpt/lists.h).
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/lists.h"
#include "bpt/rng.h"
#include "models/blocks/tree_layer.h"
#include "models/graph/encoder.h"

// Numbers of the own inputs; N rows of tokens, M of nodes, B trees.
enum {
    ROW_KEYS,     // u32 [N + M, 2] (dropout)
    ROOT_KEYS,    // u32 [B, 2] (dropout)
    ROOTS,        // u32 [B]: the last node of each tree
    NODE_LABELS,  // u32 [M]
    LINKS,        // u32 [N + M, 3]
    TREES,        // u32 [B, 4]
    TABLE,        // u32 [N + M, slots, 4]
    BACK,         // u32 [N + M, slots, 2] (gradients)
    CODES,        // u32 [N + M] (dropout of attention)
    ROOT_TABLE,   // u32 [B, slots, 4], where the last layer computes roots alone, as the next one
    ROOT_BACK,    // u32 [N + M, slots, 2] (gradients)
};

// Node codes: token i is (0, i), node i of a tree (1, i).
enum { TOKEN, NODE };

static const char *const keys[] = {"head_dim",     "d_ff",           "dropout_hidden", "up_norm",     "hier_embed", "subtree_mask",
                                   "vertical_max", "horizontal_max", "vertex_loss",    "node_labels", NULL};

static bpt_status_t check(const bpt_model_config_t *c) {
    // Cross-attention has the heads of the decoder.
    if (bpt_task_sides(bpt_task_of(c)) > 1 && c->heads * c->head_dim != c->d_model)
        return bpt_fail(BPT_ERR_USAGE, "head_dim is %d; in a translator it is d_model / heads, %d: leave head_dim out", c->head_dim,
                        c->d_model / c->heads);
    if (!c->hier_embed || c->head_dim % 2 == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "head_dim %d must be even: half of a head has the embedding of a node's height; or choose hier_embed no",
                    c->head_dim);
}

static void params(bpt_param_table_t *t, const bpt_stack_t *stack, bool freeze_rel) {
    const bpt_model_config_t *c = &stack->config;
    (void)freeze_rel;
    const int64_t symbols = c->node_labels ? c->node_labels : 1;
    bpt_param_table_matrix(t, bpt_param_linear(c->d_model), symbols, c->d_model, "", BPT_NAME_NODE_EMBED);
    for (int32_t i = 0; i < c->layers; ++i) bpt_tree_params(t, c, stack->scope, i);
}

// ---- Graph

static int64_t nodes_of(const bpt_encoder_t *e) { return e->options.shape.side[0].nodes; }
static int64_t rows_of(const bpt_encoder_t *e) { return e->leaf_rows + nodes_of(e); }
// Without the subtree mask a row reads all tokens and all nodes of its text, and is read by them.
static int64_t back_slots(const bpt_encoder_t *e) {
    return e->options.config->subtree_mask ? e->options.shape.side[0].node_slots : BPT_LISTS_SUBTREES_SLOTS;
}

// Whether nobody takes anything but the states of the roots: then the last layer computes no other row.
static bool takes_roots_alone(const bpt_encoder_t *e) { return e->wants == BPT_WANT_POOLED; }

static void root_inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    bpt_encoder_add_input(g, e, ROOT_TABLE, "root_table", bpt_shape3(e->batch, BPT_LISTS_SUBTREES_SLOTS, 4));
    if (e->options.gradients) bpt_encoder_add_input(g, e, ROOT_BACK, "root_back", bpt_shape3(rows_of(e), BPT_LISTS_ALL_BACK_SLOTS, 2));
}

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const int64_t rows = rows_of(e);
    bpt_encoder_add_input(g, e, ROOTS, "roots", bpt_shape1(e->batch));
    bpt_encoder_add_input(g, e, NODE_LABELS, "node_labels", bpt_shape1(nodes_of(e)));
    bpt_encoder_add_input(g, e, LINKS, "links", bpt_shape2(rows, 3));
    bpt_encoder_add_input(g, e, TREES, "trees", bpt_shape2(e->batch, 4));
    bpt_encoder_add_input(g, e, TABLE, "subtrees", bpt_shape3(rows, BPT_LISTS_SUBTREES_SLOTS, 4));
    if (o->dropout) bpt_encoder_add_input(g, e, ROW_KEYS, "row_keys", bpt_shape2(rows, 2));
    if (o->dropout) bpt_encoder_add_input(g, e, ROOT_KEYS, "root_keys", bpt_shape2(e->batch, 2));
    if (o->gradients) bpt_encoder_add_input(g, e, BACK, "subtrees_back", bpt_shape3(rows, back_slots(e), 2));
    if (o->dropout && o->config->dropout_attention > 0) bpt_encoder_add_input(g, e, CODES, "codes", bpt_shape1(rows));
    if (takes_roots_alone(e)) root_inputs(g, e);
    e->in.row_keys = e->own[ROW_KEYS].value;
}

// The states of nodes before the first layer: those of their symbols, without a position; zeros for a node without one.
static bpt_value_t embed_nodes(const bpt_builder_t *b, const bpt_encoder_t *e) {
    const bpt_value_t all = e->own[ROW_KEYS].value;
    const bpt_value_t of_nodes = all == BPT_NO_VALUE ? all : bpt_rows(b->g, all, e->leaf_rows, nodes_of(e));
    const bpt_value_t x = bpt_gather(b->g, bpt_weight(b->w, "", BPT_NAME_NODE_EMBED), e->own[NODE_LABELS].value);
    return bpt_dropout(b->g, bpt_scale(b->g, x, sqrtf((float)b->config->d_model)), b->p_input,
                       bpt_build_random(b, (bpt_place_t){of_nodes, nodes_of(e)}));
}

static bpt_stream_t stream(const bpt_builder_t *b, bpt_value_t full) { return (bpt_stream_t){full, bpt_cast(b->g, full, b->precision)}; }

static bpt_states_t roots_of(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_stream_t x) {
    return (bpt_states_t){stream(b, bpt_gather(b->g, x.full, e->own[ROOTS].value)), {e->own[ROOT_KEYS].value, e->batch}};
}

static bpt_table_graph_t graph_of(const bpt_encoder_t *e, int table, int back, bpt_value_t query_keys) {
    return (bpt_table_graph_t){
        .table = e->own[table].value, .back = e->own[back].value, .query_keys = query_keys, .key_codes = e->own[CODES].value};
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e) {
    const bpt_stream_t tokens = bpt_encoder_embed(b, e);
    const bpt_place_t place = {e->own[ROW_KEYS].value, rows_of(e)}, roots = {e->own[ROOT_KEYS].value, e->batch};
    const bpt_forest_t forest = {e->own[LINKS].value, e->own[TREES].value, e->leaf_rows};
    const bpt_value_t parts[] = {tokens.full, embed_nodes(b, e)};
    bpt_stream_t x = stream(b, bpt_join(b->g, BPT_F32, parts, 2));
    for (int32_t i = 0; i < b->config->layers; ++i) {
        const bool roots_alone = takes_roots_alone(e) && i + 1 == b->config->layers;
        bpt_graph_region_begin(b->g);
        x = bpt_stream_cast(b, bpt_stored_input(b, x));
        bpt_tree_rows_t rows = {{x, place}, graph_of(e, TABLE, BACK, place.keys)};
        if (roots_alone) rows = (bpt_tree_rows_t){roots_of(b, e, x), graph_of(e, ROOT_TABLE, ROOT_BACK, roots.keys)};
        x = bpt_tree_layer(b, &forest, x, &rows, i);
        bpt_graph_region_end(b->g);
        if (!bpt_encoder_wants(e, i)) continue;
        bpt_encoded_t out = {.relay = {bpt_no_stream, roots}, .forest = forest, .codes = e->own[CODES].value};
        out.pooled = roots_alone ? (bpt_states_t){x, roots} : roots_of(b, e, x);
        if (!roots_alone) out.vertices = (bpt_states_t){x, place};
        if (!roots_alone) out.tokens = (bpt_states_t){bpt_stream_first(b, x, e->leaf_rows), bpt_place_first(b, place.keys, e->leaf_rows)};
        bpt_encoder_emit(b, e, i, &out);
    }
}

// ---- Inputs

static void set_key(uint32_t *keys_of_row, uint32_t code, uint32_t sequence) { keys_of_row[0] = code, keys_of_row[1] = sequence; }

static void stage_trees(const bpt_encoder_t *e, const bpt_side_t *side) {
    memcpy(e->own[LINKS].data, side->links, (size_t)rows_of(e) * 3 * sizeof(uint32_t));
    memcpy(e->own[NODE_LABELS].data, side->node_labels, (size_t)nodes_of(e) * sizeof(uint32_t));
    for (int64_t s = 0; s < e->batch; ++s) {
        const uint32_t nodes_end = side->node_start[s] + side->node_counts[s];
        const uint32_t tree[4] = {side->start[s], side->start[s] + side->lengths[s], side->node_start[s], nodes_end};
        memcpy(e->own[TREES].data + 4 * s, tree, sizeof tree);
        e->own[ROOTS].data[s] = side->node_counts[s] ? nodes_end - 1 : BPT_NO_ROW;
    }
}

// Keys of random numbers, by node codes and sequences.
static void stage_keys(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_side_t *side = &batch->side[0];
    uint32_t *rows = e->own[ROW_KEYS].data;
    memset(rows, 0, e->own[ROW_KEYS].count * sizeof *rows);
    for (int64_t s = 0; s < e->batch; ++s) {
        const uint32_t sequence = batch->sequences[s];
        for (uint32_t i = 0; i < side->lengths[s]; ++i) set_key(rows + 2 * (side->start[s] + i), bpt_node_code(TOKEN, i), sequence);
        for (uint32_t i = 0; i < side->node_counts[s]; ++i) set_key(rows + 2 * (side->node_start[s] + i), bpt_node_code(NODE, i), sequence);
        const uint32_t last = side->node_counts[s] ? side->node_counts[s] - 1 : 0;
        set_key(e->own[ROOT_KEYS].data + 2 * s, bpt_node_code(NODE, last), sequence);
    }
}

static void stage_codes(const bpt_encoder_t *e, const bpt_side_t *side) {
    uint32_t *codes = e->own[CODES].data;
    memset(codes, 0, e->own[CODES].count * sizeof *codes);
    for (int64_t s = 0; s < e->batch; ++s) {
        for (uint32_t i = 0; i < side->lengths[s]; ++i) codes[side->start[s] + i] = bpt_node_code(TOKEN, i);
        for (uint32_t i = 0; i < side->node_counts[s]; ++i) codes[side->node_start[s] + i] = bpt_node_code(NODE, i);
    }
}

// All rows of a text read all: its tokens, and its nodes.
static void write_all(const bpt_lists_t *l, const uint32_t token[2], const uint32_t node[2]) {
    const uint32_t *const ranges[] = {token, node};
    for (int of = 0; of < 2; ++of)
        for (uint32_t row = ranges[of][0]; row < ranges[of][1]; ++row)
            for (int slot = 0; slot < 2; ++slot) {
                uint32_t *to = l->table + ((size_t)row * (size_t)l->slots + (size_t)slot) * 4;
                to[0] = ranges[slot][0], to[1] = ranges[slot][1];
                if (l->back) memcpy(l->back + ((size_t)row * (size_t)l->back_slots + (size_t)slot) * 2, ranges[slot], 2 * sizeof *to);
            }
}

static bpt_status_t write_lists(const bpt_model_config_t *c, const bpt_row_space_t *tokens, const bpt_row_space_t *nodes,
                                const uint32_t *links, const bpt_lists_t *l) {
    if (c->subtree_mask) return bpt_lists_subtrees(tokens, nodes, links, l);
    for (int64_t i = 0; i < l->queries * l->slots; ++i) memcpy(l->table + 4 * i, (uint32_t[4]){0, 0, BPT_NO_ROW, 0}, 4 * sizeof *l->table);
    if (l->back) memset(l->back, 0, (size_t)(l->keys * l->back_slots * 2) * sizeof *l->back);
    for (int64_t s = 0; s < tokens->sequences; ++s)
        write_all(l, (uint32_t[2]){tokens->start[s], tokens->start[s] + tokens->length[s]},
                  (uint32_t[2]){nodes->start[s], nodes->start[s] + nodes->length[s]});
    return BPT_OK;
}

// A root reads all of its tree, with the subtree mask and without.
static bpt_status_t write_root_lists(const bpt_encoder_t *e, const bpt_row_space_t *tokens, const bpt_row_space_t *nodes) {
    const bpt_row_space_t spaces[] = {*tokens, *nodes};
    uint32_t *numbers;
    BPT_TRY(bpt_alloc((size_t)(2 * e->batch), sizeof *numbers, &numbers));
    uint32_t *lengths = numbers + e->batch;
    for (int64_t s = 0; s < e->batch; ++s) numbers[s] = (uint32_t)s, lengths[s] = nodes->length[s] > 0;
    const bpt_row_space_t roots = {e->batch, e->batch, numbers, lengths};
    const bpt_lists_t lists = {.queries = e->batch,
                               .keys = rows_of(e),
                               .slots = BPT_LISTS_SUBTREES_SLOTS,
                               .back_slots = BPT_LISTS_ALL_BACK_SLOTS,
                               .table = e->own[ROOT_TABLE].data,
                               .back = e->own[ROOT_BACK].data};
    const bpt_status_t status = bpt_lists_all_of(&roots, spaces, 2, &lists);
    bpt_free(numbers);
    return status;
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_side_t *side = &batch->side[0];
    if (!side->links)
        return bpt_fail(BPT_ERR_USAGE,
                        "model tree reads trees over texts, and this batch has none: give it texts with trees, or trees made "
                        "of texts (balanced, right, flat)");
    const bpt_row_space_t tokens = {e->leaf_rows, e->batch, side->start, side->lengths};
    const bpt_row_space_t nodes = {nodes_of(e), e->batch, side->node_start, side->node_counts};
    const bpt_lists_t lists = {.queries = rows_of(e),
                               .keys = rows_of(e),
                               .slots = BPT_LISTS_SUBTREES_SLOTS,
                               .back_slots = back_slots(e),
                               .table = e->own[TABLE].data,
                               .back = e->own[BACK].data};
    stage_trees(e, side);
    if (e->own[ROW_KEYS].data) stage_keys(e, batch);
    if (e->own[CODES].data) stage_codes(e, side);
    if (takes_roots_alone(e)) BPT_TRY(write_root_lists(e, &tokens, &nodes));
    return write_lists(e->options.config, &tokens, &nodes, side->links, &lists);
}

static const bpt_layers_spec_t layers = {.params = params, .inputs = inputs, .build = build, .stage = stage};

static bpt_status_t table(const bpt_model_config_t *c, int64_t tokens, int64_t nodes, const uint32_t *links, bpt_lists_t *lists,
                          bpt_lists_groups_t *groups) {
    const uint32_t zero = 0, n = (uint32_t)tokens, m = (uint32_t)nodes;
    const bpt_row_space_t of_tokens = {tokens, 1, &zero, &n}, of_nodes = {nodes, 1, &n, &m};
    *lists = (bpt_lists_t){.queries = tokens + nodes, .keys = tokens + nodes, .slots = BPT_LISTS_SUBTREES_SLOTS};
    BPT_TRY(bpt_alloc((size_t)(lists->queries * lists->slots * 4), sizeof *lists->table, &lists->table));
    *groups = (bpt_lists_groups_t){.title = "tree", .count = 2, .group = {{"tokens", tokens}, {"nodes", nodes}}};
    return write_lists(c, &of_tokens, &of_nodes, links, lists);
}

const bpt_kind_spec_t bpt_kind_tree = {
    .name = "tree",
    .title = "Tree Transformer",
    .keys = keys,
    .gives = BPT_WANT_TOKENS | BPT_WANT_POOLED,
    .not_causal = "a node reads all tokens below it, and tokens read the whole text",
    .positions = BPT_POSITIONS_SINUSOIDAL,
    .pools = 1u << BPT_POOL_ROOT,
    .pool = BPT_POOL_ROOT,
    .trees = true,
    .translates = true,
    .decoder = BPT_MODEL_TRANSFORMER,
    .scaled_embedding = true,
    .plain_embedding = true,
    .dense = true,
    .packed = true,
    .check = check,
    .tree_table = table,
    .layers = &layers,
};
