// Processes that train one model together ("ranks", as MPI calls them), each with a device of its own, on one machine or on many.
//
// Every function but those that only tell something is collective: all ranks call it, in the same order and with the same sizes. Sums are
// added in the order of the ranks, so every rank has the same bits, and a second run has them again.
// NULL stands for a process that is alone: rank 0 of 1. Nothing is exchanged then.
//
// A rank that fails alone cannot tell the others, which wait for it: bpt_ranks_abort ends them. What may go wrong before training, such as
// a missing file on one machine, is agreed on first (bpt_ranks_agree), so that one clear message ends all of them.
#ifndef BPT_RANKS_H
#define BPT_RANKS_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct bpt_ranks bpt_ranks_t;

// Joins the ranks that mpirun (or srun) has started: opens libbpt_mpi.so, which lies beside the program, or in bpt/ in the folder of libraries, or
// is named by BPT_MPI_LIBRARY. BPT_ERR_UNAVAILABLE, with the remedy, where this build has none or MPI cannot start.
BPT_API bpt_status_t bpt_ranks_join_mpi(bpt_ranks_t **out) BPT_MUST_USE;
// Whether there is such a module, without joining anything: else BPT_ERR_UNAVAILABLE with the remedy.
BPT_API bpt_status_t bpt_ranks_find_mpi(void) BPT_MUST_USE;
// Waits for the others, then leaves. NULL is fine.
BPT_API void bpt_ranks_leave(bpt_ranks_t *ranks);
// Ends all ranks at once; returns when there is nothing to end.
BPT_API void bpt_ranks_abort(bpt_ranks_t *ranks, int exit_status);

BPT_API int bpt_ranks_rank(const bpt_ranks_t *ranks);
BPT_API int bpt_ranks_size(const bpt_ranks_t *ranks);
// Among the ranks of the same machine: for the choice of a device.
BPT_API int bpt_ranks_local_rank(const bpt_ranks_t *ranks);
BPT_API int bpt_ranks_local_size(const bpt_ranks_t *ranks);
// Seconds that this rank has spent in exchanges, waiting for others included; and those of them in which it did nothing else, because the
// caller waited for the result.
BPT_API double bpt_ranks_seconds(const bpt_ranks_t *ranks);
BPT_API double bpt_ranks_waited(const bpt_ranks_t *ranks);
// "rank 2 (host)", for messages; valid until the next call.
BPT_API const char *bpt_ranks_name(const bpt_ranks_t *ranks, int rank);

// all[size][bytes] in the order of the ranks.
BPT_API bpt_status_t bpt_ranks_gather(bpt_ranks_t *ranks, const void *mine, size_t bytes, void *all) BPT_MUST_USE;
// values[count] become the sums over all ranks.
BPT_API bpt_status_t bpt_ranks_add(bpt_ranks_t *ranks, double *values, int count) BPT_MUST_USE;
// Whether it is true on any rank.
BPT_API bpt_status_t bpt_ranks_any(bpt_ranks_t *ranks, bool mine, bool *any) BPT_MUST_USE;
// BPT_OK where all ranks have BPT_OK. Else every rank fails with the status and message of the first that failed.
BPT_API bpt_status_t bpt_ranks_agree(bpt_ranks_t *ranks, bpt_status_t status) BPT_MUST_USE;

// ---- Long arrays, cut into slices: rank r of `size` owns the elements [bpt_rank_slice(count, r, size), bpt_rank_slice(count, r + 1,
// size)). Slices begin at multiples of 64 elements, where kernels may begin.
static inline int64_t bpt_rank_slice(int64_t count, int rank, int size) {
    const int64_t each = ((count + size - 1) / size + 63) / 64 * 64, begin = each * rank;
    return begin < count ? begin : count;
}
// This rank's slice of values[count], count < 2^31, becomes the sum over all ranks; the others are left as they are.
BPT_API bpt_status_t bpt_ranks_reduce(bpt_ranks_t *ranks, float *values, int64_t count) BPT_MUST_USE;
// Every rank's own slice goes to all others.
BPT_API bpt_status_t bpt_ranks_collect(bpt_ranks_t *ranks, float *values, int64_t count) BPT_MUST_USE;
// The sum over all ranks while the caller goes on: `whole`, or the own slice alone. A thread makes the exchanges of long arrays, one after
// the other in the order of the calls. The values belong to it until bpt_ranks_wait returns for the ticket, which may be asked for by this
// rank alone.
BPT_API bpt_status_t bpt_ranks_begin_sum(bpt_ranks_t *ranks, float *values, int64_t count, bool whole, uint64_t *ticket) BPT_MUST_USE;
BPT_API bpt_status_t bpt_ranks_wait(bpt_ranks_t *ranks, uint64_t ticket) BPT_MUST_USE;

// Bytes for every other rank: those for rank r are give_bytes[r] behind those for the ranks before it, and so are those that come from rank
// r in `take`, take_bytes[r] of them. What one rank gives another is what that one takes. Less than 2 GiB each way.
BPT_API bpt_status_t bpt_ranks_swap(bpt_ranks_t *ranks, const void *give, const size_t *give_bytes, void *take,
                                    const size_t *take_bytes) BPT_MUST_USE;

BPT_END_DECLS

#endif
