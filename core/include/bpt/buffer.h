// Device memory that outlives programs: parameters, gradients, moments, caches. Bound to programs as states (program.h).
#ifndef BPT_BUFFER_H
#define BPT_BUFFER_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

struct bpt_device;
struct bpt_buffer;

BPT_API bpt_status_t bpt_buffer_create(struct bpt_device *device, size_t bytes, struct bpt_buffer **out) BPT_MUST_USE;  // zeroed
BPT_API void bpt_buffer_destroy(struct bpt_device *device, struct bpt_buffer *buffer);                                  // NULL is fine
BPT_API bpt_status_t bpt_buffer_write(struct bpt_device *device, struct bpt_buffer *buffer, size_t offset, const void *source,
                                      size_t bytes) BPT_MUST_USE;
BPT_API bpt_status_t bpt_buffer_read(struct bpt_device *device, struct bpt_buffer *buffer, size_t offset, void *target,
                                     size_t bytes) BPT_MUST_USE;

BPT_END_DECLS

#endif
