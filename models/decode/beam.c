// Beam search (see beam.h).
#include "models/decode/beam.h"

#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/decode/log_sum.h"
#include "models/decode/repeats.h"

typedef struct {
    bool live;
    double sum;        // of log-probabilities
    int64_t count;     // tokens chosen
    uint32_t *tokens;  // [max_length]; of a slot that died: what its sequence still holds
    int64_t held;      // tokens that the sequence has been given, the opening sign among them
} slot_t;

typedef struct {
    double sum;
    uint32_t token;
    int slot;
} candidate_t;

typedef struct {
    double score;
    int64_t count;
    uint32_t *tokens;
} finished_t;

struct bpt_beam {
    bpt_beam_options_t options;
    int64_t max_length, capacity;  // of this text; of the arrays
    slot_t *slots;                 // [K]
    candidate_t *candidates;       // [2K], best first
    int n_candidates;
    finished_t *finished;  // [K + 1], best first
    int n_finished;
    candidate_t *chosen;  // [K]
    int *children;        // [K]: of each slot
    float *largest;       // logit of each block of the vocabulary (log_sum.h)
    bool *banned;         // [vocab]: may not be chosen for the slot at hand; between slots `forbidden` alone
};

bpt_status_t bpt_beam_create(const bpt_beam_options_t *options, bpt_beam_t **out) {
    const size_t width = (size_t)options->width;
    bpt_beam_t *b;
    BPT_TRY(bpt_alloc(1, sizeof *b, &b));
    b->options = *options;
    bpt_status_t status = bpt_alloc(width, sizeof *b->slots, &b->slots);
    if (status == BPT_OK) status = bpt_alloc(2 * width, sizeof *b->candidates, &b->candidates);
    if (status == BPT_OK) status = bpt_alloc(width + 1, sizeof *b->finished, &b->finished);
    if (status == BPT_OK) status = bpt_alloc(width, sizeof *b->chosen, &b->chosen);
    if (status == BPT_OK) status = bpt_alloc(width, sizeof *b->children, &b->children);
    if (status == BPT_OK) status = bpt_alloc((size_t)options->vocab / BPT_LOG_SUM_BLOCK + 1, sizeof *b->largest, &b->largest);
    if (status == BPT_OK) status = bpt_alloc((size_t)options->vocab, sizeof *b->banned, &b->banned);
    if (status == BPT_OK && options->forbidden != BPT_NO_ROW) b->banned[options->forbidden] = true;
    if (status == BPT_OK)
        *out = b;
    else
        bpt_beam_destroy(b);
    return status;
}

void bpt_beam_destroy(bpt_beam_t *b) {
    if (!b) return;
    for (int i = 0; b->slots && i < b->options.width; ++i) bpt_free(b->slots[i].tokens);
    for (int i = 0; b->finished && i <= b->options.width; ++i) bpt_free(b->finished[i].tokens);
    bpt_free(b->slots);
    bpt_free(b->candidates);
    bpt_free(b->finished);
    bpt_free(b->chosen);
    bpt_free(b->children);
    bpt_free(b->largest);
    bpt_free(b->banned);
    bpt_free(b);
}

bpt_status_t bpt_beam_begin(bpt_beam_t *b, int64_t max_length) {
    const size_t room = (size_t)max_length;
    for (int i = 0; max_length > b->capacity && i <= b->options.width; ++i) {
        if (i < b->options.width) BPT_TRY(bpt_realloc(&b->slots[i].tokens, room, sizeof(uint32_t)));
        BPT_TRY(bpt_realloc(&b->finished[i].tokens, room, sizeof(uint32_t)));
    }
    if (max_length > b->capacity) b->capacity = max_length;
    b->max_length = max_length;
    b->n_finished = 0;
    for (int i = 0; i < b->options.width; ++i) {
        b->slots[i].live = i == 0;
        b->slots[i].sum = 0;
        b->slots[i].count = 0;
        b->slots[i].held = i == 0;
    }
    return BPT_OK;
}

// ---- Candidates

static bool is_better(const candidate_t *a, const candidate_t *b) {
    if (a->sum > b->sum || a->sum < b->sum) return a->sum > b->sum;
    return a->token != b->token ? a->token < b->token : a->slot < b->slot;
}

static void insert(bpt_beam_t *b, const candidate_t *c) {
    const int most = 2 * b->options.width;
    int at = b->n_candidates < most ? b->n_candidates++ : most - 1;
    for (; at > 0 && is_better(c, &b->candidates[at - 1]); --at) b->candidates[at] = b->candidates[at - 1];
    b->candidates[at] = *c;
}

// Candidates of a block of the vocabulary whose largest logit is `largest`: mostly none is good enough.
static void add_block(bpt_beam_t *b, int slot, const float *logits, int64_t from, int64_t to, double total, float largest) {
    const double sum = b->slots[slot].sum;
    const int most = 2 * b->options.width;
    if (b->n_candidates == most && sum + (double)largest - total < b->candidates[most - 1].sum) return;
    for (int64_t v = from; v < to; ++v) {
        const candidate_t c = {sum + (double)logits[v] - total, (uint32_t)v, slot};
        if (b->n_candidates == most && !is_better(&c, &b->candidates[most - 1])) continue;
        if (!b->banned[v]) insert(b, &c);
    }
}

// Whether a slot may go on by any token but the end.
static bool goes_on(const bpt_beam_t *b, const slot_t *s) {
    if (s->count + 1 >= b->max_length) return false;
    for (int64_t v = 0; v < b->options.vocab; ++v)
        if (!b->banned[v] && v != b->options.end) return true;
    return false;
}

static void add_blocks(bpt_beam_t *b, int slot, const float *logits, double total) {
    const int64_t vocab = b->options.vocab;
    for (int64_t v = 0, i = 0; v < vocab; v += BPT_LOG_SUM_BLOCK, ++i)
        add_block(b, slot, logits, v, v + BPT_LOG_SUM_BLOCK < vocab ? v + BPT_LOG_SUM_BLOCK : vocab, total, b->largest[i]);
}

static bpt_status_t add_candidates(bpt_beam_t *b, int slot, const float *logits) {
    const slot_t *s = &b->slots[slot];
    const bpt_beam_options_t *o = &b->options;
    const double total = bpt_log_sum_of_logits(logits, o->vocab, b->largest);
    if (!isfinite(total)) return bpt_fail(BPT_ERR_NUMERIC, "a logit is not finite; the model is damaged, or has diverged in training");
    bpt_mark_repeats(s->tokens, s->count, o->no_repeat, b->banned, true);
    if (goes_on(b, s)) {
        b->banned[o->end] = s->count < o->min_tokens;
        add_blocks(b, slot, logits, total);
        b->banned[o->end] = false;
    } else {
        add_block(b, slot, logits, o->end, o->end + 1, total, logits[o->end]);
    }
    bpt_mark_repeats(s->tokens, s->count, o->no_repeat, b->banned, false);
    if (o->forbidden != BPT_NO_ROW) b->banned[o->forbidden] = true;
    return BPT_OK;
}

// ---- Finished hypotheses

static void finish(bpt_beam_t *b, const candidate_t *c) {
    const slot_t *s = &b->slots[c->slot];
    const double score = c->sum / pow((double)(s->count + 1), b->options.length_penalty);
    int at = b->n_finished;
    finished_t f = b->finished[at];  // its room
    for (; at > 0 && score > b->finished[at - 1].score; --at) b->finished[at] = b->finished[at - 1];
    f.score = score;
    f.count = s->count;
    memcpy(f.tokens, s->tokens, (size_t)s->count * sizeof *f.tokens);
    b->finished[at] = f;
    if (b->n_finished < b->options.width) ++b->n_finished;
}

static bool is_done(const bpt_beam_t *b) {
    bool live = false;
    for (int i = 0; i < b->options.width; ++i) live = live || b->slots[i].live;
    return !live || b->n_finished == b->options.width;
}

// ---- Slots

// Tokens that two sequences have in common at their beginning, the opening sign among them.
static int64_t common(const slot_t *a, const slot_t *b) {
    const int64_t most = a->held < b->held ? a->held : b->held;
    int64_t n = most > 0;
    while (n < most && a->tokens[n - 1] == b->tokens[n - 1]) ++n;
    return n;
}

// A slot without a child that shares most with `parent`.
static int free_slot(const bpt_beam_t *b, const bool *taken, int parent) {
    int best = -1;
    int64_t most = -1;
    for (int i = 0; i < b->options.width; ++i) {
        if (taken[i] || b->children[i]) continue;
        const int64_t n = common(&b->slots[i], &b->slots[parent]);
        if (n > most) best = i, most = n;
    }
    return best;
}

static void extend(slot_t *s, const candidate_t *c) {
    s->live = true;
    s->sum = c->sum;
    s->tokens[s->count++] = c->token;
    ++s->held;
}

// The first child of a slot stays there; others become copies of it in slots that nobody needs.
static bpt_status_t place(bpt_beam_t *b, int n_chosen, uint32_t *next, bpt_fork_t *forks, int64_t *n_forks) {
    const int width = b->options.width;
    bool *taken;
    BPT_TRY(bpt_alloc((size_t)width, sizeof *taken, &taken));
    for (int i = 0; i < width; ++i) b->children[i] = 0, next[i] = BPT_NO_ROW;
    for (int i = 0; i < n_chosen; ++i) ++b->children[b->chosen[i].slot];
    for (int i = n_chosen - 1; i >= 0; --i) {  // from the last: a slot changes after all its copies are made
        const candidate_t *c = &b->chosen[i];
        int to = c->slot;
        bool first = true;
        for (int j = 0; j < i; ++j) first = first && b->chosen[j].slot != c->slot;
        if (!first) {
            to = free_slot(b, taken, c->slot);
            slot_t *s = &b->slots[to];
            const slot_t *parent = &b->slots[c->slot];
            forks[(*n_forks)++] = (bpt_fork_t){.from = c->slot, .to = to, .first = common(s, parent)};
            memcpy(s->tokens, parent->tokens, (size_t)parent->count * sizeof *s->tokens);
            s->count = parent->count;
            s->held = parent->held;
        }
        taken[to] = true;
        next[to] = c->token;
        extend(&b->slots[to], c);
    }
    for (int i = 0; i < width; ++i) b->slots[i].live = taken[i];
    bpt_free(taken);
    return BPT_OK;
}

bpt_status_t bpt_beam_step(bpt_beam_t *b, const float *const *logits, uint32_t *next, bpt_fork_t *forks, int64_t *n_forks, bool *done) {
    int n_chosen = 0;
    *n_forks = 0;
    b->n_candidates = 0;
    for (int i = 0; i < b->options.width; ++i)
        if (b->slots[i].live) BPT_TRY(add_candidates(b, i, logits[i]));
    for (int i = 0; i < b->n_candidates && n_chosen < b->options.width; ++i) {
        if (b->candidates[i].token != b->options.end)
            b->chosen[n_chosen++] = b->candidates[i];
        else if (i < b->options.width)
            finish(b, &b->candidates[i]);
    }
    BPT_TRY(place(b, n_chosen, next, forks, n_forks));
    *done = is_done(b);
    return BPT_OK;
}

int bpt_beam_count(const bpt_beam_t *b) { return b->n_finished; }
bpt_hypothesis_t bpt_beam_hypothesis(const bpt_beam_t *b, int place) {
    const finished_t *f = &b->finished[place];
    return (bpt_hypothesis_t){.tokens = f->tokens, .count = f->count, .score = f->score};
}
