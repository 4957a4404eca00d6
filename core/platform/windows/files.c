// Names, links and the disk (see core/platform/files.h).
#include "core/platform/files.h"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

#include "core/platform/windows/errors.h"

// Virus scanners and indexers hold files open for a moment, and what is open cannot be renamed or removed.
enum { ATTEMPTS = 40, PAUSE_MS = 25 };

static bool is_held(DWORD error) { return error == ERROR_SHARING_VIOLATION || error == ERROR_ACCESS_DENIED || error == ERROR_LOCK_VIOLATION; }

static DWORD attributes(const char *path) { return GetFileAttributesA(path); }

static bool is_folder(DWORD attributes) { return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY); }

// A symbolic link to a folder, such as a run from Linux has, is not replaced in one step: killed in between, there is none, and the run goes
// on from its last checkpoint.
int bpt_name_replace(const char *from, const char *to) {
    const bool folder = is_folder(attributes(from));
    if (!folder && bpt_is_link(to) && !RemoveDirectoryA(to)) (void)DeleteFileA(to);
    if (folder && attributes(to) != INVALID_FILE_ATTRIBUTES) return EEXIST;  // no folder is replaced in one step
    const DWORD flags = MOVEFILE_WRITE_THROUGH | (folder ? 0 : MOVEFILE_REPLACE_EXISTING);
    for (int attempt = 0;; ++attempt) {
        if (MoveFileExA(from, to, flags)) return 0;
        if (!is_held(GetLastError()) || attempt == ATTEMPTS) return bpt_windows_failed();
        Sleep(PAUSE_MS);
    }
}

int bpt_names_exchange(const char *a, const char *b) { return (void)a, (void)b, ENOSYS; }

// Names are durable when MoveFileEx returns, and folders have nothing to flush.
int bpt_path_flush(const char *path) {
    if (is_folder(attributes(path))) return 0;
    const int fd = _open(path, _O_RDWR | _O_BINARY | _O_NOINHERIT);
    if (fd < 0) return errno;
    const int error = _commit(fd) ? errno : 0;
    _close(fd);
    return error;
}

int bpt_folder_flush(const char *path) { return is_folder(attributes(path)) ? 0 : ENOENT; }

int bpt_folder_make(const char *path) { return CreateDirectoryA(path, NULL) ? 0 : bpt_windows_failed(); }

int bpt_path_leads(const char *path, bool *folder) {
    const DWORD found = attributes(path);
    errno = found == INVALID_FILE_ATTRIBUTES ? bpt_windows_failed() : 0;
    *folder = is_folder(found);
    return errno;
}

int bpt_is_folder(const char *path, bool *folder) {
    const DWORD found = attributes(path);
    if (found == INVALID_FILE_ATTRIBUTES) return bpt_windows_failed();
    *folder = is_folder(found) && !(found & FILE_ATTRIBUTE_REPARSE_POINT);
    return 0;
}

int bpt_name_remove(const char *path, bool folder) {
    const bool as_folder = folder || is_folder(attributes(path));  // a link to a folder goes like a folder
    for (int attempt = 0;; ++attempt) {
        if (as_folder ? RemoveDirectoryA(path) : DeleteFileA(path)) return 0;
        if (!is_held(GetLastError()) || attempt == ATTEMPTS) return bpt_windows_failed();
        Sleep(PAUSE_MS);
    }
}

// Only some users may make symbolic links.
int bpt_link_make(const char *target, const char *link) {
    const int fd = _open(link, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
    if (fd < 0) return errno;
    const unsigned length = (unsigned)strlen(target);
    int error = _write(fd, target, length) != (int)length || _write(fd, "\n", 1) != 1 || _commit(fd) ? errno : 0;
    if (_close(fd) && !error) error = errno;
    if (error) (void)DeleteFileA(link);
    return error;
}

bool bpt_is_link(const char *path) {
    const DWORD found = attributes(path);
    return found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_REPARSE_POINT);
}

// Of a symbolic link the whole path to which it leads.
bool bpt_link_target(const char *link, char *target, size_t bytes) {
    enum { PREFIX = 4 };  // of "\\?\C:\.."
    char full[MAX_PATH * 4];
    if (!bpt_is_link(link)) return false;
    HANDLE file = CreateFileA(link, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS,
                              NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    const DWORD length = GetFinalPathNameByHandleA(file, full, sizeof full, FILE_NAME_NORMALIZED);
    CloseHandle(file);
    if (length <= PREFIX || length >= sizeof full || length - PREFIX >= bytes) return false;
    for (char *c = full; *c; ++c)
        if (*c == '\\') *c = '/';
    snprintf(target, bytes, "%s", full + PREFIX);
    return true;
}

const char *bpt_home_folder(void) {
    const char *home = getenv("HOME"), *profile = getenv("USERPROFILE");  // the first from a shell such as that of Git
    return home && *home ? home : profile && *profile ? profile : NULL;
}

int bpt_file_is_endless(int file, bool *endless) { return (void)file, *endless = false, 0; }

void bpt_pipe_widen(int file, int bytes) { (void)file, (void)bytes; }

bool bpt_file_has_input(int file) {
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    DWORD waiting;
    if (GetFileType(handle) == FILE_TYPE_CHAR) return WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    return GetFileType(handle) != FILE_TYPE_PIPE || !PeekNamedPipe(handle, NULL, 0, NULL, &waiting, NULL) || waiting;
}

int bpt_disk_free(const char *path, uint64_t *bytes) {
    ULARGE_INTEGER free_bytes;
    if (!GetDiskFreeSpaceExA(path, &free_bytes, NULL, NULL)) return bpt_windows_failed();
    *bytes = free_bytes.QuadPart;
    return 0;
}
