// Errors of Windows as errno values.
#ifndef BPT_WINDOWS_ERRORS_H
#define BPT_WINDOWS_ERRORS_H

#include "bpt/base.h"

int bpt_windows_errno(unsigned long error);  // of GetLastError
int bpt_windows_failed(void);                // of the last error; never 0

#endif
