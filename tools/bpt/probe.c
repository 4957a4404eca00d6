// Devices of a backend, asked for in a child process (see probe.h).
#include "tools/bpt/probe.h"

#include <stdio.h>

#include "tools/bpt/child.h"
#include "tools/bpt/options.h"

enum { PROBE_SECONDS = 20 };

static void enumerate(const void *input, void *result) {
    const bpt_backend_t *backend = input;
    cli_probe_t *probe = result;
    const bpt_status_t status = backend->enumerate(probe->device, CLI_MAX_DEVICES, &probe->count);
    if (probe->count > CLI_MAX_DEVICES) probe->count = CLI_MAX_DEVICES;
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

bpt_status_t cli_each_missing_backend(bpt_status_t (*visit)(void *user, const char *name), void *user) {
    const cli_option_t *option = cli_option_find(CLI_DEVICES, "backend");
    for (int i = 1; option->choices[i]; ++i)  // 0 is auto
        if (!bpt_backend_find(option->choices[i])) BPT_TRY(visit(user, option->choices[i]));
    return BPT_OK;
}
