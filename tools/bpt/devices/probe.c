// Backends and their devices (see probe.h).
#include "tools/bpt/devices/probe.h"

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "tools/bpt/devices/child.h"

typedef struct {
    const bpt_backend_t *backend;
    const cli_drivers_t *drivers;
} question_t;

static void enumerate(const void *input, void *result) {
    const question_t *q = input;
    const bpt_backend_t *backend = q->backend;
    cli_probe_t *probe = result;
    cli_drivers_use(backend, q->drivers);
    const bpt_status_t status = backend->enumerate(probe->device, CLI_MAX_DEVICES, &probe->count);
    if (probe->count > CLI_MAX_DEVICES) probe->count = CLI_MAX_DEVICES;
    if (status == BPT_OK && backend->library) probe->has_library = backend->library(probe->library, sizeof probe->library);
    if (status == BPT_OK) return;
    probe->count = 0;
    snprintf(probe->reason, sizeof probe->reason, "%s", bpt_error_message());
}

// All drivers together, as this process would load them.
static bpt_status_t ask_together(const bpt_backend_t *backend, bool verbose, cli_probe_t *out, bool *done, char *why, size_t why_bytes) {
    const question_t question = {backend, &out->drivers};
    cli_probe_t *answer;
    BPT_TRY(bpt_alloc(1, sizeof *answer, &answer));
    const cli_child_t child = {.work = enumerate,
                               .input = &question,
                               .result = answer,
                               .result_bytes = sizeof *answer,
                               .seconds = cli_drivers_patience(),
                               .verbose = verbose};
    const bpt_status_t status = bpt_context(cli_child_run(&child, done, why, why_bytes), "backend %s", backend->name);
    if (status == BPT_OK && *done) {
        answer->drivers = out->drivers;
        *out = *answer;
    }
    bpt_free(answer);
    return status;
}

// The first driver that is left out.
static int first_left_out(const cli_drivers_t *d) {
    int i = 0;
    while (i < d->count && !*d->why[i]) ++i;
    return i;
}

// Why a backend has no device is, where drivers are left out, their fault first of all.
static void explain(cli_probe_t *probe, bool done, const char *why) {
    cli_drivers_t *d = &probe->drivers;
    const int left_out = cli_drivers_left_out(d);
    char rest[sizeof probe->reason], one[640];
    if (!done && d->count - left_out > 1) {
        snprintf(probe->reason, sizeof probe->reason,
                 "its %d drivers answer one by one, but loaded together one of them %s; choose one (the first is %s)", d->count - left_out,
                 why, d->file[0].path);
    } else if (!done && !d->count) {
        snprintf(probe->reason, sizeof probe->reason, "its driver %s while devices were listed", why);
    } else if (left_out && (*probe->reason || !probe->count)) {
        snprintf(rest, sizeof rest, "%s", probe->reason);
        cli_drivers_describe(d, first_left_out(d), one, sizeof one);
        snprintf(probe->reason, sizeof probe->reason, "%s%s%.100s", one, *rest ? "; without it: " : "", rest);
    }
}

// A driver that is the only one is asked together with itself.
static void know_the_only_one(cli_probe_t *probe, bool done, const char *why) {
    cli_drivers_t *d = &probe->drivers;
    if (!done)
        snprintf(d->why[0], sizeof d->why[0], "%s", why);
    else if (*probe->reason && *d->file[0].damage)
        snprintf(d->why[0], sizeof d->why[0], "%s", d->file[0].damage);
    if (*d->why[0]) *probe->reason = '\0';
}

bpt_status_t cli_probe(const bpt_backend_t *backend, cli_probe_memory_t memory, bool verbose, cli_probe_t *out) {
    bool done = false;
    char why[128] = "";
    *out = (cli_probe_t){0};
    cli_drivers_t *d = &out->drivers;
    const bool known = memory == CLI_PROBE_RECALLS && cli_drivers_recall(backend, d);
    if (!known) BPT_TRY(cli_drivers_ask(backend, verbose, d));
    if (!d->count || cli_drivers_left_out(d) < d->count) {
        BPT_TRY(ask_together(backend, verbose, out, &done, why, sizeof why));
        if (d->count == 1) know_the_only_one(out, done, why);
        cli_drivers_know(d, out->device, out->count);
        // Now that the driver's version is known, as it is with the variables that suit it.
        if (!known && d->count == 1 && done && cli_drivers_suits(backend, d))
            BPT_TRY(ask_together(backend, verbose, out, &done, why, sizeof why));
        if (done && !known) cli_drivers_remember(backend, d);
    }
    explain(out, done, why);
    return BPT_OK;
}

void cli_probe_warn(const bpt_backend_t *backend, const cli_drivers_t *drivers) {
    char one[640];
    for (int i = 0; i < drivers->count; ++i) {
        if (!*drivers->why[i]) continue;
        cli_drivers_describe(drivers, i, one, sizeof one);
        bpt_warn("%s; it is left out. Mend it or remove the file; `bpt devices --backend %s` asks it again", one, backend->name);
    }
}

void cli_probe_print_left_out(const cli_drivers_t *drivers) {
    char one[640];
    for (int i = 0; i < drivers->count; ++i) {
        if (!*drivers->why[i]) continue;
        cli_drivers_describe(drivers, i, one, sizeof one);
        printf("  left out: %s\n", one);
    }
}

bpt_status_t cli_probe_drivers(const bpt_backend_t *backend, bool verbose) {
    cli_probe_t *probe;
    bpt_status_t status = BPT_OK;
    if (!backend->gpu) return BPT_OK;
    BPT_TRY(bpt_alloc(1, sizeof *probe, &probe));
    if (!cli_drivers_recall(backend, &probe->drivers)) status = cli_probe(backend, CLI_PROBE_ASKS, verbose, probe);
    if (status == BPT_OK && *probe->reason) status = bpt_fail(BPT_ERR_UNAVAILABLE, "backend %s: %s", backend->name, probe->reason);
    if (status == BPT_OK) {
        cli_probe_warn(backend, &probe->drivers);
        cli_drivers_use(backend, &probe->drivers);
    }
    bpt_free(probe);
    return status;
}

static bool wanted(const cli_options_t *o, const char *name) {
    return !strcmp(o->global.backend, "auto") || !strcmp(o->global.backend, name);
}

static bpt_status_t visit_all(const cli_options_t *o, cli_visit_backend_t *visit, void *user, cli_probe_t *found) {
    for (int i = 0; bpt_backends[i]; ++i) {
        if (!wanted(o, bpt_backends[i]->name)) continue;
        BPT_TRY(cli_probe(bpt_backends[i], CLI_PROBE_ASKS, o->global.verbose, found));
        BPT_TRY(visit(user, bpt_backends[i]->name, bpt_backends[i], found));
    }
    *found = (cli_probe_t){.reason = "this program was built without it"};
    const char *const *names = cli_option_find(o->command, "backend")->choices;
    for (int i = 1; names[i]; ++i)  // 0 is auto
        if (wanted(o, names[i]) && !bpt_backend_find(names[i])) BPT_TRY(visit(user, names[i], NULL, found));
    return BPT_OK;
}

bpt_status_t cli_each_backend(const cli_options_t *o, cli_visit_backend_t *visit, void *user) {
    cli_probe_t *found;  // too large for the stack of every machine
    BPT_TRY(bpt_alloc(1, sizeof *found, &found));
    const bpt_status_t status = visit_all(o, visit, user, found);
    bpt_free(found);
    return status;
}
