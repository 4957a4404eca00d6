// What the program needs of the operating system beyond the library: signals, terminals, other programs.
#ifndef BPT_TOOLS_SYSTEM_H
#define BPT_TOOLS_SYSTEM_H

#include <stdbool.h>
#include <stdio.h>

// ---- Signals

// From now on `handler` is called for Ctrl-C, for a wish that the program end, and for one that only asks it to (`only_asks`: SIGUSR1). Only
// async-signal-safe calls are allowed there. Writing to a pipe without a reader, or past a limit, becomes an error of the write. False: the
// system refuses, errno says why.
bool cli_system_on_end(void (*handler)(bool only_asks));
// Ctrl-C alone.
bool cli_system_on_ctrl_c(void (*handler)(void));
// Ends the program as others end whose reader has seen enough, where the system has a way; otherwise returns.
void cli_system_end_without_reader(void);

// ---- Standard streams and terminals

// Before anything else: the three streams are there, and carry bytes as they are.
void cli_system_prepare_streams(void);
int cli_system_columns(int fd);       // of a terminal; 0: it is none
bool cli_system_reader_has_gone(void);  // of standard output
// Whether standard input has something, or its end, within `milliseconds`.
bool cli_system_wait_for_input(int milliseconds);

// ---- Other programs

// Runs a program with `in` and `out` as its standard streams. *status: its exit status; 127: there is no such program; -1: it was ended.
// False: nothing can be started, errno says why.
bool cli_system_filter(const char *const arguments[], FILE *in, FILE *out, int *status);

#endif
