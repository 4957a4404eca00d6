// libFuzzer: any bytes as a safetensors file. Whatever opens must read completely, as raw bytes and as f32.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/safetensors.h"

static void read_everything(const bpt_safetensors_t *file) {
    for (size_t i = 0; i < bpt_safetensors_count(file); ++i) {
        const bpt_safetensors_tensor_t *t = bpt_safetensors_at(file, i);
        if (bpt_safetensors_find(file, t->name) != t) abort();
        void *raw;
        float *floats;
        if (bpt_alloc((size_t)t->bytes, 1, &raw) != BPT_OK || bpt_alloc((size_t)t->count, sizeof *floats, &floats) != BPT_OK) abort();
        if (bpt_safetensors_read(file, t, 0, t->count, raw) != BPT_OK) abort();
        const bpt_status_t status = bpt_safetensors_read_f32(file, t, 0, t->count, floats);
        if (status != BPT_OK && status != BPT_ERR_INPUT) abort();
        bpt_free(raw);
        bpt_free(floats);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int fd = memfd_create("input", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    bpt_safetensors_t *file;
    const bpt_status_t status = bpt_safetensors_open(path, &file);
    if (status == BPT_OK) {
        read_everything(file);
        bpt_safetensors_close(file);
    } else if (status != BPT_ERR_INPUT || !*bpt_error_message()) {
        abort();
    }
    close(fd);
    if (bpt_alloc_live()) abort();
    return 0;
}
