// A folder of results that spare work at the next start: compiled kernels, a driver's pipeline data, verdicts of the self-test. Whatever is
// wrong with it is a miss, never an error. Knows no API and not what it holds.
//
// The folder is $BPT_CACHE_DIR, else $XDG_CACHE_HOME/bpt, else ~/.cache/bpt; BPT_DISABLE=cache does without. It may be deleted at any time.
// Beyond 512 MiB (BPT_CACHE_MIB) the entries that were not used for the longest time go.
#ifndef BPT_GPU_CACHE_H
#define BPT_GPU_CACHE_H

#include "bpt/status.h"

typedef struct {
    char kind[16];
    uint64_t low, high;
} bpt_cache_key_t;

// The key of all that decides the result: text, options, device, driver. The version of bpt is always part of it.
bpt_cache_key_t bpt_cache_key(const char *kind, const char *const *parts, int n_parts);
// True: *data are the bytes that were put, proved by their checksum, with a NUL behind them; freed with bpt_free. Leaves the error record
// as it is, as does put.
bool bpt_cache_get(const bpt_cache_key_t *key, void **data, size_t *length);
// Replaces the entry as a whole, so that several programs may share a folder. Where it cannot be written there is no cache.
void bpt_cache_put(const bpt_cache_key_t *key, const void *data, size_t length);
// The folder, freed with bpt_free; NULL: there is none. It need not exist yet.
bpt_status_t bpt_cache_folder(char **out) BPT_MUST_USE;
// Where the entries of a folder are more than `most_bytes`, deletes as many as leave three quarters of that. Other files stay.
bpt_status_t bpt_cache_prune(const char *folder, uint64_t most_bytes) BPT_MUST_USE;

#endif
