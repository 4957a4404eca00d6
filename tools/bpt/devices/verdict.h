// What `bpt doctor` found of a device, remembered per device, driver, precision and version of bpt, in the cache of backends/gpu/cache.h.
// Knows no test.
#ifndef BPT_TOOLS_VERDICT_H
#define BPT_TOOLS_VERDICT_H

#include "bpt/backend.h"

typedef struct {
    char date[16];      // "2026-11-21"
    char problem[256];  // "" when it computes what the reference computes
} cli_verdict_t;

// `problem` as in cli_verdict_t.
void cli_verdict_remember(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision, const char *problem);
// False: nothing is known of the device with this driver.
bool cli_verdict_recall(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision, cli_verdict_t *out);

#endif
