// Checksums of files: size and xxh3 (64 bits), which a single changed byte changes. They find damage and mix-ups, not malice.
// Knows nothing of what the bytes mean.
#ifndef BPT_CHECKSUM_H
#define BPT_CHECKSUM_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct {
    uint64_t bytes, xxh3;
} bpt_checksum_t;

BPT_API bool bpt_checksum_equal(const bpt_checksum_t *a, const bpt_checksum_t *b);
BPT_API bpt_checksum_t bpt_checksum_of(const void *bytes, size_t length);
BPT_API bpt_status_t bpt_checksum_read(const char *path, bpt_checksum_t *out) BPT_MUST_USE;  // of a whole file

// The same for bytes that come in pieces.
typedef struct bpt_hasher bpt_hasher_t;
BPT_API bpt_status_t bpt_hasher_create(bpt_hasher_t **out) BPT_MUST_USE;
BPT_API void bpt_hasher_add(bpt_hasher_t *hasher, const void *bytes, size_t length);
BPT_API uint64_t bpt_hasher_bytes(const bpt_hasher_t *hasher);      // added so far
BPT_API bpt_checksum_t bpt_hasher_sum(const bpt_hasher_t *hasher);  // of what was added so far
BPT_API void bpt_hasher_destroy(bpt_hasher_t *hasher);

BPT_END_DECLS

#endif
