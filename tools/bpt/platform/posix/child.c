// Work in a child process with a time limit (see child.h).
#include "tools/bpt/devices/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpt/clock.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/signals.h"

enum { MOST_INPUT = 256 };

// Reads up to the end, or until all is there.
static bool read_all(int in, void *data, size_t bytes) {
    for (char *p = data; bytes;) {
        const ssize_t n = read(in, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, bytes -= (size_t)n;
    }
    return true;
}

static void in_child(const cli_child_t *child, int out, int go, void *shared) {
    char input[MOST_INPUT];
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // after Ctrl-C nothing goes on computing
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && !child->verbose) dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    if (child->input_bytes && !read_all(go, input, child->input_bytes)) _exit(0);  // not needed
    child->work(child->input_bytes ? input : child->input, shared);
    while (write(out, "", 1) < 0 && errno == EINTR) {
    }
    _exit(0);  // no exit handlers: drivers that crash in theirs have done their work
}

bpt_status_t cli_child_start(const cli_child_t *child, cli_running_t *out) {
    int word[2], go[2];
    if (child->input_bytes > MOST_INPUT) return bpt_fail(BPT_ERR_INTERNAL, "an input of %zu bytes for a child", child->input_bytes);
    void *shared = mmap(NULL, child->result_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return bpt_fail(BPT_ERR_NO_MEMORY, "no memory to share with a process: %s", strerror(errno));
    const bool first = !pipe2(word, O_CLOEXEC), both = first && !pipe2(go, O_CLOEXEC);
    fflush(stdout);  // or the child would write it once more
    const pid_t pid = both ? fork() : -1;
    if (!pid) {
        close(word[0]);
        close(go[1]);
        in_child(child, word[1], go[0], shared);
    }
    const int error = errno;
    if (first) close(word[1]);
    if (both) close(go[0]);
    if (pid < 0) {
        if (first) close(word[0]);
        if (both) close(go[1]);
        munmap(shared, child->result_bytes);
        return bpt_fail(BPT_ERR_IO, "cannot start a process: %s", strerror(error));
    }
    *out = (cli_running_t){.pid = pid, .in = word[0], .go = go[1], .shared = shared};
    return BPT_OK;
}

void cli_child_send(const cli_child_t *child, const cli_running_t *running, const void *input) {
    while (write(running->go, input, child->input_bytes) < 0 && errno == EINTR) {  // a pipe takes so little as a whole
    }
}

// True when the word has come before the time is up.
static bool receive(int in, int seconds, bool *timed_out) {
    const double end = bpt_clock_seconds() + seconds;
    while (!cli_interrupted) {
        const double remaining = end - bpt_clock_seconds();
        struct pollfd wait = {.fd = in, .events = POLLIN};
        const int ready = remaining > 0 ? poll(&wait, 1, (int)(remaining * 1000) + 1) : 0;
        char word;
        if (ready < 0 && errno == EINTR) continue;
        *timed_out = ready == 0;
        return ready > 0 && read_all(in, &word, 1);
    }
    return false;
}

bool cli_child_wait(const cli_running_t *running, double seconds) {
    struct pollfd wait = {.fd = running->in, .events = POLLIN};
    return poll(&wait, 1, (int)(seconds * 1000)) > 0;
}

const void *cli_child_result(const cli_running_t *running) { return running->shared; }

static void explain(int seconds, bool timed_out, int exit_status, char *why, size_t bytes) {
    if (timed_out)
        snprintf(why, bytes, "did not answer within %d seconds", seconds);
    else if (WIFSIGNALED(exit_status))
        snprintf(why, bytes, "crashed with signal %d (%s)", WTERMSIG(exit_status), strsignal(WTERMSIG(exit_status)));
    else
        snprintf(why, bytes, "ended the process with status %d", WEXITSTATUS(exit_status));
}

// Its exit status.
static int collect(cli_running_t *running, bool kill_it) {
    int exit_status = 0;
    if (kill_it) kill(running->pid, SIGKILL);
    while (waitpid(running->pid, &exit_status, 0) < 0 && errno == EINTR) {
    }
    return exit_status;
}

bpt_status_t cli_child_finish(const cli_child_t *child, cli_running_t *running, bool *done, char *why, size_t why_bytes) {
    bool timed_out = false;
    *done = receive(running->in, child->seconds, &timed_out);
    close(running->in);
    close(running->go);
    const int exit_status = collect(running, timed_out || cli_interrupted);
    memcpy(child->result, running->shared, child->result_bytes);
    munmap(running->shared, child->result_bytes);
    if (*done) return BPT_OK;
    if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped while a driver was asked");
    explain(child->seconds, timed_out, exit_status, why, why_bytes);
    return BPT_OK;
}

void cli_child_end(const cli_child_t *child, cli_running_t *running) {
    close(running->in);
    close(running->go);
    (void)collect(running, true);
    munmap(running->shared, child->result_bytes);
}

bpt_status_t cli_child_run(const cli_child_t *child, bool *done, char *why, size_t why_bytes) {
    cli_running_t running;
    BPT_TRY(cli_child_start(child, &running));
    return cli_child_finish(child, &running, done, why, why_bytes);
}
