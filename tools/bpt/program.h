// What the parts of the program share: commands, output, signals. Knows no command in particular.
#ifndef BPT_TOOLS_PROGRAM_H
#define BPT_TOOLS_PROGRAM_H

#include <signal.h>

#include "tools/bpt/options.h"

typedef struct {
    unsigned bit;  // cli_command_bit_t
    const char *name;
    const char *arguments;    // positional arguments as shown by --help, "" if none
    const char *purpose;      // one line for the list of commands
    const char *description;  // paragraphs for the command's own --help, "" if the purpose says it all
    const char *examples;     // lines, each "  bpt .."
    int min_arguments, max_arguments;
    bool polls;  // looks at cli_interrupted; otherwise the first Ctrl-C ends the program with 130
    bpt_status_t (*run)(cli_options_t *o);
} cli_command_t;

extern const cli_command_t *const cli_commands[];  // ends with NULL
// NULL when there is none.
const cli_command_t *cli_command_find(const char *name);
// BPT_ERR_USAGE with a suggestion.
bpt_status_t cli_command_unknown(const char *name) BPT_MUST_USE;

// ---- Help (help.c)
void cli_help_program(void);
void cli_help_command(const cli_command_t *command);
void cli_help_presets(void);

// ---- Output
// Flushes stdout; BPT_ERR_IO when anything written to it was lost (full disk, closed pipe).
bpt_status_t cli_flush_output(void) BPT_MUST_USE;
// A JSON value and a line end on stdout; on one line with indent 0.
struct json_t;
bpt_status_t cli_print_json(const struct json_t *value, int indent) BPT_MUST_USE;
// A text under a key of a JSON object. JSON holds UTF-8 only: bytes that are none become U+FFFD.
bpt_status_t cli_json_set_bytes(struct json_t *object, const char *key, const char *data, uint64_t bytes) BPT_MUST_USE;
// Columns of the terminal behind `fd`, `fallback` when there is none.
int cli_columns(int fd, int fallback);

// ---- Signals (signals.c)
// Set by the first SIGINT, SIGTERM or SIGHUP; the second ends the program at once with 130.
extern volatile sig_atomic_t cli_interrupted;
// SIGPIPE and SIGXFSZ become errors of write. `polls` as in cli_command_t. Returns false when the system refuses.
bool cli_signals_install(bool polls);

#endif
