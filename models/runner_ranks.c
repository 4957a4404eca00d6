// Several ranks with one model (see runner.h): sums of gradients over ranks, the update behind them, a sharded optimizer. What goes from
// rank to rank goes through host memory, bucket by bucket (models/nn/shard.h), so that any backend can take part.
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "models/runner_internal.h"

static bool is_sharded(const bpt_runner_t *r) { return r->options.step.shard.size > 1; }
static int64_t trained(const bpt_runner_t *r) { return r->params.trained_elements; }

static bpt_status_t need_bucket(bpt_runner_t *r) {
    const bpt_elements_t first = bpt_bucket(trained(r), 0);
    return r->bucket ? BPT_OK : bpt_alloc_aligned((size_t)(first.end - first.begin) * sizeof(float), &r->bucket);
}

static bpt_status_t read_elements(bpt_runner_t *r, bpt_step_state_t state, bpt_elements_t of, float *to) {
    if (of.begin == of.end) return BPT_OK;
    return bpt_buffer_read(r->device, r->states[state], (size_t)of.begin * sizeof *to, to, (size_t)(of.end - of.begin) * sizeof *to);
}

static bpt_status_t write_elements(bpt_runner_t *r, bpt_step_state_t state, bpt_elements_t of, const float *from) {
    if (of.begin == of.end) return BPT_OK;
    return bpt_buffer_write(r->device, r->states[state], (size_t)of.begin * sizeof *from, from, (size_t)(of.end - of.begin) * sizeof *from);
}

// ---- Gradients

// The sums of a bucket over all ranks: whole on each rank, or with a sharded optimizer the own slice.
static bpt_status_t reduce_bucket(bpt_runner_t *r, int64_t bucket) {
    const bpt_elements_t all = bpt_bucket(trained(r), bucket);
    BPT_TRY(read_elements(r, BPT_STATE_SUMS, all, r->bucket));
    BPT_TRY(bpt_ranks_reduce(r->options.ranks, r->bucket, all.end - all.begin));
    if (is_sharded(r)) {
        const bpt_elements_t own = bpt_own_slice(&r->options.step.shard, trained(r), bucket);
        return write_elements(r, BPT_STATE_SUMS, own, r->bucket + (own.begin - all.begin));
    }
    BPT_TRY(bpt_ranks_collect(r->options.ranks, r->bucket, all.end - all.begin));
    return write_elements(r, BPT_STATE_SUMS, all, r->bucket);
}

static bpt_status_t clear_sums(bpt_runner_t *r) {
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_SUMS));
    memset(r->bucket, 0, (size_t)bpt_bucket(trained(r), 0).end * sizeof *r->bucket);
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) BPT_TRY(write_elements(r, BPT_STATE_SUMS, bpt_bucket(trained(r), b), r->bucket));
    return BPT_OK;
}

// ---- A sharded update

static bpt_status_t square_sum_of_all(bpt_runner_t *r, double *out) {
    const bpt_step_key_t key = {.kind = BPT_STEP_NORM};
    *out = 0;
    if (bpt_own_elements(&r->options.step.shard, trained(r))) {
        bpt_model_step_t *step;
        BPT_TRY(bpt_runner_step(r, &key, &step));
        BPT_TRY(bpt_program_run(step->program));
        BPT_TRY(bpt_runner_read_scalar(step->program, step->square_sum, out));
    }
    return bpt_ranks_add(r->options.ranks, out, 1);
}

static bpt_status_t update_own(bpt_runner_t *r, const bpt_update_t *u, double square_sum) {
    const float value = (float)square_sum;
    bpt_model_step_t *step;
    if (!bpt_own_elements(&r->options.step.shard, trained(r))) return BPT_OK;
    BPT_TRY(bpt_runner_step(r, &bpt_runner_apply_key, &step));
    BPT_TRY(bpt_runner_write_hyper(step, u));
    BPT_TRY(bpt_program_write(step->program, step->square_sum, &value));
    return bpt_program_run(step->program);
}

static bpt_status_t share_parameters(bpt_runner_t *r) {
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t all = bpt_bucket(trained(r), b), own = bpt_own_slice(&r->options.step.shard, trained(r), b);
        BPT_TRY(read_elements(r, BPT_STATE_PARAMS, own, r->bucket + (own.begin - all.begin)));
        BPT_TRY(bpt_ranks_collect(r->options.ranks, r->bucket, all.end - all.begin));
        BPT_TRY(write_elements(r, BPT_STATE_PARAMS, all, r->bucket));
    }
    return BPT_OK;
}

static bpt_status_t apply_sharded(bpt_runner_t *r, const bpt_update_t *u, bpt_update_result_t *result) {
    double square_sum;
    BPT_TRY(square_sum_of_all(r, &square_sum));
    bpt_runner_note_norm(square_sum, u, result);
    if (!result->updated) return BPT_OK;
    BPT_TRY(update_own(r, u, square_sum));
    return share_parameters(r);
}

bpt_status_t bpt_runner_update_together(bpt_runner_t *r, const bpt_update_t *u, bool idle, bpt_update_result_t *result) {
    *result = (bpt_update_result_t){0};
    BPT_TRY(need_bucket(r));
    if (idle) BPT_TRY(clear_sums(r));
    r->summed = true;
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) BPT_TRY(reduce_bucket(r, b));
    return is_sharded(r) ? apply_sharded(r, u, result) : bpt_runner_apply(r, u, result);
}

// ---- Whole states

bpt_status_t bpt_runner_collect(bpt_runner_t *r, bpt_step_state_t state, float *out) {
    int64_t at = 0;
    BPT_TRY(need_bucket(r));
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t all = bpt_bucket(trained(r), b), own = bpt_own_slice(&r->options.step.shard, trained(r), b);
        const int64_t count = all.end - all.begin, mine = own.end - own.begin;
        BPT_TRY(read_elements(r, state, (bpt_elements_t){at, at + mine}, r->bucket + (own.begin - all.begin)));
        if (is_sharded(r)) BPT_TRY(bpt_ranks_collect(r->options.ranks, r->bucket, count));
        if (out) memcpy(out + all.begin, r->bucket, (size_t)count * sizeof *out);
        at += mine;
    }
    return BPT_OK;
}

bpt_status_t bpt_runner_store_own(bpt_runner_t *r, bpt_step_state_t state, const float *values) {
    int64_t at = 0;
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t own = bpt_own_slice(&r->options.step.shard, trained(r), b);
        BPT_TRY(write_elements(r, state, (bpt_elements_t){at, at + own.end - own.begin}, values + own.begin));
        at += own.end - own.begin;
    }
    return BPT_OK;
}

static bpt_status_t checksum_of_parameters(bpt_runner_t *r, bpt_checksum_t *out) {
    bpt_hasher_t *hasher;
    BPT_TRY(need_bucket(r));
    BPT_TRY(bpt_hasher_create(&hasher));
    bpt_status_t status = BPT_OK;
    for (int64_t b = 0; b < bpt_buckets(trained(r)) && status == BPT_OK; ++b) {
        const bpt_elements_t all = bpt_bucket(trained(r), b);
        status = read_elements(r, BPT_STATE_PARAMS, all, r->bucket);
        bpt_hasher_add(hasher, r->bucket, (size_t)(all.end - all.begin) * sizeof *r->bucket);
    }
    *out = bpt_hasher_sum(hasher);
    bpt_hasher_destroy(hasher);
    return status;
}

bpt_status_t bpt_runner_compare_parameters(bpt_runner_t *r, const char *why) {
    bpt_ranks_t *ranks = r->options.ranks;
    const int size = bpt_ranks_size(ranks);
    bpt_checksum_t mine, *all;
    if (size == 1) return BPT_OK;
    BPT_TRY(checksum_of_parameters(r, &mine));
    BPT_TRY(bpt_alloc((size_t)size, sizeof *all, &all));
    bpt_status_t status = bpt_ranks_gather(ranks, &mine, sizeof mine, all);
    for (int rank = 1; rank < size && status == BPT_OK; ++rank)
        if (!bpt_checksum_equal(&all[rank], &all[0]))
            status = bpt_fail(BPT_ERR_UNSUPPORTED, "the parameters of %s are not those of rank 0: %s", bpt_ranks_name(ranks, rank), why);
    bpt_free(all);
    return status;
}
