// Edit distance near the diagonal (see edit_table.h).
#include "data/score/edit_table.h"

#include <math.h>

#include "bpt/alloc.h"

enum { BEAM = 25, FAR = 1 << 29 };  // FAR: the cost of cells away from the diagonal

bpt_status_t bpt_edit_table_shape(bpt_edit_table_t *t, int64_t words, const uint32_t *reference, int64_t references) {
    t->words = words;
    t->reference = reference;
    t->references = references;
    t->ratio = words ? (double)references / (double)words : 1;
    t->beam = BEAM < t->ratio / 2 ? (int64_t)ceil(t->ratio / 2 + BEAM) : BEAM;  // rows still meet where lengths differ much
    t->width = 2 * t->beam + 1;
    const size_t cells = (size_t)(words + 1) * (size_t)t->width;
    if (t->room < cells) {
        BPT_TRY(bpt_realloc(&t->cost, cells, sizeof *t->cost));
        BPT_TRY(bpt_realloc(&t->edit, cells, sizeof *t->edit));
        t->room = cells;
    }
    for (int r = 0; r < 2 && t->tried_room < (size_t)t->width; ++r)
        BPT_TRY(bpt_realloc(&t->tried[r], (size_t)t->width, sizeof *t->tried[r]));
    if (t->tried_room < (size_t)t->width) t->tried_room = (size_t)t->width;
    return BPT_OK;
}

void bpt_edit_table_free(bpt_edit_table_t *t) {
    bpt_free(t->cost);
    bpt_free(t->edit);
    bpt_free(t->tried[0]);
    bpt_free(t->tried[1]);
}

// The columns of row i that are computed: first .. end - 1. Row 0 has them all, and is not kept: j insertions.
typedef struct {
    int64_t first, end;
} columns_t;

static columns_t columns_of(const bpt_edit_table_t *t, int64_t i) {
    const int64_t diagonal = (int64_t)floor((double)i * t->ratio);
    columns_t c = {diagonal - t->beam, diagonal + t->beam};
    if (c.first < 0) c.first = 0;
    if (c.end > t->references + 1 || i == t->words) c.end = t->references + 1;
    return c;
}

static int32_t at(const int32_t *row, columns_t columns, int64_t j) {
    return j >= columns.first && j < columns.end ? row[j - columns.first] : FAR;
}

static int32_t above_at(const int32_t *above, columns_t columns, int64_t i, int64_t j) {
    return i == 1 ? (int32_t)j : at(above, columns, j);
}

// Row i from the one above it. Of edits that cost the same the first counts: kept or changed, deleted, inserted.
static void fill_row(const bpt_edit_table_t *t, int64_t i, uint32_t word, const int32_t *above, int32_t *cost, uint8_t *edit) {
    const columns_t before = columns_of(t, i - 1), columns = columns_of(t, i);
    for (int64_t j = columns.first; j < columns.end; ++j) {
        const int32_t deleted = above_at(above, before, i, j) + 1;
        int32_t best = deleted;
        uint8_t kind = BPT_EDIT_DELETE;
        if (j > 0) {
            const bool same = word == t->reference[j - 1];
            const int32_t paired = above_at(above, before, i, j - 1) + !same;
            const int32_t inserted = (j > columns.first ? cost[j - 1 - columns.first] : FAR) + 1;
            if (paired <= deleted) {
                best = paired;
                kind = same ? BPT_EDIT_KEEP : BPT_EDIT_CHANGE;
            }
            if (inserted < best) {
                best = inserted;
                kind = BPT_EDIT_INSERT;
            }
        }
        cost[j - columns.first] = best < FAR ? best : FAR;
        if (edit) edit[j - columns.first] = kind;
    }
}

int64_t bpt_edit_table_fill(bpt_edit_table_t *t, const uint32_t *words) {
    for (int64_t i = 1; i <= t->words; ++i)
        fill_row(t, i, words[i - 1], t->cost + (i - 1) * t->width, t->cost + i * t->width, t->edit + i * t->width);
    if (!t->words) return t->references;
    return at(t->cost + t->words * t->width, columns_of(t, t->words), t->references);
}

int64_t bpt_edit_table_try(bpt_edit_table_t *t, const uint32_t *words, int64_t same) {
    const int32_t *above = t->cost + same * t->width;
    for (int64_t i = same + 1; i <= t->words; ++i) {
        fill_row(t, i, words[i - 1], above, t->tried[i % 2], NULL);
        above = t->tried[i % 2];
    }
    return at(above, columns_of(t, t->words), t->references);
}

int bpt_edit_table_edit(const bpt_edit_table_t *t, int64_t i, int64_t j) {
    return i ? t->edit[i * t->width + j - columns_of(t, i).first] : BPT_EDIT_INSERT;
}
