// Opening the device that the global options name.
#ifndef BPT_TOOLS_DEVICE_H
#define BPT_TOOLS_DEVICE_H

#include "backends/backend.h"
#include "tools/bpt/options.h"

enum { CLI_MAX_DEVICES = 32 };

// Says on stderr what was chosen. BPT_ERR_UNAVAILABLE or BPT_ERR_UNSUPPORTED with reason and remedy; never another backend.
bpt_status_t cli_device_open(const cli_options_t *o, bpt_device_t **out) BPT_MUST_USE;
void cli_device_close(bpt_device_t *device);  // NULL is fine

#endif
