// Lines that a person types, with editing and history where GNU readline or libedit is installed, or that come through a pipe.
#ifndef BPT_TOOLS_TYPED_LINES_H
#define BPT_TOOLS_TYPED_LINES_H

#include <signal.h>

#include "data/text/text.h"

typedef struct cli_typed_lines cli_typed_lines_t;
typedef enum { CLI_TYPED_LINE, CLI_TYPED_CTRL_C, CLI_TYPED_END } cli_typed_t;

// interrupted: set by the handler of Ctrl-C; taken back here when it gives up a line that is being typed.
bpt_status_t cli_typed_lines_open(volatile sig_atomic_t *interrupted, cli_typed_lines_t **out) BPT_MUST_USE;
void cli_typed_lines_close(cli_typed_lines_t *lines);
bool cli_typed_lines_by_hand(const cli_typed_lines_t *lines);  // from a terminal
// The next line without its end, valid until the next call. BPT_ERR_INTERRUPTED when the program is asked to end.
bpt_status_t cli_typed_lines_next(cli_typed_lines_t *lines, cli_typed_t *what, bpt_range_t *line) BPT_MUST_USE;

#endif
