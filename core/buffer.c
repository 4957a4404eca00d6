// Device memory for whoever must not know backends (see bpt/buffer.h).
#include "bpt/buffer.h"

#include "bpt/backend.h"

bpt_status_t bpt_buffer_create(bpt_device_t *device, size_t bytes, bpt_buffer_t **out) {
    return device->backend->buffer_create(device, bytes ? bytes : 1, out);
}
void bpt_buffer_destroy(bpt_device_t *device, bpt_buffer_t *buffer) {
    if (buffer) device->backend->buffer_destroy(device, buffer);
}
bpt_status_t bpt_buffer_write(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes) {
    return bytes ? device->backend->write(device, buffer, offset, source, bytes) : BPT_OK;
}
bpt_status_t bpt_buffer_read(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes) {
    return bytes ? device->backend->read(device, buffer, offset, target, bytes) : BPT_OK;
}
