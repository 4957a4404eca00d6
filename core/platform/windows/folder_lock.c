// The lock of a folder by LockFileEx (see bpt/file.h). As long as a file in it is open, Windows lets nobody rename or delete the folder, so
// that its name stays what it was.
#include <fcntl.h>
#include <io.h>
#include <unistd.h>
#include <windows.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "core/io/folder_lock.h"
#include "core/io/path_error.h"
#include "core/io/temporary.h"
#include "core/platform/files.h"
#include "core/platform/windows/errors.h"

struct bpt_folder_lock {
    int fd;  // of the file
};

// Beyond the number of the process, which others read: what is locked can be read by nobody else.
static OVERLAPPED locked_byte(void) { return (OVERLAPPED){.OffsetHigh = 1}; }

static bool lock_byte(int fd, DWORD kind) {
    OVERLAPPED place = locked_byte();
    return LockFileEx((HANDLE)_get_osfhandle(fd), kind | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place);
}

static bpt_status_t lock_file(int fd, const char *folder, const char *path) {
    char text[32];
    if (!lock_byte(fd, LOCKFILE_EXCLUSIVE_LOCK)) {
        const DWORD error = GetLastError();
        return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? bpt_folder_lock_fail_held(fd, folder)
                                                                          : bpt_fail_path("lock", path, bpt_windows_errno(error));
    }
    const int length = snprintf(text, sizeof text, "%lu\n", GetCurrentProcessId());
    errno = ENOSPC;  // the reason of a short write
    if (!_chsize_s(fd, 0) && pwrite(fd, text, (size_t)length, 0) == length) return BPT_OK;
    return bpt_fail_path("write", path, errno);
}

bpt_status_t bpt_folder_lock_acquire(const char *folder, bpt_folder_lock_t **out) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/.lock", folder));
    bpt_folder_lock_t *lock = NULL;
    bpt_status_t status = bpt_alloc(1, sizeof *lock, &lock);
    if (status == BPT_OK) {
        lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        status = lock->fd < 0 ? bpt_fail_path("lock", path, errno) : lock_file(lock->fd, folder, path);
        if (status != BPT_OK) bpt_folder_lock_release(lock);
    }
    bpt_free(path);
    if (status == BPT_OK) *out = lock;
    return status;
}

bpt_status_t bpt_folder_lock_look(const char *path, bool *held) {
    *held = false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? BPT_OK : bpt_fail_path("open", path, errno);
    const DWORD error = lock_byte(fd, 0) ? 0 : GetLastError();
    close(fd);
    *held = error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING;
    return error && !*held ? bpt_fail_path("lock", path, bpt_windows_errno(error)) : BPT_OK;
}

bpt_status_t bpt_folder_lock_find(const bpt_folder_lock_t *lock, const char *folder, char **moved) {
    (void)lock;
    *moved = NULL;
    return bpt_folder_exists(folder) ? BPT_OK : bpt_folder_lock_fail_deleted(folder, (int)strlen(folder));
}

bpt_status_t bpt_folder_lock_append(const bpt_folder_lock_t *lock, const char *path, const void *bytes, size_t length) {
    (void)lock;
    return bpt_append_to(open(path, BPT_APPEND_FLAGS, 0666), path, bytes, length);
}

bool bpt_folder_lock_has(const bpt_folder_lock_t *lock, const char *path) {
    bool folder;
    return (void)lock, !bpt_path_leads(path, &folder);
}

void bpt_folder_lock_remove(const bpt_folder_lock_t *lock, const char *path) { (void)lock, (void)bpt_name_remove(path, false); }

bpt_status_t bpt_folder_lock_ensure(const bpt_folder_lock_t *lock, const char *path, bool *created) {
    *created = false;
    if (bpt_folder_lock_has(lock, path)) return BPT_OK;
    const int error = bpt_folder_make(path);
    if (error) return bpt_fail_path("create folder", path, error);
    *created = true;
    return BPT_OK;
}

void bpt_folder_lock_release(bpt_folder_lock_t *lock) {
    if (!lock) return;
    if (lock->fd >= 0) close(lock->fd);  // the file stays: removing it would let two processes lock two files of one name
    bpt_free(lock);
}
