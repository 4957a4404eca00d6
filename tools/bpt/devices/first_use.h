// The first use of a device by a command that computes: a short self-test (selftest.h) in a child process, so that a driver that crashes or
// computes something else is found out before it costs anybody a night. What passes is remembered (verdict.h).
#ifndef BPT_TOOLS_FIRST_USE_H
#define BPT_TOOLS_FIRST_USE_H

#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/selftest.h"
#include "tools/bpt/options/options.h"

typedef struct {
    bool needed;  // `running` waits for the number of a device
    cli_child_t child;
    cli_running_t running;
    cli_selftest_t *result;
} cli_first_use_t;

// Before this process loads the driver: a process that has, and then forks, gives its child a driver that does not work.
bpt_status_t cli_first_use_prepare(cli_first_use_t *first, const cli_options_t *o, const bpt_backend_t *backend) BPT_MUST_USE;
// Refuses a device that failed, now or in `bpt doctor`. BPT_SELFTEST=0 only warns, BPT_SELFTEST=1 tests whatever is remembered.
bpt_status_t cli_first_use_check(cli_first_use_t *first, const cli_options_t *o, const bpt_backend_t *backend, int index,
                                 const bpt_device_info_t *info) BPT_MUST_USE;
void cli_first_use_end(cli_first_use_t *first);

#endif
