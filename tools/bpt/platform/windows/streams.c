// Standard streams, the console and other programs (see tools/bpt/platform/system.h).
#include <io.h>
#include <process.h>
#include <unistd.h>
#include <windows.h>

#include "tools/bpt/platform/system.h"

// Text is UTF-8 and colours are sequences of ESC, also in a console of old.
void cli_system_prepare_streams(void) {
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleCP(CP_UTF8);
    for (int fd = 1; fd <= 2; ++fd) {
        HANDLE handle = (HANDLE)_get_osfhandle(fd);
        DWORD mode;
        if (GetConsoleMode(handle, &mode)) SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

int cli_system_columns(int fd) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    return GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(fd), &info) ? info.srWindow.Right - info.srWindow.Left + 1 : 0;
}

// Asked after a write has failed: to a pipe it fails for no other reason.
bool cli_system_reader_has_gone(void) { return GetFileType((HANDLE)_get_osfhandle(STDOUT_FILENO)) == FILE_TYPE_PIPE; }

bool cli_system_wait_for_input(int milliseconds) {
    return WaitForSingleObject((HANDLE)_get_osfhandle(STDIN_FILENO), (DWORD)milliseconds) == WAIT_OBJECT_0;
}

bool cli_system_filter(const char *const arguments[], FILE *in, FILE *out, int *status) {
    const int own_in = _dup(STDIN_FILENO), own_out = _dup(STDOUT_FILENO);
    fflush(stdout);
    const bool ready = _dup2(fileno(in), STDIN_FILENO) == 0 && _dup2(fileno(out), STDOUT_FILENO) == 0;
    const intptr_t ended = ready ? _spawnvp(_P_WAIT, arguments[0], arguments) : -1;
    const int error = errno;
    if (own_in >= 0) (void)_dup2(own_in, STDIN_FILENO), (void)_close(own_in);
    if (own_out >= 0) (void)_dup2(own_out, STDOUT_FILENO), (void)_close(own_out);
    *status = ended < 0 && error == ENOENT ? 127 : (int)ended;
    return ended >= 0 || error == ENOENT;
}
