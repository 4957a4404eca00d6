// An attention call on a device whose bindings are smaller than its tensors: some sequences at a time. A sequence's leaves and its other
// nodes lie in two regions of a tensor, so the rows of a window are copied into tensors of their own, and results back. Knows no kernel of
// attention.
#include "backends/gpu/lower/attention_problem.h"

// Operands with rows of their own for every sequence; the lengths have one element each.
enum { LENGTHS = 3 };
static const int row_inputs[] = {0, 1, 4, 7, 8, 9}, row_outputs[] = {0, 1};

static bool has_two_regions(const bpt_attention_problem_t *a, const bpt_operand_t *o) {
    return a->other > 0 && bpt_count(o) == a->batch * (a->t->graph.n + a->other) * bpt_columns(o);
}

// Sequences whose rows of this operand fit into a binding.
static int64_t fit(const bpt_attention_problem_t *a, const bpt_operand_t *o) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    const uint64_t each = o->present ? (uint64_t)bpt_count(o) * bpt_dtype_size(o->dtype) / (uint64_t)a->batch : 0;
    const uint64_t room = limits->max_binding_bytes > limits->offset_alignment ? limits->max_binding_bytes - limits->offset_alignment : 0;
    if (each == 0 || each * (uint64_t)a->batch <= room) return a->batch;
    if (each <= room) return (int64_t)(room / each);
    bpt_lower_refuse(a->l,
                     "one sequence of %lld tokens has rows of %.1f MiB in one tensor; the device binds at most %.1f MiB at once: lower "
                     "--context",
                     (long long)a->t->graph.n, (double)each / 1048576, (double)limits->max_binding_bytes / 1048576);
    return 0;
}

static int64_t window_of(const bpt_attention_problem_t *a) {
    int64_t window = a->batch;
    for (size_t i = 0; i < BPT_COUNT(row_inputs); ++i) window = bpt_min(window, fit(a, &a->l->call->in[row_inputs[i]]));
    for (size_t i = 0; i < BPT_COUNT(row_outputs); ++i) window = bpt_min(window, fit(a, &a->l->call->out[row_outputs[i]]));
    return window;
}

typedef struct {
    int64_t first, count;  // sequences
} window_t;

// Copies the rows of a window's sequences between a tensor and a tensor of the window alone.
static void copy_rows(const bpt_attention_problem_t *a, const bpt_operand_t *o, const window_t *w, const bpt_view_t *part, bool back) {
    const bpt_view_t all = bpt_lower_view(o);
    const int64_t leaves = a->t->graph.n * bpt_columns(o), other = a->other * bpt_columns(o);
    const bpt_view_t there[2] = {bpt_lower_part(&all, w->first * leaves, w->count * leaves),
                                 bpt_lower_part(&all, a->batch * leaves + w->first * other, w->count * other)};
    const bpt_view_t here[2] = {bpt_lower_part(part, 0, w->count * leaves), bpt_lower_part(part, w->count * leaves, w->count * other)};
    const int64_t counts[2] = {w->count * leaves, w->count * other};
    for (int i = 0; i < 2; ++i) bpt_lower_copy(a->l, back ? &here[i] : &there[i], back ? &there[i] : &here[i], counts[i]);
}

// The rows of a window's sequences: a part of the tensor, or new scratch.
static bpt_view_t take(const bpt_attention_problem_t *a, const bpt_operand_t *o, const window_t *w) {
    const bpt_view_t all = bpt_lower_view(o);
    if (!o->present) return all;
    const int64_t each = bpt_count(o) / a->batch;
    return has_two_regions(a, o) ? bpt_lower_scratch(a->l, o->dtype, w->count * each)
                                 : bpt_lower_part(&all, w->first * each, w->count * each);
}

static void lower_window(const bpt_attention_problem_t *a, const window_t *w, bpt_attention_lowering_t run) {
    const bpt_op_call_t *call = a->l->call;
    bpt_attention_problem_t part = *a;
    part.batch = w->count;
    part.in[LENGTHS] = bpt_lower_part(&a->in[LENGTHS], w->first, w->count);
    for (size_t i = 0; i < BPT_COUNT(row_inputs); ++i) {
        const int slot = row_inputs[i];
        if (slot == 1 && a->t->packed) {
            part.in[1] = part.in[0];
            continue;
        }
        part.in[slot] = take(a, &call->in[slot], w);
        if (call->in[slot].present && has_two_regions(a, &call->in[slot])) copy_rows(a, &call->in[slot], w, &part.in[slot], false);
    }
    for (size_t i = 0; i < BPT_COUNT(row_outputs); ++i) part.out[row_outputs[i]] = take(a, &call->out[row_outputs[i]], w);
    bpt_lower_barrier(a->l);
    run(&part, w->first == 0);
    bpt_lower_barrier(a->l);
    for (size_t i = 0; i < BPT_COUNT(row_outputs); ++i) {
        const bpt_operand_t *o = &call->out[row_outputs[i]];
        if (o->present && has_two_regions(a, o)) copy_rows(a, o, w, &part.out[row_outputs[i]], true);
    }
    bpt_lower_barrier(a->l);
}

void bpt_lower_attention_windows(const bpt_attention_problem_t *a, bpt_attention_lowering_t run) {
    bpt_lower_t *l = a->l;
    const int64_t window = a->table || a->batch == 0 ? a->batch : window_of(a);
    if (l->status != BPT_OK) return;
    if (window >= a->batch) {
        run(a, true);
        return;
    }
    const size_t scratch = l->scratch_bytes;
    size_t most = scratch;
    for (int64_t first = 0; first < a->batch && l->status == BPT_OK; first += window) {
        const window_t w = {first, bpt_min(window, a->batch - first)};
        l->scratch_bytes = scratch;  // the windows before are done with it
        lower_window(a, &w, run);
        if (l->scratch_bytes > most) most = l->scratch_bytes;
    }
    l->scratch_bytes = most;
}
