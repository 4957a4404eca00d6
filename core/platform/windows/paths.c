// Files and folders by kernel32 (see bpt/paths.h).
#include "bpt/paths.h"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <stdatomic.h>
#include <windows.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "core/platform/windows/errors.h"

bool bpt_path_info(const char *path, bpt_path_info_t *out) {
    WIN32_FILE_ATTRIBUTE_DATA data;
    if (!GetFileAttributesExA(path, GetFileExInfoStandard, &data)) return false;
    const uint64_t since_1601 = (uint64_t)data.ftLastWriteTime.dwHighDateTime << 32 | data.ftLastWriteTime.dwLowDateTime;  // in 100 ns
    *out = (bpt_path_info_t){.bytes = (uint64_t)data.nFileSizeHigh << 32 | data.nFileSizeLow,
                             .seconds = (int64_t)(since_1601 / 10000000) - 11644473600,
                             .nanoseconds = (int32_t)(since_1601 % 10000000) * 100,
                             .regular = !(data.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE))};
    return true;
}

static bool identify(const char *path, BY_HANDLE_FILE_INFORMATION *info) {
    HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    const bool known = GetFileInformationByHandle(file, info);
    CloseHandle(file);
    return known;
}

bool bpt_paths_same(const char *a, const char *b) {
    BY_HANDLE_FILE_INFORMATION x, y;
    return identify(a, &x) && identify(b, &y) && x.dwVolumeSerialNumber == y.dwVolumeSerialNumber && x.nFileIndexHigh == y.nFileIndexHigh &&
           x.nFileIndexLow == y.nFileIndexLow;
}

void bpt_path_touch(const char *path) {
    HANDLE file = CreateFileA(path, FILE_WRITE_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    FILETIME now;
    if (file == INVALID_HANDLE_VALUE) return;
    GetSystemTimeAsFileTime(&now);
    (void)SetFileTime(file, NULL, NULL, &now);
    CloseHandle(file);
}

void bpt_path_unlink(const char *path) { (void)DeleteFileA(path); }
void bpt_folder_drop(const char *path) { (void)RemoveDirectoryA(path); }

bool bpt_path_is_absolute(const char *path) { return bpt_path_separates(*path) || (*path && path[1] == ':'); }

bool bpt_path_separates(char c) { return c == '/' || c == '\\'; }

// Only the last part may be a pattern.
bpt_status_t bpt_paths_matching(const char *pattern, char ***paths, size_t *count) {
    WIN32_FIND_DATAA found;
    size_t capacity = 0, folder = 0;
    *paths = NULL;
    *count = 0;
    for (size_t i = 0; pattern[i]; ++i)
        if (bpt_path_separates(pattern[i]) || pattern[i] == ':') folder = i + 1;
    HANDLE search = FindFirstFileA(pattern, &found);
    if (search == INVALID_HANDLE_VALUE) return BPT_OK;
    bpt_status_t status = BPT_OK;
    do {
        status = bpt_grow(paths, *count, &capacity, sizeof **paths);
        if (status == BPT_OK) status = bpt_path_format(*paths + *count, "%.*s%s", (int)folder, pattern, found.cFileName);
        *count += status == BPT_OK;
    } while (status == BPT_OK && FindNextFileA(search, &found));
    FindClose(search);
    if (status != BPT_OK) {
        bpt_names_free(*paths, *count);
        *paths = NULL;
        *count = 0;
    }
    return status;
}

static const char *folder_for_temporaries(void) {
    static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
    for (size_t i = 0; i < BPT_COUNT(variables); ++i) {
        const char *named = getenv(variables[i]);
        if (named && *named) return named;
    }
    return ".";
}

static unsigned serial(void) {
    static atomic_uint next;
    return atomic_fetch_add(&next, 1);
}

bool bpt_folder_temporary(char *path, size_t bytes) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
        snprintf(path, bytes, "%s/bpt-%lu-%u", folder_for_temporaries(), GetCurrentProcessId(), serial());
        if (CreateDirectoryA(path, NULL)) return true;
        errno = bpt_windows_failed();
        if (errno != EEXIST) return false;
    }
    return false;
}

// ---- Files without a name: here they have one until they are closed, also by the end of the process

const char *bpt_scratch_folder(void) { return folder_for_temporaries(); }

int bpt_scratch_open(const char *folder) {
    int file = -1;
    errno = EEXIST;
    for (int attempt = 0; attempt < 1000 && file < 0 && errno == EEXIST; ++attempt) {
        char *path;
        if (bpt_path_format(&path, "%s/.tmp-%lu-%u", folder, GetCurrentProcessId(), serial()) != BPT_OK) return -1;
        file = _open(path, _O_CREAT | _O_EXCL | _O_RDWR | _O_BINARY | _O_TEMPORARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
        bpt_free(path);
    }
    return file;
}

int bpt_scratch_reserve(int file, uint64_t bytes) {
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    FILE_END_OF_FILE_INFO end = {.EndOfFile = {.QuadPart = (LONGLONG)bytes}};
    return SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end) ? 0 : bpt_windows_failed();
}

void bpt_scratch_will_read(int file, uint64_t offset, uint64_t bytes) { (void)file, (void)offset, (void)bytes; }

void *bpt_scratch_map(int file, size_t bytes) {
    HANDLE mapping = CreateFileMappingA((HANDLE)_get_osfhandle(file), NULL, PAGE_READONLY, 0, 0, NULL);
    void *memory = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes) : NULL;
    if (!memory) errno = bpt_windows_failed();
    if (mapping) CloseHandle(mapping);  // the view keeps it
    return memory;
}

void bpt_scratch_unmap(void *memory, size_t bytes) { (void)bytes, (void)UnmapViewOfFile(memory); }
