// Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal (SIGHUP, unless nohup ignores it). At first each ends the program, also where a read waits
// for ever. A command that has something to finish says when that begins: from then on the first signal asks it to stop at the next good
// moment, and one that comes at least a second later ends the program. What comes sooner is the same wish told twice: `timeout` signals
// its child, and then the child's whole process group. SIGUSR1 only ever asks: launchers and batch systems pass it on, some more than once.
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/bpt/options/options.h"
#include "tools/bpt/signals.h"

enum { EXIT_INTERRUPTED = 130 };

volatile sig_atomic_t cli_interrupted;
static const char *stopping;   // what the first signal says once the command polls; set before the handler is
static struct timespec first;  // when it came; set before the flag, which says that it may be read

static bool a_second_has_passed(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now)) return true;
    return now.tv_sec - first.tv_sec > 1 || (now.tv_sec - first.tv_sec == 1 && now.tv_nsec >= first.tv_nsec);
}

// Only async-signal-safe calls here, and errno is left as it was: the interrupted code may be about to read it.
static void on_first_or_second(int signal_number) {
    const int before = errno;
    if (cli_interrupted) {
        if (signal_number != SIGUSR1 && a_second_has_passed()) _exit(EXIT_INTERRUPTED);
        errno = before;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &first);
    cli_interrupted = 1;
    if (isatty(STDERR_FILENO)) {
        const ssize_t written = write(STDERR_FILENO, stopping, strlen(stopping));
        (void)written;
    }
    errno = before;
}

void cli_signals_act(void) { on_first_or_second(SIGUSR1); }

static void on_any(int signal_number) {
    (void)signal_number;
    static const char text[] = "\nbpt: stopped\n";
    const size_t skipped = isatty(STDERR_FILENO) ? 0 : 1;  // a terminal shows ^C in the same line
    const ssize_t written = write(STDERR_FILENO, text + skipped, sizeof text - 1 - skipped);
    (void)written;
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

static bool install(void (*handler)(int)) {
    if (!install_stack()) return false;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
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

bool cli_signals_install(void) { return install(on_any); }

bpt_status_t cli_signals_poll(const char *text) {
    stopping = text;
    return install(on_first_or_second) ? BPT_OK : bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
}

const char cli_stopping[] = "\nbpt: stopping; once more, a second later, ends at once\n";

// One that came just before the change has only set the flag.
bpt_status_t cli_signals_wait(void) {
    if (!install(on_any)) return bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
    return cli_interrupted ? bpt_fail(BPT_ERR_INTERRUPTED, "stopped") : BPT_OK;
}

bpt_status_t cli_next_lines(bpt_text_blocks_t *blocks, bpt_range_t *lines, bool *end) {
    BPT_TRY(cli_signals_wait());
    BPT_TRY(bpt_text_blocks_next(blocks, lines, end));
    return cli_signals_poll(cli_stopping);
}
