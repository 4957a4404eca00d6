// Keeping the cache small (see cache.h): the entries that were not used for the longest time go.
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/paths.h"

enum { HEX_DIGITS = 32 };

typedef struct {
    char *name;  // borrowed
    bpt_path_info_t info;
} entry_t;

// KIND-<32 hexadecimal digits>: nothing else is ever deleted.
static bool is_entry(const char *name) {
    const char *digits = strrchr(name, '-');
    return digits && digits > name && strlen(digits + 1) == HEX_DIGITS && strspn(digits + 1, "0123456789abcdef") == HEX_DIGITS;
}

static int longest_unused_first(const void *a, const void *b) {
    const bpt_path_info_t *x = &((const entry_t *)a)->info, *y = &((const entry_t *)b)->info;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->nanoseconds < y->nanoseconds ? -1 : x->nanoseconds > y->nanoseconds;
}

static bpt_status_t find_entries(const char *folder, char **names, size_t count, entry_t *entries, size_t *n, uint64_t *bytes) {
    *n = 0, *bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        bpt_path_info_t info;
        char *path;
        if (!is_entry(names[i])) continue;
        BPT_TRY(bpt_path_format(&path, "%s/%s", folder, names[i]));
        const bool found = bpt_path_info(path, &info) && info.regular;
        bpt_free(path);
        if (!found) continue;
        entries[(*n)++] = (entry_t){names[i], info};
        *bytes += info.bytes;
    }
    return BPT_OK;
}

bpt_status_t bpt_cache_prune(const char *folder, uint64_t most_bytes) {
    char **names = NULL;
    size_t count = 0, n;
    uint64_t bytes;
    entry_t *entries = NULL;
    BPT_TRY(bpt_folder_list(folder, &names, &count));
    bpt_status_t status = bpt_alloc(count ? count : 1, sizeof *entries, &entries);
    if (status == BPT_OK) status = find_entries(folder, names, count, entries, &n, &bytes);
    if (status == BPT_OK && bytes > most_bytes) {
        qsort(entries, n, sizeof *entries, longest_unused_first);
        for (size_t i = 0; i < n && bytes > most_bytes / 4 * 3 && status == BPT_OK; ++i) {  // room for some time
            char *path;
            status = bpt_path_format(&path, "%s/%s", folder, entries[i].name);
            if (status != BPT_OK) break;
            bpt_path_unlink(path);  // another program may have been quicker
            bpt_free(path);
            bytes -= entries[i].info.bytes;
        }
    }
    bpt_free(entries);
    bpt_names_free(names, count);
    return status;
}
