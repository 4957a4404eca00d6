// Growable string (see bpt/strbuf.h).
#include "bpt/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"

static bpt_status_t reserve(bpt_strbuf_t *buf, size_t extra) {
    const size_t limit = buf->limit ? buf->limit : (size_t)1 << 30;
    if (extra > limit || buf->length > limit - extra) return bpt_fail(BPT_ERR_INPUT, "text grows over its limit of %zu bytes", limit);
    const size_t need = buf->length + extra + 1;
    if (need <= buf->capacity) return BPT_OK;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < need) capacity *= 2;
    BPT_TRY(bpt_realloc(&buf->data, capacity, 1));
    buf->capacity = capacity;
    return BPT_OK;
}

bpt_status_t bpt_strbuf_append(bpt_strbuf_t *buf, const void *bytes, size_t length) {
    BPT_TRY(reserve(buf, length));
    if (length) memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = 0;
    return BPT_OK;
}

bpt_status_t bpt_strbuf_printf(bpt_strbuf_t *buf, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    bpt_status_t status = length < 0 ? bpt_fail(BPT_ERR_INTERNAL, "unprintable text") : reserve(buf, (size_t)length);
    if (status == BPT_OK) {
        vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
    return status;
}

void bpt_strbuf_clear(bpt_strbuf_t *buf) {
    buf->length = 0;
    if (buf->data) buf->data[0] = 0;
}

void bpt_strbuf_free(bpt_strbuf_t *buf) {
    bpt_free(buf->data);
    *buf = (bpt_strbuf_t){0};
}
