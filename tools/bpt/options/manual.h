// The manual page and completion for shells, made from the option table and the command table.
#ifndef BPT_TOOLS_MANUAL_H
#define BPT_TOOLS_MANUAL_H

void cli_print_man_page(void);  // roff, bpt.1

extern const char *const cli_shell_names[];  // those that there is a completion for; ends with NULL
void cli_print_completion(int shell);

#endif
