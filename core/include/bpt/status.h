// Error codes and the thread-local error record.
//
// Every function that can fail returns bpt_status_t, which must be used. The first failing function writes one clear
// sentence with bpt_fail(); callers may put context in front of it with bpt_context() ("run/config.json: line 3: ...").
// The record is a fixed thread-local buffer: reporting an error never allocates. Nothing in the library aborts or exits.
#ifndef BPT_STATUS_H
#define BPT_STATUS_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_OK = 0,
    BPT_ERR_USAGE,        // a wrong flag, key or argument: the caller's mistake, exit code 2
    BPT_ERR_INPUT,        // bad data in a file or stream
    BPT_ERR_IO,           // the operating system refused: no such file, permission, disk full
    BPT_ERR_NO_MEMORY,    // host or device memory
    BPT_ERR_UNSUPPORTED,  // valid, but this backend or build cannot do it
    BPT_ERR_UNAVAILABLE,  // device or driver missing
    BPT_ERR_DEVICE_LOST,  // the driver gave up in the middle
    BPT_ERR_NUMERIC,      // non-finite loss or gradient
    BPT_ERR_INTERRUPTED,  // Ctrl-C or SIGTERM, exit code 130
    BPT_ERR_INTERNAL,     // a bug of ours
} bpt_status_code_t;

typedef bpt_status_code_t bpt_status_t;

// Sets the thread's message (printf format, one sentence, no newline) and returns `code`.
BPT_API bpt_status_t bpt_fail(bpt_status_t code, const char *format, ...) BPT_PRINTF(2, 3) BPT_MUST_USE;

// Puts "text: " in front of the current message and returns `status` unchanged; does nothing when status is BPT_OK.
BPT_API bpt_status_t bpt_context(bpt_status_t status, const char *format, ...) BPT_PRINTF(2, 3);

// The message of the last failure on this thread, "" if none. Owned by the library, valid until the next failure.
BPT_API const char *bpt_error_message(void);
BPT_API void bpt_error_clear(void);
BPT_API const char *bpt_status_name(bpt_status_t status);

BPT_END_DECLS

// Returns from the calling function when `expression` fails.
#define BPT_TRY(expression)                                  \
    do {                                                     \
        const bpt_status_t bpt_try_status = (expression);    \
        if (bpt_try_status != BPT_OK) return bpt_try_status; \
    } while (0)

// For functions with a clean-up part: stores the status in the local `status` and jumps to `label`.
#define BPT_TRY_GOTO(expression, label)   \
    do {                                  \
        status = (expression);            \
        if (status != BPT_OK) goto label; \
    } while (0)

#endif
