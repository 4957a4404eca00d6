// What a command is; the list of commands. Knows no command in particular.
#ifndef BPT_TOOLS_COMMAND_H
#define BPT_TOOLS_COMMAND_H

#include "tools/bpt/options/options.h"

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

extern const cli_command_t *const cli_commands[];  // commands/commands.c; ends with NULL
// NULL when there is none.
const cli_command_t *cli_command_find(const char *name);
// BPT_ERR_USAGE with a suggestion.
bpt_status_t cli_command_unknown(const char *name) BPT_MUST_USE;

// ---- Help (help.c)
void cli_help_program(void);
void cli_help_command(const cli_command_t *command);
void cli_help_presets(void);

#endif
