// Bytes on disk (bpt/spill.h). The thread reads pieces into a ring of buffers, at most so many before the reader.
#include "bpt/spill.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "bpt/paths.h"

enum { RING = 4 };

typedef struct {
    char *bytes;
    size_t offset, length;
    int error;  // of reading it, 0 = none
} slot_t;

struct bpt_spill {
    int file;
    char *folder;
    size_t reserved;
    bpt_checksum_t *sums;  // of pieces, by number
    size_t n_sums;
    pthread_t thread;
    bool threaded, closing;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    slot_t ring[RING];
    size_t head, filled;  // the slot that is taken next, and how many are full
    size_t next, end;     // what the thread has still to read
    uint64_t request;     // counts read_ahead: what the thread reads for an older one is dropped
};

static bpt_status_t fail(const bpt_spill_t *s, const char *what, int error) {
    return bpt_fail(BPT_ERR_IO, "inputs of layers could not be %s in the folder '%s': %s; free space there or name another one (--offload)",
                    what, s->folder, strerror(error));
}

static int read_all(int file, char *bytes, size_t length, size_t offset) {
    while (length) {
        const ssize_t n = pread(file, bytes, length, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        bytes += n, offset += (size_t)n, length -= (size_t)n;
    }
    return 0;
}

static size_t piece_at(size_t offset, size_t end) { return end - offset < BPT_SPILL_PIECE ? end - offset : BPT_SPILL_PIECE; }

// ---- The thread

static void *read_pieces(void *user) {
    bpt_spill_t *s = user;
    pthread_mutex_lock(&s->lock);
    while (!s->closing) {
        if (s->next >= s->end || s->filled == RING) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        slot_t *slot = &s->ring[(s->head + s->filled) % RING];
        const uint64_t request = s->request;
        slot->offset = s->next;
        slot->length = piece_at(s->next, s->end);
        pthread_mutex_unlock(&s->lock);
        const int error = read_all(s->file, slot->bytes, slot->length, slot->offset);
        pthread_mutex_lock(&s->lock);
        if (request != s->request) continue;
        slot->error = error;
        s->next += slot->length;
        ++s->filled;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

// Without a thread, or memory for its buffers, nothing is read ahead.
static void start_thread(bpt_spill_t *s) {
    bool room = true;
    for (int i = 0; i < RING; ++i) room = room && (s->ring[i].bytes || bpt_alloc(BPT_SPILL_PIECE, 1, &s->ring[i].bytes) == BPT_OK);
    s->threaded = room && pthread_create(&s->thread, NULL, read_pieces, s) == 0;
}

void bpt_spill_read_ahead(bpt_spill_t *s, size_t offset, size_t length) {
    if (!s->threaded) start_thread(s);
    if (!s->threaded) return;
    bpt_scratch_will_read(s->file, offset, length);
    pthread_mutex_lock(&s->lock);
    ++s->request;
    s->head = s->filled = 0;
    s->next = offset;
    s->end = offset + length;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

// Takes a piece that the thread has read or is going to read next; false: it is no such piece.
static bool take(bpt_spill_t *s, size_t offset, void *bytes, size_t length, int *error) {
    if (!s->threaded) return false;
    pthread_mutex_lock(&s->lock);
    const bool coming = s->filled ? s->ring[s->head].offset == offset : s->next == offset && s->next < s->end;
    while (coming && !s->filled) pthread_cond_wait(&s->changed, &s->lock);
    slot_t *slot = &s->ring[s->head];
    const bool fits = coming && slot->length == length;
    if (fits) {
        memcpy(bytes, slot->bytes, length);
        *error = slot->error;
        s->head = (s->head + 1) % RING;
        --s->filled;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return fits;
}

// ---- The file

bpt_status_t bpt_spill_create(const char *folder, bpt_spill_t **out) {
    bpt_spill_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->file = -1;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    bpt_status_t status = bpt_strdup(folder, &s->folder);
    if (status == BPT_OK && (s->file = bpt_scratch_open(folder)) < 0)
        status =
            bpt_fail(BPT_ERR_IO, "no file can be made in the folder '%s': %s; name a folder that exists and can be written (--offload)",
                     folder, strerror(errno));
    if (status == BPT_OK)
        *out = s;
    else
        bpt_spill_destroy(s);
    return status;
}

void bpt_spill_destroy(bpt_spill_t *s) {
    if (!s) return;
    if (s->threaded) {
        pthread_mutex_lock(&s->lock);
        s->closing = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        (void)pthread_join(s->thread, NULL);
    }
    for (int i = 0; i < RING; ++i) bpt_free(s->ring[i].bytes);
    if (s->file >= 0) (void)close(s->file);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    bpt_free(s->folder);
    bpt_free(s->sums);
    bpt_free(s);
}

bpt_status_t bpt_spill_reserve(bpt_spill_t *s, size_t bytes) {
    if (bytes <= s->reserved) return BPT_OK;
    const size_t pieces = (bytes + BPT_SPILL_PIECE - 1) / BPT_SPILL_PIECE;
    bpt_checksum_t *sums;
    BPT_TRY(bpt_alloc(pieces, sizeof *sums, &sums));
    if (s->n_sums) memcpy(sums, s->sums, s->n_sums * sizeof *sums);
    bpt_free(s->sums);
    s->sums = sums;
    s->n_sums = pieces;
    const int error = bpt_scratch_reserve(s->file, bytes);
    if (error) return fail(s, "given room", error);
    s->reserved = bytes;
    return BPT_OK;
}

bpt_status_t bpt_spill_write(bpt_spill_t *s, size_t offset, const void *bytes, size_t length) {
    s->sums[offset / BPT_SPILL_PIECE] = bpt_checksum_of(bytes, length);
    for (size_t done = 0; done < length;) {
        const ssize_t n = pwrite(s->file, (const char *)bytes + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail(s, "written", n < 0 ? errno : ENOSPC);
        done += (size_t)n;
    }
    return BPT_OK;
}

bpt_status_t bpt_spill_read(bpt_spill_t *s, size_t offset, void *bytes, size_t length) {
    int error = 0;
    if (!take(s, offset, bytes, length, &error)) error = read_all(s->file, bytes, length, offset);
    if (error) return fail(s, "read back", error);
    const bpt_checksum_t sum = bpt_checksum_of(bytes, length);
    if (bpt_checksum_equal(&sum, &s->sums[offset / BPT_SPILL_PIECE])) return BPT_OK;
    return bpt_fail(BPT_ERR_IO,
                    "inputs of layers have come back from the folder '%s' other than they were written: its disk is damaged; name "
                    "another folder (--offload)",
                    s->folder);
}
