// See ledger_page.h.
#include "tools/bpt/devices/ledger_page.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/strbuf.h"

static const char first_mark[] = "<!-- made by bpt doctor --ledger backends/gpu/kernels.ledger --renew -->\n",
                  last_mark[] = "<!-- end -->\n";

// The worst of a kernel's variants on a target.
typedef struct {
    int variants;
    int64_t registers, spilled, spilled_scalars, local_bytes, subgroup, waves;
    bool compiled;
} worst_t;

static int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t less(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static worst_t worst_of(const cli_ledger_t *l, const char *kernel, const char *target) {
    worst_t w = {0, -1, -1, -1, -1, -1, -1, true};
    for (size_t i = 0; i < l->n_lines; ++i) {
        const bpt_gpu_resources_t *takes = &l->line[i].kernel.takes;
        if (strcmp(l->line[i].kernel.kernel, kernel) || strcmp(l->line[i].target, target)) continue;
        ++w.variants;
        w.compiled = w.compiled && l->line[i].kernel.compiled;
        w.registers = more(w.registers, takes->registers);
        w.spilled = more(w.spilled, takes->spilled);
        w.spilled_scalars = more(w.spilled_scalars, takes->spilled_scalars);
        w.local_bytes = more(w.local_bytes, takes->local_bytes);
        w.subgroup = less(w.subgroup, takes->subgroup);
        w.waves = less(w.waves, takes->waves);
    }
    return w;
}

// AMD: registers, waves; Intel, whose registers are always all, the width; NVIDIA: registers.
static bpt_status_t put_cell(bpt_strbuf_t *text, const cli_ledger_t *l, const cli_ledger_target_t *t, const char *kernel) {
    const worst_t w = worst_of(l, kernel, t->name);
    if (!w.variants) return bpt_strbuf_printf(text, " |");
    if (!w.compiled) return bpt_strbuf_printf(text, " ? |");
    if (!strncmp(t->compiler, "ocloc", 5))
        BPT_TRY(bpt_strbuf_printf(text, " SIMD%" PRId64, w.subgroup));
    else
        BPT_TRY(bpt_strbuf_printf(text, " %" PRId64, w.registers));
    if (w.waves >= 0) BPT_TRY(bpt_strbuf_printf(text, ", %" PRId64, w.waves));
    if (w.spilled_scalars > 0) BPT_TRY(bpt_strbuf_printf(text, ", %" PRId64 " s", w.spilled_scalars));
    if (w.spilled > 0) BPT_TRY(bpt_strbuf_printf(text, ", %" PRId64 " spilled", w.spilled));
    return bpt_strbuf_printf(text, " |");
}

static bpt_status_t put_kernel(bpt_strbuf_t *text, const cli_ledger_t *l, const char *kernel) {
    int64_t local = -1;
    int most = 0;
    for (size_t t = 0; t < l->n_targets; ++t) {
        const worst_t w = worst_of(l, kernel, l->target[t].name);
        local = more(local, w.local_bytes);
        most = w.variants > most ? w.variants : most;
    }
    if (!most) return BPT_OK;
    BPT_TRY(bpt_strbuf_printf(text, "| `%s` | %d | %" PRId64 " |", kernel, most, local));
    for (size_t t = 0; t < l->n_targets; ++t) BPT_TRY(put_cell(text, l, &l->target[t], kernel));
    return bpt_strbuf_printf(text, "\n");
}

static bpt_status_t put_targets(bpt_strbuf_t *text, const cli_ledger_t *l) {
    BPT_TRY(bpt_strbuf_printf(text, "\n| target | compiler | kernels and variants |\n|---|---|---|\n"));
    for (size_t t = 0; t < l->n_targets; ++t) {
        size_t count = 0;
        for (size_t i = 0; i < l->n_lines; ++i) count += !strcmp(l->line[i].target, l->target[t].name);
        BPT_TRY(bpt_strbuf_printf(text, "| %s | %s | %zu |\n", l->target[t].name, l->target[t].compiler, count));
    }
    return BPT_OK;
}

static bpt_status_t put_known(bpt_strbuf_t *text, const cli_ledger_t *l) {
    if (!l->n_known) return bpt_strbuf_printf(text, "\nNo kernel breaks a limit.\n");
    BPT_TRY(bpt_strbuf_printf(text, "\nKnown to break a limit:\n\n| kernel | what | at most | limit |\n|---|---|---|---|\n"));
    for (size_t k = 0; k < l->n_known; ++k)
        for (const cli_ledger_limit_t *m = cli_ledger_limits; m->key; ++m)
            if (!strcmp(m->key, l->known[k].key))
                BPT_TRY(bpt_strbuf_printf(text, "| `%s` | %s | %" PRId64 " | %" PRId64 " |\n", l->known[k].kernel, m->words,
                                          l->known[k].most, m->most));
    return BPT_OK;
}

// The kernels in the order of their names, which is that of the lines.
static bpt_status_t put_tables(bpt_strbuf_t *text, const cli_ledger_t *l) {
    BPT_TRY(bpt_strbuf_printf(text, "| kernel | variants | local bytes |"));
    for (size_t t = 0; t < l->n_targets; ++t) BPT_TRY(bpt_strbuf_printf(text, " %s |", l->target[t].name));
    BPT_TRY(bpt_strbuf_printf(text, "\n|---|---|---|"));
    for (size_t t = 0; t < l->n_targets; ++t) BPT_TRY(bpt_strbuf_printf(text, "---|"));
    BPT_TRY(bpt_strbuf_printf(text, "\n"));
    for (size_t i = 0; i < l->n_lines; ++i)
        if (!i || strcmp(l->line[i].kernel.kernel, l->line[i - 1].kernel.kernel)) BPT_TRY(put_kernel(text, l, l->line[i].kernel.kernel));
    BPT_TRY(put_targets(text, l));
    return put_known(text, l);
}

static bpt_status_t put_page(bpt_strbuf_t *text, const char *page, const char *begin, const char *end, const cli_ledger_t *l) {
    BPT_TRY(bpt_strbuf_append(text, page, (size_t)(begin - page)));
    BPT_TRY(put_tables(text, l));
    return bpt_strbuf_append(text, end, strlen(end));
}

bpt_status_t cli_ledger_page(const char *ledger_path, const cli_ledger_t *ledger, bool renew, bool *same) {
    const char *name = strrchr(ledger_path, '/');
    char *path, *page = NULL, *begin = NULL, *end = NULL;
    size_t length;
    bpt_strbuf_t text = {0};
    *same = true;
    BPT_TRY(bpt_path_format(&path, "%.*sCOMPILERS.md", name ? (int)(name + 1 - ledger_path) : 0, ledger_path));
    bpt_status_t status = bpt_file_exists(path) ? bpt_file_read(path, 16 << 20, &page, &length) : BPT_OK;
    if (page) begin = strstr(page, first_mark);
    if (begin) end = strstr(begin += strlen(first_mark), last_mark);
    if (end) {
        status = put_page(&text, page, begin, end, ledger);
        *same = status == BPT_OK && !strcmp(text.data, page);
        if (status == BPT_OK && renew && !*same) status = bpt_file_write(path, text.data, text.length);
    }
    bpt_strbuf_free(&text);
    bpt_free(page);
    bpt_free(path);
    return status;
}
