// Signals by sigaction (see tools/bpt/platform/system.h).
#include <signal.h>

#include "tools/bpt/platform/system.h"

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

static void (*on_end)(bool only_asks);  // set before the handler is
static void (*on_ctrl_c)(void);

static void end(int signal_number) { on_end(signal_number == SIGUSR1); }

static void ctrl_c(int signal_number) {
    (void)signal_number;
    on_ctrl_c();
}

bool cli_system_on_end(void (*handler)(bool only_asks)) {
    if (!install_stack()) return false;
    on_end = handler;
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaddset(&action.sa_mask, SIGUSR1);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) || (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL))) return false;
    return !sigaction(SIGINT, &action, NULL) && !sigaction(SIGTERM, &action, NULL) && !sigaction(SIGUSR1, &action, NULL) &&
           !sigaction(SIGPIPE, &ignore, NULL) && !sigaction(SIGXFSZ, &ignore, NULL);
}

bool cli_system_on_ctrl_c(void (*handler)(void)) {
    on_ctrl_c = handler;
    struct sigaction action = {.sa_handler = ctrl_c, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return !sigaction(SIGINT, &action, NULL);
}

// By the signal that was held off until all was put away.
void cli_system_end_without_reader(void) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigemptyset(&usual.sa_mask);
    if (!sigaction(SIGPIPE, &usual, NULL)) raise(SIGPIPE);
}
