// Several ranks with one model (see runner.h): sums of gradients over ranks, the update behind them, a sharded optimizer. What goes from
// rank to rank goes bucket by bucket (models/nn/shard.h), through host memory, so that any backend can take part, or between devices that
// are connected (runner_link.c).
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "models/run/runner_internal.h"

static bool is_sharded(const bpt_runner_t *r) { return r->options.step.shard.size > 1; }
static int64_t trained(const bpt_runner_t *r) { return r->params.trained_elements; }

static bpt_status_t need_exchange(bpt_runner_t *r) {
    bpt_exchange_t *e = &r->exchange;
    const size_t buckets = (size_t)bpt_buckets(trained(r));
    if (!e->tickets) BPT_TRY(bpt_alloc(buckets, sizeof *e->tickets, &e->tickets));
    if (!e->final) BPT_TRY(bpt_alloc(buckets, sizeof *e->final, &e->final));
    return BPT_OK;
}

static bpt_status_t need_host(bpt_runner_t *r) {
    return r->exchange.host ? BPT_OK : bpt_alloc_aligned((size_t)trained(r) * sizeof(float), &r->exchange.host);
}

void bpt_runner_free_exchange(bpt_runner_t *r) {
    bpt_free_aligned(r->exchange.host);
    bpt_free(r->exchange.tickets);
    bpt_free(r->exchange.final);
}

// Elements of a state, to and from their places on the host.
static bpt_status_t read_elements(bpt_runner_t *r, bpt_step_state_t state, bpt_elements_t of, float *to) {
    if (of.begin == of.end) return BPT_OK;
    return bpt_buffer_read(r->device, r->states[state], (size_t)of.begin * sizeof *to, to, (size_t)(of.end - of.begin) * sizeof *to);
}

static bpt_status_t write_elements(bpt_runner_t *r, bpt_step_state_t state, bpt_elements_t of, const float *from) {
    if (of.begin == of.end) return BPT_OK;
    return bpt_buffer_write(r->device, r->states[state], (size_t)of.begin * sizeof *from, from, (size_t)(of.end - of.begin) * sizeof *from);
}

// ---- Gradients

static bpt_status_t begin_bucket(bpt_runner_t *r, int64_t bucket) {
    const bpt_elements_t all = bpt_bucket(trained(r), bucket);
    if (r->link) return bpt_runner_link_begin(r, bucket);
    float *values = r->exchange.host + all.begin;
    BPT_TRY(read_elements(r, BPT_STATE_SUMS, all, values));
    return bpt_ranks_begin_sum(r->options.ranks, values, all.end - all.begin, !is_sharded(r), &r->exchange.tickets[bucket]);
}

// A bucket waits for those before it in the order, which is the same on all ranks.
static bpt_status_t send_bucket(void *user, int mark) {
    bpt_runner_t *r = user;
    bpt_exchange_t *e = &r->exchange;
    e->final[mark] = true;
    for (; e->sent < bpt_buckets(trained(r)); ++e->sent) {
        const int64_t bucket = bpt_bucket_at(trained(r), bpt_params_late(&r->params), e->sent);
        if (!e->final[bucket]) break;
        BPT_TRY(begin_bucket(r, bucket));
    }
    return BPT_OK;
}

bpt_status_t bpt_runner_run_sending(bpt_runner_t *r, bpt_program_t *program) {
    BPT_TRY(need_exchange(r));
    if (!r->link) BPT_TRY(need_host(r));
    return bpt_program_run_marked(program, send_bucket, r);
}

static bpt_status_t send_all(bpt_runner_t *r) {
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) BPT_TRY(send_bucket(r, (int)b));
    return BPT_OK;
}

// The next step begins with none.
static void forget_sent(bpt_runner_t *r) {
    r->exchange.sent = 0;
    memset(r->exchange.final, 0, (size_t)bpt_buckets(trained(r)) * sizeof *r->exchange.final);
}

// The sums of a bucket over all ranks come to the device: whole on each rank, or with a sharded optimizer the own slice.
static bpt_status_t receive_bucket(bpt_runner_t *r, int64_t bucket) {
    const bpt_elements_t all = bpt_bucket(trained(r), bucket), own = bpt_own_slice(&r->options.step.shard, trained(r), bucket);
    const bpt_elements_t summed = is_sharded(r) ? own : all;
    BPT_TRY(bpt_ranks_wait(r->options.ranks, r->exchange.tickets[bucket]));
    return write_elements(r, BPT_STATE_SUMS, summed, r->exchange.host + summed.begin);
}

static bpt_status_t receive_all(bpt_runner_t *r) {
    if (r->link) return bpt_runner_link_end(r);
    for (int64_t i = 0; i < bpt_buckets(trained(r)); ++i)
        BPT_TRY(receive_bucket(r, bpt_bucket_at(trained(r), bpt_params_late(&r->params), i)));
    return BPT_OK;
}

static bpt_status_t clear_sums(bpt_runner_t *r) {
    float *zeros;
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_SUMS));
    BPT_TRY(bpt_alloc((size_t)trained(r), sizeof *zeros, &zeros));
    const bpt_status_t status = write_elements(r, BPT_STATE_SUMS, (bpt_elements_t){0, trained(r)}, zeros);
    bpt_free(zeros);
    return status;
}

// The sums of all ranks, of which this one may have sent its own already.
static bpt_status_t add_up(bpt_runner_t *r) {
    BPT_TRY(need_exchange(r));
    if (!r->link) BPT_TRY(need_host(r));
    BPT_TRY(send_all(r));
    BPT_TRY(receive_all(r));
    forget_sent(r);
    return BPT_OK;
}

// ---- A sharded update

static bpt_status_t square_sum_of_all(bpt_runner_t *r, double *out) {
    const bpt_step_key_t key = {.kind = BPT_STEP_NORM};
    *out = 0;
    if (bpt_own_elements(&r->options.step.shard, trained(r), 0)) {
        bpt_model_step_t *step;
        BPT_TRY(bpt_runner_step(r, &key, &step));
        BPT_TRY(bpt_program_run(step->program));
        BPT_TRY(bpt_runner_read_scalar(step->program, step->square_sum, out));
    }
    return bpt_ranks_add(r->options.ranks, out, 1);
}

// One of the programs of the update, by the sum of squares of all ranks.
static bpt_status_t run_update(bpt_runner_t *r, const bpt_step_key_t *key, const bpt_update_t *u, double square_sum) {
    const float value = (float)square_sum;
    bpt_model_step_t *step;
    BPT_TRY(bpt_runner_step(r, key, &step));
    BPT_TRY(bpt_runner_write_hyper(step, u));
    BPT_TRY(bpt_program_write(step->program, step->square_sum, &value));
    return bpt_program_run(step->program);
}

// The elements first .. end - 1 of a state, of which each rank has its own slices, come to all ranks: by whole buckets.
static bpt_status_t share(bpt_runner_t *r, bpt_step_state_t state, int64_t first, int64_t end) {
    float *host = r->exchange.host;
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t all = bpt_bucket(trained(r), b), own = bpt_own_slice(&r->options.step.shard, trained(r), b);
        if (all.end <= first || all.begin >= end) continue;
        if (r->link) {
            BPT_TRY(bpt_runner_link_share(r, state, all));
            continue;
        }
        BPT_TRY(read_elements(r, state, own, host + own.begin));
        BPT_TRY(bpt_ranks_collect(r->options.ranks, host + all.begin, all.end - all.begin));
        BPT_TRY(write_elements(r, state, all, host + all.begin));
    }
    return r->link ? bpt_runner_link_wait(r) : BPT_OK;
}

// Directions of matrices are in place of their gradients; when all ranks have them, each makes the steps of all matrices itself: that costs
// less than a second exchange, and is the same on all of them.
static bpt_status_t update_sharded(bpt_runner_t *r, const bpt_update_t *u, double square_sum) {
    const bpt_step_key_t matrices = {.kind = BPT_STEP_MATRICES};
    const int64_t end = r->params.matrix_elements;
    if (bpt_own_elements(&r->options.step.shard, trained(r), 0)) BPT_TRY(run_update(r, &bpt_runner_apply_key, u, square_sum));
    BPT_TRY(share(r, BPT_STATE_PARAMS, end, trained(r)));
    if (!end) return BPT_OK;
    BPT_TRY(share(r, BPT_STATE_SUMS, 0, end));
    return run_update(r, &matrices, u, square_sum);
}

static bpt_status_t apply_sharded(bpt_runner_t *r, const bpt_update_t *u, bpt_update_result_t *result) {
    double square_sum;
    BPT_TRY(square_sum_of_all(r, &square_sum));
    bpt_runner_note_norm(square_sum, u, result);
    if (!result->updated) return BPT_OK;
    return update_sharded(r, u, square_sum);
}

bpt_status_t bpt_runner_update_together(bpt_runner_t *r, const bpt_update_t *u, bool idle, bpt_update_result_t *result) {
    *result = (bpt_update_result_t){0};
    if (idle) BPT_TRY(clear_sums(r));
    r->summed = true;
    BPT_TRY(add_up(r));
    return is_sharded(r) ? apply_sharded(r, u, result) : bpt_runner_apply(r, u, result);
}

// A rank may have sent its sums before all knew that a loss is not finite: the others send theirs too, and the device gets the sums, for
// bpt_runner_explain.
bpt_status_t bpt_runner_pass_over(bpt_runner_t *r) {
    BPT_TRY(bpt_runner_need_state(r, BPT_STATE_SUMS));
    return add_up(r);
}

// ---- Whole states

// The first element that a state has.
static int64_t first_of(const bpt_runner_t *r, bpt_step_state_t state) { return state == BPT_STATE_V ? r->params.matrix_elements : 0; }

bpt_status_t bpt_runner_collect(bpt_runner_t *r, bpt_step_state_t state, float *out) {
    const int64_t first = first_of(r, state);
    int64_t at = 0;
    if (!is_sharded(r)) return out ? read_elements(r, state, (bpt_elements_t){0, trained(r) - first}, out + first) : BPT_OK;
    BPT_TRY(need_host(r));
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t all = bpt_bucket(trained(r), b);
        const bpt_elements_t own = bpt_elements_from(bpt_own_slice(&r->options.step.shard, trained(r), b), first);
        const int64_t count = all.end - all.begin, mine = own.end - own.begin;
        float *bucket = r->exchange.host + all.begin;
        BPT_TRY(read_elements(r, state, (bpt_elements_t){at, at + mine}, bucket + (own.begin - all.begin)));
        BPT_TRY(bpt_ranks_collect(r->options.ranks, bucket, count));
        if (out) memcpy(out + all.begin, bucket, (size_t)count * sizeof *out);
        at += mine;
    }
    return BPT_OK;
}

bpt_status_t bpt_runner_store_own(bpt_runner_t *r, bpt_step_state_t state, const float *values) {
    int64_t at = 0;
    for (int64_t b = 0; b < bpt_buckets(trained(r)); ++b) {
        const bpt_elements_t own = bpt_elements_from(bpt_own_slice(&r->options.step.shard, trained(r), b), first_of(r, state));
        BPT_TRY(write_elements(r, state, (bpt_elements_t){at, at + own.end - own.begin}, values + own.begin));
        at += own.end - own.begin;
    }
    return BPT_OK;
}

static bpt_status_t checksum_of_parameters(bpt_runner_t *r, bpt_checksum_t *out) {
    BPT_TRY(need_host(r));
    float *host = r->exchange.host;
    BPT_TRY(read_elements(r, BPT_STATE_PARAMS, (bpt_elements_t){0, trained(r)}, host));
    *out = bpt_checksum_of(host, (size_t)trained(r) * sizeof *host);
    return BPT_OK;
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
