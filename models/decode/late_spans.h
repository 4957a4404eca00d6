// Spans of many leaves in incremental decoding. A span of a BPT is read long after its last leaf: by the paper's rule k (2^j - 1) + 1
// tokens after it, by that of the released code about (k - 1/2) 2^j. So a span of more than 256 leaves is completed a piece per token, one
// layer after the other, in place of all at once: no token waits for the 2^j leaves that a span reads. Spans that no leaf of the capacity
// reads are left out.
#ifndef BPT_MODELS_LATE_SPANS_H
#define BPT_MODELS_LATE_SPANS_H

#include "models/decode/decode_graph.h"

typedef struct bpt_late_spans bpt_late_spans_t;

enum { BPT_FIRST_LATE = 9 };  // level: 512 leaves
// Whether spans of this level are late ones; a span of a SegTree is read by the leaf behind it and cannot be.
bool bpt_span_is_late(const bpt_intervals_t *graph, int level);

// The shape, and the programs' workspace and states, are the decoder's and must outlive it.
bpt_status_t bpt_late_spans_create(const decode_shape_t *shape, bpt_workspace_t *workspace, struct bpt_buffer *const *states,
                                   bpt_late_spans_t **out) BPT_MUST_USE;
// The cache is about to change: programs that know the one so far are dropped. What is under way goes on.
void bpt_late_spans_drop_programs(bpt_late_spans_t *late);
void bpt_late_spans_destroy(bpt_late_spans_t *late);

// lengths [sequences]: tokens so far, which the cache holds. Does a token's share of what is to be done for each sequence.
bpt_status_t bpt_late_spans_work(bpt_late_spans_t *late, const int64_t *lengths) BPT_MUST_USE;
// Completes the late spans of the first `length` leaves of a sequence.
bpt_status_t bpt_late_spans_finish(bpt_late_spans_t *late, int64_t sequence, int64_t length) BPT_MUST_USE;
// Completes those late spans among nodes [begin, end) of one level that are not complete yet.
bpt_status_t bpt_late_spans_need(bpt_late_spans_t *late, int64_t sequence, int64_t begin, int64_t end) BPT_MUST_USE;
// Spans of a level that are complete: the first so many.
int64_t bpt_late_spans_done(const bpt_late_spans_t *late, int64_t sequence, int level);
// Forgets the spans of a sequence that do not end in its first `length` leaves.
void bpt_late_spans_rewind(bpt_late_spans_t *late, int64_t sequence, int64_t length);

#endif
