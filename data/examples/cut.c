// Dealing examples out to parts (cut.h).
#include "data/examples/cut.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/order.h"

const char *const bpt_cut_names[] = {[BPT_CUT_SHUFFLED] = "shuffled", [BPT_CUT_IN_ORDER] = "in-order", NULL};

enum { SHUFFLE = -1 };  // the epoch whose order this is: before those of training

// Of each class; all arrays have a place for each.
typedef struct {
    uint64_t n;       // examples of all classes
    size_t classes;   // at least 1
    uint64_t *count;  // examples
    uint64_t *taken;  // for validation and test so far
    uint64_t dealt;   // of all classes
    uint64_t *seats[BPT_PARTS];
} shares_t;

// ---- How many examples of each class a part gets

// What a class has too much of its share of so many seats; below 0: too little. In parts of an example, n of which are one.
static int64_t surplus(const shares_t *s, uint64_t has, uint64_t seats, size_t c) {
    return (int64_t)(has * s->n) - (int64_t)(s->count[c] * seats);
}
static int64_t surplus_of_part(const shares_t *s, int part, uint64_t total, size_t c) { return surplus(s, s->seats[part][c], total, c); }
static int64_t surplus_so_far(const shares_t *s, int part, uint64_t total, size_t c) {
    return surplus(s, s->taken[c] + s->seats[part][c], s->dealt + total, c);
}

// How many the part may take at most: one stays for training as long as there are others.
static uint64_t room(const shares_t *s, size_t c, bool last) {
    return s->count[c] - s->taken[c] - (last || s->count[c] == s->taken[c] ? 0 : 1);
}

// Takes a seat from the class that has the most too many.
static void take_seat(shares_t *s, int part, uint64_t total) {
    size_t from = s->classes;
    for (size_t c = 0; c < s->classes; ++c)
        if (s->seats[part][c] && (from == s->classes || surplus_of_part(s, part, total, c) > surplus_of_part(s, part, total, from)))
            from = c;
    --s->seats[part][from];
}

// Gives a seat to the class that lacks the most, in the parts so far: what is left over in one goes to another class in the next. False:
// none may have more.
static bool give_seat(shares_t *s, int part, uint64_t total, bool last) {
    size_t to = s->classes;
    for (size_t c = 0; c < s->classes; ++c)
        if (s->seats[part][c] < room(s, c, last) &&
            (to == s->classes || surplus_so_far(s, part, total, c) < surplus_so_far(s, part, total, to)))
            to = c;
    if (to < s->classes) ++s->seats[part][to];
    return to < s->classes;
}

static void share_out(shares_t *s, int part, uint64_t total) {
    uint64_t given = 0;
    for (size_t c = 0; c < s->classes; ++c) {
        const uint64_t whole = s->count[c] * total / s->n, wanted = whole || s->count[c] < 3 ? whole : 1, most = room(s, c, false);
        s->seats[part][c] = wanted < most ? wanted : most;
        given += s->seats[part][c];
    }
    for (; given > total; --given) take_seat(s, part, total);
    for (; given < total; ++given)
        if (!give_seat(s, part, total, false)) (void)give_seat(s, part, total, true);  // all classes are of one example
    for (size_t c = 0; c < s->classes; ++c) s->taken[c] += s->seats[part][c];
    s->dealt += total;
}

// A part that has fewer examples than there are classes grows to have one of each, up to a tenth of all.
static uint64_t widen(const shares_t *s, uint64_t total) {
    uint64_t wanted = 0;
    for (size_t c = 0; c < s->classes; ++c) wanted += s->count[c] >= 3;
    if (wanted > s->n / 10) wanted = s->n / 10;
    return wanted > total ? wanted : total;
}

// ---- Dealing out

static void deal(shares_t *s, const uint32_t *class, const uint32_t *order, uint8_t *part) {
    uint64_t begin[BPT_PARTS + 1];
    bpt_split_places(s->n, begin);
    const uint64_t valid = widen(s, begin[BPT_TEST] - begin[BPT_VALID]), test = widen(s, s->n - begin[BPT_TEST]);
    share_out(s, BPT_VALID, valid);
    share_out(s, BPT_TEST, test);
    for (uint64_t i = 0; i < s->n; ++i) {
        const size_t c = class ? class[order[i]] : 0;
        const int to = s->seats[BPT_VALID][c] ? BPT_VALID : s->seats[BPT_TEST][c] ? BPT_TEST : BPT_TRAIN;
        if (to != BPT_TRAIN) --s->seats[to][c];
        part[order[i]] = (uint8_t)to;
    }
}

bpt_status_t bpt_cut_make(const char *path, uint64_t count, const uint32_t *class, size_t classes, uint64_t seed, bpt_cut_t *out) {
    shares_t s = {.n = count, .classes = class ? classes : 1};
    uint32_t *order = NULL;
    *out = (bpt_cut_t){.count = count};
    if (count < 3 || count > UINT32_MAX) return bpt_split_fail_count(path, count, "example");
    BPT_TRY(bpt_alloc(4 * s.classes, sizeof *s.count, &s.count));
    s.taken = s.count + s.classes;
    s.seats[BPT_VALID] = s.taken + s.classes;
    s.seats[BPT_TEST] = s.seats[BPT_VALID] + s.classes;
    bpt_status_t status = bpt_alloc((size_t)count, sizeof *order, &order);
    if (status == BPT_OK) status = bpt_alloc((size_t)count, 1, &out->part);
    if (status == BPT_OK) {
        for (uint64_t i = 0; i < count; ++i) ++s.count[class ? class[i] : 0];
        bpt_epoch_order(seed, SHUFFLE, order, (int64_t)count);
        deal(&s, class, order, out->part);
    }
    bpt_free(order);
    bpt_free(s.count);
    return status;
}

bpt_status_t bpt_cut_make_in_order(const char *path, uint64_t count, bpt_cut_t *out) {
    uint64_t begin[BPT_PARTS + 1];
    *out = (bpt_cut_t){.count = count};
    if (count < 3) return bpt_split_fail_count(path, count, "example");
    BPT_TRY(bpt_alloc((size_t)count, 1, &out->part));
    bpt_split_places(count, begin);
    for (int p = 0; p < BPT_PARTS; ++p) memset(out->part + begin[p], p, (size_t)(begin[p + 1] - begin[p]));
    return BPT_OK;
}
