// The graph: gradients against central differences, and the rewrites (fusion, recomputation, elimination) keep results.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/program.h"
#include "bpt/rng.h"
#include "core/graph/internal.h"

enum { ROWS = 6, D = 8, SEGMENTS = 3, FF = 12, VOCAB = 5, N_PARAMS = 3 * D * D + FF * D + FF + D * FF + D + 2 * D + VOCAB * D + VOCAB };

typedef struct {
    bool fuse, recompute, parts, nested;  // parts: in place of a join; nested: regions in the region
} variant_t;

typedef struct {
    bpt_graph_t *g;
    bpt_value_t ids, targets, weights, row_keys, rng, lengths, ranges, loss, params, grads[9], wrt[9];
    int n_wrt;
} net_t;

static void end_region_of_attention(bpt_graph_t *g, bpt_value_t attended) {
    bpt_graph_region_result(g, attended);
    bpt_graph_region_result(g, bpt_attention_lse(g, attended));
    bpt_graph_region_end(g);
}

// What a join of the parts is; other nodes may read the second one too.
static bpt_value_t made_in_parts(bpt_graph_t *g, const bpt_value_t part[2]) {
    const bpt_value_t all = bpt_parts(g, BPT_F32, bpt_shape2(ROWS, D));
    bpt_graph_place(g, bpt_copy(g, part[0]), bpt_rows(g, all, 0, 2));
    bpt_graph_place(g, part[1], bpt_rows(g, all, 2, ROWS - 2));
    return all;
}

// A one-layer network that uses every differentiable op family, views of parameters and a view of rows.
static void build(net_t *n, variant_t variant) {
    assert_int_equal(bpt_graph_create(&n->g), BPT_OK);
    bpt_graph_t *g = n->g;
    n->ids = bpt_input(g, "ids", BPT_U32, bpt_shape1(ROWS));
    n->targets = bpt_input(g, "targets", BPT_U32, bpt_shape1(ROWS - 2));
    n->weights = bpt_input(g, "weights", BPT_F32, bpt_shape1(ROWS - 2));
    n->row_keys = bpt_input(g, "row_keys", BPT_U32, bpt_shape2(ROWS, 2));
    n->rng = bpt_input(g, "rng", BPT_U32, bpt_shape1(2));
    n->lengths = bpt_input(g, "lengths", BPT_U32, bpt_shape1(1));
    n->ranges = bpt_input(g, "ranges", BPT_U32, bpt_shape2(SEGMENTS, 2));
    n->params = bpt_state(g, "params", 0, BPT_F32, bpt_shape1(N_PARAMS));
    size_t offset = 0;
    const bpt_shape_t shapes[] = {bpt_shape2(3 * D, D), bpt_shape2(FF, D), bpt_shape1(FF),       bpt_shape2(D, FF), bpt_shape1(D),
                                  bpt_shape1(D),        bpt_shape1(D),     bpt_shape2(VOCAB, D), bpt_shape1(VOCAB)};
    n->n_wrt = (int)BPT_COUNT(shapes);
    for (int i = 0; i < n->n_wrt; ++i) {
        n->wrt[i] = bpt_view(g, n->params, offset, shapes[i]);
        offset += (size_t)bpt_shape_count(&shapes[i]) * 4;
    }
    const bpt_random_t random = {n->row_keys, n->rng};
    const bpt_value_t qkv_w = n->wrt[0], embed = n->wrt[7];
    const bpt_value_t x = bpt_gather(g, embed, n->ids);
    bpt_graph_region_begin(g);
    const bpt_attention_attrs_t attrs = {.graph = {.kind = BPT_INTERVALS_DENSE, .causal = true, .n = ROWS},
                                         .batch = 1,
                                         .heads = 2,
                                         .head_dim = D / 2,
                                         .packed = true,
                                         .scale = 0.5f,
                                         .p = 0.25f};
    if (variant.nested) bpt_graph_region_begin(g);
    const bpt_value_t qkv = bpt_linear(g, x, qkv_w, BPT_NO_VALUE);
    const bpt_value_t a = bpt_attention(g, &attrs,
                                        &(bpt_attention_inputs_t){.q = qkv,
                                                                  .kv = qkv,
                                                                  .rel = BPT_NO_VALUE,
                                                                  .lengths = n->lengths,
                                                                  .row_keys = n->row_keys,
                                                                  .rng = n->rng,
                                                                  .table = BPT_NO_VALUE});
    if (variant.nested) end_region_of_attention(g, a);
    const bpt_value_t h = bpt_layernorm(g, a, x, n->wrt[5], n->wrt[6], 0.25f, random, BPT_F32, NULL);
    if (variant.nested) bpt_graph_region_begin(g);
    const bpt_value_t f = bpt_dropout(g, bpt_relu(g, bpt_linear(g, h, n->wrt[1], n->wrt[2])), 0.25f, random);
    const bpt_value_t back = bpt_add_row(g, bpt_linear(g, f, n->wrt[3], BPT_NO_VALUE), n->wrt[4]);
    if (variant.nested) bpt_graph_region_end(g);
    const bpt_value_t parts[] = {bpt_rows(g, back, 0, 2), bpt_scale(g, bpt_rows(g, back, 2, ROWS - 2), 1.5f)};
    const bpt_value_t all = variant.parts ? made_in_parts(g, parts) : bpt_join(g, BPT_F32, parts, 2);
    const bpt_value_t y = bpt_add(g, bpt_scale(g, all, 0.5f), bpt_copy(g, h));
    bpt_graph_region_end(g);
    const bpt_value_t top = bpt_add(g, bpt_rows(g, y, 2, ROWS - 2), parts[1]);
    const bpt_value_t loss = bpt_xent(g, top, embed, n->wrt[8], n->targets, n->weights, 0.1f).loss;
    const bpt_value_t mean = bpt_segment(g, BPT_SEGMENT_MEAN, y, n->ranges), most = bpt_segment(g, BPT_SEGMENT_MAX, y, n->ranges);
    n->loss = bpt_add(g, loss, bpt_scale(g, bpt_square_sum(g, bpt_add(g, mean, bpt_abs(g, most))), 0.05f));
    bpt_graph_keep(g, n->loss);
    assert_int_equal(bpt_graph_status(g), BPT_OK);
    if (variant.fuse) assert_int_equal(bpt_graph_fuse(g), BPT_OK);
    assert_int_equal(bpt_graph_gradients(g, n->loss, n->wrt, n->n_wrt, n->grads), BPT_OK);
    for (int i = 0; i < n->n_wrt; ++i) bpt_graph_keep(g, n->grads[i]);
    if (variant.recompute) assert_int_equal(bpt_graph_recompute(g), BPT_OK);
    if (variant.fuse) assert_int_equal(bpt_graph_fuse(g), BPT_OK);
    assert_int_equal(bpt_graph_eliminate(g), BPT_OK);
}

typedef struct {
    bpt_device_t *device;
    bpt_buffer_t *params;
    bpt_workspace_t *workspace;
    bpt_program_t *program;
    net_t net;
} session_t;

static void start(session_t *s, variant_t variant, const float *params) {
    const bpt_backend_t *backend = bpt_backend_find("ref");
    assert_int_equal(backend->open(0, &(bpt_device_options_t){0}, &s->device), BPT_OK);
    assert_int_equal(backend->buffer_create(s->device, N_PARAMS * 4, &s->params), BPT_OK);
    assert_int_equal(bpt_workspace_create(s->device, &s->workspace), BPT_OK);
    build(&s->net, variant);
    const bpt_status_t status = bpt_program_compile(s->net.g, s->workspace, &s->params, 1, &s->program);
    if (status != BPT_OK) fail_msg("%s", bpt_error_message());
    const uint32_t ids[ROWS] = {0, 3, 3, 1, 4, 2}, targets[ROWS - 2] = {3, 1, 4, 0},
                   keys[ROWS][2] = {{0, 7}, {1, 7}, {2, 7}, {3, 7}, {4, 7}, {5, 7}};
    const float weights[ROWS - 2] = {0.5f, 0.25f, 0.0f, 1.0f};
    const uint32_t rng[2] = {11, 22}, length = ROWS, ranges[SEGMENTS][2] = {{0, 3}, {3, 3}, {4, 9}};
    assert_int_equal(bpt_program_write(s->program, s->net.ids, ids), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.targets, targets), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.weights, weights), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.row_keys, keys), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.rng, rng), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.lengths, &length), BPT_OK);
    assert_int_equal(bpt_program_write(s->program, s->net.ranges, ranges), BPT_OK);
    assert_int_equal(backend->write(s->device, s->params, 0, params, N_PARAMS * 4), BPT_OK);
}

static void stop(session_t *s) {
    bpt_program_destroy(s->program);
    bpt_workspace_destroy(s->workspace);
    s->device->backend->buffer_destroy(s->device, s->params);
    s->device->backend->close(s->device);
}

static float run(session_t *s, float *grads) {
    float loss;
    if (bpt_program_run(s->program) != BPT_OK) fail_msg("%s", bpt_error_message());
    assert_int_equal(bpt_program_read(s->program, s->net.loss, &loss), BPT_OK);
    size_t at = 0;
    for (int i = 0; grads && i < s->net.n_wrt; ++i) {
        assert_int_equal(bpt_program_read(s->program, s->net.grads[i], grads + at), BPT_OK);
        at += (size_t)bpt_shape_count(&bpt_graph_value(s->net.g, s->net.grads[i])->shape);
    }
    if (grads) assert_int_equal(at, N_PARAMS);
    return loss;
}

static void random_params(float *params) {
    for (uint32_t i = 0; i < N_PARAMS; ++i) {
        uint32_t out[4];
        bpt_philox((uint32_t[4]){i, 0, 0, 0}, (uint32_t[2]){1, 2}, out);
        params[i] = bpt_uniform01(out[0]) - 0.5f;
    }
}

static void gradients_match_central_differences(void **state) {
    (void)state;
    float params[N_PARAMS], grads[N_PARAMS];
    random_params(params);
    session_t s;
    start(&s, (variant_t){0}, params);
    run(&s, grads);
    double worst = 0;
    for (int i = 0; i < N_PARAMS; i += 3) {
        const float h = 2e-3f, old = params[i];
        float side[2];
        for (int k = 0; k < 2; ++k) {
            params[i] = old + (k ? -h : h);
            s.device->backend->write(s.device, s.params, 0, params, sizeof params);
            side[k] = run(&s, NULL);
        }
        params[i] = old;
        const double difference = ((double)side[0] - (double)side[1]) / (2 * (double)h);
        const double error = fabs(difference - (double)grads[i]) / (0.05 + fabs(difference));
        if (error > worst) worst = error;
    }
    stop(&s);
    assert_true(worst < 0.02);
}

static void rewrites_keep_results_and_shrink_the_program(void **state) {
    (void)state;
    float params[N_PARAMS], want[N_PARAMS], got[N_PARAMS];
    random_params(params);
    session_t plain, s;
    start(&plain, (variant_t){0}, params);
    const float loss = run(&plain, want);
    const bpt_plan_summary_t before = bpt_program_summary(plain.program);
    for (int v = 1; v < 4; ++v) {
        start(&s, (variant_t){.fuse = v & 1, .recompute = v & 2}, params);
        assert_float_equal(run(&s, got), loss, 1e-6);
        for (int i = 0; i < N_PARAMS; ++i) assert_float_equal(got[i], want[i], 1e-6 + 1e-5 * fabs((double)want[i]));
        const bpt_plan_summary_t after = bpt_program_summary(s.program);
        if (v == 1) assert_true(after.n_ops < before.n_ops);
        if (v == 2) {
            assert_true(after.n_ops > before.n_ops);
            assert_memory_equal(got, want, sizeof got);  // recomputed values are the same bits
        }
        stop(&s);
    }
    stop(&plain);
}

static int count_of(const session_t *s, bpt_op_t op) {
    int count = 0;
    for (size_t i = 0; i < s->net.g->n_nodes; ++i) count += s->net.g->nodes[i].op == op;
    return count;
}

static void regions_in_regions_and_parts_keep_results(void **state) {
    (void)state;
    float params[N_PARAMS], want[N_PARAMS], got[N_PARAMS];
    random_params(params);
    session_t plain, s;
    start(&plain, (variant_t){0}, params);
    const float loss = run(&plain, want);
    for (int v = 0; v < 8; ++v) {
        const variant_t variant = {.parts = true, .nested = v & 1, .recompute = v & 2, .fuse = v & 4};
        start(&s, variant, params);
        assert_float_equal(run(&s, got), loss, 1e-6);
        for (int i = 0; i < N_PARAMS; ++i) assert_float_equal(got[i], want[i], 1e-6 + 1e-5 * fabs((double)want[i]));
        // Attention is computed again once, whatever lies in its region.
        assert_int_equal(count_of(&s, BPT_OP_ATTENTION), variant.recompute ? 2 : 1);
        stop(&s);
    }
    stop(&plain);
}

static void plans_reuse_memory_and_leak_nothing(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    float params[N_PARAMS];
    random_params(params);
    session_t s;
    start(&s, (variant_t){.fuse = true}, params);
    const bpt_plan_summary_t plan = bpt_program_summary(s.program);
    assert_true(plan.workspace_bytes < plan.unshared_bytes);
    assert_true(plan.n_barriers < plan.n_ops);
    stop(&s);
    assert_int_equal(bpt_alloc_live(), live);
}

// Rows of x [4,2] times 3, seen through one view or two; the last case looks at the result through a view.
static bpt_value_t scaled_row(bpt_graph_t *g, bpt_value_t x, int view) {
    if (view == 0) return bpt_scale(g, bpt_rows(g, x, 1, 1), 3);
    if (view == 1) return bpt_scale(g, bpt_rows(g, bpt_rows(g, x, 0, 3), 1, 1), 3);
    if (view == 2) return bpt_scale(g, bpt_rows(g, bpt_view(g, x, 0, bpt_shape2(2, 4)), 1, 1), 3);
    return bpt_view(g, bpt_scale(g, bpt_rows(g, x, 0, 1), 3), 0, bpt_shape2(2, 1));
}

static void gradients_pass_through_views_of_views(void **state) {
    (void)state;
    for (int view = 0; view < 4; ++view) {
        bpt_graph_t *g;
        bpt_value_t gradient = BPT_NO_VALUE;
        assert_int_equal(bpt_graph_create(&g), BPT_OK);
        const bpt_value_t x = bpt_state(g, "x", 0, BPT_F32, bpt_shape2(4, 2)), loss = scaled_row(g, x, view);
        assert_int_equal(bpt_graph_gradients(g, loss, &x, 1, &gradient), BPT_OK);
        assert_true(gradient != BPT_NO_VALUE);
        assert_int_equal(bpt_shape_rows(value_shape(g, gradient)), 4);
        assert_int_equal(bpt_shape_columns(value_shape(g, gradient)), 2);
        bpt_graph_destroy(g);
    }
}

static void fusion_does_not_move_a_read_behind_a_write(void **state) {
    (void)state;
    for (int written = 0; written < 2; ++written) {
        bpt_graph_t *g;
        assert_int_equal(bpt_graph_create(&g), BPT_OK);
        const bpt_shape_t square = bpt_shape2(4, 4);
        const bpt_value_t s = bpt_state(g, "s", 0, BPT_F32, square), other = bpt_state(g, "other", 1, BPT_F32, square);
        const bpt_value_t product = bpt_linear(g, s, bpt_input(g, "w", BPT_F32, square), BPT_NO_VALUE);
        bpt_scatter(g, written ? s : other, bpt_input(g, "x", BPT_F32, square), bpt_input(g, "ids", BPT_U32, bpt_shape1(4)));
        bpt_graph_keep(g, bpt_relu(g, product));
        assert_int_equal(bpt_graph_fuse(g), BPT_OK);
        assert_int_equal(g->n_nodes, written ? 3 : 2);
        if (written) assert_int_equal(g->nodes[0].op, BPT_OP_MATMUL);
        bpt_graph_destroy(g);
    }
}

// Halves of a tensor are made by themselves; then one is read and the other one made anew, from it. Parts that nobody reads are left out.
static void tensors_are_made_part_by_part(void **state) {
    (void)state;
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, first[8] = {20, 40, 60, 80, 150, 180, 210, 240}, second[8] = {2, 4, 6, 8, 10, 20, 30, 40};
    const bpt_backend_t *backend = bpt_backend_find("ref");
    float got[8];
    bpt_graph_t *g;
    bpt_device_t *device;
    bpt_workspace_t *workspace;
    bpt_program_t *program;
    assert_int_equal(bpt_graph_create(&g), BPT_OK);
    const bpt_value_t in = bpt_input(g, "x", BPT_F32, bpt_shape2(4, 2));
    const bpt_value_t made = bpt_parts(g, BPT_F32, bpt_shape2(4, 2)), unread = bpt_parts(g, BPT_F32, bpt_shape2(4, 2));
    for (int i = 0; i < 2; ++i) {
        bpt_graph_place(g, bpt_scale(g, bpt_rows(g, in, 2 * i, 2), (float)i + 2), bpt_rows(g, made, 2 * i, 2));
        bpt_graph_place(g, bpt_scale(g, bpt_rows(g, in, 2 * i, 2), 7), bpt_rows(g, unread, 2 * i, 2));
    }
    const bpt_value_t before = bpt_scale(g, made, 10);
    bpt_graph_place(g, bpt_scale(g, bpt_rows(g, made, 0, 2), 5), bpt_rows(g, made, 2, 2));
    const bpt_value_t after = bpt_scale(g, made, 1);
    bpt_graph_keep(g, before);
    bpt_graph_keep(g, after);
    assert_int_equal(bpt_graph_eliminate(g), BPT_OK);
    assert_int_equal(g->n_nodes, 5);
    assert_int_equal(bpt_graph_sort(g), BPT_OK);
    assert_int_equal(backend->open(0, &(bpt_device_options_t){0}, &device), BPT_OK);
    assert_int_equal(bpt_workspace_create(device, &workspace), BPT_OK);
    if (bpt_program_compile(g, workspace, NULL, 0, &program) != BPT_OK) fail_msg("%s", bpt_error_message());
    assert_int_equal(bpt_program_write(program, in, x), BPT_OK);
    assert_int_equal(bpt_program_run(program), BPT_OK);
    assert_int_equal(bpt_program_read(program, before, got), BPT_OK);
    assert_memory_equal(got, first, sizeof got);
    assert_int_equal(bpt_program_read(program, after, got), BPT_OK);
    assert_memory_equal(got, second, sizeof got);
    bpt_program_destroy(program);
    bpt_workspace_destroy(workspace);
    backend->close(device);
}

// One graph, its inputs and a program of it on ref.
typedef struct {
    bpt_graph_t *g;
    bpt_device_t *device;
    bpt_buffer_t *state;
    bpt_workspace_t *workspace;
    bpt_program_t *program;
} small_t;

static void start_small(small_t *s) {
    const bpt_backend_t *backend = bpt_backend_find("ref");
    assert_int_equal(backend->open(0, &(bpt_device_options_t){0}, &s->device), BPT_OK);
    assert_int_equal(backend->buffer_create(s->device, 64, &s->state), BPT_OK);
    assert_int_equal(bpt_workspace_create(s->device, &s->workspace), BPT_OK);
    if (bpt_program_compile(s->g, s->workspace, &s->state, 1, &s->program) != BPT_OK) fail_msg("%s", bpt_error_message());
}

static void stop_small(small_t *s) {
    bpt_program_destroy(s->program);
    bpt_workspace_destroy(s->workspace);
    s->device->backend->buffer_destroy(s->device, s->state);
    s->device->backend->close(s->device);
}

static int count_nodes(const bpt_graph_t *g, bpt_op_t op) {
    int count = 0;
    for (size_t i = 0; i < g->n_nodes; ++i) count += g->nodes[i].op == op;
    return count;
}

// Two parts that nodes make lie in the result from the start, one of them read elsewhere too; an input, some rows of a tensor, and a part
// for the second time are copied.
static void joined_parts_are_made_in_their_places(void **state) {
    (void)state;
    const float x[4] = {1, 2, 3, 4}, wanted[14] = {2, 4, 6, 8, 3, 6, 9, 12, 1, 2, 3, 4, 4, 8}, again[4] = {4, 8, 12, 16};
    float got[14];
    small_t s;
    assert_int_equal(bpt_graph_create(&s.g), BPT_OK);
    const bpt_value_t in = bpt_input(s.g, "x", BPT_F32, bpt_shape2(2, 2));
    const bpt_value_t twice = bpt_scale(s.g, in, 2),
                      thrice = bpt_view(s.g, bpt_scale(s.g, bpt_view(s.g, in, 0, bpt_shape1(4)), 3), 0, bpt_shape2(2, 2));
    const bpt_value_t four = bpt_scale(s.g, twice, 2);
    const bpt_value_t parts[] = {twice, thrice, in, bpt_rows(s.g, four, 0, 1)}, both[] = {twice, four};
    const bpt_value_t all = bpt_join(s.g, BPT_F32, parts, 4), second = bpt_join(s.g, BPT_F32, both, 2);
    bpt_graph_keep(s.g, all);
    bpt_graph_keep(s.g, second);
    bpt_graph_keep(s.g, four);
    start_small(&s);
    assert_int_equal(count_nodes(s.g, BPT_OP_COPY), 3);
    assert_int_equal(count_nodes(s.g, BPT_OP_JOIN), 0);
    assert_int_equal(bpt_storage_of(s.g, twice, NULL), all);
    assert_int_equal(bpt_storage_of(s.g, four, NULL), second);
    assert_int_equal(bpt_program_write(s.program, in, x), BPT_OK);
    assert_int_equal(bpt_program_run(s.program), BPT_OK);
    assert_int_equal(bpt_program_read(s.program, all, got), BPT_OK);
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_int_equal(bpt_program_read(s.program, second, got), BPT_OK);
    assert_memory_equal(got, wanted, 4 * sizeof *got);
    assert_memory_equal(got + 4, again, sizeof again);
    assert_int_equal(bpt_program_read(s.program, four, got), BPT_OK);
    assert_memory_equal(got, again, sizeof again);
    stop_small(&s);
}

// What a node changes in place afterwards, a part or the joined rows, is not changed in the other; nor is what the caller has placed.
static void a_join_is_not_changed_with_its_parts(void **state) {
    (void)state;
    const float x[2] = {1, 2}, keep = 1;
    for (int changed = 0; changed < 3; ++changed) {
        float got[2];
        small_t s;
        assert_int_equal(bpt_graph_create(&s.g), BPT_OK);
        const bpt_value_t in = bpt_input(s.g, "x", BPT_F32, bpt_shape2(1, 2)), one = bpt_input(s.g, "keep", BPT_F32, bpt_shape1(1));
        const bpt_value_t part = bpt_scale(s.g, in, 3), all = bpt_join(s.g, BPT_F32, &part, 1);
        const bpt_value_t arena = bpt_state(s.g, "state", 0, BPT_F32, bpt_shape2(1, 2));
        if (changed == 2) bpt_graph_place(s.g, all, arena);
        const bpt_value_t target = changed == 0 ? part : changed == 1 ? all : arena;
        bpt_accumulate(s.g, target, in, one);
        const bpt_value_t other = bpt_scale(s.g, changed == 0 ? all : part, 1), same = bpt_scale(s.g, target, 1);
        bpt_graph_keep(s.g, other);
        bpt_graph_keep(s.g, same);
        start_small(&s);
        assert_int_equal(bpt_program_write(s.program, in, x), BPT_OK);
        assert_int_equal(bpt_program_write(s.program, one, &keep), BPT_OK);
        assert_int_equal(bpt_program_run(s.program), BPT_OK);
        assert_int_equal(bpt_program_read(s.program, other, got), BPT_OK);
        assert_true(got[0] == 3 && got[1] == 6);
        assert_int_equal(bpt_program_read(s.program, same, got), BPT_OK);
        assert_true(got[0] == 4 && got[1] == 8);
        stop_small(&s);
    }
}

// A join of a join, with an empty part, and both in another type.
static void joins_can_be_joined(void **state) {
    (void)state;
    const float x[2] = {1, 2}, wanted[6] = {2, 4, 1, 2, 3, 6};
    float got[6];
    uint16_t low[6];
    small_t s;
    assert_int_equal(bpt_graph_create(&s.g), BPT_OK);
    const bpt_value_t in = bpt_input(s.g, "x", BPT_F32, bpt_shape2(1, 2));
    const bpt_value_t inner[] = {bpt_scale(s.g, in, 2), in}, joined = bpt_join(s.g, BPT_F32, inner, 2);
    const bpt_value_t outer[] = {joined, bpt_rows(s.g, in, 0, 0), bpt_scale(s.g, in, 3)}, all = bpt_join(s.g, BPT_F32, outer, 3);
    const bpt_value_t rounded = bpt_join(s.g, BPT_BF16, &all, 1);
    bpt_graph_keep(s.g, all);
    bpt_graph_keep(s.g, rounded);
    start_small(&s);
    assert_int_equal(count_nodes(s.g, BPT_OP_COPY), 3);  // the input, the empty rows, and the inner join
    assert_int_equal(bpt_program_write(s.program, in, x), BPT_OK);
    assert_int_equal(bpt_program_run(s.program), BPT_OK);
    assert_int_equal(bpt_program_read(s.program, all, got), BPT_OK);
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_int_equal(bpt_program_read(s.program, rounded, low), BPT_OK);
    for (int i = 0; i < 6; ++i) assert_int_equal(low[i], bpt_to_bf16(wanted[i]));
    stop_small(&s);
}

static void joins_that_do_not_fit_are_refused(void **state) {
    (void)state;
    for (int wrong = 0; wrong < 2; ++wrong) {
        bpt_graph_t *g;
        assert_int_equal(bpt_graph_create(&g), BPT_OK);
        const bpt_value_t parts[] = {bpt_input(g, "a", BPT_F32, bpt_shape2(2, 3)), bpt_input(g, "b", BPT_F32, bpt_shape2(2, 4))};
        assert_int_equal(bpt_join(g, BPT_F32, parts, wrong ? 2 : 0), BPT_NO_VALUE);
        assert_int_equal(bpt_graph_status(g), BPT_ERR_INTERNAL);
        assert_non_null(strstr(bpt_error_message(), wrong ? "part 1 has rows of 4" : "join of 0 parts"));
        bpt_graph_destroy(g);
    }
}

static void a_failing_builder_is_remembered_with_its_reason(void **state) {
    (void)state;
    bpt_graph_t *g;
    assert_int_equal(bpt_graph_create(&g), BPT_OK);
    const bpt_value_t a = bpt_input(g, "a", BPT_F32, bpt_shape2(2, 3)), b = bpt_input(g, "b", BPT_F32, bpt_shape2(4, 5));
    assert_int_equal(bpt_relu(g, bpt_linear(g, a, b, BPT_NO_VALUE)), BPT_NO_VALUE);
    assert_int_equal(bpt_graph_status(g), BPT_ERR_INTERNAL);
    assert_non_null(strstr(bpt_error_message(), "product of [2,3] and [5,4]"));
    bpt_graph_destroy(g);
}

// The gradient of attention over a table needs the transposed table; relative positions have one too.
static void a_gradient_through_a_table_wants_its_transpose(void **state) {
    (void)state;
    enum { Q = 3, K = 4 };
    for (int variant = 0; variant < 3; ++variant) {
        bpt_graph_t *g;
        bpt_value_t grads[1];
        assert_int_equal(bpt_graph_create(&g), BPT_OK);
        const bpt_value_t q = bpt_input(g, "q", BPT_F32, bpt_shape2(Q, D)), kv = bpt_input(g, "kv", BPT_F32, bpt_shape2(K, 2 * D));
        const bpt_attention_attrs_t attrs = {
            .graph = {.kind = BPT_INTERVALS_TABLE, .n = Q}, .batch = 1, .heads = 2, .head_dim = D / 2, .scale = 0.5f};
        const bpt_attention_inputs_t in = {.q = q,
                                           .kv = kv,
                                           .rel = variant == 1 ? bpt_input(g, "rel", BPT_F32, bpt_shape2(5, D / 2)) : BPT_NO_VALUE,
                                           .lengths = BPT_NO_VALUE,
                                           .row_keys = BPT_NO_VALUE,
                                           .rng = BPT_NO_VALUE,
                                           .table = bpt_input(g, "table", BPT_U32, (bpt_shape_t){3, {Q, 2, 4}}),
                                           .back = variant == 2 ? BPT_NO_VALUE : bpt_input(g, "back", BPT_U32, (bpt_shape_t){3, {K, 3, 2}}),
                                           .key_codes = BPT_NO_VALUE};
        const bpt_value_t y = bpt_attention(g, &attrs, &in), w = bpt_input(g, "w", BPT_F32, bpt_shape2(VOCAB, D));
        const bpt_value_t targets = bpt_input(g, "targets", BPT_U32, bpt_shape1(Q)),
                          weights = bpt_input(g, "weights", BPT_F32, bpt_shape1(Q));
        const bpt_value_t loss = bpt_xent(g, y, w, BPT_NO_VALUE, targets, weights, 0).loss;
        assert_int_equal(bpt_graph_status(g), BPT_OK);
        const bpt_status_t wanted[] = {BPT_OK, BPT_OK, BPT_ERR_INTERNAL};
        assert_int_equal(bpt_graph_gradients(g, loss, &kv, 1, grads), wanted[variant]);
        bpt_graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_through_a_table_wants_its_transpose),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(rewrites_keep_results_and_shrink_the_program),
        cmocka_unit_test(regions_in_regions_and_parts_keep_results),
        cmocka_unit_test(plans_reuse_memory_and_leak_nothing),
        cmocka_unit_test(gradients_pass_through_views_of_views),
        cmocka_unit_test(tensors_are_made_part_by_part),
        cmocka_unit_test(joined_parts_are_made_in_their_places),
        cmocka_unit_test(a_join_is_not_changed_with_its_parts),
        cmocka_unit_test(joins_can_be_joined),
        cmocka_unit_test(joins_that_do_not_fit_are_refused),
        cmocka_unit_test(fusion_does_not_move_a_read_behind_a_write),
        cmocka_unit_test(a_failing_builder_is_remembered_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
