// Opens the device that --backend, --device, --precision and --threads ask for. Knows backends only through core/include/bpt/backend.h.
#ifndef BPT_TOOLS_DEVICE_H
#define BPT_TOOLS_DEVICE_H

#include "bpt/backend.h"
#include "tools/bpt/devices/probe.h"
#include "tools/bpt/options/options.h"

// A named backend or an error, never another one; `auto` takes the first usable discrete GPU, else the CPU, and says on stderr what it
// chose. The device is usable and has the precision.
bpt_status_t cli_device_open(const cli_options_t *o, bpt_device_t **out) BPT_MUST_USE;
// The same device with another rule for products of matrices.
bpt_status_t cli_device_open_with(const cli_options_t *o, const char *products, bpt_device_t **out) BPT_MUST_USE;
bpt_device_options_t cli_device_options(const cli_options_t *o);
// The same choice without opening it: drivers are asked in child processes only, and *devices holds those of the backend.
bpt_status_t cli_device_find(const cli_options_t *o, const bpt_backend_t **backend, int *index, cli_probe_t *devices) BPT_MUST_USE;
// Is it the device that `wanted` means: its number, its place on the PCI bus (with or without the domain) or a part of its name?
bool cli_device_fits(const bpt_device_info_t *info, int index, const char *wanted);
void cli_device_close(bpt_device_t *device);  // NULL is fine

#endif
