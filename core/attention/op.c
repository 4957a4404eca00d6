// Making the calls of attention and its gradient (see bpt/attention.h).
#include "core/attention/op.h"

#include <inttypes.h>
#include <math.h>

#include "bpt/alloc.h"
#include "core/attention/tables.h"

// ---- The device

bpt_status_t bpt_attention_open_device(const bpt_attention_device_t *o, bpt_device_t **out) {
    const bpt_backend_t *backend;
    if (!o || !out || !o->backend) return bpt_fail(BPT_ERR_USAGE, "bpt_attention_open_device: a null pointer");
    if (o->version != BPT_ATTENTION_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d", o->version, BPT_ATTENTION_VERSION);
    if (o->device < 0) return bpt_fail(BPT_ERR_USAGE, "device %d is not possible; devices are numbered from 0", o->device);
    if (o->threads < 0) return bpt_fail(BPT_ERR_USAGE, "%d threads are not possible; 0 takes all", o->threads);
    if (!(o->submit_ms >= 0) || isinf(o->submit_ms))
        return bpt_fail(BPT_ERR_USAGE, "submit_ms is %g; it must be a finite number, 0 or more", o->submit_ms);
    BPT_TRY(bpt_backend_named(o->backend, &backend));
    const bpt_device_options_t options = {.threads = o->threads, .submit_ms = o->submit_ms, .memory_bytes = o->memory_bytes};
    return backend->open(o->device, &options, out);
}

void bpt_attention_close_device(bpt_device_t *device) {
    if (device) device->backend->close(device);
}

// ---- Operands

size_t bpt_attention_bytes(const bpt_operand_t *o) { return (size_t)bpt_shape_count(&o->shape) * bpt_dtype_size(o->dtype); }

bpt_status_t bpt_attention_add(bpt_attention_op_t *op, operand_id_t id, bpt_dtype_t dtype, bpt_shape_t shape) {
    bpt_operand_t *o = &op->operand[id];
    *o = (bpt_operand_t){.dtype = dtype, .shape = shape, .present = true};
    return op->device->backend->buffer_create(op->device, bpt_attention_bytes(o), &o->buffer);
}

static bpt_status_t add_scratch(bpt_attention_op_t *op, operand_id_t id, size_t bytes) {
    return bytes ? bpt_attention_add(op, id, BPT_U32, bpt_shape1((int64_t)((bytes + 3) / 4))) : BPT_OK;
}

bpt_status_t bpt_attention_write(bpt_attention_op_t *op, operand_id_t id, const void *source) {
    return op->device->backend->write(op->device, op->operand[id].buffer, 0, source, bpt_attention_bytes(&op->operand[id]));
}

// ---- Making

static bpt_status_t check_spec(const bpt_device_t *device, const bpt_attention_spec_t *s) {
    if (s->version != BPT_ATTENTION_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the description is of version %u, this library knows %d", s->version, BPT_ATTENTION_VERSION);
    if (s->dtype != BPT_F32 && s->dtype != BPT_BF16 && s->dtype != BPT_F16)
        return bpt_fail(BPT_ERR_USAGE, "the type of the arrays must be BPT_F32, BPT_BF16 or BPT_F16");
    if (s->batch < 1) return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " sequences are not possible", s->batch);
    if (s->heads < 1 || s->heads > 256) return bpt_fail(BPT_ERR_USAGE, "%d heads are not possible; 1 to 256 are", s->heads);
    if (s->head_dim < 1 || s->head_dim > 65536)
        return bpt_fail(BPT_ERR_USAGE, "heads of %d numbers are not possible; 1 to 65536 are", s->head_dim);
    if (!isfinite(s->scale)) return bpt_fail(BPT_ERR_USAGE, "the scale is not a finite number");
    if (s->table && s->leaves) return bpt_fail(BPT_ERR_USAGE, "a table has no leaves; it says itself what its queries are");
    if (!s->table && bpt_intervals_is_table(&s->graph)) return bpt_fail(BPT_ERR_USAGE, "the graph has no rule, and there is no table");
    return bpt_device_check_precision(device, s->dtype);
}

static bpt_status_t describe_rule(bpt_attention_op_t *op, const bpt_attention_spec_t *s) {
    BPT_TRY(bpt_intervals_check(&s->graph));
    const int64_t n = s->graph.n, nodes = bpt_node_count(&s->graph);
    if (nodes > INT32_MAX / s->batch) return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " sequences have more than 2^31 nodes", s->batch);
    op->attrs.graph = s->graph;
    op->attrs.batch = s->batch;
    op->attrs.queries = s->leaves ? BPT_QUERIES_LEAVES : BPT_QUERIES_ALL;
    op->queries = (bpt_attention_rows_t){s->batch, n, s->leaves ? n : nodes};
    op->keys = (bpt_attention_rows_t){s->batch, n, nodes};
    op->rel_rows = bpt_rel_rows(&s->graph);
    return bpt_attention_add(op, LENGTHS, BPT_U32, bpt_shape1(s->batch));
}

static bpt_status_t describe_table(bpt_attention_op_t *op, const bpt_attention_spec_t *s) {
    const bpt_attention_table_t *t = s->table;
    bpt_lists_t lists;
    bpt_status_t status = bpt_attention_tables_create(t, s->batch, &lists);
    op->attrs.graph.kind = BPT_INTERVALS_TABLE;
    op->attrs.batch = 1;
    op->queries = (bpt_attention_rows_t){s->batch, t->queries, t->queries};
    op->keys = (bpt_attention_rows_t){s->batch, t->keys, t->keys};
    op->rel_rows = t->rel_rows;
    if (status == BPT_OK) status = bpt_attention_add(op, TABLE, BPT_U32, bpt_shape3(lists.queries, lists.slots, 4));
    if (status == BPT_OK) status = bpt_attention_add(op, BACK, BPT_U32, bpt_shape3(lists.keys, lists.back_slots, 2));
    if (status == BPT_OK) status = bpt_attention_write(op, TABLE, lists.table);
    if (status == BPT_OK) status = bpt_attention_write(op, BACK, lists.back);
    bpt_attention_tables_free(&lists);
    return status;
}

static bpt_op_call_t call_of(const bpt_attention_op_t *op, bpt_op_t which) {
    static const operand_id_t inputs[BPT_MAX_INPUTS] = {Q, KV, REL, LENGTHS, OPERANDS, OPERANDS, TABLE, OUT, DOUT, LSE, BACK, OPERANDS};
    const bool grad = which == BPT_OP_ATTENTION_GRAD;
    bpt_op_call_t call = {.op = which, .attrs.attention = op->attrs};
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        const bool of_grad = inputs[i] >= OUT && inputs[i] <= DOUT;
        if (inputs[i] != OPERANDS && (grad || !of_grad)) call.in[i] = op->operand[inputs[i]];
    }
    call.out[0] = op->operand[grad ? DQ : OUT];
    call.out[1] = op->operand[grad ? DKV : LSE];
    if (grad) call.out[2] = op->operand[DREL];
    return call;
}

bpt_status_t bpt_attention_record(bpt_attention_op_t *op, bpt_op_t which, operand_id_t scratch, bpt_list_t **list) {
    const bpt_backend_t *backend = op->device->backend;
    bpt_op_call_t call = call_of(op, which);
    size_t bytes = 0;
    BPT_TRY(backend->op(op->device, &call, NULL, &bytes));
    BPT_TRY(add_scratch(op, scratch, bytes));
    call.scratch = op->operand[scratch];
    BPT_TRY(backend->list_create(op->device, list));
    BPT_TRY(backend->op(op->device, &call, *list, NULL));
    return backend->list_seal(*list);
}

static bpt_status_t make(bpt_attention_op_t *op, const bpt_attention_spec_t *s) {
    const int64_t d = (int64_t)s->heads * s->head_dim;
    BPT_TRY(check_spec(op->device, s));
    op->dtype = s->dtype;
    op->attrs.heads = s->heads;
    op->attrs.head_dim = s->head_dim;
    op->attrs.scale = s->scale != 0 ? s->scale : (float)(1 / sqrt((double)s->head_dim));
    BPT_TRY(s->table ? describe_table(op, s) : describe_rule(op, s));
    const int64_t queries = s->batch * op->queries.rows, keys = s->batch * op->keys.rows;
    BPT_TRY(bpt_attention_add(op, Q, s->dtype, bpt_shape2(queries, d)));
    BPT_TRY(bpt_attention_add(op, KV, s->dtype, bpt_shape2(keys, 2 * d)));
    if (op->rel_rows) BPT_TRY(bpt_attention_add(op, REL, s->dtype, bpt_shape2(op->rel_rows, s->head_dim)));
    BPT_TRY(bpt_attention_add(op, OUT, s->dtype, bpt_shape2(queries, d)));
    BPT_TRY(bpt_attention_add(op, LSE, BPT_F32, bpt_shape2(queries, s->heads)));
    return bpt_attention_record(op, BPT_OP_ATTENTION, SCRATCH, &op->forward);
}

bpt_status_t bpt_attention_op_create(bpt_device_t *device, const bpt_attention_spec_t *spec, bpt_attention_op_t **out) {
    bpt_attention_op_t *op;
    if (!device || !spec || !out) return bpt_fail(BPT_ERR_USAGE, "bpt_attention_op_create: a null pointer");
    BPT_TRY(bpt_backend_check(device->backend, BPT_BACKEND_VERSION));
    BPT_TRY(bpt_alloc(1, sizeof *op, &op));
    op->device = device;
    const bpt_status_t status = make(op, spec);
    if (status == BPT_OK)
        *out = op;
    else
        bpt_attention_op_destroy(op);
    return status;
}

void bpt_attention_op_destroy(bpt_attention_op_t *op) {
    if (!op) return;
    const bpt_backend_t *backend = op->device->backend;
    if (op->forward) backend->list_destroy(op->device, op->forward);
    if (op->backward) backend->list_destroy(op->device, op->backward);
    for (int i = 0; i < OPERANDS; ++i)
        if (op->operand[i].buffer) backend->buffer_destroy(op->device, op->operand[i].buffer);
    bpt_free_aligned(op->staging);
    bpt_free(op);
}

int64_t bpt_attention_op_queries(const bpt_attention_op_t *op) { return op->queries.rows; }
int64_t bpt_attention_op_keys(const bpt_attention_op_t *op) { return op->keys.rows; }
int64_t bpt_attention_op_rel_rows(const bpt_attention_op_t *op) { return op->rel_rows; }
