// Log lines on stderr (see bpt/log.h).
#include "bpt/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpt/names.h"

static atomic_int current_level = BPT_LOG_INFO;

void bpt_log_set_level(bpt_log_level_t level) { atomic_store(&current_level, (int)level); }
bpt_log_level_t bpt_log_level(void) { return (bpt_log_level_t)atomic_load(&current_level); }

bool bpt_log_colour(int fd) {
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && isatty(fd);
}

void bpt_log(bpt_log_level_t level, const char *format, ...) {
    if (level < bpt_log_level()) return;
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: ", ""};
    static const char *const colour[] = {"\033[2m", "", "\033[33m", "\033[31m", ""};
    const bool coloured = bpt_log_colour(STDERR_FILENO);
    char text[2048], shown[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bpt_message_show(text, shown, sizeof shown);
    // One call per line, so that lines of several threads do not mix.
    fprintf(stderr, "%s%s%s%s\n", coloured ? colour[level] : "", prefix[level], coloured && *colour[level] ? "\033[0m" : "", shown);
}
