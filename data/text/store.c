// Growing arrays that may be larger than memory (store.h).
#include "data/text/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/paths.h"

enum { FIRST_BYTES = 1 << 16, LEAST_ROOM = 4096, DEFAULT_MIB = 256 };

static bpt_status_t heap_limit(size_t *bytes) {
    uint64_t mib;
    BPT_TRY(bpt_env_number("BPT_TEXT_MEMORY", DEFAULT_MIB, &mib));
    *bytes = (size_t)mib << 20;
    return BPT_OK;
}

static bpt_status_t fail(int error) {
    return bpt_fail(BPT_ERR_IO,
                    "cannot keep a large text in %s: %s; make room there, or set TMPDIR to a folder on a disk that holds it (or "
                    "BPT_TEXT_MEMORY to the MiB of memory that a text may take)",
                    bpt_scratch_folder(), strerror(error));
}

static bpt_status_t open_file(bpt_store_t *s) {
    s->fd = bpt_scratch_open(bpt_scratch_folder());
    if (s->fd < 0) return fail(errno);
    s->has_file = true;
    return BPT_OK;
}

// The heap's bytes to the end of the file: by write, which reports a full disk; through a mapping it would be a signal.
static bpt_status_t spill(bpt_store_t *s) {
    if (!s->has_file) BPT_TRY(open_file(s));
    for (size_t done = 0; done < s->used;) {
        const ssize_t put = write(s->fd, s->heap + done, s->used - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return fail(put ? errno : ENOSPC);
        done += (size_t)put;
    }
    s->in_file += s->used;
    s->used = 0;
    return BPT_OK;
}

bpt_status_t bpt_store_room(bpt_store_t *s, char **at, size_t *room) {
    if (s->capacity - s->used < LEAST_ROOM) {
        size_t limit;
        BPT_TRY(heap_limit(&limit));
        if (s->capacity < limit) {
            const size_t wanted = !s->capacity ? FIRST_BYTES : 2 * s->capacity < limit ? 2 * s->capacity : limit;
            BPT_TRY(bpt_realloc(&s->heap, wanted, 1));
            s->capacity = wanted;
        } else {
            BPT_TRY(spill(s));
        }
    }
    *at = s->heap + s->used;
    *room = s->capacity - s->used;
    return BPT_OK;
}

void bpt_store_added(bpt_store_t *s, size_t bytes) { s->used += bytes; }

uint64_t bpt_store_size(const bpt_store_t *s) { return s->in_file + s->used; }

bpt_status_t bpt_store_append(bpt_store_t *s, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        char *at = NULL;
        size_t room = s->capacity - s->used;
        if (room < count - done)
            BPT_TRY(bpt_store_room(s, &at, &room));
        else
            at = s->heap + s->used;
        const size_t part = room < count - done ? room : count - done;
        memcpy(at, (const char *)bytes + done, part);
        s->used += part;
        done += part;
    }
    return BPT_OK;
}

bpt_status_t bpt_store_finish(bpt_store_t *s, const void **data, uint64_t *bytes) {
    if (s->has_file) {
        BPT_TRY(spill(s));
        bpt_free(s->heap);
        s->heap = NULL;
        s->capacity = 0;
        s->map = bpt_scratch_map(s->fd, s->in_file);
        if (!s->map) return fail(errno);
    }
    *data = s->has_file ? s->map : s->used ? s->heap : NULL;
    *bytes = s->has_file ? s->in_file : s->used;
    return BPT_OK;
}

void bpt_store_free(bpt_store_t *s) {
    if (s->map) bpt_scratch_unmap(s->map, s->in_file);
    if (s->has_file) close(s->fd);
    bpt_free(s->heap);
    *s = (bpt_store_t){0};
}
