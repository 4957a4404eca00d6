// Backends and their devices (see probe.h).
#include "tools/bpt/probe.h"

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/child.h"

enum { PROBE_SECONDS = 20 };

static void enumerate(const void *input, void *result) {
    const bpt_backend_t *backend = input;
    cli_probe_t *probe = result;
    const bpt_status_t status = backend->enumerate(probe->device, CLI_MAX_DEVICES, &probe->count);
    if (probe->count > CLI_MAX_DEVICES) probe->count = CLI_MAX_DEVICES;
    if (status == BPT_OK && backend->library) probe->has_library = backend->library(probe->library, sizeof probe->library);
    if (status == BPT_OK) return;
    probe->count = 0;
    snprintf(probe->reason, sizeof probe->reason, "%s", bpt_error_message());
}

bpt_status_t cli_probe(const bpt_backend_t *backend, bool verbose, cli_probe_t *out) {
    const cli_child_t child = {
        .work = enumerate, .input = backend, .result = out, .result_bytes = sizeof *out, .seconds = PROBE_SECONDS, .verbose = verbose};
    bool done;
    char why[128];
    BPT_TRY(bpt_context(cli_child_run(&child, &done, why, sizeof why), "backend %s", backend->name));
    if (done) return BPT_OK;
    *out = (cli_probe_t){0};
    snprintf(out->reason, sizeof out->reason, "its driver %s while devices were listed", why);
    return BPT_OK;
}

static bool wanted(const cli_options_t *o, const char *name) {
    return !strcmp(o->global.backend, "auto") || !strcmp(o->global.backend, name);
}

static bpt_status_t visit_all(const cli_options_t *o, cli_visit_backend_t *visit, void *user, cli_probe_t *found) {
    for (int i = 0; bpt_backends[i]; ++i) {
        if (!wanted(o, bpt_backends[i]->name)) continue;
        BPT_TRY(cli_probe(bpt_backends[i], o->global.verbose, found));
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
