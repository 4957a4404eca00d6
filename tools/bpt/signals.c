// Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless nohup ignores it): the first asks the command to stop at the next good moment, one
// that comes at least a second later ends the program. What comes sooner is the same wish told twice: `timeout` signals its child, and then
// the child's whole process group.
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "tools/bpt/program.h"

enum { EXIT_INTERRUPTED = 130 };

volatile sig_atomic_t cli_interrupted;
static struct timespec first;  // when it came; set before the flag, which says that it may be read

static bool a_second_has_passed(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now)) return true;
    return now.tv_sec - first.tv_sec > 1 || (now.tv_sec - first.tv_sec == 1 && now.tv_nsec >= first.tv_nsec);
}

// Only async-signal-safe calls here, and errno is left as it was: the interrupted code may be about to read it.
static void on_first_or_second(int signal_number) {
    (void)signal_number;
    const int before = errno;
    if (cli_interrupted) {
        if (a_second_has_passed()) _exit(EXIT_INTERRUPTED);
        errno = before;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &first);
    cli_interrupted = 1;
    static const char text[] = "\nbpt: stopping at the next safe moment; once more, a second later, ends at once without saving\n";
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
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) || (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL))) return false;
    return !sigaction(SIGINT, &action, NULL) && !sigaction(SIGTERM, &action, NULL) && !sigaction(SIGPIPE, &ignore, NULL) &&
           !sigaction(SIGXFSZ, &ignore, NULL);
}
