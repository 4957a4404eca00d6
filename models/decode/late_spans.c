// Late spans, a piece per token (see late_spans.h). A span goes through a layer by chunks of leaves: every chunk gives a result of its own
// and the logarithm of its weight, and the host adds these up, in order. Where a chunk begins depends on the span alone, so the bits of a
// span do not depend on when its chunks were read.
#include "models/decode/late_spans.h"

#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/decode/cache.h"

enum {
    CHUNK = 64,       // leaves
    RUN_CHUNKS = 64,  // of a run when spans are wanted at once
};

// The spans of one level of one sequence. They are completed in order.
typedef struct {
    int64_t sequence;
    int level;
    int64_t spans;       // of the level
    int64_t done;        // complete spans
    int32_t layer;       // of the span behind them: the layer that it is in, -1: none yet
    int64_t read;        // its leaves that it has read in this layer
    float *x;            // [d]: what it entered the layer with
    void *q;             // [d], its query in the layer, in the precision of products
    float *sum;          // [d]: weighted sum of what chunks gave
    float *most, *mass;  // [heads]: the largest log sum exp of a chunk, the sum of weights beside it
} lane_t;

struct bpt_late_spans {
    const decode_shape_t *shape;
    bpt_workspace_t *workspace;
    struct bpt_buffer *const *states;
    int levels;               // late ones that are read
    int64_t share;            // chunks of a sequence per token
    lane_t *lanes;            // [sequences][levels]
    lane_t **chosen;          // [sequences]: those that work is done for
    float *floats;            // storage of lanes
    char *queries;            // likewise
    decode_reading_t *reads;  // [layers]
    decode_entry_t *entries;  // [layers]
    // Of one run: rows of the programs, and whose they are.
    lane_t **rows;
    uint32_t *table, *nodes;
    char *q, *out;
    float *x, *lse, *rotations;  // rotations: with rotary positions, else NULL
};

// A span that leaves read only half of its own length after its end can wait for its pieces.
bool bpt_span_is_late(const bpt_intervals_t *graph, int level) {
    return level >= BPT_FIRST_LATE && bpt_intervals_has_spans(graph) && bpt_intervals_wait(graph, level) >= (int64_t)1 << (level - 1);
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static size_t columns(const bpt_late_spans_t *l) { return (size_t)l->shape->config->d_model; }
static size_t low_bytes(const bpt_late_spans_t *l) { return columns(l) * bpt_dtype_size(l->shape->precision); }
static int64_t leaves_of(const lane_t *a) { return (int64_t)1 << a->level; }
static int64_t entry_rows(const bpt_late_spans_t *l) { return most(4, l->shape->sequences); }
static int64_t read_rows(const bpt_late_spans_t *l) { return most(RUN_CHUNKS, l->share * l->shape->sequences); }
static lane_t *lane_of(const bpt_late_spans_t *l, int64_t sequence, int level) {
    return &l->lanes[sequence * l->levels + level - BPT_FIRST_LATE];
}

// ---- Set-up

// A level's spans read as many leaves as there are, in all layers but the last one, so this is twice the work that a token brings; small
// spans go first. As every level's spans come twice as rarely as those below, all are complete before the next one of their level comes,
// 2^j tokens later, and that is before they are read.
static int64_t share_of(const bpt_late_spans_t *l) { return 1 + 2 * (l->shape->config->layers - 1) * l->levels / CHUNK; }

static int late_levels(const bpt_intervals_t *graph) {
    int levels = 0;
    while (bpt_span_is_late(graph, BPT_FIRST_LATE + levels) && bpt_tree_level_size(graph, BPT_FIRST_LATE + levels)) ++levels;
    return levels;
}

static bpt_status_t allocate(bpt_late_spans_t *l) {
    const size_t sequences = (size_t)l->shape->sequences, layers = (size_t)l->shape->config->layers;
    const size_t lanes = sequences * (size_t)l->levels, heads = (size_t)l->shape->config->heads;
    const size_t rows = (size_t)most(read_rows(l), entry_rows(l));
    BPT_TRY(bpt_alloc(lanes, sizeof *l->lanes, &l->lanes));
    BPT_TRY(bpt_alloc(lanes, (2 * columns(l) + 2 * heads) * sizeof *l->floats, &l->floats));
    BPT_TRY(bpt_alloc(lanes, low_bytes(l), &l->queries));
    BPT_TRY(bpt_alloc(sequences, sizeof(lane_t *), &l->chosen));
    BPT_TRY(bpt_alloc(layers, sizeof *l->reads, &l->reads));
    BPT_TRY(bpt_alloc(layers, sizeof *l->entries, &l->entries));
    BPT_TRY(bpt_alloc(rows, sizeof(lane_t *), &l->rows));
    BPT_TRY(bpt_alloc(rows, 4 * sizeof *l->table, &l->table));
    BPT_TRY(bpt_alloc(rows, sizeof *l->nodes, &l->nodes));
    BPT_TRY(bpt_alloc(rows, low_bytes(l), &l->q));
    BPT_TRY(bpt_alloc(rows, low_bytes(l), &l->out));
    BPT_TRY(bpt_alloc(rows, columns(l) * sizeof *l->x, &l->x));
    if (l->shape->config->positions == BPT_POSITIONS_ROTARY) BPT_TRY(bpt_alloc(rows, columns(l) / heads * sizeof *l->x, &l->rotations));
    return bpt_alloc(rows, heads * sizeof *l->lse, &l->lse);
}

static void lay_out_lanes(bpt_late_spans_t *l) {
    const size_t d = columns(l), heads = (size_t)l->shape->config->heads;
    for (int64_t i = 0; i < l->shape->sequences * l->levels; ++i) {
        lane_t *a = &l->lanes[i];
        a->sequence = i / l->levels;
        a->level = BPT_FIRST_LATE + (int)(i % l->levels);
        a->spans = bpt_tree_level_size(&l->shape->graph, a->level);
        a->layer = -1;
        a->x = l->floats + (size_t)i * (2 * d + 2 * heads);
        a->sum = a->x + d;
        a->most = a->sum + d;
        a->mass = a->most + heads;
        a->q = l->queries + (size_t)i * low_bytes(l);
    }
    for (int32_t i = 0; i < l->shape->config->layers; ++i) l->reads[i].rows = read_rows(l), l->entries[i].rows = entry_rows(l);
}

bpt_status_t bpt_late_spans_create(const decode_shape_t *shape, bpt_workspace_t *workspace, struct bpt_buffer *const *states,
                                   bpt_late_spans_t **out) {
    bpt_late_spans_t *l;
    BPT_TRY(bpt_alloc(1, sizeof *l, &l));
    l->shape = shape;
    l->workspace = workspace;
    l->states = states;
    l->levels = late_levels(&shape->graph);
    l->share = share_of(l);
    const bpt_status_t status = allocate(l);
    if (status != BPT_OK) {
        bpt_late_spans_destroy(l);
        return status;
    }
    lay_out_lanes(l);
    *out = l;
    return BPT_OK;
}

void bpt_late_spans_drop_programs(bpt_late_spans_t *l) {
    for (int32_t i = 0; l->reads && l->entries && i < l->shape->config->layers; ++i) {
        bpt_program_destroy(l->reads[i].program);
        bpt_program_destroy(l->entries[i].program);
        l->reads[i].program = l->entries[i].program = NULL;
    }
}

void bpt_late_spans_destroy(bpt_late_spans_t *l) {
    if (!l) return;
    bpt_late_spans_drop_programs(l);
    bpt_free(l->lanes);
    bpt_free(l->floats);
    bpt_free(l->queries);
    bpt_free(l->chosen);
    bpt_free(l->reads);
    bpt_free(l->entries);
    bpt_free(l->rows);
    bpt_free(l->table);
    bpt_free(l->nodes);
    bpt_free(l->q);
    bpt_free(l->out);
    bpt_free(l->x);
    bpt_free(l->lse);
    bpt_free(l->rotations);
    bpt_free(l);
}

// ---- Numbers in the precision of products

static float from_low(bpt_dtype_t dtype, const void *data, size_t i) {
    if (dtype == BPT_F32) return ((const float *)data)[i];
    const uint16_t bits = ((const uint16_t *)data)[i];
    return dtype == BPT_BF16 ? bpt_from_bf16(bits) : bpt_from_f16(bits);
}

static void to_low(bpt_dtype_t dtype, float x, void *data, size_t i) {
    if (dtype == BPT_F32)
        ((float *)data)[i] = x;
    else
        ((uint16_t *)data)[i] = dtype == BPT_BF16 ? bpt_to_bf16(x) : bpt_to_f16(x);
}

// ---- Reading leaves

// Adds what a chunk gave to the sums of its span.
static void add_chunk(const bpt_late_spans_t *l, lane_t *a, const void *out, const float *lse) {
    const size_t heads = (size_t)l->shape->config->heads, head_dim = columns(l) / heads;
    for (size_t h = 0; h < heads; ++h) {
        const float larger = fmaxf(a->most[h], lse[h]), old = expf(a->most[h] - larger), weight = expf(lse[h] - larger);
        a->most[h] = larger;
        a->mass[h] = a->mass[h] * old + weight;
        for (size_t c = h * head_dim; c < (h + 1) * head_dim; ++c)
            a->sum[c] = a->sum[c] * old + from_low(l->shape->precision, out, c) * weight;
    }
}

static bpt_status_t run_reading(bpt_late_spans_t *l, decode_reading_t *p, int32_t layer, int64_t rows) {
    if (!p->program) {
        bpt_graph_t *graph;
        BPT_TRY(bpt_decode_reading_graph(l->shape, layer, p, &graph));
        BPT_TRY(bpt_program_compile(graph, l->workspace, l->states, DECODE_N_STATES, &p->program));
    }
    memset(l->table + rows * 4, 0, (size_t)(p->rows - rows) * 4 * sizeof *l->table);
    BPT_TRY(bpt_program_write(p->program, p->q, l->q));
    BPT_TRY(bpt_program_write(p->program, p->table, l->table));
    BPT_TRY(bpt_program_run(p->program));
    BPT_TRY(bpt_program_read(p->program, p->out, l->out));
    return bpt_program_read(p->program, p->lse, l->lse);
}

// Up to `chunks` chunks of those chosen spans that are in this layer.
static bpt_status_t read_in_layer(bpt_late_spans_t *l, int64_t n, int32_t layer, int64_t chunks) {
    int64_t rows = 0;
    for (int64_t i = 0; i < n; ++i) {
        lane_t *a = l->chosen[i];
        const int64_t first = bpt_decode_row(l->shape, a->sequence, a->done * leaves_of(a));
        for (int64_t c = 0; a->layer == layer && c < chunks && a->read < leaves_of(a); ++c, ++rows, a->read += CHUNK) {
            uint32_t *entry = l->table + rows * 4;
            entry[0] = (uint32_t)(first + a->read);
            entry[1] = entry[0] + CHUNK;
            entry[2] = BPT_NO_ROW;  // all leaves of a span have the same row of relative positions, which adds the same to every score
            entry[3] = 0;
            memcpy(l->q + (size_t)rows * low_bytes(l), a->q, low_bytes(l));
            l->rows[rows] = a;
        }
    }
    if (!rows) return BPT_OK;
    BPT_TRY(run_reading(l, &l->reads[layer], layer, rows));
    for (int64_t r = 0; r < rows; ++r) add_chunk(l, l->rows[r], l->out + (size_t)r * low_bytes(l), l->lse + r * l->shape->config->heads);
    return BPT_OK;
}

// ---- From layer to layer

static void stage_entry(const bpt_late_spans_t *l, lane_t *a, int64_t row) {
    const size_t d = columns(l), head_dim = d / (size_t)l->shape->config->heads;
    float *x = l->x + (size_t)row * d;
    l->rows[row] = a;
    const int64_t node = bpt_tree_node(&l->shape->graph, a->level, a->done);
    l->nodes[row] = (uint32_t)bpt_decode_row(l->shape, a->sequence, node);
    if (l->rotations)
        bpt_rotary_angles(bpt_rotary_position(&l->shape->graph, node), (int64_t)head_dim, l->rotations + (size_t)row * head_dim);
    if (a->layer < 0) {
        memset(x, 0, d * sizeof *x);
        return;
    }
    memcpy(x, a->x, d * sizeof *x);
    for (size_t c = 0; c < d; ++c) to_low(l->shape->precision, a->sum[c] / a->mass[c / head_dim], l->out + (size_t)row * low_bytes(l), c);
}

static void enter(const bpt_late_spans_t *l, lane_t *a, int64_t row) {
    const size_t d = columns(l), heads = (size_t)l->shape->config->heads;
    if (++a->layer + 1 == l->shape->config->layers) {  // nothing reads what a span asks in the last layer
        a->layer = -1;
        ++a->done;
        return;
    }
    memcpy(a->x, l->x + (size_t)row * d, d * sizeof *a->x);
    memcpy(a->q, l->q + (size_t)row * low_bytes(l), low_bytes(l));
    memset(a->sum, 0, d * sizeof *a->sum);
    memset(a->mass, 0, heads * sizeof *a->mass);
    for (size_t h = 0; h < heads; ++h) a->most[h] = -INFINITY;
    a->read = 0;
}

static bpt_status_t run_entry(bpt_late_spans_t *l, decode_entry_t *p, int32_t layer, int64_t rows) {
    if (!p->program) {
        bpt_graph_t *graph;
        BPT_TRY(bpt_decode_entry_graph(l->shape, layer, p, &graph));
        BPT_TRY(bpt_program_compile(graph, l->workspace, l->states, DECODE_N_STATES, &p->program));
    }
    for (int64_t r = rows; r < p->rows; ++r) l->nodes[r] = BPT_NO_ROW;
    BPT_TRY(bpt_program_write(p->program, p->x, l->x));
    BPT_TRY(bpt_program_write(p->program, p->attention, l->out));
    BPT_TRY(bpt_program_write(p->program, p->nodes, l->nodes));
    BPT_TRY(bpt_program_write(p->program, p->rotations, l->rotations));
    BPT_TRY(bpt_program_run(p->program));
    BPT_TRY(bpt_program_read(p->program, p->entered, l->x));
    return bpt_program_read(p->program, p->q, l->q);
}

static bool wants_entry(const lane_t *a, int32_t layer) { return a->layer == layer - 1 && (layer == 0 || a->read == leaves_of(a)); }

// Those chosen spans that have read all in the layer before this one, or come new.
static bpt_status_t enter_layer(bpt_late_spans_t *l, int64_t n, int32_t layer) {
    int64_t rows = 0;
    for (int64_t i = 0; i < n; ++i)
        if (wants_entry(l->chosen[i], layer)) stage_entry(l, l->chosen[i], rows++);
    if (!rows) return BPT_OK;
    BPT_TRY(run_entry(l, &l->entries[layer], layer, rows));
    for (int64_t r = 0; r < rows; ++r) enter(l, l->rows[r], r);
    return BPT_OK;
}

// ---- What is done when

// Spans that can be complete and that somebody reads.
static int64_t due(const lane_t *a, int64_t length) {
    const int64_t ended = length >> a->level;
    return ended < a->spans ? ended : a->spans;
}

// The next share of the chosen spans' work.
static bpt_status_t advance(bpt_late_spans_t *l, int64_t n, int64_t chunks) {
    const int32_t layers = l->shape->config->layers;
    for (int32_t i = 0; i < layers; ++i) BPT_TRY(enter_layer(l, n, i));
    for (int32_t i = 0; i + 1 < layers; ++i) BPT_TRY(read_in_layer(l, n, i, chunks));
    return BPT_OK;
}

bpt_status_t bpt_late_spans_work(bpt_late_spans_t *l, const int64_t *lengths) {
    int64_t n = 0;
    for (int64_t s = 0; s < l->shape->sequences; ++s)
        for (int level = BPT_FIRST_LATE; level < BPT_FIRST_LATE + l->levels; ++level) {
            lane_t *a = lane_of(l, s, level);
            if (a->done == due(a, lengths[s])) continue;
            l->chosen[n++] = a;
            break;
        }
    return n ? advance(l, n, l->share) : BPT_OK;
}

static bpt_status_t finish_lane(bpt_late_spans_t *l, lane_t *a, int64_t count) {
    l->chosen[0] = a;
    while (a->done < count) BPT_TRY(advance(l, 1, RUN_CHUNKS));
    return BPT_OK;
}

bpt_status_t bpt_late_spans_finish(bpt_late_spans_t *l, int64_t sequence, int64_t length) {
    for (int level = BPT_FIRST_LATE; level < BPT_FIRST_LATE + l->levels; ++level)
        BPT_TRY(finish_lane(l, lane_of(l, sequence, level), due(lane_of(l, sequence, level), length)));
    return BPT_OK;
}

bpt_status_t bpt_late_spans_need(bpt_late_spans_t *l, int64_t sequence, int64_t begin, int64_t end) {
    int level;
    int64_t index;
    if (!l->levels) return BPT_OK;
    bpt_node_position(&l->shape->graph, begin, &level, &index);
    return level < BPT_FIRST_LATE ? BPT_OK : finish_lane(l, lane_of(l, sequence, level), index + end - begin);
}

int64_t bpt_late_spans_done(const bpt_late_spans_t *l, int64_t sequence, int level) { return lane_of(l, sequence, level)->done; }

void bpt_late_spans_rewind(bpt_late_spans_t *l, int64_t sequence, int64_t length) {
    for (int level = BPT_FIRST_LATE; level < BPT_FIRST_LATE + l->levels; ++level) {
        lane_t *a = lane_of(l, sequence, level);
        const int64_t complete = length >> level;
        if (a->done >= complete) a->layer = -1;  // the one under way ends beyond
        if (a->done > complete) a->done = complete;
    }
}
