// Ctrl-C, Ctrl-Break and a window that is closed, by a handler of the console's (see tools/bpt/platform/system.h). It runs in a thread of the
// system's. Nobody else can ask a program to end: `bpt stop` does.
#include <windows.h>

#include "tools/bpt/platform/system.h"

static void (*volatile on_end)(bool only_asks);
static void (*volatile on_ctrl_c)(void);

static BOOL WINAPI handle(DWORD event) {
    if (event == CTRL_C_EVENT && on_ctrl_c)
        on_ctrl_c();
    else if (on_end)
        on_end(false);
    if (event == CTRL_CLOSE_EVENT || event == CTRL_LOGOFF_EVENT || event == CTRL_SHUTDOWN_EVENT)
        Sleep(INFINITE);  // the process is ended when this returns, or some seconds later: its main thread has them to save what it has
    return TRUE;
}

static bool install(void) {
    static bool installed;
    if (!installed) installed = SetConsoleCtrlHandler(handle, TRUE);
    return installed;
}

bool cli_system_on_end(void (*handler)(bool only_asks)) {
    on_end = handler;
    on_ctrl_c = NULL;
    return install();
}

bool cli_system_on_ctrl_c(void (*handler)(void)) {
    on_ctrl_c = handler;
    return install();
}

void cli_system_end_without_reader(void) {}
