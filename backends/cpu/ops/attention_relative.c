// The gradient of attention over tables with relative positions. A thread takes a head after the other and goes over its queries alone: it
// adds to dk, dv and the table's gradient while it makes dq. The order of all sums is that of the queries, then that of the heads.
#include <string.h>

#include "backends/cpu/ops/attention_plan.h"

static void run_heads(const void *context, int area) {
    const bpt_attention_plan_t *p = context;
    const bpt_attention_t *a = &p->a;
    bpt_attention_sums_t s = p->sums[area];
    for (int head = area; head < a->t->heads; head += (int)p->areas) {
        s.drel = p->drel + head * a->rel_rows * a->columns;
        memset(s.drel, 0, (size_t)(a->rel_rows * a->columns) * sizeof *s.drel);
        memset(s.dk, 0, (size_t)(p->keys * a->columns) * sizeof *s.dk);
        memset(s.dv, 0, (size_t)(p->keys * a->columns) * sizeof *s.dv);
        for (int64_t query = 0; query < p->queries; ++query) p->k->attention_relative_grad(a, head, query, &s);
        p->k->attention_relative_write(a, head, p->keys, &s);
    }
    p->k->attention_written();
}

void bpt_attention_run_relative(const bpt_attention_plan_t *p) { bpt_team_run(p->team, (int)p->areas, run_heads, p); }
