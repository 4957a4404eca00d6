// What the parts of the program share: commands, output, signals. Knows no command in particular.
#ifndef BPT_TOOLS_COMMANDS_H
#define BPT_TOOLS_COMMANDS_H

#include <signal.h>

#include "data/text.h"
#include "tools/bpt/options.h"

typedef struct {
    unsigned bit;  // cli_command_bit_t
    const char *name;
    const char *arguments;    // positional arguments as shown by --help, "" if none
    const char *purpose;      // one line for the list of commands
    const char *description;  // paragraphs for the command's own --help, "" if the purpose says it all
    const char *examples;     // lines, each "  bpt .."
    int min_arguments, max_arguments;
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
// SIGINT, SIGTERM and SIGHUP end the program at once with 130, whatever it waits for. SIGPIPE and SIGXFSZ become errors of write. Returns
// false when the system refuses.
bool cli_signals_install(void);
// From here on the command looks at cli_interrupted, and nothing that it reads may wait for ever: the first signal sets it and shows
// `text` on a terminal, the second ends the program.
bpt_status_t cli_signals_poll(const char *text) BPT_MUST_USE;
extern const char cli_stopping[];  // a text for commands that only answer
// The command waits for input again: as after cli_signals_install. BPT_ERR_INTERRUPTED when a signal came while it polled.
bpt_status_t cli_signals_wait(void) BPT_MUST_USE;
// The next lines of a filter, with all its answers so far written: waits for them as cli_signals_wait says, then polls.
bpt_status_t cli_next_lines(bpt_text_blocks_t *blocks, bpt_range_t *lines, bool *end) BPT_MUST_USE;
extern volatile sig_atomic_t cli_interrupted;

#endif
