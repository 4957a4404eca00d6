// Work in a child process with a time limit (see child.h).
#include "tools/bpt/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpt/clock.h"

static void in_child(const cli_child_t *child, int out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // after Ctrl-C nothing goes on computing
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && !child->verbose) dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    memset(child->result, 0, child->result_bytes);
    child->work(child->input, child->result);
    const char *p = child->result;
    for (size_t left = child->result_bytes; left;) {
        const ssize_t n = write(out, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);
        p += n, left -= (size_t)n;
    }
    _exit(0);  // no exit handlers: drivers that crash in theirs have done their work
}

// True when the whole result has come before the time is up.
static bool receive(const cli_child_t *child, int in, bool *timed_out) {
    const double end = bpt_clock_seconds() + child->seconds;
    char *p = child->result;
    for (size_t left = child->result_bytes; left;) {
        const double remaining = end - bpt_clock_seconds();
        struct pollfd wait = {.fd = in, .events = POLLIN};
        const int ready = remaining > 0 ? poll(&wait, 1, (int)(remaining * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        *timed_out = ready == 0;
        if (ready <= 0) return false;
        const ssize_t n = read(in, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, left -= (size_t)n;
    }
    return true;
}

static void explain(int seconds, bool timed_out, int exit_status, char *why, size_t bytes) {
    if (timed_out)
        snprintf(why, bytes, "did not answer within %d seconds", seconds);
    else if (WIFSIGNALED(exit_status))
        snprintf(why, bytes, "crashed with signal %d (%s)", WTERMSIG(exit_status), strsignal(WTERMSIG(exit_status)));
    else
        snprintf(why, bytes, "ended the process with status %d", WEXITSTATUS(exit_status));
}

bpt_status_t cli_child_run(const cli_child_t *child, bool *done, char *why, size_t why_bytes) {
    int ends[2];
    if (pipe(ends)) return bpt_fail(BPT_ERR_IO, "cannot open a pipe: %s", strerror(errno));
    fflush(stdout);  // or the child would write it once more
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return bpt_fail(BPT_ERR_IO, "cannot start a process: %s", strerror(errno));
    }
    if (!pid) {
        close(ends[0]);
        in_child(child, ends[1]);
    }
    close(ends[1]);
    bool timed_out = false;
    *done = receive(child, ends[0], &timed_out);
    close(ends[0]);
    if (timed_out) kill(pid, SIGKILL);
    int exit_status = 0;
    while (waitpid(pid, &exit_status, 0) < 0 && errno == EINTR) {
    }
    if (!*done) explain(child->seconds, timed_out, exit_status, why, why_bytes);
    return BPT_OK;
}
