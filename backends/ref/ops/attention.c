// Interval attention and its gradient, edge by edge. The gradient gathers: queries walk their keys for dq and drel, keys walk
// their consumers for dk and dv, so that the transposed interval formulas (or tables) are held against the direct ones.
#include <math.h>
#include <string.h>

#include "backends/ref/ops/element.h"

// Columns [offset, offset + d) of an input whose rows have `stride` columns, as double; data NULL: zeros.
typedef struct {
    const double *data;
    int64_t stride, offset;
} part_t;

// The same columns of an output.
typedef struct {
    int slot;
    int64_t stride, offset;
} target_t;

typedef struct {
    const bpt_host_run_t *run;
    const bpt_attention_attrs_t *t;
    part_t q, k, v, rel;                  // rel.data NULL: no relative positions
    const uint32_t *lengths;              // NULL with a table
    const uint32_t *table, *back;         // kind TABLE: ranges of keys and of queries; NULL: none
    int64_t query_rows, key_rows, other;  // `other`: nodes of a bucket that are not leaves
    bpt_slot_t *slots;                    // scratch for the slots of one query or key
    double *scratch;                      // what is left of it
} problem_t;

// A query or key: its sequence, its node, its row in a tensor of all rows, and its row where it is stored (-1: it is zero). With a table
// the rows of queries and those of keys are two numberings.
typedef struct {
    int64_t sequence, node, all_row, stored;
} position_t;

static int64_t max_slots(const bpt_op_call_t *call) {
    if (!call->in[6].present) return BPT_MAX_SLOTS;
    const int64_t queries = call->in[10].present ? call->in[10].shape.dim[1] : 0, keys = call->in[6].shape.dim[1];
    return keys > queries ? keys : queries;
}

static double at(const part_t *part, int64_t row, int64_t column) {
    return row < 0 || !part->data ? 0 : part->data[row * part->stride + part->offset + column];
}
static void put(const bpt_host_run_t *run, const target_t *target, int64_t row, int64_t column, double x) {
    bpt_ref_out(run, target->slot, row * target->stride + target->offset + column, x);
}

// Scratch of both ops: slots, then the inputs as double, then `more` doubles.
static size_t scratch_for(const bpt_op_call_t *call, size_t more) {
    static const int expanded[] = {0, 1, 2, 7, 8};
    size_t doubles = more;
    for (size_t i = 0; i < BPT_COUNT(expanded); ++i)
        if (call->in[expanded[i]].present && !(expanded[i] == 1 && call->attrs.attention.packed))
            doubles += (size_t)bpt_shape_count(&call->in[expanded[i]].shape);
    return (size_t)max_slots(call) * sizeof(bpt_slot_t) + doubles * sizeof(double);
}

static part_t expand(problem_t *a, int slot) {
    if (!a->run->in[slot]) return (part_t){0};
    const bpt_operand_t *operand = &a->run->call->in[slot];
    const int64_t count = bpt_shape_count(&operand->shape);
    const part_t part = {.data = a->scratch, .stride = bpt_ref_columns(operand)};
    for (int64_t i = 0; i < count; ++i) a->scratch[i] = bpt_ref_in(a->run, slot, i);
    a->scratch += count;
    return part;
}

static problem_t problem_of(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    const bpt_attention_attrs_t *t = &call->attrs.attention;
    const int64_t d = (int64_t)t->heads * t->head_dim;
    problem_t a = {.run = run, .t = t, .lengths = run->in[3], .table = run->in[6], .back = run->in[10], .slots = run->scratch};
    a.scratch = (double *)(a.slots + max_slots(call));
    a.q = expand(&a, 0);
    a.k = a.v = t->packed ? a.q : expand(&a, 1);
    a.k.offset = t->packed ? d : 0;
    a.v.offset = a.k.offset + d;
    a.rel = expand(&a, 2);
    a.query_rows = bpt_ref_rows(call->op == BPT_OP_ATTENTION ? &call->out[0] : &call->in[7]);
    a.key_rows = bpt_ref_rows(&call->in[1]);
    if (!call->in[6].present) a.other = bpt_node_count(&t->graph) - t->graph.n;
    return a;
}

static bool is_table(const problem_t *a) { return a->run->call->in[6].present; }

// Node `node` of a sequence as a key.
static position_t key_at(const problem_t *a, int64_t sequence, int64_t node) {
    const int64_t n = a->t->graph.n;
    if (is_table(a)) return (position_t){0, node, node, node};
    const int64_t row = node < n ? sequence * n + node : a->t->batch * n + sequence * a->other + node - n;
    return (position_t){sequence, node, row, a->t->zero_spans && node >= n ? -1 : row};
}

// The node of an all-rows row.
static position_t key_of_row(const problem_t *a, int64_t row) {
    const int64_t n = a->t->graph.n, leaf_rows = a->t->batch * n;
    if (is_table(a)) return key_at(a, 0, row);
    if (row < leaf_rows) return key_at(a, row / n, row % n);
    return key_at(a, (row - leaf_rows) / a->other, n + (row - leaf_rows) % a->other);
}

// Row `row` of the output as a query.
static position_t query_of_row(const problem_t *a, int64_t row) {
    if (a->t->queries != BPT_QUERIES_ROOTS) return key_of_row(a, row);
    position_t query = key_at(a, row, bpt_root_node(&a->t->graph, a->lengths[row]));
    query.stored = row;
    return query;
}

// The output row of a node as a query, -1 when this call does not ask for it.
static int64_t row_of_query(const problem_t *a, int64_t sequence, int64_t node) {
    if (a->t->queries == BPT_QUERIES_ROOTS) return node == bpt_root_node(&a->t->graph, a->lengths[sequence]) ? sequence : -1;
    if (a->t->queries == BPT_QUERIES_LEAVES && node >= a->t->graph.n) return -1;
    return key_at(a, sequence, node).all_row;
}

// The slots of an output row, in a->slots.
static int slots_of(const problem_t *a, int64_t row, const position_t *query) {
    if (!is_table(a)) return bpt_intervals_keys(&a->t->graph, a->lengths[query->sequence], query->node, a->slots);
    const int count = (int)a->run->call->in[6].shape.dim[1];
    const uint32_t *entry = a->table + row * count * 4;
    for (int s = 0; s < count; ++s, entry += 4)
        a->slots[s] = (bpt_slot_t){entry[0], entry[1], entry[2] == BPT_NO_ROW ? -1 : (int32_t)entry[2], (int32_t)entry[3]};
    return count;
}

// The queries that read a key, in a->slots.
static int consumers_of(const problem_t *a, const position_t *key) {
    if (!is_table(a)) return bpt_intervals_consumers(&a->t->graph, a->lengths[key->sequence], key->node, a->slots);
    const int count = (int)a->run->call->in[10].shape.dim[1];
    const uint32_t *entry = a->back + key->node * count * 2;
    for (int s = 0; s < count; ++s, entry += 2) a->slots[s] = (bpt_slot_t){entry[0], entry[1], -1, 0};
    return count;
}

static double score(const problem_t *a, int64_t q_row, int64_t k_row, int64_t rel_row, int64_t first_column) {
    double sum = 0;
    for (int64_t c = 0; c < a->t->head_dim; ++c)
        sum += at(&a->q, q_row, first_column + c) * (at(&a->k, k_row, first_column + c) + at(&a->rel, rel_row, c));
    return sum * (double)a->t->scale;
}

static double dropout(const problem_t *a, const position_t *query, const position_t *key, int head) {
    const float p = a->t->p;
    if (p <= 0) return 1;
    const uint32_t *row_keys = a->run->in[4];
    const uint32_t code = is_table(a) ? ((const uint32_t *)a->run->in[11])[key->all_row] : row_keys[2 * key->all_row];
    return bpt_ref_dropout(p, code, row_keys + 2 * query->all_row, a->t->uid << 8 | (uint32_t)head, a->run->in[5]);
}

// ---- Forward ---------------------------------------------------------------------------------------------------------

// Further scratch: one head of output.
static bpt_status_t plan_attention(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = scratch_for(call, (size_t)call->attrs.attention.head_dim);
    return BPT_OK;
}

// One head of one query: sum[head_dim] = its output. Returns log sum exp; 0 and zeros when there is no key.
static double attend(const problem_t *a, const position_t *query, int n_slots, int head, double *sum) {
    const int64_t first = (int64_t)head * a->t->head_dim;
    double largest = -INFINITY, total = 0;
    for (int s = 0; s < n_slots; ++s)
        for (int64_t key = a->slots[s].begin, rel = a->slots[s].rel_row; key < a->slots[s].end; ++key, rel += a->slots[s].rel_step) {
            const double x = score(a, query->stored, key_at(a, query->sequence, key).stored, rel, first);
            if (!(x <= largest)) largest = x;  // a NaN wins
        }
    memset(sum, 0, (size_t)a->t->head_dim * sizeof *sum);
    for (int s = 0; s < n_slots; ++s)
        for (int64_t key = a->slots[s].begin, rel = a->slots[s].rel_row; key < a->slots[s].end; ++key, rel += a->slots[s].rel_step) {
            const position_t position = key_at(a, query->sequence, key);
            const double weight = exp(score(a, query->stored, position.stored, rel, first) - largest);
            const double kept = weight * dropout(a, query, &position, head);
            total += weight;
            for (int64_t c = 0; c < a->t->head_dim; ++c) sum[c] += kept * at(&a->v, position.stored, first + c);
        }
    if (total == 0) return 0;
    for (int64_t c = 0; c < a->t->head_dim; ++c) sum[c] /= total;
    return largest + log(total);
}

static void run_attention(const bpt_host_run_t *run) {
    const problem_t a = problem_of(run);
    const int64_t heads = a.t->heads, head_dim = a.t->head_dim;
    double *sum = a.scratch;
    for (int64_t row = 0; row < a.query_rows; ++row) {
        const position_t query = query_of_row(&a, row);
        const int n_slots = slots_of(&a, row, &query);
        for (int head = 0; head < heads; ++head) {
            const double lse = attend(&a, &query, n_slots, head, sum);
            for (int64_t c = 0; c < head_dim; ++c) bpt_ref_out(run, 0, (row * heads + head) * head_dim + c, sum[c]);
            if (run->out[1]) bpt_ref_out(run, 1, row * heads + head, lse);
        }
    }
}

// ---- Gradient --------------------------------------------------------------------------------------------------------
// With weights w = exp(s - lse), dropout factors f and D = dout . out (per query and head):
//   ds = w (f dout . v - D) scale,   dq = sum over keys ds (k + rel),   dk = sum over consumers ds q,
//   dv = sum over consumers w f dout,   drel[row] = sum over the edges that use the row of ds q.

// Further scratch: D of every query row and head, sums of drel, two heads of sums.
static bpt_status_t plan_attention_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const size_t rel = call->in[2].present ? (size_t)bpt_shape_count(&call->in[2].shape) : 0;
    *scratch_bytes = scratch_for(call, (size_t)bpt_shape_count(&call->in[9].shape) + rel + 2 * (size_t)call->attrs.attention.head_dim);
    return BPT_OK;
}

typedef struct {
    problem_t a;
    part_t dout, out;
    target_t dq, dk, dv;
    double *dots, *drel;  // D [query rows, heads]; [rel rows, head_dim]
} gradient_t;

// The gradient of the score of an edge, and the weight of its value in the output.
static double edge_gradient(const gradient_t *g, int64_t query_row, const position_t *query, const position_t *key, int64_t rel_row,
                            int head, double *weight) {
    const problem_t *a = &g->a;
    const int64_t first = (int64_t)head * a->t->head_dim, heads = a->t->heads;
    const double w = exp(score(a, query->stored, key->stored, rel_row, first) - bpt_ref_in(a->run, 9, query_row * heads + head));
    const double kept = dropout(a, query, key, head);
    double dot = 0;
    for (int64_t c = 0; c < a->t->head_dim; ++c) dot += at(&g->dout, query_row, first + c) * at(&a->v, key->stored, first + c);
    *weight = w * kept;
    return w * (kept * dot - g->dots[query_row * heads + head]) * (double)a->t->scale;
}

// dq of one query row and head; adds to drel.
static void query_gradient(const gradient_t *g, int64_t row, const position_t *query, int n_slots, int head, double *dq) {
    const problem_t *a = &g->a;
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    memset(dq, 0, (size_t)head_dim * sizeof *dq);
    for (int s = 0; s < n_slots; ++s)
        for (int64_t key = a->slots[s].begin, rel = a->slots[s].rel_row; key < a->slots[s].end; ++key, rel += a->slots[s].rel_step) {
            const position_t position = key_at(a, query->sequence, key);
            double weight;
            const double ds = edge_gradient(g, row, query, &position, rel, head, &weight);
            for (int64_t c = 0; c < head_dim; ++c) {
                dq[c] += ds * (at(&a->k, position.stored, first + c) + at(&a->rel, rel, c));
                if (g->drel && rel >= 0) g->drel[rel * head_dim + c] += ds * at(&a->q, query->stored, first + c);
            }
        }
}

// The row of the table of relative positions that an edge uses, -1: none.
static int64_t rel_of_edge(const problem_t *a, const position_t *key, int64_t query) {
    if (!is_table(a)) return bpt_intervals_rel_row(&a->t->graph, a->lengths[key->sequence], query, key->node);
    const int64_t slots = a->run->call->in[6].shape.dim[1];
    for (const uint32_t *entry = a->table + query * slots * 4, *end = entry + slots * 4; a->rel.data && entry < end; entry += 4)
        if (key->node >= entry[0] && key->node < entry[1])
            return entry[2] == BPT_NO_ROW ? -1 : entry[2] + (key->node - entry[0]) * (int32_t)entry[3];
    return -1;
}

// dk and dv of one key and head.
static void key_gradient(const gradient_t *g, const position_t *key, int n_slots, int head, double *dk, double *dv) {
    const problem_t *a = &g->a;
    const int64_t head_dim = a->t->head_dim, first = head * head_dim;
    memset(dk, 0, (size_t)head_dim * sizeof *dk);
    memset(dv, 0, (size_t)head_dim * sizeof *dv);
    for (int s = 0; s < n_slots; ++s)
        for (int64_t node = a->slots[s].begin; node < a->slots[s].end; ++node) {
            const int64_t row = row_of_query(a, key->sequence, node);
            if (row < 0) continue;
            const position_t query = query_of_row(a, row);
            const int64_t rel = rel_of_edge(a, key, node);
            double weight;
            const double ds = edge_gradient(g, row, &query, key, rel, head, &weight);
            for (int64_t c = 0; c < head_dim; ++c) {
                dk[c] += ds * at(&a->q, query.stored, first + c);
                dv[c] += weight * at(&g->dout, row, first + c);
            }
        }
}

static void all_query_gradients(const gradient_t *g, double *dq) {
    const problem_t *a = &g->a;
    const int64_t heads = a->t->heads, head_dim = a->t->head_dim;
    for (int64_t row = 0; row < a->query_rows; ++row) {
        const position_t query = query_of_row(a, row);
        const int n_slots = slots_of(a, row, &query);
        for (int head = 0; head < heads; ++head) {
            double *dot = &g->dots[row * heads + head];
            *dot = 0;
            for (int64_t c = 0; c < head_dim; ++c) *dot += at(&g->dout, row, head * head_dim + c) * at(&g->out, row, head * head_dim + c);
            query_gradient(g, row, &query, n_slots, head, dq);
            for (int64_t c = 0; query.stored >= 0 && c < head_dim; ++c) put(a->run, &g->dq, query.stored, head * head_dim + c, dq[c]);
        }
    }
}

static void all_key_gradients(const gradient_t *g, double *dk, double *dv) {
    const problem_t *a = &g->a;
    const int64_t head_dim = a->t->head_dim;
    for (int64_t row = 0; row < a->key_rows; ++row) {
        const position_t key = key_of_row(a, row);
        const int n_slots = consumers_of(a, &key);
        for (int head = 0; head < a->t->heads; ++head) {
            key_gradient(g, &key, n_slots, head, dk, dv);
            for (int64_t c = 0; c < head_dim; ++c) {
                put(a->run, &g->dk, row, head * head_dim + c, dk[c]);
                put(a->run, &g->dv, row, head * head_dim + c, dv[c]);
            }
        }
    }
}

static void run_attention_grad(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    gradient_t g = {.a = problem_of(run)};
    const int64_t n_rel = run->in[2] ? bpt_shape_count(&call->in[2].shape) : 0;
    const int key_slot = g.a.t->packed ? 0 : 1;
    g.out = expand(&g.a, 7);
    g.dout = expand(&g.a, 8);
    g.dq = (target_t){0, g.a.q.stride, 0};
    g.dk = (target_t){key_slot, g.a.k.stride, g.a.k.offset};
    g.dv = (target_t){key_slot, g.a.v.stride, g.a.v.offset};
    g.dots = g.a.scratch;
    g.drel = n_rel ? g.dots + bpt_shape_count(&call->in[9].shape) : NULL;
    double *sums = g.dots + bpt_shape_count(&call->in[9].shape) + n_rel;
    for (int64_t i = 0; i < n_rel; ++i) g.drel[i] = 0;
    all_query_gradients(&g, sums);
    all_key_gradients(&g, sums, sums + g.a.t->head_dim);
    for (int64_t i = 0; i < n_rel; ++i) bpt_ref_out(run, 2, i, g.drel[i]);
}

const bpt_host_op_t bpt_ref_op_ATTENTION = {plan_attention, run_attention};
const bpt_host_op_t bpt_ref_op_ATTENTION_GRAD = {plan_attention_grad, run_attention_grad};
