// Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal (SIGHUP, unless nohup ignores it). At first each ends the program, also where a read waits
// for ever. A command that has something to finish says when that begins: from then on the first signal asks it to stop at the next good
// moment, and one that comes at least a second later ends the program. What comes sooner is the same wish told twice: `timeout` signals
// its child, and then the child's whole process group. SIGUSR1 only ever asks: launchers and batch systems pass it on, some more than once.
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/bpt/options/options.h"
#include "tools/bpt/platform/system.h"
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
static void on_first_or_second(bool only_asks) {
    const int before = errno;
    if (cli_interrupted) {
        if (!only_asks && a_second_has_passed()) _exit(EXIT_INTERRUPTED);
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

void cli_signals_act(void) { on_first_or_second(true); }

static void on_any(bool only_asks) {
    (void)only_asks;
    static const char text[] = "\nbpt: stopped\n";
    const size_t skipped = isatty(STDERR_FILENO) ? 0 : 1;  // a terminal shows ^C in the same line
    const ssize_t written = write(STDERR_FILENO, text + skipped, sizeof text - 1 - skipped);
    (void)written;
    _exit(EXIT_INTERRUPTED);
}

bool cli_signals_install(void) { return cli_system_on_end(on_any); }

bpt_status_t cli_signals_poll(const char *text) {
    stopping = text;
    return cli_system_on_end(on_first_or_second) ? BPT_OK : bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
}

const char cli_stopping[] = "\nbpt: stopping; once more, a second later, ends at once\n";

// One that came just before the change has only set the flag.
bpt_status_t cli_signals_wait(void) {
    if (!cli_system_on_end(on_any)) return bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
    return cli_interrupted ? bpt_fail(BPT_ERR_INTERRUPTED, "stopped") : BPT_OK;
}

bpt_status_t cli_next_lines(bpt_text_blocks_t *blocks, bpt_range_t *lines, bool *end) {
    BPT_TRY(cli_signals_wait());
    BPT_TRY(bpt_text_blocks_next(blocks, lines, end));
    return cli_signals_poll(cli_stopping);
}
