// Whole files: read, append, atomic replacement (see bpt/file.h).
#include "bpt/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/paths.h"
#include "core/io/path_error.h"
#include "core/io/temporary.h"
#include "core/platform/files.h"

bpt_status_t bpt_path_format(char **out, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    bpt_status_t status = length < 0 ? bpt_fail(BPT_ERR_INTERNAL, "unprintable path") : bpt_alloc((size_t)length + 1, 1, out);
    if (status == BPT_OK) vsnprintf(*out, (size_t)length + 1, format, again);
    va_end(again);
    return status;
}

bool bpt_file_exists(const char *path) {
    bool folder;
    return !bpt_path_leads(path, &folder) && !folder;
}

bool bpt_folder_exists(const char *path) {
    bool folder;
    return !bpt_path_leads(path, &folder) && folder;
}

// ---- reading

static bpt_status_t read_some(int fd, const char *path, void *buffer, size_t room, size_t *got) {
    ssize_t bytes;
    do bytes = read(fd, buffer, room);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0) return bpt_fail_path("read", path, errno);
    *got = (size_t)bytes;
    return BPT_OK;
}

static bpt_status_t read_all(int fd, const char *path, size_t limit, char **data, size_t *length) {
    struct stat info;
    if (fstat(fd, &info)) return bpt_fail_path("read", path, errno);
    size_t capacity = S_ISREG(info.st_mode) && info.st_size >= 0 && (uint64_t)info.st_size < limit ? (size_t)info.st_size + 1 : 4096;
    for (*length = 0;;) {
        if (*length == capacity || !*data) {
            if (*data) capacity *= 2;
            BPT_TRY(bpt_realloc(data, capacity + 1, 1));
        }
        size_t got = 0;
        BPT_TRY(read_some(fd, path, *data + *length, capacity - *length, &got));
        if (got == 0) break;
        *length += got;
        if (*length > limit)
            return bpt_fail(BPT_ERR_INPUT, "%s is larger than the %zu bytes expected at most; check that it is the right file", path,
                            limit);
    }
    (*data)[*length] = 0;
    return BPT_OK;
}

bpt_status_t bpt_file_read(const char *path, size_t limit, char **data, size_t *length) {
    *data = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return bpt_fail_path("open", path, errno);
    const bpt_status_t status = read_all(fd, path, limit, data, length);
    close(fd);
    if (status != BPT_OK) {
        bpt_free(*data);
        *data = NULL;
    }
    return status;
}

size_t bpt_byte_order_mark(const char *text, uint64_t length) { return length >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0; }

enum { PIPE_BYTES = 1 << 20 };
struct bpt_file_reader {
    int fd;
    char *path;
};

// Of devices only a terminal and /dev/null end.
static bpt_status_t refuse_endless(int fd, const char *path) {
    bool endless;
    if (bpt_file_is_endless(fd, &endless)) return bpt_fail_path("read", path, errno);
    if (!endless) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s is a device, not a file; name a file", path);
}

bpt_status_t bpt_file_reader_open(const char *path, bpt_file_reader_t **out) {
    bpt_file_reader_t *r;
    BPT_TRY(bpt_alloc(1, sizeof *r, &r));
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    bpt_status_t status = r->fd < 0 ? bpt_fail_path("open", path, errno) : refuse_endless(r->fd, path);
    if (status == BPT_OK) bpt_pipe_widen(r->fd, PIPE_BYTES);
    if (status == BPT_OK) status = bpt_strdup(path, &r->path);
    if (status != BPT_OK) {
        bpt_file_reader_close(r);
        return status;
    }
    *out = r;
    return BPT_OK;
}

bpt_status_t bpt_file_reader_read(bpt_file_reader_t *r, void *buffer, size_t room, size_t *got) {
    return read_some(r->fd, r->path, buffer, room, got);
}

bool bpt_file_reader_ready(const bpt_file_reader_t *r) { return bpt_file_has_input(r->fd); }

void bpt_file_reader_close(bpt_file_reader_t *r) {
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    bpt_free(r->path);
    bpt_free(r);
}

// ---- writing

static int write_all(int fd, const char *bytes, size_t length) {  // 0 or an errno value
    while (length) {
        const ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        if (put == 0) return ENOSPC;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

bpt_status_t bpt_append_to(int fd, const char *path, const void *bytes, size_t length) {
    if (fd < 0) return bpt_fail_path("open", path, errno);
    struct stat info;
    int error = fstat(fd, &info) ? errno : write_all(fd, bytes, length);
    if (error && S_ISREG(info.st_mode) && ftruncate(fd, info.st_size)) error = errno;
    if (close(fd) && !error) error = errno;
    return error ? bpt_fail_path("write", path, error) : BPT_OK;
}

bpt_status_t bpt_file_append(const char *path, const void *bytes, size_t length) {
    return bpt_append_to(open(path, BPT_APPEND_FLAGS, 0666), path, bytes, length);
}

enum { BUFFER_BYTES = 1 << 16 };
struct bpt_file_writer {
    int fd;
    char *path;       // the name the caller knows, for messages
    char *target;     // the file that is replaced: `path` with links followed
    char *temporary;  // NULL once renamed, and for devices and pipes
    size_t used;
    char buffer[BUFFER_BYTES];
};

const char *bpt_path_name(const char *path) {
    const char *name = path;
    for (; *path; ++path)
        if (bpt_path_separates(*path)) name = path + 1;
    return name;
}

bpt_status_t bpt_temporary_name(const char *beside, char **out) {
    static atomic_uint serial;
    const int folder = (int)(bpt_path_name(beside) - beside);
    return bpt_path_format(out, "%.*s.tmp-%ld-%u", folder, beside, (long)getpid(), atomic_fetch_add(&serial, 1));
}

bpt_status_t bpt_parent_sync(const char *path) {
    char *parent;
    size_t length = strlen(path);
    while (length > 1 && bpt_path_separates(path[length - 1])) --length;  // of a folder: the one that it is in
    while (length && !bpt_path_separates(path[length - 1])) --length;
    while (length > 1 && bpt_path_separates(path[length - 1])) --length;
    BPT_TRY(bpt_path_format(&parent, "%.*s", length ? (int)length : 1, length ? path : "."));
    const int error = bpt_folder_flush(parent);
    const bpt_status_t status = error ? bpt_fail_path("sync folder", parent, error) : BPT_OK;
    bpt_free(parent);
    return status;
}

static bpt_status_t open_temporary(bpt_file_writer_t *w, mode_t mode, bool keep_mode) {
    for (int attempt = 0; attempt < 1000; ++attempt) {  // names of a killed process with our number may be in the way
        BPT_TRY(bpt_temporary_name(w->target, &w->temporary));
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        const int error = errno;
        if (w->fd >= 0) {
            if (keep_mode && fchmod(w->fd, mode)) return bpt_fail_path("write", w->path, errno);
            return BPT_OK;
        }
        bpt_free(w->temporary);
        w->temporary = NULL;
        if (error != EEXIST) return bpt_fail_path("write", w->path, error);
    }
    return bpt_fail(BPT_ERR_IO, "cannot write %s: too many .tmp-* files of killed programs beside it; remove them", w->path);
}

static bpt_status_t open_target(bpt_file_writer_t *w) {
    struct stat info;
    if (stat(w->path, &info)) {
        if (errno != ENOENT) return bpt_fail_path("write", w->path, errno);
        BPT_TRY(bpt_strdup(w->path, &w->target));
        return open_temporary(w, 0666, false);
    }
    if (S_ISDIR(info.st_mode)) return bpt_fail_path("write", w->path, EISDIR);
    if (!S_ISREG(info.st_mode)) {
        w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
        return w->fd < 0 ? bpt_fail_path("write", w->path, errno) : BPT_OK;
    }
    if (access(w->path, W_OK)) return bpt_fail_path("write", w->path, errno);
    char *resolved = realpath(w->path, NULL);
    if (!resolved) return bpt_fail_path("write", w->path, errno);
    const bpt_status_t status = bpt_strdup(resolved, &w->target);
    free(resolved);
    return status == BPT_OK ? open_temporary(w, info.st_mode & 07777, true) : status;
}

bpt_status_t bpt_file_writer_open(const char *path, bpt_file_writer_t **out) {
    bpt_file_writer_t *w;
    BPT_TRY(bpt_alloc(1, sizeof *w, &w));
    w->fd = -1;
    bpt_status_t status = bpt_strdup(path, &w->path);
    if (status == BPT_OK) status = open_target(w);
    if (status != BPT_OK) {
        bpt_file_writer_close(w);
        return status;
    }
    *out = w;
    return BPT_OK;
}

static bpt_status_t flush(bpt_file_writer_t *w) {
    const int error = write_all(w->fd, w->buffer, w->used);
    w->used = 0;
    return error ? bpt_fail_path("write", w->path, error) : BPT_OK;
}

bpt_status_t bpt_file_writer_write(bpt_file_writer_t *w, const void *bytes, size_t length) {
    if (length > BUFFER_BYTES - w->used) BPT_TRY(flush(w));
    if (length >= BUFFER_BYTES) {
        const int error = write_all(w->fd, bytes, length);
        return error ? bpt_fail_path("write", w->path, error) : BPT_OK;
    }
    if (length) memcpy(w->buffer + w->used, bytes, length);
    w->used += length;
    return BPT_OK;
}

bpt_status_t bpt_file_writer_patch(bpt_file_writer_t *w, uint64_t offset, const void *bytes, size_t length) {
    if (!w->temporary) return bpt_fail(BPT_ERR_USAGE, "%s is a pipe or a device, and its first bytes are known last: name a file", w->path);
    BPT_TRY(flush(w));
    for (const char *rest = bytes; length;) {
        const ssize_t written = pwrite(w->fd, rest, length, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return bpt_fail_path("write", w->path, written ? errno : ENOSPC);
        rest += written, offset += (uint64_t)written, length -= (size_t)written;
    }
    return BPT_OK;
}

bpt_status_t bpt_file_writer_commit(bpt_file_writer_t *w) {
    BPT_TRY(flush(w));
    if (w->temporary && fsync(w->fd)) return bpt_fail_path("write", w->path, errno);
    const int closed = close(w->fd);
    w->fd = -1;
    if (closed) return bpt_fail_path("write", w->path, errno);
    if (!w->temporary) return BPT_OK;
    const int error = bpt_name_replace(w->temporary, w->target);
    if (error) return bpt_fail_path("write", w->path, error);
    bpt_free(w->temporary);
    w->temporary = NULL;
    return bpt_parent_sync(w->target);
}

void bpt_file_writer_close(bpt_file_writer_t *w) {
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    if (w->temporary) unlink(w->temporary);
    bpt_free(w->temporary);
    bpt_free(w->target);
    bpt_free(w->path);
    bpt_free(w);
}

bpt_status_t bpt_file_write(const char *path, const void *bytes, size_t length) {
    bpt_file_writer_t *writer;
    BPT_TRY(bpt_file_writer_open(path, &writer));
    bpt_status_t status = bpt_file_writer_write(writer, bytes, length);
    if (status == BPT_OK) status = bpt_file_writer_commit(writer);
    bpt_file_writer_close(writer);
    return status;
}
