// Names and messages as printable text (see bpt/names.h).
#include "bpt/names.h"

#include <stdio.h>
#include <string.h>

// Bytes of the printable character at the front of a NUL-terminated text; 0: its first byte is to be escaped. RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF; and no control characters.
static size_t printable(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7F;
    const size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((p[i] & 0xC0) != 0x80) return 0;  // the NUL at the end, too
    if ((p[0] == 0xC2 && p[1] < 0xA0) || (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] >= 0xA0)) return 0;
    if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] >= 0x90)) return 0;
    return length;
}

bpt_status_t bpt_name_escape(const char *name, bpt_strbuf_t *out) {
    for (const char *p = name; *p;) {
        const size_t length = printable(p);
        if (*p == '\\')
            BPT_TRY(bpt_strbuf_append(out, "\\\\", 2));
        else if (length)
            BPT_TRY(bpt_strbuf_append(out, p, length));
        else
            BPT_TRY(bpt_strbuf_printf(out, "\\x%02x", (unsigned char)*p));
        p += length ? length : 1;
    }
    return bpt_strbuf_append(out, "", 0);
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bpt_status_t bpt_name_unescape(const char *text, bpt_strbuf_t *out) {
    for (const char *p = text; *p; ++p) {
        char c = *p;
        if (p[0] == '\\' && p[1] == '\\') {
            ++p;
        } else if (p[0] == '\\' && p[1] == 'x' && digit(p[2]) >= 0 && digit(p[3]) >= 0 && (digit(p[2]) || digit(p[3]))) {
            c = (char)(digit(p[2]) * 16 + digit(p[3]));
            p += 3;
        }
        BPT_TRY(bpt_strbuf_append(out, &c, 1));
    }
    return bpt_strbuf_append(out, "", 0);
}

void bpt_message_show(const char *message, char *out, size_t capacity) {
    size_t used = 0;
    for (const char *p = message; *p;) {
        const size_t length = *p == '\t' || *p == '\n' ? 1 : printable(p), wanted = length ? length : 4;
        if (used + wanted + 1 > capacity) break;
        if (length)
            memcpy(out + used, p, length);
        else
            snprintf(out + used, 5, "\\x%02x", (unsigned char)*p);
        used += wanted;
        p += length ? length : 1;
    }
    out[used] = 0;
}
