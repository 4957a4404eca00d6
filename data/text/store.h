// Bytes that may be more than memory holds: appended, then read as one array. Knows nothing of what they mean.
//
// Up to a limit (256 MiB; BPT_TEXT_MEMORY=N says N MiB) they lie on the heap. More of them lie in a file without a name in $TMPDIR, else in
// /var/tmp, that is mapped: the kernel keeps as much of it in memory as there is room for, and no other program can reach it, so none can
// shorten it under us.
#ifndef BPT_DATA_STORE_H
#define BPT_DATA_STORE_H

#include "bpt/status.h"

// Zero-initialised: empty and valid. Moves by assignment.
typedef struct {
    char *heap;  // what is not in the file
    size_t used, capacity;
    bool has_file;
    int fd;
    uint64_t in_file;
    void *map;  // of all of the file, once finished
} bpt_store_t;

// Room for the next bytes, at least one page; bpt_store_added says how many were put there. BPT_ERR_IO names the folder that is full.
bpt_status_t bpt_store_room(bpt_store_t *store, char **at, size_t *room) BPT_MUST_USE;
void bpt_store_added(bpt_store_t *store, size_t bytes);
uint64_t bpt_store_size(const bpt_store_t *store);  // bytes that were added
bpt_status_t bpt_store_append(bpt_store_t *store, const void *bytes, size_t count) BPT_MUST_USE;

// Nothing is added any more; *data has *bytes bytes and lives as long as the store, NULL when there are none.
bpt_status_t bpt_store_finish(bpt_store_t *store, const void **data, uint64_t *bytes) BPT_MUST_USE;
void bpt_store_free(bpt_store_t *store);

#endif
