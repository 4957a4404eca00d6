// The thread-local error record (see bpt/status.h).
#include "bpt/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };
static _Thread_local char message[MESSAGE_BYTES];

bpt_status_t bpt_fail(bpt_status_t code, const char *format, ...) {
    char text[MESSAGE_BYTES];  // the arguments may point into `message`
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(message, text, sizeof message);
    return code;
}

bpt_status_t bpt_context(bpt_status_t status, const char *format, ...) {
    if (status == BPT_OK) return status;
    char text[2 * MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, MESSAGE_BYTES, format, args);
    va_end(args);
    if (used < 0) return status;
    if (used >= MESSAGE_BYTES) used = MESSAGE_BYTES - 1;
    snprintf(text + used, sizeof text - (size_t)used, ": %s", message);
    text[MESSAGE_BYTES - 1] = 0;
    memcpy(message, text, sizeof message);
    return status;
}

const char *bpt_error_message(void) { return message; }
void bpt_error_clear(void) { message[0] = 0; }

const char *bpt_status_name(bpt_status_t status) {
    static const char *const names[] = {"ok",          "usage",       "input",   "io",          "no memory", "unsupported",
                                        "unavailable", "device lost", "numeric", "interrupted", "internal"};
    return (size_t)status < BPT_COUNT(names) ? names[status] : "unknown";
}
