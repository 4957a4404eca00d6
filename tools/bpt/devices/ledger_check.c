// See ledger_check.h.
#include "tools/bpt/devices/ledger_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/info.h"
#include "bpt/alloc.h"
#include "bpt/backend.h"
#include "bpt/file.h"
#include "bpt/paths.h"
#include "tools/bpt/devices/ledger.h"
#include "tools/bpt/devices/ledger_page.h"
#include "tools/bpt/devices/probe.h"

// The GPUs of the ledger. RADV is told a family by RADV_FORCE_FAMILY; versions of it differ in the names. Mesa 26.1 has no such devices any
// more: there mesa-drm-shim pretends the GPU that AMDGPU_GPU_ID names, which is the target's name. Intel's compiler takes 10 to 20 seconds
// for one of attention's kernels or products, so its GPUs have f32 alone.
static const struct {
    const char *name, *backend, *families[2];
    bool f32_alone;
} targets[] = {
    {"polaris10", "vulkan", {"POLARIS10"}},       // GFX8
    {"vega10", "vulkan", {"VEGA10"}},             // GFX9
    {"navi21", "vulkan", {"NAVI21"}},             // GFX10.3
    {"navi31", "vulkan", {"NAVI31", "GFX1100"}},  // GFX11
    {"skl", "opencl", {0}, true},                 // Gen9
    {"dg2-g10", "opencl", {0}, true},             // Xe-HPG
    {"sm_75", "cuda", {0}},
    {"sm_80", "cuda", {0}},
    {"sm_90", "cuda", {0}},
    {"sm_120", "cuda", {0}},
};

typedef struct {
    const cli_options_t *o;
    cli_ledger_t old;
    cli_kernels_t *now;
    cli_probe_t *probe;
    const char *target;
    bool f32_alone;
    int changes;        // lines that differ
    int breaches;       // kernels beyond a limit
    int looked;         // targets
    char kernels[400];  // names of those that differ
} check_t;

// ---- Renewing
static bool is_target(const char *name) {
    for (size_t i = 0; i < BPT_COUNT(targets); ++i)
        if (!strcmp(targets[i].name, name)) return true;
    return false;
}

static bpt_status_t refuse_target(const char *name) {
    char names[200] = "";
    for (size_t i = 0, used = 0; i < BPT_COUNT(targets) && used < sizeof names; ++i)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", targets[i].name);
    return bpt_fail(BPT_ERR_USAGE, "doctor: no GPU of the ledger is called '%s'; there are %s", name, names);
}

// Names the compiler of this run in a ledger. What another one said of the target is forgotten, so that must not go beyond --kernels.
static bpt_status_t name_compiler(const check_t *c, cli_ledger_t *l, const char *compiler) {
    const cli_ledger_target_t *t = cli_ledger_target(l, c->target);
    for (size_t i = 0; t && strcmp(t->compiler, compiler) && i < l->n_lines; ++i) {
        const cli_ledger_line_t *line = &l->line[i];
        if (strcmp(line->target, c->target) || !line->kernel.compiled || cli_kernel_is_one_of(line->kernel.kernel, c->o->tool.kernels)) continue;
        return bpt_fail(BPT_ERR_INPUT, "%s has what %s said of %s, and here is %s; renew it without --kernels", c->o->tool.ledger,
                        t->compiler, c->target, compiler);
    }
    return cli_ledger_put_target(l, c->target, compiler);
}

// What is compiled by now goes into the file, so that it is there when this run is ended before its end.
static bpt_status_t keep(void *user, const cli_kernels_t *so_far) {
    const check_t *c = user;
    cli_ledger_t l;
    BPT_TRY(cli_ledger_read(c->o->tool.ledger, true, &l));
    bpt_status_t status = name_compiler(c, &l, so_far->compiler);
    for (int i = 0; i < so_far->count && status == BPT_OK; ++i) {
        const cli_kernel_t *k = &so_far->kernel[i];
        if (k->compiled && !k->known) status = cli_ledger_put(&l, c->target, k);
    }
    if (status == BPT_OK) status = cli_ledger_write(c->o->tool.ledger, &l);
    cli_ledger_free(&l);
    return status;
}

// ---- Compiling for a target
static bool fill_known(const void *user, const char *compiler, cli_kernel_t *kernel) {
    const check_t *c = user;
    const cli_ledger_target_t *t = cli_ledger_target(&c->old, c->target);
    const cli_kernel_t *old =
        t && (!*compiler || !strcmp(compiler, t->compiler)) ? cli_ledger_find(&c->old, c->target, kernel->kernel, kernel->variant) : NULL;
    if (!old || !old->compiled || old->source != kernel->source) return false;
    kernel->takes = old->takes;
    return true;
}

// Its kernels are known, if it has any of those that are wanted.
static bool was_asked(const cli_kernels_t *now) { return now->count > 0 || (*now->device && !*now->problem); }

static bpt_status_t compile(check_t *c, const bpt_backend_t *backend, bool named) {
    const bool sources_only = !c->o->tool.compile && !c->o->tool.renew;
    const cli_compile_t wanted = {.backend = backend,
                                  .drivers = &c->probe->drivers,
                                  .target = named ? c->target : NULL,
                                  .processes = sources_only ? 1 : (int)c->o->global.threads,
                                  .precisions = cli_compile_precisions(c->o) & (c->f32_alone ? 1u << BPT_F32 : ~0u),
                                  .sources_only = sources_only,
                                  .only = c->o->tool.kernels,
                                  .quiet = c->o->global.quiet,
                                  .verbose = c->o->global.verbose,
                                  .known = c->o->tool.compile ? NULL : fill_known,
                                  .keep = c->o->tool.renew ? keep : NULL,
                                  .user = c};
    return cli_compile(&wanted, c->now);
}

// By the driver of this file alone; `family`: a device without hardware, NULL: the one that is pretended.
static bpt_status_t compile_by(check_t *c, const bpt_backend_t *backend, const char *file, const char *family) {
    static const char *const variables[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "RADV_FORCE_FAMILY"};
    const char *const values[] = {file, file, family};
    for (size_t v = 0; v < BPT_COUNT(variables) && values[v]; ++v) setenv(variables[v], values[v], 1);
    bpt_status_t status = cli_probe(backend, CLI_PROBE_ASKS, c->o->global.verbose, c->probe);
    if (status == BPT_OK && c->probe->count && bpt_gpu_info(&c->probe->device[0]).pretended) status = compile(c, backend, false);
    for (size_t v = 0; v < BPT_COUNT(variables) && values[v]; ++v) unsetenv(variables[v]);
    return status;
}

// By RADV, which then is the only driver. A shim is loaded before this program or not at all, so one run has one pretended GPU.
static bpt_status_t compile_by_radv(check_t *c, const bpt_backend_t *backend, const char *const *families) {
    const char *file = getenv("BPT_RADV_ICD"), *pretended = getenv("AMDGPU_GPU_ID");
    char **found;
    size_t n_found;
    BPT_TRY(bpt_paths_matching("/usr/share/vulkan/icd.d/radeon_icd*.json", &found, &n_found));
    bpt_status_t status = BPT_OK;
    if (!file && n_found) file = found[0];
    if (file && pretended && !strcmp(pretended, c->target)) status = compile_by(c, backend, file, NULL);
    for (int i = 0; file && !pretended && i < 2 && families[i] && !was_asked(c->now) && status == BPT_OK; ++i)
        status = compile_by(c, backend, file, families[i]);
    if (!was_asked(c->now) && !*c->now->problem)
        snprintf(c->now->problem, sizeof c->now->problem,
                 file ? "Mesa's RADV has no such device here; where mesa-drm-shim is installed: LD_PRELOAD=libamdgpu_noop_drm_shim.so "
                        "AMDGPU_GPU_ID=%s bpt doctor --ledger %s --device %s"
                      : "Mesa's RADV is not installed",
                 c->target, c->o->tool.ledger, c->target);
    bpt_names_free(found, n_found);
    return status;
}

// ---- Comparing
static void note(check_t *c, const char *kernel) {
    const size_t used = strlen(c->kernels), length = strlen(kernel);
    const char *at = strstr(c->kernels, kernel);
    ++c->changes;
    while (at && ((at > c->kernels && at[-1] != ' ') || (at[length] && at[length] != ','))) at = strstr(at + 1, kernel);
    if (!at && used + length + 3 < sizeof c->kernels)
        snprintf(c->kernels + used, sizeof c->kernels - used, "%s%s", used ? ", " : "", kernel);
}

static void tell_count(check_t *c, const char *kernel, const char *what, int count, const char *first) {
    if (!count) return;
    note(c, kernel);
    if (count == 1)
        printf("%s, %s: %s: %s\n", kernel, c->target, what, first);
    else
        printf("%s, %s: %s: %d variants, one is %s\n", kernel, c->target, what, count, first);
}

static void compare_figures(check_t *c, const cli_kernel_t *old, const cli_kernel_t *now) {
    char text[300] = "";
    for (const cli_resource_t *r = cli_resources; r->key; ++r) {
        const int64_t before = *cli_resource_value(r, &old->takes), after = *cli_resource_value(r, &now->takes);
        const size_t used = strlen(text);
        if (r->kept && before != after)
            snprintf(text + used, sizeof text - used, "%s%s %" PRId64 ", in the ledger %" PRId64, used ? "; " : "", r->key, after, before);
    }
    if (!*text) return;
    note(c, now->kernel);
    printf("%s, %s: %s (%s)\n", now->kernel, c->target, text, now->variant);
}

// The kernels of one name: lines [first, end) of what is now.
static void compare_kernel(check_t *c, const char *name, bool figures, bool whole) {
    int changed = 0, appeared = 0, gone = 0;
    const char *which[3] = {"", "", ""};
    for (int i = 0; i < c->now->count; ++i) {
        const cli_kernel_t *now = &c->now->kernel[i];
        if (strcmp(now->kernel, name)) continue;
        const cli_kernel_t *old = cli_ledger_find(&c->old, c->target, name, now->variant);
        if (!old)
            ++appeared, which[0] = now->variant;
        else if (old->source != now->source)
            ++changed, which[1] = now->variant;
        else if (*now->problem)
            note(c, name), printf("%s, %s: %s (%s)\n", name, c->target, now->problem, now->variant);
        else if (figures && now->compiled && old->compiled)
            compare_figures(c, old, now);
    }
    for (size_t i = 0; whole && i < c->old.n_lines; ++i) {
        const cli_ledger_line_t *line = &c->old.line[i];
        bool found = false;
        if (strcmp(line->target, c->target) || strcmp(line->kernel.kernel, name)) continue;
        for (int k = 0; k < c->now->count && !found; ++k)
            found = !strcmp(c->now->kernel[k].kernel, name) && !strcmp(c->now->kernel[k].variant, line->kernel.variant);
        if (!found) ++gone, which[2] = line->kernel.variant;
    }
    tell_count(c, name, "its text changed", changed, which[1]);
    tell_count(c, name, "is not in the ledger", appeared, which[0]);
    tell_count(c, name, "is no longer used", gone, which[2]);
}

static void compare(check_t *c) {
    const cli_ledger_target_t *t = cli_ledger_target(&c->old, c->target);
    const bool same = t && !strcmp(t->compiler, c->now->compiler), whole = cli_option_source(c->o, "precision") != CLI_FROM_FLAG;
    if (!t) {
        printf("%s: not in the ledger yet; --renew adds it where its compiler is\n", c->target);
        return;
    }
    // Shaders are compiled twice: those of another compiler of SPIR-V are other texts.
    if (!same && c->now->compiler[0] && strstr(t->compiler, ", ")) {
        printf("%s: not compared: here is %s, the ledger has what %s said\n", c->target, c->now->compiler, t->compiler);
        return;
    }
    if (c->o->tool.compile && !same)
        printf("%s: only texts are compared: %s%s, the ledger has what %s said\n", c->target, *c->now->compiler ? "here is " : "",
               *c->now->compiler ? c->now->compiler : c->now->problem, t->compiler);
    for (int k = 0; k < BPT_GPU_KERNEL_COUNT; ++k)
        if (cli_kernel_is_one_of(bpt_gpu_kernels[k].name, c->o->tool.kernels))
            compare_kernel(c, bpt_gpu_kernels[k].name, c->o->tool.compile && same, whole);
}

// ---- Limits
static bpt_status_t check_limits(check_t *c, cli_ledger_t *l) {
    for (const cli_ledger_limit_t *m = cli_ledger_limits; m->key; ++m)
        for (int k = 0; k < BPT_GPU_KERNEL_COUNT; ++k) {
            const char *name = bpt_gpu_kernels[k].name;
            const cli_ledger_known_t *known = cli_ledger_known(l, name, m->key);
            const cli_ledger_line_t *worst = NULL;
            for (size_t i = 0; i < l->n_lines; ++i)
                if (!strcmp(l->line[i].kernel.kernel, name) &&
                    (!worst || cli_ledger_value(&l->line[i].kernel, m->key) > cli_ledger_value(&worst->kernel, m->key)))
                    worst = &l->line[i];
            const int64_t value = worst ? cli_ledger_value(&worst->kernel, m->key) : -1;
            if (value <= (known ? known->most : m->most)) continue;
            if (c->o->tool.admit) {
                BPT_TRY(cli_ledger_admit(l, name, m->key, value));
                continue;
            }
            ++c->breaches;
            printf("%s, %s: %" PRId64 " %s; the limit is %" PRId64 " (%s)\n", name, worst->target, value, m->words,
                   known ? known->most : m->most, worst->kernel.variant);
        }
    return BPT_OK;
}

// ---- Renewing a target
// The lines of the target's kernels, those of --kernels alone where it is given, become those of now.
static bpt_status_t take_lines(check_t *c, cli_ledger_t *l) {
    const cli_kernels_t *now = c->now;
    int missing = 0;
    if (*now->compiler)
        BPT_TRY(name_compiler(c, l, now->compiler));
    else if (!cli_ledger_target(l, c->target))
        BPT_TRY(cli_ledger_put_target(l, c->target, CLI_LEDGER_NOBODY));
    cli_ledger_remove(l, c->target, c->o->tool.kernels);
    for (int i = 0; i < now->count; ++i) {
        const cli_kernel_t *k = &now->kernel[i];
        missing += !k->compiled;
        if (*k->problem) return bpt_fail(BPT_ERR_UNSUPPORTED, "%s, %s: %s (%s)", k->kernel, c->target, k->problem, k->variant);
        BPT_TRY(cli_ledger_put(l, c->target, k));
    }
    if (missing) printf("%s: %d changed kernels are not compiled: %s\n", c->target, missing, now->problem);
    return BPT_OK;
}

static bpt_status_t renew_target(check_t *c) {
    cli_ledger_t l;
    BPT_TRY(cli_ledger_read(c->o->tool.ledger, true, &l));
    bpt_status_t status = take_lines(c, &l);
    if (status == BPT_OK) status = cli_ledger_write(c->o->tool.ledger, &l);
    cli_ledger_free(&l);
    return status;
}

static bpt_status_t check_target(check_t *c, size_t i) {
    const char *device = c->o->global.device, *backend = c->o->global.backend;
    const bpt_backend_t *b = bpt_backend_find(targets[i].backend);
    const bool wanted =
        (!*device || !strcmp(device, targets[i].name)) && (!strcmp(backend, "auto") || !strcmp(backend, targets[i].backend));
    c->target = targets[i].name;
    c->f32_alone = targets[i].f32_alone;
    memset(c->now, 0, sizeof *c->now);
    *c->probe = (cli_probe_t){0};
    if (!wanted) return BPT_OK;
    if (!b) snprintf(c->now->problem, sizeof c->now->problem, "this program was built without %s", targets[i].backend);
    if (b) BPT_TRY(targets[i].families[0] ? compile_by_radv(c, b, targets[i].families) : compile(c, b, true));
    if (!was_asked(c->now)) {
        printf("%s: left out: %s\n", c->target, c->now->problem);
        return BPT_OK;
    }
    ++c->looked;
    if (c->o->tool.renew) return renew_target(c);
    compare(c);
    return BPT_OK;
}

// ---- All
static bpt_status_t finish(check_t *c, cli_ledger_t *l) {
    const char *file = c->o->tool.ledger;
    const bool renew = c->o->tool.renew;
    bool same;
    if (renew) cli_ledger_keep_targets(l, is_target);
    BPT_TRY(check_limits(c, l));
    if (renew) BPT_TRY(cli_ledger_write(file, l));
    BPT_TRY(cli_ledger_page(file, l, renew, &same));
    if (!same && !renew && !c->changes)
        return bpt_fail(BPT_ERR_INPUT, "COMPILERS.md beside %s has other tables. To renew them: bpt doctor --ledger %s --renew", file,
                        file);
    if (c->changes)
        return bpt_fail(BPT_ERR_INPUT, "%s is not that of these kernels, which differ: %s. To renew it: bpt doctor --ledger %s --renew",
                        file, c->kernels, file);
    if (c->breaches)
        return bpt_fail(BPT_ERR_INPUT,
                        "%d kernels break a limit that they are not known to break. Mend them; if that cannot be: bpt doctor --ledger %s "
                        "--renew --admit",
                        c->breaches, file);
    printf("%s: %zu kernels and variants on %d targets%s\n", file, l->n_lines, c->looked, c->o->tool.renew ? ", renewed" : ", as they are");
    return BPT_OK;
}

bpt_status_t cli_ledger_check(const cli_options_t *o) {
    check_t c = {.o = o};
    cli_ledger_t renewed = {0};
    if (o->tool.renew && cli_option_source(o, "precision") == CLI_FROM_FLAG)
        return bpt_fail(BPT_ERR_USAGE, "doctor: --renew goes without --precision, as it writes the lines of all number types");
    if (*o->global.device && !is_target(o->global.device)) return refuse_target(o->global.device);
    bpt_status_t status = cli_ledger_read(o->tool.ledger, o->tool.renew, &c.old);
    if (status == BPT_OK) status = bpt_alloc(1, sizeof *c.now, &c.now);
    if (status == BPT_OK) status = bpt_alloc(1, sizeof *c.probe, &c.probe);
    for (size_t i = 0; i < BPT_COUNT(targets) && status == BPT_OK; ++i) status = check_target(&c, i);
    if (status == BPT_OK && o->tool.renew) status = cli_ledger_read(o->tool.ledger, true, &renewed);
    if (status == BPT_OK) status = finish(&c, o->tool.renew ? &renewed : &c.old);
    cli_ledger_free(&c.old);
    cli_ledger_free(&renewed);
    bpt_free(c.now);
    bpt_free(c.probe);
    return status;
}
