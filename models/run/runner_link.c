// Sums of gradients between devices that are connected without their hosts (bpt/link.h): a bucket's slices go to their owners, each adds
// what it has received in the order of the ranks, and its sums go to all others. Each step of this runs beside the backward pass.
#include "bpt/alloc.h"
#include "models/run/runner_internal.h"

// Two buckets are on their way at the same time.
enum { IN_FLIGHT = 2 };

struct bpt_runner_link {
    bpt_ranks_link_t *link;
    struct bpt_buffer *received[IN_FLIGHT];  // [size][slice]
    bpt_program_t **adders;                  // [buckets], in their order; NULL where the own slice is empty
    bpt_workspace_t *workspace;
    int64_t begun;  // buckets of this step
};

static int64_t trained(const bpt_runner_t *r) { return r->params.trained_elements; }
static bpt_shard_t place_of(const bpt_runner_t *r) {
    return (bpt_shard_t){bpt_ranks_rank(r->options.ranks), bpt_ranks_size(r->options.ranks)};
}
static int64_t bucket_at(const bpt_runner_t *r, int64_t i) { return bpt_bucket_at(trained(r), bpt_params_late(&r->params), i); }

bpt_status_t bpt_runner_link_create(bpt_runner_t *r) {
    bpt_ranks_link_t *link;
    BPT_TRY(bpt_ranks_link_open(r->options.ranks, r->device, &link));
    if (!link) return BPT_OK;
    const bpt_status_t status = bpt_alloc(1, sizeof *r->link, &r->link);
    if (status != BPT_OK)
        bpt_ranks_link_close(link);
    else
        r->link->link = link;
    return status;
}

void bpt_runner_link_destroy(bpt_runner_t *r) {
    bpt_runner_link_t *l = r->link;
    if (!l) return;
    bpt_ranks_link_close(l->link);
    for (int64_t i = 0; l->adders && i < bpt_buckets(trained(r)); ++i) bpt_program_destroy(l->adders[i]);
    bpt_free(l->adders);
    bpt_workspace_destroy(l->workspace);
    for (int i = 0; i < IN_FLIGHT; ++i) bpt_buffer_destroy(r->device, l->received[i]);
    bpt_free(l);
}

// ---- Adding

static bpt_status_t need_room(bpt_runner_t *r) {
    bpt_runner_link_t *l = r->link;
    const bpt_elements_t largest = bpt_bucket(trained(r), 0);
    const bpt_shard_t first = {0, place_of(r).size};  // nobody owns more of a bucket
    const bpt_elements_t own = bpt_own_slice(&first, trained(r), 0);
    if (l->adders) return BPT_OK;
    if (largest.end == 0) return BPT_OK;
    BPT_TRY(bpt_workspace_create(r->device, &l->workspace));
    for (int i = 0; i < IN_FLIGHT; ++i)
        BPT_TRY(bpt_buffer_create(r->device, (size_t)first.size * (size_t)(own.end - own.begin) * sizeof(float), &l->received[i]));
    return bpt_alloc((size_t)bpt_buckets(trained(r)), sizeof(bpt_program_t *), &l->adders);
}

enum { SUMS, RECEIVED, N_STATES };

// The own slice of the sums becomes what all ranks have sent, added in their order.
static bpt_status_t need_adder(bpt_runner_t *r, int64_t i, bpt_elements_t own) {
    bpt_runner_link_t *l = r->link;
    struct bpt_buffer *const states[N_STATES] = {r->states[BPT_STATE_SUMS], l->received[i % IN_FLIGHT]};
    const int64_t count = own.end - own.begin;
    const int size = place_of(r).size;
    bpt_graph_t *g;
    if (l->adders[i]) return BPT_OK;
    BPT_TRY(bpt_graph_create(&g));
    const bpt_value_t sums = bpt_state(g, "gradient sums", SUMS, BPT_F32, bpt_shape1(trained(r)));
    const bpt_value_t received = bpt_state(g, "received", RECEIVED, BPT_F32, bpt_shape1(size * count));
    bpt_value_t sum = bpt_view(g, received, 0, bpt_shape1(count));
    for (int rank = 1; rank < size; ++rank)
        sum = bpt_add(g, sum, bpt_view(g, received, (size_t)(rank * count) * sizeof(float), bpt_shape1(count)));
    bpt_graph_place(g, sum, bpt_view(g, sums, (size_t)own.begin * sizeof(float), bpt_shape1(count)));
    return bpt_program_compile(g, l->workspace, states, N_STATES, &l->adders[i]);
}

// What the ranks have sent of bucket i is added, and begins to go to all.
static bpt_status_t add_bucket(bpt_runner_t *r, int64_t i) {
    const bpt_shard_t place = place_of(r);
    const bpt_elements_t all = bpt_bucket(trained(r), bucket_at(r, i)), own = bpt_own_slice(&place, trained(r), bucket_at(r, i));
    BPT_TRY(bpt_ranks_link_wait(r->link->link));
    if (own.begin < own.end) {
        BPT_TRY(need_adder(r, i, own));
        BPT_TRY(bpt_program_run(r->link->adders[i]));
    }
    if (r->options.shard_optimizer) return BPT_OK;
    return bpt_ranks_link_collect(r->link->link, r->states[BPT_STATE_SUMS], all.begin, all.end - all.begin);
}

// ---- A step

bpt_status_t bpt_runner_link_begin(bpt_runner_t *r, int64_t bucket) {
    bpt_runner_link_t *l = r->link;
    const bpt_elements_t all = bpt_bucket(trained(r), bucket);
    BPT_TRY(need_room(r));
    if (l->begun) BPT_TRY(add_bucket(r, l->begun - 1));
    BPT_TRY(bpt_ranks_link_exchange(l->link, r->states[BPT_STATE_SUMS], all.begin, all.end - all.begin, l->received[l->begun % IN_FLIGHT]));
    ++l->begun;
    return BPT_OK;
}

bpt_status_t bpt_runner_link_end(bpt_runner_t *r) {
    bpt_runner_link_t *l = r->link;
    if (l->begun) BPT_TRY(add_bucket(r, l->begun - 1));
    l->begun = 0;
    return bpt_ranks_link_wait(l->link);
}

bpt_status_t bpt_runner_link_share(bpt_runner_t *r, bpt_step_state_t state, bpt_elements_t bucket) {
    return bpt_ranks_link_collect(r->link->link, r->states[state], bucket.begin, bucket.end - bucket.begin);
}

bpt_status_t bpt_runner_link_wait(bpt_runner_t *r) { return bpt_ranks_link_wait(r->link->link); }
