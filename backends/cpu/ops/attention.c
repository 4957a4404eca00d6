// attention, attention_grad: units and chunks shared out to threads.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

// Heads `head` .. of a sequence side by side, by one thread.
static void run_heads(const bpt_attention_plan_t *p, int64_t sequence, int head, bpt_attention_unit_t *unit, bpt_attention_work_t *w) {
    const bpt_attention_share_t whole = {0, 1};
    bpt_attention_t a[BPT_ATTENTION_SIDE];
    for (int h = 0; h < p->side; ++h) {
        bpt_attention_begin_unit(p, sequence * p->a.t->heads + head + h, &unit[h]);
        a[h] = bpt_attention_of_head(&p->a, head + h);
        bpt_attention_open_unit(p, &a[h], &unit[h], whole);
    }
    for (int64_t chunk = 0; chunk < bpt_attention_chunks(unit); ++chunk) {
        bpt_attention_run_chunk(p, a, unit, w, p->side, chunk);
        for (int h = 0; h < p->side; ++h) bpt_attention_merge_sums(p, &a[h], &unit[h], &w[h], whole);
    }
    for (int h = 0; h < p->side; ++h) {
        bpt_attention_close_unit(p, &a[h], &unit[h], &w[h]);
        bpt_attention_write_sums(p, &a[h], &unit[h], whole);
    }
}

static void clear_table(const bpt_attention_plan_t *p, int64_t sequence, int head) {
    float *table = bpt_attention_group_table(p, sequence, head);
    if (table) memset(table, 0, (size_t)(p->a.rel_rows * p->a.columns) * sizeof *table);
}

// Some heads of a group of sequences.
static void run_group(const void *context, int64_t i, int thread) {
    const bpt_attention_plan_t *p = context;
    const int64_t sides = p->a.t->heads / p->side, batch = p->a.t->batch, group = i / sides;
    const int64_t begin = bpt_cpu_blocks(group * batch, p->sequence_groups), end = bpt_cpu_blocks((group + 1) * batch, p->sequence_groups);
    const int head = (int)(i % sides) * p->side, first = thread * p->side;
    for (int h = 0; h < p->side; ++h) bpt_attention_clear_sums(p, &p->work[first + h]);
    for (int h = 0; h < p->side; ++h) clear_table(p, begin, head + h);
    for (int64_t sequence = begin; sequence < end; ++sequence) run_heads(p, sequence, head, &p->unit[first], &p->work[first]);
    p->k->attention_written();
}

static void run_groups(const bpt_attention_plan_t *p) {
    if (p->units) bpt_team_for(p->team, p->sequence_groups * (p->a.t->heads / p->side), run_group, p);
}

// Piece number `index` of all units: chunk by chunk, so that pieces of the same size come together. False after the last one.
static bool find_piece(const bpt_attention_plan_t *p, int64_t index, int64_t *unit, int64_t *chunk) {
    for (*chunk = 0; *chunk < p->chunks; ++*chunk)
        for (*unit = 0; *unit < p->units; ++*unit)
            if (*chunk < bpt_attention_chunks(&p->unit[*unit]) && index-- == 0) return true;
    return false;
}

// Fewer units than threads: all units at once, in rounds of one chunk per thread.
static void run_pieces(const void *context, int thread) {
    const bpt_attention_plan_t *p = context;
    const bpt_attention_share_t s = {thread, p->threads};
    bpt_attention_clear_sums(p, &p->work[s.share]);
    for (int64_t i = s.share; i < p->units; i += s.shares) {
        bpt_attention_begin_unit(p, i, &p->unit[i]);
        clear_table(p, p->unit[i].sequence, p->unit[i].head);
    }
    bpt_team_barrier(p->team);
    for (int64_t i = 0; i < p->units; ++i) {
        const bpt_attention_t a = bpt_attention_of_head(&p->a, p->unit[i].head);
        bpt_attention_open_unit(p, &a, &p->unit[i], s);
    }
    bpt_team_barrier(p->team);
    int64_t i, chunk;
    for (int64_t round = 0; find_piece(p, round * s.shares, &i, &chunk); ++round) {
        if (find_piece(p, round * s.shares + s.share, &i, &chunk)) {
            const bpt_attention_t a = bpt_attention_of_head(&p->a, p->unit[i].head);
            bpt_attention_run_chunk(p, &a, &p->unit[i], &p->work[s.share], 1, chunk);
        }
        if (!p->grad) continue;
        bpt_team_barrier(p->team);
        for (int other = 0; other < s.shares && find_piece(p, round * s.shares + other, &i, &chunk); ++other)
            bpt_attention_merge_sums(p, &p->a, &p->unit[i], &p->work[other], s);
        bpt_team_barrier(p->team);
    }
    bpt_team_barrier(p->team);
    for (i = s.share; i < p->units; i += s.shares) {
        const bpt_attention_t a = bpt_attention_of_head(&p->a, p->unit[i].head);
        bpt_attention_close_unit(p, &a, &p->unit[i], &p->work[s.share]);
    }
    bpt_team_barrier(p->team);
    for (i = 0; p->grad && i < p->units; ++i) {
        const bpt_attention_t a = bpt_attention_of_head(&p->a, p->unit[i].head);
        bpt_attention_write_sums(p, &a, &p->unit[i], s);
    }
    p->k->attention_written();
}

static void run_units(const bpt_attention_plan_t *p) {
    if (p->units >= p->threads || p->chunks == 1 || p->units > p->groups) {
        run_groups(p);
        return;
    }
    bpt_team_run(p->team, p->threads, run_pieces, p);
}

// The table's gradient from the groups' sums.
static void sum_tables(const bpt_attention_plan_t *p, float *out) {
    const bpt_attention_t *a = &p->a;
    const int64_t groups = p->by_table ? a->t->heads : p->groups;
    for (int64_t row = 0; row < a->rel_rows; ++row)
        bpt_cpu_sum_partials(p->drel + row * a->columns, groups, a->rel_rows * a->columns, a->t->head_dim, out + row * a->t->head_dim);
}

static void run_attention_grad(const bpt_host_run_t *run) {
    bpt_attention_plan_t p = {0};
    bpt_attention_begin(&p, run);
    if (p.by_table)
        bpt_attention_run_table(&p);
    else
        run_units(&p);
    if (run->out[2]) sum_tables(&p, run->out[2]);
}

static void run_attention(const bpt_host_run_t *run) {
    bpt_attention_plan_t p = {0};
    bpt_attention_begin(&p, run);
    if (p.a.table)
        bpt_attention_run_table(&p);
    else
        run_units(&p);
}

const bpt_host_op_t bpt_cpu_op_ATTENTION = {bpt_attention_plan, run_attention};
const bpt_host_op_t bpt_cpu_op_ATTENTION_GRAD = {bpt_attention_plan, run_attention_grad};
