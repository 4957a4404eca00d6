// See ledger.h. Lines of text with tabs: "target NAME COMPILER", "known KERNEL KEY MOST", then a line for each kernel, its constants and
// target: KERNEL, CONSTANTS, TARGET, the number of its source, and a number for each resource that is kept, "-" where nothing was said, all
// "?" where nothing was compiled.
#include "tools/bpt/devices/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/strbuf.h"

enum { MOST_BYTES = 64 << 20, MOST_FIELDS = 16 };

const cli_ledger_limit_t cli_ledger_limits[] = {
    {"spilled", "spilled", 0},
    {"local_bytes", "bytes of local memory", 32768},
    {0},
};

// ---- Entries
static cli_ledger_line_t *find_line(const cli_ledger_t *l, const char *target, const char *kernel, const char *variant) {
    for (size_t i = 0; i < l->n_lines; ++i) {
        cli_ledger_line_t *line = &l->line[i];
        if (!strcmp(line->target, target) && !strcmp(line->kernel.kernel, kernel) && !strcmp(line->kernel.variant, variant)) return line;
    }
    return NULL;
}

static bpt_status_t add_line(cli_ledger_t *l, const char *target, const cli_kernel_t *kernel) {
    BPT_TRY(bpt_grow(&l->line, l->n_lines, &l->lines_capacity, sizeof *l->line));
    cli_ledger_line_t *line = &l->line[l->n_lines++];
    *line = (cli_ledger_line_t){.kernel = *kernel};
    snprintf(line->target, sizeof line->target, "%s", target);
    return BPT_OK;
}

static bpt_status_t add_target(cli_ledger_t *l, const char *name, const char *compiler) {
    BPT_TRY(bpt_grow(&l->target, l->n_targets, &l->targets_capacity, sizeof *l->target));
    cli_ledger_target_t *target = &l->target[l->n_targets++];
    snprintf(target->name, sizeof target->name, "%s", name);
    snprintf(target->compiler, sizeof target->compiler, "%s", compiler);
    return BPT_OK;
}

static bpt_status_t add_known(cli_ledger_t *l, const char *kernel, const char *key, int64_t most) {
    BPT_TRY(bpt_grow(&l->known, l->n_known, &l->known_capacity, sizeof *l->known));
    cli_ledger_known_t *known = &l->known[l->n_known++];
    snprintf(known->kernel, sizeof known->kernel, "%s", kernel);
    snprintf(known->key, sizeof known->key, "%s", key);
    known->most = most;
    return BPT_OK;
}

bpt_status_t cli_ledger_admit(cli_ledger_t *l, const char *kernel, const char *key, int64_t most) {
    for (size_t i = 0; i < l->n_known; ++i)
        if (!strcmp(l->known[i].kernel, kernel) && !strcmp(l->known[i].key, key)) {
            l->known[i].most = most;
            return BPT_OK;
        }
    return add_known(l, kernel, key, most);
}

bpt_status_t cli_ledger_put(cli_ledger_t *l, const char *target, const cli_kernel_t *kernel) {
    cli_ledger_line_t *line = find_line(l, target, kernel->kernel, kernel->variant);
    if (!line) return add_line(l, target, kernel);
    line->kernel = *kernel;
    return BPT_OK;
}

bpt_status_t cli_ledger_put_target(cli_ledger_t *l, const char *name, const char *compiler) {
    for (size_t t = 0; t < l->n_targets; ++t) {
        cli_ledger_target_t *target = &l->target[t];
        if (strcmp(target->name, name)) continue;
        for (size_t i = 0; i < l->n_lines && strcmp(target->compiler, compiler); ++i)
            if (!strcmp(l->line[i].target, name)) l->line[i].kernel.compiled = false, l->line[i].kernel.takes = BPT_GPU_NOTHING_SAID;
        snprintf(target->compiler, sizeof target->compiler, "%s", compiler);
        return BPT_OK;
    }
    return add_target(l, name, compiler);
}

void cli_ledger_remove(cli_ledger_t *l, const char *target, const char *kernels) {
    size_t kept = 0;
    for (size_t i = 0; i < l->n_lines; ++i)
        if (strcmp(l->line[i].target, target) || !cli_kernel_is_one_of(l->line[i].kernel.kernel, kernels)) l->line[kept++] = l->line[i];
    l->n_lines = kept;
}

void cli_ledger_keep_targets(cli_ledger_t *l, bool (*keeps)(const char *target)) {
    size_t kept = 0;
    for (size_t t = 0; t < l->n_targets; ++t)
        if (keeps(l->target[t].name))
            l->target[kept++] = l->target[t];
        else
            cli_ledger_remove(l, l->target[t].name, "");
    l->n_targets = kept;
}

void cli_ledger_free(cli_ledger_t *l) {
    bpt_free(l->line);
    bpt_free(l->target);
    bpt_free(l->known);
    *l = (cli_ledger_t){0};
}

const cli_ledger_target_t *cli_ledger_target(const cli_ledger_t *l, const char *name) {
    for (size_t i = 0; i < l->n_targets; ++i)
        if (!strcmp(l->target[i].name, name)) return &l->target[i];
    return NULL;
}

const cli_ledger_known_t *cli_ledger_known(const cli_ledger_t *l, const char *kernel, const char *key) {
    for (size_t i = 0; i < l->n_known; ++i)
        if (!strcmp(l->known[i].kernel, kernel) && !strcmp(l->known[i].key, key)) return &l->known[i];
    return NULL;
}

const cli_kernel_t *cli_ledger_find(const cli_ledger_t *l, const char *target, const char *kernel, const char *variant) {
    const cli_ledger_line_t *line = find_line(l, target, kernel, variant);
    return line ? &line->kernel : NULL;
}

int64_t cli_ledger_value(const cli_kernel_t *kernel, const char *key) {
    for (const cli_resource_t *r = cli_resources; r->key; ++r)
        if (!strcmp(r->key, key)) return *cli_resource_value(r, &kernel->takes);
    return -1;
}

// ---- Reading
static int split(char *line, char **fields) {
    int n = 0;
    for (char *end = line; end && n < MOST_FIELDS; line = end + 1) {
        end = strchr(line, '\t');
        if (end) *end = '\0';
        fields[n++] = line;
        if (!end) break;
    }
    return n;
}

static bool read_number(const char *text, int64_t *out) {
    char *end;
    if (!strcmp(text, "-")) return true;
    *out = strtoll(text, &end, 10);
    return *text && !*end && *out >= 0;
}

static bool read_kernel(char **fields, int n, cli_kernel_t *kernel) {
    char *end;
    int i = 4;
    *kernel = (cli_kernel_t){.takes = BPT_GPU_NOTHING_SAID};
    if (n < 5) return false;
    snprintf(kernel->kernel, sizeof kernel->kernel, "%s", fields[0]);
    snprintf(kernel->variant, sizeof kernel->variant, "%s", fields[1]);
    kernel->source = strtoull(fields[3], &end, 16);
    kernel->compiled = strcmp(fields[4], "?") != 0;
    for (const cli_resource_t *r = cli_resources; r->key; ++r) {
        if (!r->kept) continue;
        if (i == n || (kernel->compiled && !read_number(fields[i], cli_resource_value(r, &kernel->takes)))) return false;
        ++i;
    }
    return i == n && !*end;
}

static bpt_status_t read_line(cli_ledger_t *l, char *text, const char *path, int number) {
    char *fields[MOST_FIELDS];
    cli_kernel_t kernel;
    int64_t most = -1;
    const int n = split(text, fields);
    if (*text == '#' || !*text) return BPT_OK;
    if (n == 3 && !strcmp(fields[0], "target")) return add_target(l, fields[1], fields[2]);
    if (n == 4 && !strcmp(fields[0], "known") && read_number(fields[3], &most)) return add_known(l, fields[1], fields[2], most);
    if (read_kernel(fields, n, &kernel)) return add_line(l, fields[2], &kernel);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %d is no line of a ledger; take the file of the repository and renew it", path, number);
}

bpt_status_t cli_ledger_read(const char *path, bool may_be_missing, cli_ledger_t *out) {
    char *text;
    size_t length;
    int number = 0;
    bpt_status_t status = BPT_OK;
    *out = (cli_ledger_t){0};
    if (may_be_missing && !bpt_file_exists(path)) return BPT_OK;
    BPT_TRY(bpt_file_read(path, MOST_BYTES, &text, &length));
    for (char *line = text; *line && status == BPT_OK;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        status = read_line(out, line, path, ++number);
        line = next;
    }
    bpt_free(text);
    if (status != BPT_OK) cli_ledger_free(out);
    return status;
}

// ---- Writing
static int by_place(const void *a, const void *b) {
    const cli_ledger_line_t *x = a, *y = b;
    int order = strcmp(x->kernel.kernel, y->kernel.kernel);
    if (!order) order = strcmp(x->kernel.variant, y->kernel.variant);
    return order ? order : strcmp(x->target, y->target);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cli_ledger_target_t *)a)->name, ((const cli_ledger_target_t *)b)->name);
}

static int by_breach(const void *a, const void *b) {
    const cli_ledger_known_t *x = a, *y = b;
    const int order = strcmp(x->kernel, y->kernel);
    return order ? order : strcmp(x->key, y->key);
}

// Known breaches of limits shrink with the kernels, and go with them.
static void renew_known(cli_ledger_t *l) {
    size_t kept = 0;
    for (size_t k = 0; k < l->n_known; ++k) {
        cli_ledger_known_t *known = &l->known[k];
        int64_t most = 0, limit = 0;
        bool sure = true;
        for (const cli_ledger_limit_t *m = cli_ledger_limits; m->key; ++m)
            if (!strcmp(m->key, known->key)) limit = m->most;
        for (size_t i = 0; i < l->n_lines; ++i) {
            if (strcmp(l->line[i].kernel.kernel, known->kernel)) continue;
            const int64_t value = cli_ledger_value(&l->line[i].kernel, known->key);
            sure = sure && l->line[i].kernel.compiled;
            if (value > most) most = value;
        }
        if (sure && most < known->most) known->most = most;
        if (known->most > limit) l->known[kept++] = *known;
    }
    l->n_known = kept;
}

static bpt_status_t put_line(bpt_strbuf_t *text, const cli_ledger_line_t *line) {
    const cli_kernel_t *k = &line->kernel;
    BPT_TRY(bpt_strbuf_printf(text, "%s\t%s\t%s\t%016" PRIx64, k->kernel, k->variant, line->target, k->source));
    for (const cli_resource_t *r = cli_resources; r->key; ++r) {
        const int64_t value = *cli_resource_value(r, &k->takes);
        if (!r->kept) continue;
        if (!k->compiled || value < 0)
            BPT_TRY(bpt_strbuf_printf(text, "\t%s", k->compiled ? "-" : "?"));
        else
            BPT_TRY(bpt_strbuf_printf(text, "\t%" PRId64, value));
    }
    return bpt_strbuf_printf(text, "\n");
}

static bpt_status_t put_all(bpt_strbuf_t *text, const cli_ledger_t *l) {
    BPT_TRY(bpt_strbuf_printf(
        text, "# What compilers of GPUs make of the kernels. Written by bpt doctor --ledger FILE --renew, never by hand.\n"));
    for (size_t i = 0; i < l->n_targets; ++i)
        BPT_TRY(bpt_strbuf_printf(text, "target\t%s\t%s\n", l->target[i].name, l->target[i].compiler));
    for (size_t i = 0; i < l->n_known; ++i)
        BPT_TRY(bpt_strbuf_printf(text, "known\t%s\t%s\t%" PRId64 "\n", l->known[i].kernel, l->known[i].key, l->known[i].most));
    BPT_TRY(bpt_strbuf_printf(text, "# kernel\tconstants\ttarget\tsource"));
    for (const cli_resource_t *r = cli_resources; r->key; ++r)
        if (r->kept) BPT_TRY(bpt_strbuf_printf(text, "\t%s", r->key));
    BPT_TRY(bpt_strbuf_printf(text, "\n"));
    for (size_t i = 0; i < l->n_lines; ++i) BPT_TRY(put_line(text, &l->line[i]));
    return BPT_OK;
}

bpt_status_t cli_ledger_write(const char *path, cli_ledger_t *l) {
    bpt_strbuf_t text = {0};
    if (l->n_lines) qsort(l->line, l->n_lines, sizeof *l->line, by_place);
    if (l->n_targets) qsort(l->target, l->n_targets, sizeof *l->target, by_name);
    if (l->n_known) qsort(l->known, l->n_known, sizeof *l->known, by_breach);
    renew_known(l);
    bpt_status_t status = put_all(&text, l);
    if (status == BPT_OK) status = bpt_file_write(path, text.data, text.length);
    bpt_strbuf_free(&text);
    return status;
}
