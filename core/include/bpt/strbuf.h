// A growable string with a hard cap, so that runaway input becomes an error instead of memory exhaustion.
#ifndef BPT_STRBUF_H
#define BPT_STRBUF_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct {
    char *data;     // NUL-terminated once anything was appended
    size_t length;  // bytes without the NUL
    size_t capacity;
    size_t limit;  // 0 = 1 GiB
} bpt_strbuf_t;

// A zero-initialised bpt_strbuf_t is empty and valid.
BPT_API bpt_status_t bpt_strbuf_append(bpt_strbuf_t *buf, const void *bytes, size_t length) BPT_MUST_USE;
BPT_API bpt_status_t bpt_strbuf_printf(bpt_strbuf_t *buf, const char *format, ...) BPT_PRINTF(2, 3) BPT_MUST_USE;
BPT_API void bpt_strbuf_clear(bpt_strbuf_t *buf);
BPT_API void bpt_strbuf_free(bpt_strbuf_t *buf);

BPT_END_DECLS

#endif
