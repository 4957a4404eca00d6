// Log lines on stderr: level, no colour unless a terminal (NO_COLOR is honoured). Errors are not logged by the library:
// they are returned (status.h); the program prints them once.
#ifndef BPT_LOG_H
#define BPT_LOG_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

typedef enum { BPT_LOG_DEBUG, BPT_LOG_INFO, BPT_LOG_WARN, BPT_LOG_ERROR, BPT_LOG_OFF } bpt_log_level_t;

BPT_API void bpt_log_set_level(bpt_log_level_t level);  // default BPT_LOG_INFO
BPT_API bpt_log_level_t bpt_log_level(void);
BPT_API void bpt_log(bpt_log_level_t level, const char *format, ...) BPT_PRINTF(2, 3);
// True when the stream is a terminal and NO_COLOR is unset.
BPT_API bool bpt_log_colour(int fd);

BPT_END_DECLS

#define bpt_debug(...) bpt_log(BPT_LOG_DEBUG, __VA_ARGS__)
#define bpt_info(...) bpt_log(BPT_LOG_INFO, __VA_ARGS__)
#define bpt_warn(...) bpt_log(BPT_LOG_WARN, __VA_ARGS__)

#endif
