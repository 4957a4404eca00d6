// Standard streams, terminals and other programs (see tools/bpt/platform/system.h).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bpt/platform/system.h"

// A descriptor 0, 1 or 2 that is closed would be given to the next file opened, and output would go into that file.
void cli_system_prepare_streams(void) {
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

int cli_system_columns(int fd) {
    struct winsize size;
    return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

bool cli_system_reader_has_gone(void) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

bool cli_system_wait_for_input(int milliseconds) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, milliseconds) > 0;
}

bool cli_system_filter(const char *const arguments[], FILE *in, FILE *out, int *status) {
    const pid_t pid = fork();
    if (pid < 0) return false;
    if (!pid) {
        if (dup2(fileno(in), STDIN_FILENO) < 0 || dup2(fileno(out), STDOUT_FILENO) < 0) _exit(126);
        execvp(arguments[0], (char *const *)(const void *)arguments);
        _exit(127);
    }
    int ended;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {
    }
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return true;
}
