// Incremental decoding (see lone_decoder.h): caches and programs by number of new nodes; their rows are staged by staging.c.
//
// The states of a decoder, and the functions that lead from one to the other:
//
//     bpt_lone_decoder_create
//             |
//             v         grow_ahead (via make_room): a sequence passes three quarters of the room
//         +--------+ -----------------------------------------------------------------> +---------+ --+
//     +-- | STEADY |                                                                    | GROWING |   | grow_ahead: a token's piece
//     |   |        | <----------------------------------------------------------------- |         | <-+ of the cache is copied
//     +-> +--------+    grow: the room is full, the rest is copied, the caches change   +---------+
//     grow: a prompt is longer than the room; begun and finished at once.
//
// STEADY   there is one cache, states[DECODE_CACHE], laid out by `shape`.
// GROWING  a larger one is beside it (growth.buffer is not NULL). Tokens are still written to the old one; bpt_lone_decoder_rewind takes
// back
//          what was copied of the tokens it forgets; where even the larger one is too small, grow gives it up for another.
//
// A decoder that reads a memory has none at first: need_room refuses tokens until bpt_lone_decoder_read has encoded texts. Each such call
// begins all sequences anew.
//
// What holds between two calls, in both states:
//   - The old cache holds the first length[s] leaves of sequence s, and the spans that end within them, but for late spans; of those it
//     holds the first bpt_late_spans_done (late_spans.c completes a piece per token).
//   - length[s] <= shape.room <= capacity. After a call that failed, length[s] counts only what was computed.
//   - Programs are of the cache and the memory as they are now: whoever changes one of these (grow, bpt_lone_decoder_read) calls
//   drop_programs.
#include "models/decode/lone_decoder.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/buffer.h"
#include "models/decode/cache.h"
#include "models/decode/late_spans.h"
#include "models/decode/memory.h"
#include "models/decode/staging.h"

// Programs by rows. A token completes no span half of the time, one a quarter of the time, and so on, at most one of each level; so many
// rows come together when all sequences do so at once: 1 + 8 where spans of 512 leaves are late ones (late_spans.h). Fewer than one row for
// each: some sequences rest, which the search of a beam does most of the time. A prompt goes in blocks of BLOCK tokens, which complete at
// most BLOCK - 1 spans of its own and one of each level that began before; no leaf of a block reads a late span that ends in it.
enum { N_SIZES = 14, BLOCK = 240, BLOCK_ROWS = 512, TOKEN_ROWS = 32 };
static const double sizes[N_SIZES] = {0.125, 0.25, 0.375, 0.5, 0.625,          0.75,       0.875,
                                      1,     2,    4,     6,   BPT_FIRST_LATE, TOKEN_ROWS, TOKEN_ROWS};  // for each sequence
_Static_assert(2 * BLOCK + BPT_MAX_LEVELS <= BLOCK_ROWS, "a block must fit the largest program");
_Static_assert(1 + BPT_MAX_LEVELS <= TOKEN_ROWS, "a token and its spans must fit");

struct bpt_lone_decoder {
    struct bpt_device *device;
    bpt_stack_t stack;
    decode_shape_t shape;
    int64_t capacity;
    int64_t *length;         // [sequences]
    int64_t sizes[N_SIZES];  // rows of the programs, rising
    bpt_workspace_t *workspace;
    struct bpt_buffer *states[DECODE_N_STATES];  // the parameters belong to the runner
    size_t state_bytes;                          // of its own states
    bool own_weights;                            // those in low precision and in 8 bits
    decode_program_t programs[N_SIZES];
    bpt_late_spans_t *late;
    decode_memory_t memory;
    decode_copy_t fork;
    decode_growth_t growth;
    int64_t grow_at;  // leaves of a sequence from which on a larger cache is made ready
    int64_t *ready;   // [sequences][BPT_MAX_LEVELS]: nodes that the cache holds, of each level
    decode_staging_t staging;
    const float **logits;  // [sequences]: where those of a step lie
};

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t grow_ahead_from(int64_t room) { return room - room / 4; }

bpt_status_t bpt_decode_check_model(const bpt_model_config_t *c) {
    const bpt_task_spec_t *task = bpt_task_of(c);
    if (task->generates && c->causal) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "only causal language models and translators generate text; this one is %s", task->model);
}

static bpt_status_t check(const bpt_model_config_t *c, int64_t capacity, int64_t sequences) {
    BPT_TRY(bpt_decode_check_model(c));
    if (capacity < 1) return bpt_fail(BPT_ERR_USAGE, "room for %" PRId64 " tokens is no context", capacity);
    if (sequences < 1 || sequences > BPT_NO_ROW / TOKEN_ROWS)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " sequences side by side are not possible", sequences);
    return bpt_model_check_length(c, capacity);
}

static bpt_status_t make_low_weights(bpt_lone_decoder_t *d) {
    if (d->shape.precision == BPT_F32 || d->states[DECODE_LOW]) return BPT_OK;
    bpt_graph_t *graph;
    bpt_program_t *program;
    const size_t bytes = (size_t)d->shape.params->elements * bpt_dtype_size(d->shape.precision);
    BPT_TRY(bpt_buffer_create(d->device, bytes, &d->states[DECODE_LOW]));
    d->state_bytes += bytes;
    BPT_TRY(bpt_decode_cast_graph(&d->shape, &graph));
    BPT_TRY(bpt_program_compile(graph, d->workspace, d->states, DECODE_N_STATES, &program));
    const bpt_status_t status = bpt_program_run(program);
    bpt_program_destroy(program);
    return status;
}

static bpt_status_t write_packed(bpt_lone_decoder_t *d, float *arena, uint32_t *words, size_t bytes) {
    BPT_TRY(bpt_buffer_read(d->device, d->states[DECODE_PARAMS], 0, arena, (size_t)d->shape.params->elements * sizeof *arena));
    BPT_TRY(bpt_params_pack(d->shape.params, arena, words));
    BPT_TRY(bpt_buffer_create(d->device, bytes, &d->states[DECODE_PACKED]));
    d->state_bytes += bytes;
    return bpt_buffer_write(d->device, d->states[DECODE_PACKED], 0, words, bytes);
}

static bpt_status_t make_packed_weights(bpt_lone_decoder_t *d) {
    const size_t count = (size_t)bpt_params_packed_place(d->shape.params, NULL);
    float *arena = NULL;
    uint32_t *words = NULL;
    if (!d->shape.packed || d->states[DECODE_PACKED]) return BPT_OK;
    bpt_status_t status = bpt_alloc((size_t)d->shape.params->elements, sizeof *arena, &arena);
    if (status == BPT_OK) status = bpt_alloc(count, sizeof *words, &words);
    if (status == BPT_OK) status = write_packed(d, arena, words, count * sizeof *words);
    bpt_free(arena);
    bpt_free(words);
    return status;
}

static bpt_status_t allocate(bpt_lone_decoder_t *d) {
    const size_t sequences = (size_t)d->shape.sequences;
    BPT_TRY(bpt_workspace_create(d->device, &d->workspace));
    BPT_TRY(bpt_decode_cache_create(d->device, &d->shape, &d->states[DECODE_CACHE]));
    BPT_TRY(bpt_alloc(sequences, sizeof *d->length, &d->length));
    BPT_TRY(bpt_alloc(sequences, sizeof *d->logits, &d->logits));
    BPT_TRY(bpt_alloc(sequences * BPT_MAX_LEVELS, sizeof *d->ready, &d->ready));
    BPT_TRY(bpt_decode_growth_create(&d->shape, &d->growth));
    BPT_TRY(bpt_late_spans_create(&d->shape, d->workspace, d->states, &d->late));
    BPT_TRY(make_packed_weights(d));
    return make_low_weights(d);
}

static bpt_status_t allocate_memory(bpt_lone_decoder_t *d, const bpt_model_config_t *config) {
    d->memory = (decode_memory_t){.config = config, .device = d->device, .workspace = d->workspace, .states = d->states};
    d->staging.memory = &d->memory;
    return bpt_alloc(2 * (size_t)(d->shape.memory_slots * d->shape.sequences), sizeof(uint32_t), &d->memory.ranges);
}

static bool has_late_spans(const bpt_lone_decoder_t *d) {
    return bpt_span_is_late(&d->shape.graph, BPT_FIRST_LATE) && bpt_tree_level_size(&d->shape.graph, BPT_FIRST_LATE);
}

static bpt_status_t allocate_staging(bpt_lone_decoder_t *d) {
    d->staging.copies = has_late_spans(d);  // whose programs run before the logits are looked at
    d->staging.shape = &d->shape;
    d->staging.capacity = d->capacity;
    d->staging.late = d->late;
    return bpt_decode_staging_create(&d->staging, d->sizes[N_SIZES - 1]);
}

bpt_status_t bpt_lone_decoder_create(bpt_runner_t *runner, struct bpt_device *device, const bpt_lone_decoder_t *weights, int64_t capacity,
                                     int64_t sequences, bpt_lone_decoder_t **out) {
    const bpt_stack_t stack = bpt_model_last_stack(bpt_runner_config(runner));
    bpt_lone_decoder_t *d;
    BPT_TRY(check(&stack.config, capacity, sequences));
    BPT_TRY(bpt_alloc(1, sizeof *d, &d));
    d->stack = stack;
    const bpt_model_config_t *c = &d->stack.config;
    d->device = device ? device : bpt_runner_device(runner);
    d->own_weights = !weights;
    for (int i = DECODE_LOW; weights && i <= DECODE_PACKED; ++i) d->states[i] = weights->states[i];
    d->capacity = capacity;
    d->states[DECODE_PARAMS] = bpt_runner_state(runner, BPT_STATE_PARAMS);
    d->shape =
        (decode_shape_t){.stack = &d->stack, .config = c, .params = bpt_runner_params(runner), .precision = bpt_runner_precision(runner)};
    d->shape.packed =
        bpt_runner_weights(runner) == BPT_WEIGHTS_Q8 && d->device->info.packed && bpt_params_packed_place(d->shape.params, NULL);
    d->shape.sequences = sequences;
    d->shape.memory_slots = stack.reads_trees ? 2 : 1;
    d->shape.graph = bpt_model_needed_intervals(c, capacity);
    if (bpt_node_count(&d->shape.graph) > BPT_NO_ROW / sequences) {
        bpt_free(d);
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " sequences of %" PRId64 " tokens are too many; lower --batch", sequences, capacity);
    }
    bpt_decode_lay_out(&d->shape, least(capacity, BPT_DECODE_FIRST_ROOM));
    d->grow_at = grow_ahead_from(d->shape.room);
    for (int i = 0; i < N_SIZES; ++i) d->sizes[i] = most(4, (int64_t)(sizes[i] * (double)sequences));
    d->sizes[N_SIZES - 1] = most(BLOCK_ROWS, d->sizes[N_SIZES - 1]);
    d->shape.slots = bpt_intervals_most_keys(&d->shape.graph);
    bpt_status_t status = allocate(d);
    if (status == BPT_OK && stack.reads_memory) status = allocate_memory(d, bpt_runner_config(runner));
    if (status == BPT_OK) status = allocate_staging(d);
    if (status == BPT_OK)
        *out = d;
    else
        bpt_lone_decoder_destroy(d);
    return status;
}

static void drop_programs(bpt_lone_decoder_t *d) {
    for (int i = 0; i < N_SIZES; ++i) {
        bpt_program_destroy(d->programs[i].program);
        d->programs[i].program = NULL;
    }
    bpt_program_destroy(d->fork.program);
    d->fork.program = NULL;
    if (d->late) bpt_late_spans_drop_programs(d->late);
}

void bpt_lone_decoder_destroy(bpt_lone_decoder_t *d) {
    if (!d) return;
    drop_programs(d);
    bpt_late_spans_destroy(d->late);
    bpt_decode_growth_destroy(d->device, &d->growth);
    if (d->memory.states) bpt_decode_memory_destroy(&d->memory);
    bpt_workspace_destroy(d->workspace);
    if (d->own_weights) bpt_buffer_destroy(d->device, d->states[DECODE_LOW]);
    if (d->own_weights) bpt_buffer_destroy(d->device, d->states[DECODE_PACKED]);
    bpt_buffer_destroy(d->device, d->states[DECODE_CACHE]);
    bpt_decode_staging_free(&d->staging);
    bpt_free(d->length);
    bpt_free(d->logits);
    bpt_free(d->ready);
    bpt_free(d);
}

uint64_t bpt_lone_decoder_device_bytes(const bpt_lone_decoder_t *d) {
    const size_t larger = d->growth.buffer ? bpt_decode_cache_bytes(&d->growth.shape) : 0;
    return d->state_bytes + bpt_decode_cache_bytes(&d->shape) + bpt_decode_memory_bytes(&d->shape) + larger +
           bpt_workspace_bytes(d->workspace);
}
uint64_t bpt_lone_decoder_moved_bytes(const bpt_lone_decoder_t *d) { return d->growth.bytes; }
int64_t bpt_lone_decoder_length(const bpt_lone_decoder_t *d, int64_t sequence) { return d->length[sequence]; }

// The leaves over which all spans of a level are complete.
static int64_t complete_leaves(const bpt_lone_decoder_t *d, int64_t sequence, int level) {
    const bool late = bpt_span_is_late(&d->shape.graph, level) && bpt_tree_level_size(&d->shape.graph, level);
    return late ? bpt_late_spans_done(d->late, sequence, level) << level : d->length[sequence];
}

// Nodes of each level whose keys and values are in the cache for good.
static void count_complete(bpt_lone_decoder_t *d) {
    for (int64_t s = 0; s < d->shape.sequences; ++s)
        for (int level = 0; level < BPT_MAX_LEVELS; ++level)
            d->ready[s * BPT_MAX_LEVELS + level] = bpt_decode_nodes_within(&d->shape.graph, level, complete_leaves(d, s, level));
}

// Also of late spans that are not complete in all layers.
static void count_begun(bpt_lone_decoder_t *d) {
    for (int64_t s = 0; s < d->shape.sequences; ++s)
        for (int level = 0; level < BPT_MAX_LEVELS; ++level)
            d->ready[s * BPT_MAX_LEVELS + level] = bpt_decode_nodes_within(&d->shape.graph, level, d->length[s]);
}

void bpt_lone_decoder_rewind(bpt_lone_decoder_t *d, int64_t sequence, int64_t length) {
    if (length >= d->length[sequence]) return;
    d->length[sequence] = length;
    bpt_late_spans_rewind(d->late, sequence, length);
    if (!d->growth.buffer) return;
    count_complete(d);
    bpt_decode_growth_rewind(&d->growth, &d->shape, d->ready);
}

// ---- Room. Nodes keep their numbers and what is computed, and in which programs, stays the same, so growth changes no bit of any result.

static int64_t longest(const bpt_lone_decoder_t *d) {
    int64_t length = 0;
    for (int64_t s = 0; s < d->shape.sequences; ++s) length = most(length, d->length[s]);
    return length;
}

static bpt_status_t begin_growth(bpt_lone_decoder_t *d, int64_t room) {
    return bpt_decode_growth_begin(d->device, d->workspace, &d->shape, d->states[DECODE_CACHE], least(room, d->capacity), longest(d),
                                   &d->growth);
}

// Room for `length` tokens of each sequence now: a cache of twice the size, or more, takes the place of the one so far.
static bpt_status_t grow(bpt_lone_decoder_t *d, int64_t length) {
    struct bpt_buffer *cache;
    int64_t room = d->shape.room;
    while (room < length + length / 4) room *= 2;  // what follows a prompt finds room too
    if (d->growth.buffer && d->growth.shape.room < length) bpt_decode_growth_abandon(d->device, &d->growth);
    if (!d->growth.buffer) BPT_TRY(begin_growth(d, room));
    count_begun(d);
    BPT_TRY(bpt_decode_growth_finish(&d->growth, &d->shape, d->ready, &cache));
    drop_programs(d);
    bpt_buffer_destroy(d->device, d->states[DECODE_CACHE]);
    d->states[DECODE_CACHE] = cache;
    d->shape = d->growth.shape;
    d->grow_at = grow_ahead_from(d->shape.room);
    return BPT_OK;
}

// Before the room is full a larger cache is made ready beside it, a piece per token: no token waits for all that was cached. Where memory
// is too small for both, the room is used to its end first.
static bpt_status_t grow_ahead(bpt_lone_decoder_t *d, int64_t length) {
    if (length <= d->grow_at || d->shape.room == d->capacity) return BPT_OK;
    if (!d->growth.buffer) {
        const bpt_status_t status = begin_growth(d, 2 * d->shape.room);
        if (status == BPT_ERR_NO_MEMORY) d->grow_at = d->shape.room;
        return status == BPT_ERR_NO_MEMORY ? BPT_OK : status;
    }
    count_complete(d);
    return bpt_decode_growth_work(&d->growth, &d->shape, length, d->ready);
}

static bpt_status_t make_room(bpt_lone_decoder_t *d, int64_t length) {
    return length > d->shape.room ? grow(d, length) : grow_ahead(d, length);
}

static bpt_status_t program_for(bpt_lone_decoder_t *d, int64_t rows, decode_program_t **out) {
    int i = 0;
    while (d->sizes[i] < rows) ++i;
    decode_program_t *p = *out = &d->programs[i];
    if (p->program) return BPT_OK;
    bpt_graph_t *graph;
    p->rows = d->sizes[i];
    p->asked = least(d->shape.sequences, p->rows);
    BPT_TRY(bpt_decode_graph(&d->shape, p, &graph));
    return bpt_program_compile(graph, d->workspace, d->states, DECODE_N_STATES, &p->program);
}

// Runs the staged rows in *out.
static bpt_status_t run(bpt_lone_decoder_t *d, decode_program_t **out) {
    BPT_TRY(program_for(d, d->staging.rows, out));
    const decode_program_t *p = *out;
    BPT_TRY(bpt_decode_staging_write(&d->staging, p));
    return bpt_program_run(p->program);
}

static bpt_status_t read_first(bpt_lone_decoder_t *d, const decode_program_t *p, float *logits) {
    BPT_TRY(bpt_decode_staging_read(&d->staging, p, d->logits));
    memcpy(logits, d->logits[0], (size_t)d->shape.config->vocab * sizeof *logits);
    return BPT_OK;
}

static bpt_status_t feed_block(bpt_lone_decoder_t *d, int64_t sequence, const uint32_t *tokens, int64_t count, float *logits) {
    decode_staging_t *g = &d->staging;
    decode_program_t *p;
    bpt_decode_staging_begin(g);
    BPT_TRY(bpt_decode_stage_leaves(g, sequence, d->length[sequence], tokens, count));
    BPT_TRY(bpt_decode_stage_spans(g, sequence, d->length[sequence], count));
    bpt_decode_stage_asked(g, 0, count - 1);
    BPT_TRY(run(d, &p));
    d->length[sequence] += count;
    if (logits) BPT_TRY(read_first(d, p, logits));
    return bpt_late_spans_finish(d->late, sequence, d->length[sequence]);
}

static bpt_status_t need_room(bpt_lone_decoder_t *d, int64_t sequence, int64_t count) {
    if (d->stack.reads_memory && !d->shape.memory_rows)
        return bpt_fail(BPT_ERR_USAGE, "a translator needs a text to translate before it goes on with a translation");
    if (count <= d->capacity - d->length[sequence]) return make_room(d, d->length[sequence] + count);
    return bpt_fail(BPT_ERR_USAGE, "the context is full: %" PRId64 " tokens more do not fit in %" PRId64, count, d->capacity);
}

bpt_status_t bpt_lone_decoder_feed(bpt_lone_decoder_t *d, int64_t sequence, const uint32_t *tokens, int64_t count, float *logits) {
    BPT_TRY(need_room(d, sequence, count));
    for (int64_t done = 0; done < count;) {
        const int64_t block = count - done < BLOCK ? count - done : BLOCK;
        BPT_TRY(feed_block(d, sequence, tokens + done, block, done + block == count ? logits : NULL));
        done += block;
    }
    return BPT_OK;
}

bpt_status_t bpt_lone_decoder_step(bpt_lone_decoder_t *d, const uint32_t *tokens, const float **rows) {
    decode_staging_t *g = &d->staging;
    decode_program_t *p = NULL;
    for (int64_t s = 0; s < d->shape.sequences; ++s)
        if (tokens[s] != BPT_NO_ROW) BPT_TRY(need_room(d, s, 1));
    bpt_decode_staging_begin(g);
    for (int64_t s = 0; s < d->shape.sequences; ++s) {
        if (tokens[s] == BPT_NO_ROW) continue;
        BPT_TRY(bpt_decode_stage_leaves(g, s, d->length[s], tokens + s, 1));
        bpt_decode_stage_asked(g, s, g->rows - 1);
    }
    for (int64_t s = 0; s < d->shape.sequences; ++s)
        if (tokens[s] != BPT_NO_ROW) BPT_TRY(bpt_decode_stage_spans(g, s, d->length[s], 1));
    if (g->rows) BPT_TRY(run(d, &p));
    if (g->rows && rows) BPT_TRY(bpt_decode_staging_read(g, p, rows));
    for (int64_t s = 0; s < d->shape.sequences; ++s) d->length[s] += tokens[s] != BPT_NO_ROW;
    return bpt_late_spans_work(d->late, d->length);
}

// ---- Texts to translate, and translations that go on in several ways

bpt_status_t bpt_lone_decoder_read(bpt_lone_decoder_t *d, const bpt_batch_t *batch, int64_t sequences_per_text) {
    bool moved = false;
    if (!d->stack.reads_memory)
        return bpt_fail(BPT_ERR_USAGE, "%s has no text to read beside its own", bpt_task_of(d->shape.config)->model);
    if (batch->n_real * sequences_per_text > d->shape.sequences)
        return bpt_fail(BPT_ERR_USAGE,
                        "%" PRId64 " texts with %" PRId64 " translations each are more than the decoder's %" PRId64 " sequences",
                        batch->n_real, sequences_per_text, d->shape.sequences);
    for (int64_t s = 0; s < d->shape.sequences; ++s) bpt_lone_decoder_rewind(d, s, 0);
    const bpt_status_t status = bpt_decode_memory_read(&d->memory, &d->shape, batch, sequences_per_text, &moved);
    if (moved) drop_programs(d);
    return status;
}

void bpt_lone_decoder_attend(bpt_lone_decoder_t *d, int64_t sequence, uint32_t begin, uint32_t end) {
    uint32_t *range = d->memory.ranges + 2 * d->shape.memory_slots * sequence;
    range[0] = begin;
    range[1] = end;
}

// Adds the rows of the nodes that hold a token from `first` on.
static void list_rows(const bpt_lone_decoder_t *d, const bpt_fork_t *fork, uint32_t *from, uint32_t *to, int64_t *count) {
    const bpt_intervals_t *graph = &d->shape.graph;
    const int64_t length = d->length[fork->from];
    for (int level = 0; level < (bpt_intervals_has_spans(graph) ? bpt_tree_levels(graph) : 1); ++level)
        for (int64_t m = fork->first >> level; (m + 1) << level <= length; ++m) {
            const int64_t node = level ? bpt_tree_node(graph, level, m) : m;
            if (node < 0) continue;
            from[*count] = (uint32_t)bpt_decode_row(&d->shape, fork->from, node);
            to[(*count)++] = (uint32_t)bpt_decode_row(&d->shape, fork->to, node);
        }
}

static bpt_status_t copy_rows(bpt_lone_decoder_t *d, uint32_t *from, uint32_t *to, int64_t count) {
    bpt_graph_t *graph;
    if (count > d->fork.rows) {
        bpt_program_destroy(d->fork.program);
        d->fork.program = NULL;
        for (d->fork.rows = 64; d->fork.rows < count;) d->fork.rows *= 2;
    }
    if (!d->fork.program) {
        BPT_TRY(bpt_decode_fork_graph(&d->shape, &d->fork, &graph));
        BPT_TRY(bpt_program_compile(graph, d->workspace, d->states, DECODE_N_STATES, &d->fork.program));
    }
    BPT_TRY(bpt_program_write(d->fork.program, d->fork.from, from));
    BPT_TRY(bpt_program_write(d->fork.program, d->fork.to, to));
    return bpt_program_run(d->fork.program);
}

bpt_status_t bpt_lone_decoder_fork(bpt_lone_decoder_t *d, const bpt_fork_t *forks, int64_t count) {
    int64_t most_rows = 64, rows = 0;
    uint32_t *from, *to = NULL;
    if (!count) return BPT_OK;
    if (has_late_spans(d))
        return bpt_fail(BPT_ERR_USAGE, "translations of up to %" PRId64 " tokens cannot go on in several ways; the most is %d", d->capacity,
                        1 << BPT_FIRST_LATE);
    for (int64_t i = 0; i < count; ++i) most_rows += 2 * (d->length[forks[i].from] - forks[i].first) + BPT_MAX_LEVELS;
    const int64_t room = most(2 * d->fork.rows, 2 * most_rows);
    BPT_TRY(bpt_alloc((size_t)room, sizeof *from, &from));
    bpt_status_t status = bpt_alloc((size_t)room, sizeof *to, &to);
    for (int64_t i = 0; i < count && status == BPT_OK; ++i) list_rows(d, &forks[i], from, to, &rows);
    for (int64_t i = rows; i < room && status == BPT_OK; ++i) from[i] = to[i] = BPT_NO_ROW;
    if (status == BPT_OK && rows) status = copy_rows(d, from, to, rows);
    for (int64_t i = 0; i < count && status == BPT_OK; ++i) d->length[forks[i].to] = d->length[forks[i].from];
    bpt_free(from);
    bpt_free(to);
    return status;
}
