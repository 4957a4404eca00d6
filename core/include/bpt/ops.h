// The ops: identifiers, attributes and exact semantics. This is the contract that every backend implements.
//
// Tensors are dense, row-major, contiguous. "[R,d]" gives the shape; R rows. "F" below means f32, bf16 or f16: kernels read
// to f32, accumulate in f32 (ref: double) and round once on writing. An input that is absent has no value (BPT_NO_VALUE).
// Row keys: `row_keys` is u32 [R,2]: word 0 = node code, word 1 = sequence index (rng.h). `rng` is u32 [2], the step's key.
// A dropout with p > 0 needs both; p == 0 needs neither. The inverse keep probability is 1/(1-p).
// Reductions have a fixed order: the same inputs give the same bits, whatever the number of threads.
#ifndef BPT_OPS_H
#define BPT_OPS_H

#include "bpt/dtype.h"
#include "bpt/intervals.h"

BPT_BEGIN_DECLS

typedef enum {
#define BPT_OP(id, name, family) BPT_OP_##id,
#include "bpt/ops.def"
#undef BPT_OP
    BPT_OP_COUNT,  // of those that backends compute; the others follow
#define BPT_OP(id, name, family)
#define BPT_GRAPH_OP(id, name, family) BPT_OP_##id,
#include "bpt/ops.def"
#undef BPT_OP
} bpt_op_t;

BPT_API const char *bpt_op_name(bpt_op_t op);

enum { BPT_MAX_RANK = 4, BPT_MAX_INPUTS = 12, BPT_MAX_OUTPUTS = 5, BPT_MAX_STEPS = 6 };

// Bytes. The graph's tensors, scratch areas and a model's parameters begin at multiples of it: the largest storage buffer offset
// alignment that devices ask for. Views begin anywhere.
enum { BPT_TENSOR_ALIGNMENT = 256 };

typedef struct {
    int32_t rank;  // 0 = scalar: one element
    int64_t dim[BPT_MAX_RANK];
} bpt_shape_t;

static inline int64_t bpt_shape_count(const bpt_shape_t *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; ++i) n *= s->dim[i];
    return n;
}
// Every tensor can be seen as [rows, columns]: columns = last dimension (1 for rank 0), rows = the product of the others.
static inline int64_t bpt_shape_columns(const bpt_shape_t *s) { return s->rank ? s->dim[s->rank - 1] : 1; }
static inline int64_t bpt_shape_rows(const bpt_shape_t *s) {
    int64_t n = 1;
    for (int i = 0; i + 1 < s->rank; ++i) n *= s->dim[i];
    return n;
}

// One step of a pointwise chain; `x` is the running value in f32, `in[arg]` an input of the op of the same shape unless said otherwise.
//   ADD          x += in[arg]
//   MUL          x *= in[arg]
//   ADD_ROW      x += in[arg][column], in[arg] is [columns]
//   MUL_SCALAR   x *= in[arg][0]
//   SCALE        x *= c
//   RELU         x = max(x, 0)
//   MASK         x = in[arg] != 0 ? x * c : 0   (gradient of relu and of dropout(relu) through the saved output)
//   DROPOUT      dropout with rate c; element = column, row = the op's row, stream = uid << 8
//   ABS          x = |x|
//   SIGN         x = in[arg] > 0 ? x : in[arg] < 0 ? -x : 0   (gradient of ABS through its input; at 0 it is 0)
//   SWISH        x = x s(x) with s(x) = 1 / (1 + exp(-x))   (Ramachandran et al. 2017; also called SiLU)
//   SWISH_SLOPE  x *= s(z) (1 + z (1 - s(z))) with z = in[arg]   (gradient of SWISH through its input)
typedef enum {
#define BPT_POINTWISE_STEP(number, id, name, operand, constant, rounding) BPT_POINTWISE_##id = number,
#include "bpt/steps.def"
#undef BPT_POINTWISE_STEP
} bpt_pointwise_code_t;

// What a step reads besides x, and what its constant is: the columns of bpt/steps.def.
typedef enum { BPT_OPERAND_NONE, BPT_OPERAND_ELEMENTS, BPT_OPERAND_ROW, BPT_OPERAND_SCALAR } bpt_pointwise_operand_t;
typedef enum { BPT_CONSTANT_NONE, BPT_CONSTANT_FACTOR, BPT_CONSTANT_RATE } bpt_pointwise_constant_t;

typedef struct {
    const char *name;
    bpt_pointwise_operand_t operand;
    bpt_pointwise_constant_t constant;
    bool exact;
} bpt_pointwise_form_t;

BPT_API const bpt_pointwise_form_t *bpt_pointwise_form(bpt_pointwise_code_t code);  // NULL: there is no such step

typedef struct {
    bpt_pointwise_code_t code;
    int32_t arg;  // input slot
    float c;
    uint32_t uid;  // DROPOUT: identity of the random stream, kept by fusion and recomputation
} bpt_pointwise_step_t;

enum { BPT_IN_ROW_KEYS = 6, BPT_IN_RNG = 7 };  // the same slots in every op with a dropout, but attention

// pointwise: out F [shape] = steps(in[0]); in[1..5] are extras, in[6] row_keys, in[7] rng. out may share the storage of any
// input of the same dtype and shape.
typedef struct {
    int32_t n_steps;
    bpt_pointwise_step_t step[BPT_MAX_STEPS];
} bpt_pointwise_attrs_t;

// True when the steps give the same numbers before and after rounding: those that keep an element, negate it or make it zero.
BPT_API bool bpt_pointwise_commutes_with_rounding(const bpt_pointwise_attrs_t *steps);

// matmul: out F [M,N] = steps( op(A) op(B) + acc + bias ), op(A) is [M,K], op(B) is [K,N]; transpose_a: A is stored [K,M].
// packed_b: B is stored [N,K] as numbers of 8 bits, u32 [N, bpt_q8_words(K)] (q8.h); with transpose_b, without transpose_a; no gradient.
//   Only where a device says that it multiplies them (bpt_device_info_t.packed).
// in: 0 A F, 1 B F, 2 acc [M,N] f32 or absent (out may share its storage), 3 bias f32 [N] or absent, 4-5 extras of the steps,
//     6 row_keys, 7 rng.
typedef struct {
    bool transpose_a, transpose_b, packed_b;
    bpt_pointwise_attrs_t epilogue;
} bpt_matmul_attrs_t;

// layernorm: z = dropout_p(x) + residual; y = (z - mean) / sqrt(var + eps) * gamma + beta, per row.
// in: 0 x F [R,d], 1 residual f32 [R,d] or absent, 2 gamma f32 [d], 3 beta f32 [d], 6 row_keys, 7 rng. Dropout element = column.
// out: 0 y f32 [R,d], 1 z f32 [R,d] (absent when nobody needs it), 2 stats f32 [R,2] = mean, 1/sqrt(var + eps) (absent likewise),
//      3 y rounded to a low-precision dtype [R,d] (absent in f32 programs).
// layernorm_grad: in 0 dy f32 [R,d], 1 z, 2 stats, 3 gamma, 4 dy of output 3 (F) or absent, 6 row_keys, 7 rng.
// out: 0 dz f32 [R,d] (gradient of the residual), 1 dx F [R,d] = dropout mask applied to dz (absent when p == 0 and dx has dtype f32:
//      dx is dz),
//      2 dgamma f32 [d], 3 dbeta f32 [d].
// rmsnorm: the same without mean and beta, y = z / sqrt(mean(z^2) + eps) * gamma (Zhang and Sennrich 2019); in 3 is absent, and
//   stats = 0, 1/sqrt(mean(z^2) + eps).
// rmsnorm_grad: as layernorm_grad; out 3 is absent.
typedef struct {
    float eps, p;
    uint32_t uid;
} bpt_layernorm_attrs_t;
// Of these four: whether rows are normalised about their mean, and have a beta.
static inline bool bpt_norm_is_centred(bpt_op_t op) { return op == BPT_OP_LAYERNORM || op == BPT_OP_LAYERNORM_GRAD; }

// gather: in 0 table F [V,d], 1 ids u32 [N]; out F [N,d] = table[ids].
// gather_grad: in 0 dy F [N,d], 1 ids, 2 acc f32 [V,d] or absent; out f32 [V,d] = acc + sum over equal ids, in order of N.
// scatter: in 0 destination F [V,d] (changed in place), 1 x F [N,d], 2 ids u32 [N], none below V twice; destination[ids[r]] = x[r].
// In all three an id of V or more names no row, BPT_NO_ROW among them: it gathers zeros, has no gradient, is not scattered.
#define BPT_NO_ROW 0xFFFFFFFFu  // at least V in every table

// add_rows: in 0 a F [R,d] or absent (zeros), 1 b F [r,d]; out F [R,d] = a, plus b on rows row .. row+r-1. out may share a's storage.
typedef struct {
    int64_t row, rows;  // rows = R
} bpt_rows_attrs_t;

// rotary: in 0 x F [R,C], 1 angles f32 [R,head_dim] = cosines, then sines of the angles of head_dim / 2 pairs; out F [R,C]. Of the first
//   `columns` columns, which are heads side by side, columns i and i + head_dim / 2 of each head are a pair, (a, b), and become
//   (a cos - b sin, a sin + b cos) (Su et al. 2021, with the pairs of GPT-NeoX and LLaMA); with `inverse` they are rotated back. The other
//   columns stay. out may share x's storage.
typedef struct {
    int32_t head_dim;  // even
    int64_t columns;   // a multiple of it
    bool inverse;
} bpt_rotary_attrs_t;

// segment: in 0 x F [R,d], 1 ranges u32 [B,2] = begin, end of rows, of which those from R on do not exist. out 0 y F [B,d] = the sum, the
//   mean or, column by column, the largest of the range's rows; zero where there are none. 1 place u32 [B,d] (MAX only; absent when
//   nobody needs it): the row of the largest, the first where several are, BPT_NO_ROW where there are none. A NaN counts as the largest.
// segment_grad: in 0 dy F [B,d], 1 ranges, 2 place (MAX only); out 0 dx F [R,d], zero for rows in no range. No row is in two ranges.
typedef enum { BPT_SEGMENT_SUM, BPT_SEGMENT_MEAN, BPT_SEGMENT_MAX } bpt_segment_kind_t;

typedef struct {
    bpt_segment_kind_t kind;
    int64_t rows;  // R
} bpt_segment_attrs_t;

// column_sum: in 0 x F [R,C]; out f32 [C].      square_sum: in 0 x f32 (any shape); out f32 [1] (ref and cpu: double inside).

// attention: interval attention (intervals.h), all heads. With s = scale * (q . k + q . rel[row]):
//   out[query] = sum over its keys of dropout_p(softmax(s)) v.
// Rows. A batch holds B sequences in buckets of n leaves with S other nodes each; "all rows" are R = B*n + B*S rows: first
// the leaves of sequence 0, 1, .., then the other nodes of sequence 0, 1, .. (node number - n). `leaf rows` are the first B*n.
//   queries ALL: R query rows; LEAVES: the B*n leaf rows; ROOTS: B rows, the root of each sequence by its true length.
//   zero_spans: q, k, v of all other nodes are zero and not stored (first layer): the key/value tensor has only leaf rows, and
//   with queries ALL so has the query tensor (with packed). The output still has R rows. Needs head_dim * heads = d columns a part.
//   packed: one tensor qkv [rows, 3d] (q at column 0, k at d, v at 2d) is both in[0] and in[1]; allowed with ALL, and with LEAVES when
//   S = 0 or zero_spans.
//   otherwise in[0] = q [query rows, d], in[1] = kv [key rows, 2d] (k at column 0, v at d).
// in: 0 q or qkv F, 1 kv or qkv F, 2 rel F [rel_rows, head_dim] or absent, 3 lengths u32 [B] (true lengths, 1..n),
//     4 row_keys u32 [R,2] of all rows (p > 0 only), 5 rng u32 [2] (p > 0 only),
//     6, 10, 11: kind TABLE only, below.
// out: 0 out F [query rows (zero_spans + ALL: R), d], 1 lse f32 [query rows, heads] = log sum exp of the scores (absent when not needed).
// Dropout: element = node code of the key (row_keys word 0), row and sequence of the query, stream = uid << 8 | head.
// Rows of nodes that do not exist are zero in out (and lse), get and give no gradient. Results never depend on padding or batch mates.
//
// Kind TABLE: the graph is two tables of row numbers. Queries are any Q rows, keys any K rows of other tensors; B = 1, queries ALL, not
// packed, no zero_spans, lengths absent. Row numbers are below 2^31.
//   in 4 row_keys u32 [Q,2] of the queries (p > 0 only),
//      6 table u32 [Q, S, 4] = begin, end, rel row (BPT_NO_ROW: none), rel step (as int32): the S ranges of keys that a query reads. One
//        with begin >= end is empty. Without rel, ranges of a query may overlap: a key counts in the softmax as often as it is read, and
//        all its appearances share one dropout decision. A query without keys: out = lse = dq = 0.
//     10 back u32 [K, T, 2] = begin, end: the T ranges of queries that read a key (needed by the gradient), the transpose of `table`:
//        a query that reads a key twice is there twice. A key that nobody reads: dk = dv = 0. Forward, `back` or out 1 says that rows come
//        in whole batches, and neighbours may be worked on together; without both, as in decoding, the bits of a row do not depend on
//        which rows are beside it.
//     11 key_codes u32 [K]: node codes of the keys, for dropout (p > 0 only).
//   Slot s of neighbouring queries should mean the same kind of keys: backends work on neighbours together, slot by slot.
//   `bounds` say how many edges a row has at most. Where a driver limits how long a work-group runs, long rows are cut into parts by them.
//   With rel no two ranges of a query overlap; its gradient, which goes from keys to queries too, looks for a key in the query's ranges.
//   bpt/lists.h writes such tables.
//
// attention_grad: in 0-6, 10, 11 as above, 7 out, 8 dout F, 9 lse.
// out: 0 dq or dqkv, F, shape of in[0]; 1 dkv, shape of in[1] (absent when packed); 2 drel f32 [rel_rows, head_dim] (absent without rel).
typedef enum { BPT_QUERIES_ALL, BPT_QUERIES_LEAVES, BPT_QUERIES_ROOTS } bpt_queries_t;

// What is known of the rows of a side before its table is written: the first `light` have at most `light_edges` edges each, the others at
// most `edges`; 0: as many as their slots can hold. No backend looks for rows that have more: bpt_lists_check (bpt/lists.h) refuses them.
typedef struct {
    int64_t light, light_edges, edges;
} bpt_table_side_t;

typedef struct {
    bpt_table_side_t queries, keys;  // `table`, `back`
} bpt_table_bounds_t;

typedef struct {
    bpt_intervals_t graph;
    bpt_table_bounds_t bounds;  // kind TABLE only; all 0: nothing is known
    int64_t batch;
    int32_t heads, head_dim;
    bpt_queries_t queries;
    bool zero_spans, packed;
    float scale, p;
    uint32_t uid;
} bpt_attention_attrs_t;

// xent: linear layer + cross-entropy in chunks of rows; the logits [N,V] are never whole in memory. logits = h W^T + b.
// in: 0 h F [N,d], 1 W F [V,d], 2 b f32 [V] or absent, 3 targets u32 [N], 4 weights f32 [N]. A row of weight 0 costs nothing and has nll 0.
//   With smoothing e (Szegedy et al. 2016) a row's wanted distribution q is 1 - e for its target and e / (V - 1) for each other class, so
//   V > 1 is needed: its loss is log sum exp(logits) - sum q logits. nll is always -log p[target].
// out: 0 loss f32 [1] = sum weights * loss of the row (the nll without smoothing), 1 nll f32 [N] (nats).
// xent_grad: in 0-4 as above, 5 dloss f32 [1]; out: 0 loss, 1 nll, 2 dh F [N,d], 3 dW f32 [V,d], 4 db f32 [V] (absent without b).
//   dlogits = weights * dloss * (softmax - q). With h and W both in bf16 it may be rounded to bf16 for dh and dW (not for db).
typedef struct {
    float smoothing;  // [0, 1)
} bpt_xent_attrs_t;

// crf: the loss of a linear-chain conditional random field (Lafferty et al. 2001), for each sequence nll = log Z - score(tags), where the
//   score of a sequence of tags is start + sum of scores and transitions + end, and Z sums exp(score) over all sequences of tags.
// in: 0 x f32 [R,L] scores, 1 t f32 [L+2,L]: t[i][j] from tag i to tag j, then a row of starts and one of ends, 2 tags u32 [R], below L,
//     3 ranges u32 [B,2] = begin, end of rows, of which those from R on do not exist; no row is in two, 4 weights f32 [B].
// out: 0 loss f32 [1] = sum weights nll, 1 nll f32 [B], 0 where a range is empty.
// crf_grad: in 0-4, 5 dloss f32 [1]; out 0 loss, 1 nll, 2 dx f32 [R,L], 0 for rows in no range, 3 dt f32 [L+2,L]. L <= 256.
enum { BPT_CRF_MOST_TAGS = 256 };

// tree_values: hierarchical accumulation (Nguyen et al. 2020, section 4.1): the values of the nodes of trees become weighted means over the
//   branches below them. Leaves are rows 0 .. N-1, nodes the rows behind; A = heads * head_dim, the values are the last A columns.
// in: 0 kv F [R,W], W >= A, 1 weight f32 [N,heads], 2 vertical f32 [V,head_dim/2], 3 horizontal f32 [X,head_dim/2], both or neither; V, X >
// 0,
//     4 links u32 [R,3], of a leaf: the row of the lowest node above it (BPT_NO_ROW: none), 0, 0; of a node: the row of its parent
//       (BPT_NO_ROW: none), its first leaf row and the end of its leaf rows,
//     5 trees u32 [B,4]: begin and end of the leaf rows, begin and end of the node rows of each tree. No row is in two trees.
// out: 0 F [R,W] = kv, but the values of node i, for head h with v = the values of head h:
//     1/|i| sum over its leaves j of weight[j,h] (v_j + sum over the nodes t of the path of (v_t + e(j,t))) / (d(j,i) + (counts_leaf ? 1 :
//     0))
//   The path leads from j's lowest node up to i, both included; d(j,t) is the number of nodes up to t; |i| the number of leaves below i;
//   e(j,t) = [vertical row min(d(j,t), V) - 1 ; horizontal row min(j - first leaf of t + 1, X) - 1], 0 without the tables.
//   Nodes of no tree have values 0. Time grows with the sum of the leaves' depths.
// tree_values_grad: in 0-5, 6 dout F [R,W]; out 0 dkv F [R,W], 1 dweight f32 [N,heads], 2 dvertical, 3 dhorizontal, f32 (absent without the
//   tables). Leaves of no tree: dweight 0.
typedef struct {
    int32_t heads, head_dim;  // head_dim is even where there are tables
    bool counts_leaf;         // as in the paper; the released code divides by the number of nodes alone
    int64_t depth;            // no leaf has more nodes above it; 0: as many as there are. Whoever states it checks the links.
} bpt_tree_values_attrs_t;

// adam: in 0 p f32 (changed), 1 g f32, 2 m f32 (changed), 3 v f32 (changed), 4 hyper f32 [8], 5 square_sum of all gradients f32 [1].
//   No outputs. hyper = {lr, 1 - beta1^t, 1 - beta2^t, clip norm (0 = none), inverse loss scale, 0, 0, 0}.
//   norm = hyper[4] * sqrt(square_sum); g' = g * hyper[4] * min(1, clip / (norm + 1e-6)); lr = hyper[0] * lr_scale.
//   Coupled decay: g' += decay * p; m, v, Kingma & Ba 2015, p -= lr * m^ / (sqrt(v^) + eps). Decoupled (AdamW): p -= lr * decay * p
//   first. A non-finite square_sum changes nothing at all.
typedef struct {
    float beta1, beta2, eps, weight_decay, lr_scale;
    bool decoupled;
} bpt_adam_attrs_t;
// accumulate: in 0 acc f32 (changed), 1 x f32, 2 keep f32 [1]: acc = (keep == 0 ? 0 : acc * keep) + x. No outputs.

// momentum: in 0 g f32 (changed), 1 m f32 (changed), 2 hyper f32 [8], 3 square_sum of all gradients f32 [1]; hyper and clipping as for
// adam.
//   No outputs. g' = g * hyper[4] * min(1, clip / (norm + 1e-6)); m = momentum m + (1 - momentum) g';
//   g = nesterov ? momentum m + (1 - momentum) g' : m: the direction of a step by momentum (Jordan et al. 2024, Muon). A non-finite
//   square_sum changes nothing at all.
typedef struct {
    float momentum;  // [0, 1)
    bool nesterov;
} bpt_momentum_attrs_t;
// normalize: in 0 x f32 [R,d], 1 square_sum f32 [1]; out F [R,d] = x / max(sqrt(square_sum), eps).
typedef struct {
    float eps;  // > 0
} bpt_normalize_attrs_t;
// descend: in 0 p f32 (changed), 1 u F, 2 hyper f32 [8], 3 square_sum of all gradients f32 [1]. No outputs. lr = hyper[0]:
//   p = p - lr * weight_decay * p - lr * lr_scale * u. A non-finite square_sum changes nothing at all.
typedef struct {
    float lr_scale, weight_decay;
} bpt_descend_attrs_t;

// exchange: in 0 x F [R,d], rows that go to other processes; out F [rows,d], those that come from them. No backend computes it: the host
// reads x, has the caller of the program move the rows (bpt/program.h), and writes out. With `back` rows go the other way: the gradient of
// an exchange is the exchange back.
typedef struct {
    int64_t rows;
    bool back;
} bpt_exchange_attrs_t;

// stash: in 0 x F [R,d], which the host writes to disk, at byte `offset` of a file; out u32 [1], which stands for it. fetch: in 0 that; out
// x.
typedef struct {
    int64_t rows, columns, offset;
} bpt_stash_attrs_t;

// cast: in 0 F -> out F of another dtype.   fill: no inputs, out F = value.   copy: in 0 -> out, same dtype and count.
typedef struct {
    float value;
} bpt_fill_attrs_t;

typedef union {
    bpt_pointwise_attrs_t pointwise;
    bpt_matmul_attrs_t matmul;
    bpt_layernorm_attrs_t layernorm;
    bpt_rows_attrs_t rows;
    bpt_rotary_attrs_t rotary;
    bpt_segment_attrs_t segment;
    bpt_tree_values_attrs_t tree_values;
    bpt_attention_attrs_t attention;
    bpt_xent_attrs_t xent;
    bpt_adam_attrs_t adam;
    bpt_momentum_attrs_t momentum;
    bpt_normalize_attrs_t normalize;
    bpt_descend_attrs_t descend;
    bpt_fill_attrs_t fill;
    bpt_exchange_attrs_t exchange;
    bpt_stash_attrs_t stash;
} bpt_attrs_t;

BPT_END_DECLS

#endif
