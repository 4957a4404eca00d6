// Entries of the cache (see cache.h): one file each, a header and the payload.
#include "backends/gpu/cache.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/paths.h"

static const size_t MAX_ENTRY_BYTES = (size_t)256 << 20;
enum { DEFAULT_MIB = 512 };
static const char MAGIC[8] = {'b', 'p', 't', 'c', 'a', 'c', 'h', '1'};

typedef struct {
    char magic[8];
    uint64_t key_low, key_high, length, checksum_low, checksum_high;
} header_t;

bpt_cache_key_t bpt_cache_key(const char *kind, const char *const *parts, int n_parts) {
    bpt_cache_key_t key = {.low = 0};
    XXH128_hash_t hash = XXH3_128bits(BPT_VERSION_STRING, sizeof BPT_VERSION_STRING);
    strncpy(key.kind, kind, sizeof key.kind - 1);
    for (int i = 0; i < n_parts; ++i) {
        const XXH128_hash_t part = XXH3_128bits(parts[i], strlen(parts[i]));
        const uint64_t both[4] = {hash.low64, hash.high64, part.low64, part.high64};
        hash = XXH3_128bits(both, sizeof both);
    }
    key.low = hash.low64;
    key.high = hash.high64;
    return key;
}

static header_t header_of(const bpt_cache_key_t *key, const void *data, size_t length) {
    const XXH128_hash_t checksum = XXH3_128bits(data, length);
    header_t header = {
        .key_low = key->low, .key_high = key->high, .length = length, .checksum_low = checksum.low64, .checksum_high = checksum.high64};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    return header;
}

// ---- The folder ------------------------------------------------------------------------------------------------------

bpt_status_t bpt_cache_folder(char **out) {
    *out = NULL;
    return bpt_env_disabled("cache") ? BPT_OK : bpt_user_folder("BPT_CACHE_DIR", "XDG_CACHE_HOME", ".cache", out);
}

// Once in a process, before it writes its first entry.
static bpt_status_t prune_once(const char *folder) {
    static atomic_flag pruned = ATOMIC_FLAG_INIT;
    uint64_t mib;
    if (atomic_flag_test_and_set(&pruned)) return BPT_OK;
    BPT_TRY(bpt_env_number("BPT_CACHE_MIB", DEFAULT_MIB, &mib));
    return bpt_cache_prune(folder, mib << 20);
}

// *out NULL: there is no cache.
static bpt_status_t entry_path(const bpt_cache_key_t *key, bool create, char **out) {
    char *folder;
    *out = NULL;
    BPT_TRY(bpt_cache_folder(&folder));
    if (!folder) return BPT_OK;
    bpt_status_t status = create ? bpt_folders_create(folder) : BPT_OK;
    if (status == BPT_OK && create) status = prune_once(folder);
    if (status == BPT_OK) status = bpt_path_format(out, "%s/%s-%016" PRIx64 "%016" PRIx64, folder, key->kind, key->high, key->low);
    bpt_free(folder);
    return status;
}

// ---- Entries ---------------------------------------------------------------------------------------------------------

static bool proved(const bpt_cache_key_t *key, const char *file, size_t bytes) {
    header_t header;
    if (bytes < sizeof header) return false;
    const header_t wanted = header_of(key, file + sizeof header, bytes - sizeof header);
    memcpy(&header, file, sizeof header);
    return !memcmp(&header, &wanted, sizeof header);
}

static bpt_status_t read_entry(const bpt_cache_key_t *key, char **file, size_t *bytes) {
    char *path;
    BPT_TRY(entry_path(key, false, &path));
    bpt_status_t status = BPT_OK;
    if (path && bpt_file_exists(path)) {
        bpt_path_touch(path);  // used now
        status = bpt_file_read(path, MAX_ENTRY_BYTES, file, bytes);
        if (status == BPT_OK && !proved(key, *file, *bytes)) status = bpt_fail(BPT_ERR_INPUT, "%s is damaged", path);
    }
    bpt_free(path);
    return status;
}

static bpt_status_t write_entry(const bpt_cache_key_t *key, const void *data, size_t length) {
    const header_t header = header_of(key, data, length);
    char *path, *file = NULL;
    BPT_TRY(entry_path(key, true, &path));
    if (!path) return BPT_OK;
    bpt_status_t status = bpt_alloc(sizeof header + length, 1, &file);
    if (status == BPT_OK) {
        memcpy(file, &header, sizeof header);
        if (length) memcpy(file + sizeof header, data, length);
        status = bpt_file_write(path, file, sizeof header + length);
        // What is in the way may be a folder, or a file that may not be written.
        if (status == BPT_ERR_IO && bpt_path_remove(path) == BPT_OK) status = bpt_file_write(path, file, sizeof header + length);
    }
    bpt_free(file);
    bpt_free(path);
    return status;
}

// ---- Without errors --------------------------------------------------------------------------------------------------
// A message that a caller is about to report stays as it is: devices are closed after errors too.

enum { MESSAGE_BYTES = 1024 };

static void forget(bpt_status_t status, const char *doing, const char *message) {
    if (status == BPT_OK) return;
    bpt_debug("cache: %s: %s", doing, bpt_error_message());
    bpt_error_clear();
    if (*message) status = bpt_fail(status, "%s", message);
}

static void remember(char message[MESSAGE_BYTES]) {
    message[0] = '\0';
    strncat(message, bpt_error_message(), MESSAGE_BYTES - 1);
}

bool bpt_cache_get(const bpt_cache_key_t *key, void **data, size_t *length) {
    char message[MESSAGE_BYTES], *file = NULL;
    size_t bytes = 0;
    remember(message);
    const bpt_status_t status = read_entry(key, &file, &bytes);
    forget(status, "not used", message);
    if (status != BPT_OK || !file) {
        bpt_free(file);
        return false;
    }
    *length = bytes - sizeof(header_t);
    memmove(file, file + sizeof(header_t), *length + 1);  // with the NUL behind it
    *data = file;
    return true;
}

void bpt_cache_put(const bpt_cache_key_t *key, const void *data, size_t length) {
    char message[MESSAGE_BYTES];
    remember(message);
    forget(write_entry(key, data, length), "not written", message);
}
