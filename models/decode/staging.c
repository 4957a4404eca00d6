// Rows for the programs of a decoder (see staging.h).
#include "models/decode/staging.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/decode/cache.h"

static size_t table_entries(const decode_staging_t *g) { return (size_t)g->shape->slots * 4; }
static size_t head_dim(const decode_staging_t *g) { return (size_t)(g->shape->config->d_model / g->shape->config->heads); }
static size_t memory_entries(const decode_staging_t *g) { return g->memory ? (size_t)g->shape->memory_slots * 4 : 0; }

bpt_status_t bpt_decode_staging_create(decode_staging_t *g, int64_t most_rows) {
    const size_t rows = (size_t)most_rows, sequences = (size_t)g->shape->sequences, vocab = (size_t)g->shape->config->vocab;
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &g->tokens));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &g->positions));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &g->leaf));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &g->nodes));
    BPT_TRY(bpt_alloc(rows * table_entries(g), sizeof(uint32_t), &g->table));
    BPT_TRY(bpt_alloc(sequences, sizeof(uint32_t), &g->last));
    BPT_TRY(bpt_alloc(sequences, sizeof(uint32_t), &g->asked));
    BPT_TRY(bpt_alloc(sequences * table_entries(g), sizeof(uint32_t), &g->last_table));
    BPT_TRY(bpt_alloc(sequences * vocab, sizeof(float), &g->logits));
    if (g->shape->config->positions == BPT_POSITIONS_ROTARY) BPT_TRY(bpt_alloc(rows * head_dim(g), sizeof(float), &g->rotations));
    if (!g->memory) return BPT_OK;
    BPT_TRY(bpt_alloc(rows * memory_entries(g), sizeof(uint32_t), &g->memory_table));
    return bpt_alloc(sequences * memory_entries(g), sizeof(uint32_t), &g->last_memory_table);
}

void bpt_decode_staging_free(decode_staging_t *g) {
    bpt_free(g->tokens);
    bpt_free(g->positions);
    bpt_free(g->leaf);
    bpt_free(g->rotations);
    bpt_free(g->nodes);
    bpt_free(g->table);
    bpt_free(g->memory_table);
    bpt_free(g->last);
    bpt_free(g->last_table);
    bpt_free(g->last_memory_table);
    bpt_free(g->asked);
    bpt_free(g->logits);
    bpt_free(g->sinusoids.rows);
}

void bpt_decode_staging_begin(decode_staging_t *g) {
    const size_t sequences = (size_t)g->shape->sequences;
    g->rows = g->n_asked = 0;
    for (size_t s = 0; s < sequences; ++s) g->last[s] = BPT_NO_ROW;
    memset(g->last_table, 0, sequences * table_entries(g) * sizeof *g->last_table);
    if (g->memory) memset(g->last_memory_table, 0, sequences * memory_entries(g) * sizeof *g->last_memory_table);
}

// The keys of a node as a row of the table. Causal leaves read only nodes that end before them, so that the tree of the whole
// capacity gives the same keys and rows of relative positions as the tree of the text so far.
static bpt_status_t fill_table(const decode_staging_t *g, int64_t sequence, int64_t node, uint32_t *entry) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(&g->shape->graph, g->capacity, node, slots);
    if (count > g->shape->slots) return bpt_fail(BPT_ERR_INTERNAL, "node %" PRId64 " has %d intervals", node, count);
    memset(entry, 0, table_entries(g) * sizeof *entry);
    for (int s = 0; s < count; ++s, entry += 4) {
        if (node < g->capacity) BPT_TRY(bpt_late_spans_need(g->late, sequence, slots[s].begin, slots[s].end));
        entry[0] = (uint32_t)bpt_decode_row(g->shape, sequence, slots[s].begin);
        entry[1] = entry[0] + (uint32_t)(slots[s].end - slots[s].begin);
        entry[2] = slots[s].rel_row < 0 ? BPT_NO_ROW : (uint32_t)slots[s].rel_row;
        entry[3] = (uint32_t)slots[s].rel_step;
    }
    return BPT_OK;
}

static bpt_status_t stage_node(decode_staging_t *g, int64_t sequence, int64_t node, uint32_t token) {
    const bool leaf = node < g->capacity;
    const int64_t row = g->rows++;
    g->tokens[row] = leaf ? token : BPT_NO_ROW;
    g->positions[row] = leaf ? (uint32_t)node : BPT_NO_ROW;
    g->leaf[row] = leaf ? (uint32_t)row : BPT_NO_ROW;
    g->nodes[row] = (uint32_t)bpt_decode_row(g->shape, sequence, node);
    if (g->rotations)
        bpt_rotary_angles(bpt_rotary_position(&g->shape->graph, node), (int64_t)head_dim(g), g->rotations + (size_t)row * head_dim(g));
    uint32_t *ranges = g->memory ? g->memory_table + memory_entries(g) * (size_t)row : NULL;
    if (ranges) memset(ranges, 0, memory_entries(g) * sizeof *ranges);
    if (ranges && leaf) bpt_decode_memory_entry(g->memory, g->shape, sequence, ranges);
    return fill_table(g, sequence, node, g->table + table_entries(g) * (size_t)row);
}

bpt_status_t bpt_decode_stage_leaves(decode_staging_t *g, int64_t sequence, int64_t length, const uint32_t *tokens, int64_t count) {
    for (int64_t i = 0; i < count; ++i) BPT_TRY(stage_node(g, sequence, length + i, tokens[i]));
    return BPT_OK;
}

bpt_status_t bpt_decode_stage_spans(decode_staging_t *g, int64_t sequence, int64_t length, int64_t count) {
    const bpt_intervals_t *graph = &g->shape->graph;
    const int64_t end = length + count;
    if (!bpt_intervals_has_spans(graph)) return BPT_OK;
    for (int level = 1; level < bpt_tree_levels(graph) && !bpt_span_is_late(graph, level); ++level)
        for (int64_t m = length >> level; (m + 1) << level <= end; ++m) {
            const int64_t node = bpt_tree_node(graph, level, m);
            if (node >= 0) BPT_TRY(stage_node(g, sequence, node, 0));
        }
    return BPT_OK;
}

void bpt_decode_stage_asked(decode_staging_t *g, int64_t to, int64_t row) {
    const size_t entries = table_entries(g), ranges = memory_entries(g), at = (size_t)g->n_asked++, from = (size_t)row;
    g->asked[at] = (uint32_t)to;
    g->last[at] = (uint32_t)row;
    memcpy(g->last_table + at * entries, g->table + from * entries, entries * sizeof *g->table);
    if (ranges) memcpy(g->last_memory_table + at * ranges, g->memory_table + from * ranges, ranges * sizeof *g->memory_table);
}

// The program's rows behind the staged ones compute nothing.
static void pad(decode_staging_t *g, int64_t wanted) {
    const size_t rows = (size_t)g->rows, more = (size_t)(wanted - g->rows), entries = table_entries(g), ranges = memory_entries(g);
    for (int64_t row = g->rows; row < wanted; ++row) g->tokens[row] = g->positions[row] = g->leaf[row] = g->nodes[row] = BPT_NO_ROW;
    memset(g->table + rows * entries, 0, more * entries * sizeof *g->table);
    if (ranges) memset(g->memory_table + rows * ranges, 0, more * ranges * sizeof *g->memory_table);
}

bpt_status_t bpt_decode_staging_write(decode_staging_t *g, const decode_program_t *p) {
    pad(g, p->rows);
    BPT_TRY(bpt_program_write(p->program, p->tokens, g->tokens));
    BPT_TRY(bpt_positions_write(p->program, p->positions, g->shape->config, &g->sinusoids, g->positions, p->rows));
    BPT_TRY(bpt_program_write(p->program, p->rotations, g->rotations));
    BPT_TRY(bpt_program_write(p->program, p->leaf, g->leaf));
    BPT_TRY(bpt_program_write(p->program, p->nodes, g->nodes));
    BPT_TRY(bpt_program_write(p->program, p->table, g->table));
    BPT_TRY(bpt_program_write(p->program, p->last, g->last));
    BPT_TRY(bpt_program_write(p->program, p->last_table, g->last_table));
    BPT_TRY(bpt_program_write(p->program, p->memory_table, g->memory_table));
    return bpt_program_write(p->program, p->last_memory_table, g->last_memory_table);
}

bpt_status_t bpt_decode_staging_read(decode_staging_t *g, const decode_program_t *p, const float **rows) {
    const size_t vocab = (size_t)g->shape->config->vocab;
    const float *logits = g->copies ? NULL : bpt_program_view(p->program, p->logits);
    if (!logits) BPT_TRY(bpt_program_read(p->program, p->logits, g->logits));
    for (int64_t i = 0; i < g->n_asked; ++i) rows[g->asked[i]] = (logits ? logits : g->logits) + (size_t)i * vocab;
    return BPT_OK;
}
