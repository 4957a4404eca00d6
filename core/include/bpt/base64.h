// Base64 (RFC 4648, with padding): bytes as text, for metadata that hold only text.
#ifndef BPT_BASE64_H
#define BPT_BASE64_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

// *out is freed with bpt_free.
BPT_API bpt_status_t bpt_base64_encode(const void *bytes, size_t count, char **out) BPT_MUST_USE;
// BPT_ERR_INPUT for what is no base64; *out has *count bytes and is freed with bpt_free.
BPT_API bpt_status_t bpt_base64_decode(const char *text, char **out, size_t *count) BPT_MUST_USE;

BPT_END_DECLS

#endif
