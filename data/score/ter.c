// TER (see ter.h).
#include "data/score/ter.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/score/edit_table.h"
#include "data/score/rounding.h"
#include "data/score/words.h"

enum { LONGEST_SHIFT = 10, FARTHEST_SHIFT = 50, MOST_SHIFTS = 1000 };  // of MOST_SHIFTS that are looked at for a pair of texts

// How the words of the translation and of the reference belong together.
typedef struct {
    int64_t *place;             // of each word of the reference: the word of the translation, or the one it follows; -1: the front
    int32_t *wrong_references;  // sums of words that are not kept: of the first i
    int32_t *wrong_words;
} alignment_t;

struct bpt_ter_counter {
    bpt_words_t words;
    uint32_t *now, *tried;  // the translation, as it is shifted
    size_t room, references_room;
    bpt_edit_table_t table;
    alignment_t alignment;
};

bpt_status_t bpt_ter_counter_create(bpt_ter_counter_t **out) { return bpt_alloc(1, sizeof **out, out); }

void bpt_ter_counter_destroy(bpt_ter_counter_t *c) {
    if (!c) return;
    bpt_words_free(&c->words);
    bpt_free(c->now);
    bpt_free(c->tried);
    bpt_edit_table_free(&c->table);
    bpt_free(c->alignment.place);
    bpt_free(c->alignment.wrong_references);
    bpt_free(c->alignment.wrong_words);
    bpt_free(c);
}

static bpt_status_t make_room(bpt_ter_counter_t *c, int64_t words, int64_t references) {
    const size_t n = (size_t)words + 1, m = (size_t)references + 1;
    if (c->room < n) {
        BPT_TRY(bpt_realloc(&c->now, n, sizeof *c->now));
        BPT_TRY(bpt_realloc(&c->tried, n, sizeof *c->tried));
        BPT_TRY(bpt_realloc(&c->alignment.wrong_words, n, sizeof *c->alignment.wrong_words));
        c->room = n;
    }
    if (c->references_room < m) {
        BPT_TRY(bpt_realloc(&c->alignment.place, m, sizeof *c->alignment.place));
        BPT_TRY(bpt_realloc(&c->alignment.wrong_references, m, sizeof *c->alignment.wrong_references));
        c->references_room = m;
    }
    return BPT_OK;
}

// Reads the edits of the table from the end; the counts of wrong words become sums.
static void align(const bpt_edit_table_t *t, alignment_t *a) {
    for (int64_t i = t->words, j = t->references; i > 0 || j > 0;) {
        const int edit = bpt_edit_table_edit(t, i, j);
        const bool from_words = edit != BPT_EDIT_INSERT, from_reference = edit != BPT_EDIT_DELETE;
        if (from_reference) {
            a->place[j - 1] = i - 1;
            a->wrong_references[j] = edit != BPT_EDIT_KEEP;
        }
        if (from_words) a->wrong_words[i] = edit != BPT_EDIT_KEEP;
        i -= from_words;
        j -= from_reference;
    }
    a->wrong_words[0] = a->wrong_references[0] = 0;
    for (int64_t i = 0; i < t->words; ++i) a->wrong_words[i + 1] += a->wrong_words[i];
    for (int64_t j = 0; j < t->references; ++j) a->wrong_references[j + 1] += a->wrong_references[j];
}

// ---- Shifts

// `length` words at `start` go in front of word `target`.
typedef struct {
    int64_t start, length, target;
    int64_t gain;  // edits that it saves
} shift_t;

// Returns how many words at the front stay where they are. A target within the block or right behind it counts from the block's end.
static int64_t apply(const shift_t *s, const uint32_t *from, int64_t words, uint32_t *to) {
    const int64_t behind = s->start + s->length;
    int64_t target = s->target;
    memcpy(to, from, (size_t)words * sizeof *to);
    if (target < s->start) {
        memcpy(to + target, from + s->start, (size_t)s->length * sizeof *to);
        memcpy(to + target + s->length, from + target, (size_t)(s->start - target) * sizeof *to);
        return target;
    }
    if (target <= behind) target += s->length;
    if (target > words) target = words;
    const int64_t moved = target > behind ? target - behind : 0;
    memcpy(to + s->start, from + behind, (size_t)moved * sizeof *to);
    memcpy(to + s->start + moved, from + s->start, (size_t)s->length * sizeof *to);
    return s->start;
}

// The one that saves most; of equal ones the longest, then the first, then the one to the first place.
static bool is_better(const shift_t *a, const shift_t *b) {
    if (!b->length) return true;
    if (a->gain != b->gain) return a->gain > b->gain;
    if (a->length != b->length) return a->length > b->length;
    if (a->start != b->start) return a->start < b->start;
    return a->target < b->target;
}

// Tries the block at all places beside the words that it equals, from `reference` on.
static void try_block(bpt_ter_counter_t *c, shift_t shift, int64_t reference, int64_t distance, shift_t *best, int64_t *looked_at) {
    int64_t last = -1;
    for (int64_t k = -1; k < shift.length; ++k) {
        shift.target = reference + k < 0 ? 0 : c->alignment.place[reference + k] + 1;
        if (shift.target == last) continue;
        last = shift.target;
        const int64_t same = apply(&shift, c->now, c->table.words, c->tried);
        shift.gain = distance - bpt_edit_table_try(&c->table, c->tried, same);
        ++*looked_at;
        if (is_better(&shift, best)) *best = shift;
    }
}

// Whether a block may move: some of it is wrong, so is some of what it equals in the reference, and that does not belong to the block.
static bool may_move(const alignment_t *a, const shift_t *s, int64_t reference) {
    const int64_t place = a->place[reference];
    return a->wrong_words[s->start + s->length] > a->wrong_words[s->start] &&
           a->wrong_references[reference + s->length] > a->wrong_references[reference] &&
           !(s->start <= place && place < s->start + s->length);
}

static bool try_blocks(bpt_ter_counter_t *c, int64_t start, int64_t reference, int64_t distance, shift_t *best, int64_t *looked_at) {
    const bpt_edit_table_t *t = &c->table;
    for (int64_t n = 0; n < LONGEST_SHIFT && start + n < t->words && reference + n < t->references; ++n) {
        if (c->now[start + n] != t->reference[reference + n]) break;
        const shift_t shift = {.start = start, .length = n + 1};
        if (!may_move(&c->alignment, &shift, reference)) continue;
        try_block(c, shift, reference, distance, best, looked_at);
        if (*looked_at >= MOST_SHIFTS) return false;
    }
    return true;
}

static shift_t best_shift(bpt_ter_counter_t *c, int64_t distance, int64_t *looked_at) {
    const bpt_edit_table_t *t = &c->table;
    shift_t best = {0};
    align(t, &c->alignment);
    for (int64_t start = 0; start < t->words; ++start) {
        const int64_t first = start > FARTHEST_SHIFT ? start - FARTHEST_SHIFT : 0, last = start + FARTHEST_SHIFT;
        for (int64_t reference = first; reference <= last && reference < t->references; ++reference)
            if (!try_blocks(c, start, reference, distance, &best, looked_at)) return best;
    }
    return best;
}

// The edits that turn c->now into the reference: shifts, as long as they save something, and then the other ones.
static bpt_status_t count_edits(bpt_ter_counter_t *c, int64_t words, const uint32_t *reference, int64_t references, int64_t *edits) {
    int64_t shifts = 0, looked_at = 0;
    if (!references) {
        *edits = words;
        return BPT_OK;
    }
    BPT_TRY(bpt_edit_table_shape(&c->table, words, reference, references));
    for (;; ++shifts) {
        const int64_t distance = bpt_edit_table_fill(&c->table, c->now);
        *edits = shifts + distance;
        const shift_t best = best_shift(c, distance, &looked_at);
        if (looked_at >= MOST_SHIFTS || best.gain <= 0) return BPT_OK;
        apply(&best, c->now, words, c->tried);
        memcpy(c->now, c->tried, (size_t)words * sizeof *c->now);
    }
}

bpt_status_t bpt_ter_count(bpt_ter_counter_t *c, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                           bpt_ter_counts_t *counts) {
    int64_t words = 0, all = 0, fewest = INT64_MAX, *length = NULL;
    bpt_words_clear(&c->words);
    BPT_TRY(bpt_alloc((size_t)n_references, sizeof *length, &length));
    bpt_status_t status = bpt_words_add(&c->words, BPT_BLEU_NONE, true, hypothesis, &words);
    for (int r = 0; r < n_references && status == BPT_OK; ++r)
        status = bpt_words_add(&c->words, BPT_BLEU_NONE, true, &references[r], &length[r]);
    if (status == BPT_OK) status = bpt_words_number(&c->words);
    for (int r = 0; r < n_references && status == BPT_OK; all += length[r++]) {
        int64_t edits = 0;
        status = make_room(c, words, length[r]);
        if (status == BPT_OK && words) memcpy(c->now, c->words.number, (size_t)words * sizeof *c->now);
        if (status == BPT_OK) status = count_edits(c, words, c->words.number + words + all, length[r], &edits);
        if (edits < fewest) fewest = edits;
    }
    bpt_free(length);
    *counts = (bpt_ter_counts_t){(double)fewest, (double)all / n_references};
    return status;
}

// ---- The score

double bpt_ter_score(bpt_ter_counts_t c, bool single) {
    if (c.reference > 0) return bpt_round(single, 100 * bpt_round(single, c.edits / c.reference));
    return c.edits > 0 ? 100 : 0;
}
