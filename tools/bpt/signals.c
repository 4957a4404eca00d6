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

// Handlers need a stack of their own: oneDNN before 3.11.2 lets the stack pointer look into a block of the heap while it multiplies
// (github.com/uxlfoundation/oneDNN/issues/4845), so a handler on the interrupted stack would write over the heap. The first signal goes to
// this, the main thread; a second one ends the program wherever it arrives. AddressSanitizer brings a stack already.
static bool install_stack(void) {
    static _Alignas(64) char memory[65536];  // the kernel saves up to 11 KiB of registers there
    stack_t stack;
    if (sigaltstack(NULL, &stack)) return false;
    if (!(stack.ss_flags & SS_DISABLE)) return true;
    stack = (stack_t){.ss_sp = memory, .ss_size = sizeof memory};
    return !sigaltstack(&stack, NULL);
}

bool cli_signals_install(bool polls) {
    if (!install_stack()) return false;
    struct sigaction action = {.sa_handler = polls ? on_first_or_second : on_any, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) || (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL))) return false;
    return !sigaction(SIGINT, &action, NULL) && !sigaction(SIGTERM, &action, NULL) && !sigaction(SIGPIPE, &ignore, NULL) &&
           !sigaction(SIGXFSZ, &ignore, NULL);
}
