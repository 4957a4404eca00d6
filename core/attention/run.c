// Running attention and its gradient on arrays of the host (see bpt/attention.h). The forward call was recorded when the op was made, the
// gradient is the first time that it is asked for.
#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "core/attention/op.h"

// ---- Bytes

// Where the host writes and reads the bytes of an operand: they themselves, or a copy. The backend's address is that of memory of its own
// that bpt_backend_t.write would fill in the same way.
static bpt_status_t open_bytes(bpt_attention_op_t *op, operand_id_t id, char **bytes) {
    const bpt_backend_t *backend = op->device->backend;
    const bpt_operand_t *o = &op->operand[id];
    *bytes = backend->address ? (char *)backend->address(o->buffer) : NULL;
    if (*bytes) return BPT_OK;
    if (op->staging_bytes < bpt_attention_bytes(o)) {
        bpt_free_aligned(op->staging);
        op->staging = NULL, op->staging_bytes = 0;
        BPT_TRY(bpt_alloc_aligned(bpt_attention_bytes(o), &op->staging));
        op->staging_bytes = bpt_attention_bytes(o);
    }
    *bytes = op->staging;
    return BPT_OK;
}

static bpt_status_t write_bytes(bpt_attention_op_t *op, operand_id_t id, const char *bytes) {
    if (bytes != op->staging) return BPT_OK;  // written where they are
    return op->device->backend->write(op->device, op->operand[id].buffer, 0, bytes, bpt_attention_bytes(&op->operand[id]));
}

// ---- Arrays in and out

static bpt_attention_copy_t copy_of(const bpt_attention_op_t *op, operand_id_t id, const char *name, const bpt_attention_array_t *array,
                                    int half) {
    const bool keys = id == KV || id == DKV;
    return (bpt_attention_copy_t){.name = name,
                                  .array = *array,
                                  .rows = keys ? op->keys : op->queries,
                                  .dtype = op->dtype,
                                  .heads = op->attrs.heads,
                                  .head_dim = op->attrs.head_dim,
                                  .width = bpt_shape_columns(&op->operand[id].shape),
                                  .column = half * (int64_t)op->attrs.heads * op->attrs.head_dim};
}

static bpt_status_t pack(bpt_attention_op_t *op, operand_id_t id, const char *name, const bpt_attention_array_t *array) {
    bpt_attention_copy_t copy = copy_of(op, id, name, array, 0);
    BPT_TRY(open_bytes(op, id, &copy.packed));
    BPT_TRY(bpt_attention_pack(op->device, &copy));
    return write_bytes(op, id, copy.packed);
}

static bpt_status_t pack_keys_and_values(bpt_attention_op_t *op, const bpt_attention_operands_t *in) {
    bpt_attention_copy_t k = copy_of(op, KV, "k", &in->k, 0), v = copy_of(op, KV, "v", &in->v, 1);
    BPT_TRY(open_bytes(op, KV, &k.packed));
    v.packed = k.packed;
    BPT_TRY(bpt_attention_pack(op->device, &k));
    BPT_TRY(bpt_attention_pack(op->device, &v));
    return write_bytes(op, KV, k.packed);
}

static bpt_status_t write_lengths(bpt_attention_op_t *op, const uint32_t *lengths) {
    const int64_t batch = op->attrs.batch, n = op->attrs.graph.n;
    char *bytes;
    BPT_TRY(open_bytes(op, LENGTHS, &bytes));
    for (int64_t s = 0; s < batch; ++s) {
        const uint32_t length = lengths ? lengths[s] : (uint32_t)n;
        if (length < 1 || length > n)
            return bpt_fail(BPT_ERR_USAGE, "sequence %" PRId64 " has %u leaves, and the graph is for 1 to %" PRId64, s, length, n);
        memcpy(bytes + (size_t)s * sizeof length, &length, sizeof length);
    }
    return write_bytes(op, LENGTHS, bytes);
}

static bpt_status_t write_rel(bpt_attention_op_t *op, const void *rel) {
    if (!op->rel_rows) return BPT_OK;
    if (!bpt_attention_all_finite(op->dtype, rel, op->rel_rows * op->attrs.head_dim))
        return bpt_fail(BPT_ERR_NUMERIC, "rel holds a number that is not finite");
    return bpt_attention_write(op, REL, rel);
}

static bpt_status_t check_operands(const bpt_attention_op_t *op, const bpt_attention_operands_t *in) {
    if (!in->q.data || !in->k.data || !in->v.data) return bpt_fail(BPT_ERR_USAGE, "attention needs q, k and v");
    if (op->rel_rows && !in->rel)
        return bpt_fail(BPT_ERR_USAGE, "the graph has %" PRId64 " rows of relative positions, and rel is not there", op->rel_rows);
    if (!op->rel_rows && in->rel) return bpt_fail(BPT_ERR_USAGE, "rel is there, and the graph has no relative positions");
    if (in->lengths && !op->operand[LENGTHS].present)
        return bpt_fail(BPT_ERR_USAGE, "a table has no lengths; rows that are not there have no ranges");
    return BPT_OK;
}

static bpt_status_t write_operands(bpt_attention_op_t *op, const bpt_attention_operands_t *in) {
    BPT_TRY(check_operands(op, in));
    if (op->operand[LENGTHS].present) BPT_TRY(write_lengths(op, in->lengths));
    BPT_TRY(pack(op, Q, "q", &in->q));
    BPT_TRY(pack_keys_and_values(op, in));
    return write_rel(op, in->rel);
}

// The first `count` of copies that come from one operand.
static bpt_status_t take(bpt_attention_op_t *op, operand_id_t id, bpt_attention_copy_t *copies, int count) {
    char *bytes;
    bool wanted = false;
    for (int i = 0; i < count; ++i) wanted = wanted || copies[i].array.data;
    if (!wanted) return BPT_OK;
    BPT_TRY(open_bytes(op, id, &bytes));
    if (bytes == op->staging)
        BPT_TRY(op->device->backend->read(op->device, op->operand[id].buffer, 0, bytes, bpt_attention_bytes(&op->operand[id])));
    for (int i = 0; i < count; ++i) {
        copies[i].packed = bytes;
        if (copies[i].array.data) BPT_TRY(bpt_attention_unpack(op->device, &copies[i]));
    }
    return BPT_OK;
}

// lse has the order of the caller's rows, too: [B, Q, H].
static bpt_attention_copy_t copy_of_lse(const bpt_attention_op_t *op, const float *lse) {
    const int64_t heads = op->attrs.heads;
    return (bpt_attention_copy_t){.name = "lse",
                                  .array = {(void *)lse, {op->queries.rows * heads, heads, 0}},
                                  .rows = op->queries,
                                  .dtype = BPT_F32,
                                  .heads = 1,
                                  .head_dim = op->attrs.heads,
                                  .width = heads};
}

static bpt_status_t run(bpt_attention_op_t *op, bpt_list_t *list) {
    bpt_ticket_t ticket = 0;
    BPT_TRY(op->device->backend->submit(op->device, list, &ticket));
    return op->device->backend->wait(op->device, ticket, UINT64_MAX);
}

bpt_status_t bpt_attention_forward(bpt_attention_op_t *op, const bpt_attention_operands_t *in, const bpt_attention_array_t *out,
                                   float *lse) {
    if (!op || !in || !out || !out->data) return bpt_fail(BPT_ERR_USAGE, "bpt_attention_forward: a null pointer");
    BPT_TRY(write_operands(op, in));
    BPT_TRY(run(op, op->forward));
    bpt_attention_copy_t result = copy_of(op, OUT, "out", out, 0), sums = copy_of_lse(op, lse);
    BPT_TRY(take(op, OUT, &result, 1));
    return take(op, LSE, &sums, 1);
}

// ---- The gradient

static bpt_status_t prepare_backward(bpt_attention_op_t *op) {
    static const operand_id_t like[][2] = {{DOUT, OUT}, {DQ, Q}, {DKV, KV}};
    if (op->backward) return BPT_OK;
    for (size_t i = 0; i < BPT_COUNT(like); ++i)
        if (!op->operand[like[i][0]].present) BPT_TRY(bpt_attention_add(op, like[i][0], op->dtype, op->operand[like[i][1]].shape));
    if (op->rel_rows && !op->operand[DREL].present) BPT_TRY(bpt_attention_add(op, DREL, BPT_F32, op->operand[REL].shape));
    const bpt_status_t status = bpt_attention_record(op, BPT_OP_ATTENTION_GRAD, GRAD_SCRATCH, &op->backward);
    if (status != BPT_OK && op->backward) op->device->backend->list_destroy(op->device, op->backward), op->backward = NULL;
    return status;
}

static bpt_status_t write_results(bpt_attention_op_t *op, const bpt_attention_array_t *out, const float *lse,
                                  const bpt_attention_array_t *dout) {
    bpt_attention_copy_t sums = copy_of_lse(op, lse);
    BPT_TRY(pack(op, OUT, "out", out));
    BPT_TRY(pack(op, DOUT, "dout", dout));
    BPT_TRY(open_bytes(op, LSE, &sums.packed));
    BPT_TRY(bpt_attention_pack(op->device, &sums));
    return write_bytes(op, LSE, sums.packed);
}

static bpt_status_t take_gradients(bpt_attention_op_t *op, const bpt_attention_gradients_t *g) {
    bpt_attention_copy_t q = copy_of(op, DQ, "the gradient of q", &g->q, 0);
    bpt_attention_copy_t kv[] = {copy_of(op, DKV, "the gradient of k", &g->k, 0), copy_of(op, DKV, "the gradient of v", &g->v, 1)};
    BPT_TRY(take(op, DQ, &q, 1));
    BPT_TRY(take(op, DKV, kv, 2));
    if (!op->rel_rows || !g->rel) return BPT_OK;
    BPT_TRY(op->device->backend->read(op->device, op->operand[DREL].buffer, 0, g->rel, bpt_attention_bytes(&op->operand[DREL])));
    if (bpt_attention_all_finite(BPT_F32, g->rel, op->rel_rows * op->attrs.head_dim)) return BPT_OK;
    return bpt_fail(BPT_ERR_NUMERIC, "the gradient of rel holds a number that is not finite");
}

bpt_status_t bpt_attention_backward(bpt_attention_op_t *op, const bpt_attention_operands_t *in, const bpt_attention_array_t *out,
                                    const float *lse, const bpt_attention_array_t *dout, const bpt_attention_gradients_t *g) {
    if (!op || !in || !out || !out->data || !lse || !dout || !dout->data || !g)
        return bpt_fail(BPT_ERR_USAGE, "bpt_attention_backward: a null pointer");
    if (!g->q.data && !g->k.data && !g->v.data && !g->rel) return bpt_fail(BPT_ERR_USAGE, "bpt_attention_backward: no gradient is wanted");
    BPT_TRY(prepare_backward(op));
    BPT_TRY(write_operands(op, in));
    BPT_TRY(write_results(op, out, lse, dout));
    BPT_TRY(run(op, op->backward));
    return take_gradients(op, g);
}
