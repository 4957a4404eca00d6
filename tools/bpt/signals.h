// Ctrl-C and its like.
#ifndef BPT_TOOLS_SIGNALS_H
#define BPT_TOOLS_SIGNALS_H

#include <signal.h>

#include "data/text/text.h"

// SIGINT, SIGTERM, SIGHUP and SIGUSR1 end the program at once with 130, whatever it waits for. SIGPIPE and SIGXFSZ become errors of write.
// Returns false when the system refuses.
bool cli_signals_install(void);
// From here on the command looks at cli_interrupted, and nothing that it reads may wait for ever: the first signal sets it and shows
// `text` on a terminal, the second, unless it is SIGUSR1, ends the program.
bpt_status_t cli_signals_poll(const char *text) BPT_MUST_USE;
// As if SIGUSR1 had come while the command polls.
void cli_signals_act(void);
extern const char cli_stopping[];  // a text for commands that only answer
// The command waits for input again: as after cli_signals_install. BPT_ERR_INTERRUPTED when a signal came while it polled.
bpt_status_t cli_signals_wait(void) BPT_MUST_USE;
// The next lines of a filter, with all its answers so far written: waits for them as cli_signals_wait says, then polls.
bpt_status_t cli_next_lines(bpt_text_blocks_t *blocks, bpt_range_t *lines, bool *end) BPT_MUST_USE;
extern volatile sig_atomic_t cli_interrupted;

#endif
