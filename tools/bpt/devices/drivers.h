// The drivers of an API, asked one by one in child processes before this process loads any: one that crashes, ends the process or hangs is
// left out, by the environment variables that its loader knows. Knows backends only through core/include/bpt/backend.h.
#ifndef BPT_TOOLS_DRIVERS_H
#define BPT_TOOLS_DRIVERS_H

#include "bpt/backend.h"

enum { CLI_MAX_DRIVERS = 24, CLI_MAX_DRIVER_TEXTS = 16 };

typedef struct {
    int count;  // files that the loader finds
    bpt_driver_file_t file[CLI_MAX_DRIVERS];
    char why[CLI_MAX_DRIVERS][192];        // it is left out: "crashed with signal 6 (Aborted)"; "" when it is not
    char text[CLI_MAX_DRIVER_TEXTS][128];  // what devices call the others, "" after the last
    char selection[4096];                  // for the loader's variables: the others; "" where none is left out
} cli_drivers_t;

// From memory, which holds as long as the files of the drivers and the kernel of the system stay the same; false: nothing is known.
bool cli_drivers_recall(const bpt_backend_t *backend, cli_drivers_t *out);
void cli_drivers_remember(const bpt_backend_t *backend, const cli_drivers_t *drivers);
// Seconds that a driver may take to answer.
int cli_drivers_patience(void);
// Asks each in a process of its own, side by side, and makes the selection. Where there is only one, that is left to who asks them
// together.
bpt_status_t cli_drivers_ask(const bpt_backend_t *backend, bool verbose, cli_drivers_t *out) BPT_MUST_USE;
int cli_drivers_left_out(const cli_drivers_t *drivers);
// Takes the driver of every device among the texts.
void cli_drivers_know(cli_drivers_t *drivers, const bpt_device_info_t *devices, int count);
// Is there a variable that suits one of the drivers, and that nobody has set?
bool cli_drivers_suits(const bpt_backend_t *backend, const cli_drivers_t *drivers);
// Sets these and the variables of the selection, in a process that has not loaded the drivers yet.
void cli_drivers_use(const bpt_backend_t *backend, const cli_drivers_t *drivers);
// What the user has set a variable to, "" for none and for what cli_drivers_use has set.
const char *cli_drivers_users_variable(const char *name);
// One line per driver that is left out: its file, and why.
void cli_drivers_describe(const cli_drivers_t *drivers, int i, char *text, size_t bytes);

#endif
