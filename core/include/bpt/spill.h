// Bytes that wait on disk for memory that something else needs meanwhile: a file without a name, which is gone when it is closed, whatever
// happens to the process. Pieces have checksums. What is going to be read can be read ahead, by a thread. Knows nothing of what the bytes
// mean.
#ifndef BPT_SPILL_H
#define BPT_SPILL_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct bpt_spill bpt_spill_t;

enum { BPT_SPILL_PIECE = 4 << 20 };  // bytes; everything begins at a multiple of it

// In a folder that exists.
BPT_API bpt_status_t bpt_spill_create(const char *folder, bpt_spill_t **out) BPT_MUST_USE;
BPT_API void bpt_spill_destroy(bpt_spill_t *spill);
// Room for so many bytes, so that a disk that is too small is known at once; what has been written stays.
BPT_API bpt_status_t bpt_spill_reserve(bpt_spill_t *spill, size_t bytes) BPT_MUST_USE;
// One piece, or less at the end of what begins there.
BPT_API bpt_status_t bpt_spill_write(bpt_spill_t *spill, size_t offset, const void *bytes, size_t length) BPT_MUST_USE;
// As it was written, else an error.
BPT_API bpt_status_t bpt_spill_read(bpt_spill_t *spill, size_t offset, void *bytes, size_t length) BPT_MUST_USE;
// These bytes are read next, piece by piece in their order: bpt_spill_read waits for them where it would have to read.
BPT_API void bpt_spill_read_ahead(bpt_spill_t *spill, size_t offset, size_t length);

BPT_END_DECLS

#endif
