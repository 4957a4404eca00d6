// libFuzzer: any bytes as a file, packed or not. It is read to its end or refused, the same in rooms of any size.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "data/text/input.h"

enum { MOST_BYTES = 1 << 17 };  // of what a few bytes may unpack to

static void require(bool condition) {
    if (!condition) abort();
}

// Reads it all; the sum of what came, and whether it was all that there is.
static bpt_status_t read_all(const char *path, size_t room, bpt_checksum_t *sum) {
    static char buffer[1 << 16];
    bpt_input_t *input;
    bpt_hasher_t *hasher;
    size_t total = 0, got = 1;
    bpt_status_t status = bpt_input_open(path, &input);
    require(status == BPT_OK && bpt_hasher_create(&hasher) == BPT_OK);
    while (status == BPT_OK && got && total < MOST_BYTES) {
        status = bpt_input_read(input, buffer, total + room < MOST_BYTES ? room : MOST_BYTES - total, &got);
        if (status != BPT_OK) break;
        require(got <= room);
        bpt_hasher_add(hasher, buffer, got);
        total += got;
    }
    *sum = bpt_hasher_sum(hasher);
    bpt_hasher_destroy(hasher);
    bpt_input_close(input);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char path[64];
    bpt_checksum_t one, other;
    const size_t live = bpt_alloc_live();
    const int fd = memfd_create("packed", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const bpt_status_t status = read_all(path, 1 << 16, &one), again = read_all(path, 1 + bytes % 300, &other);
    require(status == again);
    if (status == BPT_OK) require(!memcmp(&one, &other, sizeof one));
    close(fd);
    bpt_error_clear();
    require(bpt_alloc_live() == live);
    return 0;
}
