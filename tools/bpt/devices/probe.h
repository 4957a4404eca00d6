// The backends that a command is about and their devices, asked for in child processes. Knows backends only through
// core/include/bpt/backend.h.
#ifndef BPT_TOOLS_PROBE_H
#define BPT_TOOLS_PROBE_H

#include "bpt/backend.h"
#include "tools/bpt/devices/drivers.h"
#include "tools/bpt/options/options.h"

enum { CLI_MAX_DEVICES = 32 };

typedef struct {
    char reason[768];   // why there are no devices to speak of, "" when the backend answered
    char library[200];  // of products, as the backend tells it, or why there is none; "" when it knows no such thing
    bool has_library;
    int count;
    bpt_device_info_t device[CLI_MAX_DEVICES];
    cli_drivers_t drivers;
} cli_probe_t;

// What the backend has: its drivers one by one, unless their answers are remembered and `memory` allows that, and then the good ones
// together. Drivers that crash or hang are left out, and where none is left that is the probe's reason. Fails when no process can be
// started.
typedef enum { CLI_PROBE_ASKS, CLI_PROBE_RECALLS } cli_probe_memory_t;
bpt_status_t cli_probe(const bpt_backend_t *backend, cli_probe_memory_t memory, bool verbose, cli_probe_t *out) BPT_MUST_USE;
// The drivers alone, made ready for this process to load: asked where they were never asked before. One that is left out is a warning,
// none left an error.
bpt_status_t cli_probe_drivers(const bpt_backend_t *backend, bool verbose) BPT_MUST_USE;
// Says on stderr which drivers are left out.
void cli_probe_warn(const bpt_backend_t *backend, const cli_drivers_t *drivers);

void cli_probe_print_left_out(const cli_drivers_t *drivers);  // the same on stdout, for lists of devices

// `backend` NULL: this program was built without it, which is the probe's reason.
typedef bpt_status_t cli_visit_backend_t(void *user, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe);

// The backend that --backend names, or all: those of the program in their order of preference, then those that it could have been
// built with. Fails when a visit fails or no process can be started.
bpt_status_t cli_each_backend(const cli_options_t *o, cli_visit_backend_t *visit, void *user) BPT_MUST_USE;

#endif
