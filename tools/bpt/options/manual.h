// The manual page and the shell completion, made from the option table and the command table.
#ifndef BPT_TOOLS_MANUAL_H
#define BPT_TOOLS_MANUAL_H

void cli_print_man_page(void);    // roff, bpt.1
void cli_print_completion(void);  // bash

#endif
