// crf: loss of a linear-chain CRF. Its gradient op also gives the loss, as that of xent does.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const int64_t rows = value_rows(g, node->in[0]), tags = value_columns(g, node->in[0]), sequences = value_rows(g, node->in[3]);
    GRAPH_EXPECT(tags >= 1 && tags <= BPT_CRF_MOST_TAGS, "%lld tags; there must be 1 to %d", (long long)tags, BPT_CRF_MOST_TAGS);
    GRAPH_EXPECT(value_rows(g, node->in[1]) == tags + 2 && value_columns(g, node->in[1]) == tags,
                 "transitions [%lld,%lld] for %lld tags; they must be [tags+2,tags]", (long long)value_rows(g, node->in[1]),
                 (long long)value_columns(g, node->in[1]), (long long)tags);
    GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[2])) == rows, "one tag a row is needed");
    GRAPH_EXPECT(value_info(g, node->in[3])->dtype == BPT_U32 && value_columns(g, node->in[3]) == 2, "ranges must be u32 [sequences,2]");
    GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[4])) == sequences, "one weight a sequence is needed");
    BPT_TRY(bpt_new_output(g, node, 0, BPT_F32, bpt_shape1(1)));
    return bpt_new_output(g, node, 1, BPT_F32, bpt_shape1(sequences));
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(infer(g, node));
    BPT_TRY(bpt_new_output(g, node, 2, BPT_F32, *value_shape(g, node->in[0])));
    return bpt_new_output(g, node, 3, BPT_F32, *value_shape(g, node->in[1]));
}

bpt_crf_t bpt_crf(bpt_graph_t *g, bpt_value_t scores, bpt_value_t transitions, bpt_value_t tags, bpt_value_t ranges, bpt_value_t weights) {
    if (g->status != BPT_OK) return (bpt_crf_t){BPT_NO_VALUE, BPT_NO_VALUE};
    bpt_node_t node = bpt_node_init(BPT_OP_CRF);
    const bpt_value_t in[] = {scores, transitions, tags, ranges, weights};
    for (int i = 0; i < 5; ++i) node.in[i] = in[i];
    (void)bpt_add_node(g, &node);
    return (bpt_crf_t){node.out[0], node.out[1]};
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    GRAPH_EXPECT(present(dout[0]) && !present(dout[1]), "only the loss of crf can be differentiated");
    bpt_node_t back = bpt_node_init(BPT_OP_CRF_GRAD);
    const bpt_value_t loss = node->out[0];
    for (int i = 0; i < 5; ++i) back.in[i] = node->in[i];
    back.in[5] = dout[0];
    (void)bpt_add_node(g, &back);
    BPT_TRY(bpt_graph_status(g));
    bpt_take_over(g, loss, 2);
    for (int i = 0; i < 2; ++i)
        if (need[i]) din[i] = back.out[2 + i];
    return BPT_OK;
}

// A step of a sequence: sums over all pairs of tags.
static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    return 4.0 * (double)bpt_shape_count(value_shape(g, node->in[0])) * (double)value_columns(g, node->in[0]);
}
static double flops_grad(const bpt_graph_t *g, const bpt_node_t *node) { return 3 * flops(g, node); }

// ---- Operands

static bpt_status_t check_crf(bpt_checker_t *c) {
    const int64_t rows = operand_rows(&c->call->in[0]), tags = operand_columns(&c->call->in[0]), sequences = operand_rows(&c->call->in[3]);
    BPT_TRY(bpt_expect(c, tags >= 1 && tags <= BPT_CRF_MOST_TAGS, "there must be 1 to 256 tags"));
    BPT_TRY(bpt_expect_input(c, 0, "x", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "t", ONLY_F32, REQUIRED, tags + 2, tags));
    BPT_TRY(bpt_expect_input(c, 2, "tags", ONLY_U32, REQUIRED, 1, rows));
    BPT_TRY(bpt_expect_input(c, 3, "ranges", ONLY_U32, REQUIRED, ANY_ROWS, 2));
    BPT_TRY(bpt_expect_input(c, 4, "weights", ONLY_F32, REQUIRED, 1, sequences));
    BPT_TRY(bpt_expect_output(c, 0, "loss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(bpt_expect_output(c, 1, "nll", ONLY_F32, REQUIRED, 1, sequences));
    if (c->call->op == BPT_OP_CRF) return BPT_OK;
    BPT_TRY(bpt_expect_input(c, 5, "dloss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(bpt_expect_output(c, 2, "dx", ONLY_F32, REQUIRED, rows, tags));
    return bpt_expect_output(c, 3, "dt", ONLY_F32, REQUIRED, tags + 2, tags);
}

// ---- Lines

static int64_t rows(const bpt_op_call_t *call) { return operand_rows(&call->in[0]); }
static int64_t tags(const bpt_op_call_t *call) { return operand_columns(&call->in[0]); }

static const bpt_content_t contents[] = {{"tags", BPT_HOLDS_IDS, tags},
                                         {"ranges", BPT_HOLDS_RANGES, rows},
                                         {.name = "weights", .holds = BPT_HOLDS_ONES},
                                         {.name = "dloss", .holds = BPT_HOLDS_ONES},
                                         {.name = NULL}};

const bpt_op_info_t bpt_op_info_CRF = {.check = check_crf, .infer = infer, .grad = grad, .flops = flops, .contents = contents};
const bpt_op_info_t bpt_op_info_CRF_GRAD = {.check = check_crf, .infer = infer_grad, .flops = flops_grad, .contents = contents};
