// Checksums of files (see bpt/checksum.h).
#include "bpt/checksum.h"

#include <xxhash.h>

#include "bpt/alloc.h"
#include "bpt/file.h"

bool bpt_checksum_equal(const bpt_checksum_t *a, const bpt_checksum_t *b) { return a->bytes == b->bytes && a->xxh3 == b->xxh3; }

bpt_checksum_t bpt_checksum_of(const void *bytes, size_t length) { return (bpt_checksum_t){length, XXH3_64bits(bytes, length)}; }

struct bpt_hasher {
    XXH3_state_t *state;
    uint64_t bytes;
};

bpt_status_t bpt_hasher_create(bpt_hasher_t **out) {
    bpt_hasher_t *h;
    BPT_TRY(bpt_alloc(1, sizeof *h, &h));
    h->state = XXH3_createState();
    if (!h->state) {
        bpt_hasher_destroy(h);
        return bpt_fail(BPT_ERR_NO_MEMORY, "no memory for a checksum; close other programs");
    }
    XXH3_64bits_reset(h->state);
    *out = h;
    return BPT_OK;
}

void bpt_hasher_add(bpt_hasher_t *h, const void *bytes, size_t length) {
    XXH3_64bits_update(h->state, bytes, length);
    h->bytes += length;
}

uint64_t bpt_hasher_bytes(const bpt_hasher_t *h) { return h->bytes; }
bpt_checksum_t bpt_hasher_sum(const bpt_hasher_t *h) { return (bpt_checksum_t){h->bytes, XXH3_64bits_digest(h->state)}; }

void bpt_hasher_destroy(bpt_hasher_t *h) {
    if (!h) return;
    XXH3_freeState(h->state);
    bpt_free(h);
}

static bpt_status_t add_file(bpt_hasher_t *h, bpt_file_reader_t *reader, void *block, size_t room) {
    for (size_t got = 1; got;) {
        BPT_TRY(bpt_file_reader_read(reader, block, room, &got));
        bpt_hasher_add(h, block, got);
    }
    return BPT_OK;
}

bpt_status_t bpt_checksum_read(const char *path, bpt_checksum_t *out) {
    enum { BLOCK_BYTES = 1 << 20 };
    bpt_file_reader_t *reader;
    bpt_hasher_t *h = NULL;
    void *block = NULL;
    BPT_TRY(bpt_file_reader_open(path, &reader));
    bpt_status_t status = bpt_hasher_create(&h);
    if (status == BPT_OK) status = bpt_alloc(BLOCK_BYTES, 1, &block);
    if (status == BPT_OK) status = add_file(h, reader, block, BLOCK_BYTES);
    if (status == BPT_OK) *out = bpt_hasher_sum(h);
    bpt_free(block);
    bpt_hasher_destroy(h);
    bpt_file_reader_close(reader);
    return status;
}
