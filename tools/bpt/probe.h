// Devices of a backend, asked for in a child process. Knows backends only through backends/backend.h.
#ifndef BPT_TOOLS_PROBE_H
#define BPT_TOOLS_PROBE_H

#include "backends/backend.h"

enum { CLI_MAX_DEVICES = 32 };

typedef struct {
    char reason[512];  // why there are no devices to speak of, "" when the backend answered
    int count;
    bpt_device_info_t device[CLI_MAX_DEVICES];
} cli_probe_t;

// Fails only when no process can be started.
bpt_status_t cli_probe(const bpt_backend_t *backend, bool verbose, cli_probe_t *out) BPT_MUST_USE;

// Backends that this program could have been built with but was not: calls `visit` for each name of --backend that has no backend.
bpt_status_t cli_each_missing_backend(bpt_status_t (*visit)(void *user, const char *name), void *user) BPT_MUST_USE;

#endif
