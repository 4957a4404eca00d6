// Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless nohup ignores it): the first asks the command to stop at the next good moment, the
// second ends the program.
#include <errno.h>
#include <unistd.h>

#include "tools/bpt/program.h"

enum { EXIT_INTERRUPTED = 130 };

volatile sig_atomic_t cli_interrupted;

// Only async-signal-safe calls here, and errno is left as it was: the interrupted code may be about to read it.
static void on_first_or_second(int signal_number) {
    (void)signal_number;
    if (cli_interrupted) _exit(EXIT_INTERRUPTED);
    cli_interrupted = 1;
    static const char text[] = "\nbpt: stopping at the next safe moment; once more ends at once without saving\n";
    const int before = errno;
    if (isatty(STDERR_FILENO)) {
        const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
    }
    errno = before;
}

static void on_any(int signal_number) {
    (void)signal_number;
    _exit(EXIT_INTERRUPTED);
}

bool cli_signals_install(bool polls) {
    struct sigaction action = {.sa_handler = polls ? on_first_or_second : on_any, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) || (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL))) return false;
    return !sigaction(SIGINT, &action, NULL) && !sigaction(SIGTERM, &action, NULL) && !sigaction(SIGPIPE, &ignore, NULL) &&
           !sigaction(SIGXFSZ, &ignore, NULL);
}
