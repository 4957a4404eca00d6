// Base64 (base64.h).
#include "bpt/base64.h"

#include <stdint.h>
#include <string.h>

#include "bpt/alloc.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bpt_status_t bpt_base64_encode(const void *bytes, size_t count, char **out) {
    const uint8_t *in = bytes;
    char *text;
    BPT_TRY(bpt_alloc((count + 2) / 3 * 4 + 1, 1, &text));
    char *at = text;
    for (size_t i = 0; i < count; i += 3) {
        const size_t n = count - i < 3 ? count - i : 3;
        const uint32_t three = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (n > 2 ? in[i + 2] : 0);
        for (size_t k = 0; k < 4; ++k) *at++ = k <= n ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
    *at = 0;
    *out = text;
    return BPT_OK;
}

// The four digits of a group as three bytes; how many of them count, 0: they are no base64.
static size_t decode_group(const char *text, bool last, uint8_t out[3]) {
    uint32_t three = 0;
    size_t n = 4;
    if (last && text[3] == '=') n = text[2] == '=' ? 2 : 3;
    for (size_t k = 0; k < 4; ++k) {
        const char *digit = k < n ? memchr(digits, text[k], 64) : digits;
        if (!digit) return 0;
        three = three << 6 | (uint32_t)(digit - digits);
    }
    for (int k = 0; k < 3; ++k) out[k] = (uint8_t)(three >> (16 - 8 * k));
    return n == 4 ? 3 : out[n - 1] ? 0 : n - 1;  // bits that are left over must be zero
}

bpt_status_t bpt_base64_decode(const char *text, char **out, size_t *count) {
    const size_t length = strlen(text);
    char *bytes;
    if (length % 4) return bpt_fail(BPT_ERR_INPUT, "no base64: %zu characters are not a multiple of 4; the text is cut off", length);
    BPT_TRY(bpt_alloc(length / 4 * 3 + 1, 1, &bytes));
    *count = 0;
    for (size_t i = 0; i < length; i += 4) {
        uint8_t group[3];
        const size_t n = decode_group(text + i, i + 4 == length, group);
        if (!n) {
            bpt_free(bytes);
            return bpt_fail(BPT_ERR_INPUT, "no base64: '%.4s' at character %zu", text + i, i + 1);
        }
        memcpy(bytes + *count, group, n);
        *count += n;
    }
    *out = bytes;
    return BPT_OK;
}
