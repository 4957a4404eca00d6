// Files and folders that survive a crash: whole reads, atomic replacement, links swapped by rename, a folder lock, free
// space. Knows nothing of tensors, models or runs.
//
// Every failure is one sentence with the path, the reason of the operating system and what to do about it (BPT_ERR_IO).
// A program that wants EFBIG (ulimit -f) as an error instead of a signal must ignore SIGXFSZ.
#ifndef BPT_FILE_H
#define BPT_FILE_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

// A new string in printf format; the caller frees *out with bpt_free.
BPT_API bpt_status_t bpt_path_format(char **out, const char *format, ...) BPT_PRINTF(2, 3) BPT_MUST_USE;
BPT_API bool bpt_file_exists(const char *path);    // anything that is not a folder; links are followed
BPT_API bool bpt_folder_exists(const char *path);  // links are followed

// The whole file (a pipe is fine too). *data is NUL-terminated after *length bytes and freed with bpt_free. A file of more than
// `limit` bytes is BPT_ERR_INPUT.
BPT_API bpt_status_t bpt_file_read(const char *path, size_t limit, char **data, size_t *length) BPT_MUST_USE;
// Bytes of the byte order mark of UTF-8 that text begins with, 0 without one. It is no part of any text that is read by lines or as JSON.
BPT_API size_t bpt_byte_order_mark(const char *text, uint64_t length);
// A whole file in pieces, for files that need not fit in memory: up to `room` bytes, *got == 0 at the end.
typedef struct bpt_file_reader bpt_file_reader_t;
BPT_API bpt_status_t bpt_file_reader_open(const char *path, bpt_file_reader_t **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_file_reader_read(bpt_file_reader_t *reader, void *buffer, size_t room, size_t *got) BPT_MUST_USE;
// Whether a read would return at once: always so for a file, for a pipe or a terminal when something has come or its end has.
BPT_API bool bpt_file_reader_ready(const bpt_file_reader_t *reader);
BPT_API void bpt_file_reader_close(bpt_file_reader_t *reader);
// Appends at the end, all or nothing: when the disk is full the file keeps its old length.
BPT_API bpt_status_t bpt_file_append(const char *path, const void *bytes, size_t length) BPT_MUST_USE;
// Replaces the file: after a crash or an error at any moment it has either the old or the new content.
BPT_API bpt_status_t bpt_file_write(const char *path, const void *bytes, size_t length) BPT_MUST_USE;

// The same for content that comes in pieces: written beside (as .tmp-*), synced, renamed and the folder synced by
// bpt_file_writer_commit. A path that is a device or a pipe is written directly.
typedef struct bpt_file_writer bpt_file_writer_t;
BPT_API bpt_status_t bpt_file_writer_open(const char *path, bpt_file_writer_t **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_file_writer_write(bpt_file_writer_t *writer, const void *bytes, size_t length) BPT_MUST_USE;
// Bytes that were written already, such as a header that says how much has followed: others in their place. Not of a device or a pipe
// (BPT_ERR_USAGE).
BPT_API bpt_status_t bpt_file_writer_patch(bpt_file_writer_t *writer, uint64_t offset, const void *bytes, size_t length) BPT_MUST_USE;
BPT_API bpt_status_t bpt_file_writer_commit(bpt_file_writer_t *writer) BPT_MUST_USE;
BPT_API void bpt_file_writer_close(bpt_file_writer_t *writer);  // without a commit the old file stays

// One level; a folder that is there already is fine.
BPT_API bpt_status_t bpt_folder_create(const char *path) BPT_MUST_USE;
// Where bpt keeps files of this user: $OWN, else $XDG/bpt, else ~/BELOW_HOME/bpt; *out is freed with bpt_free, NULL when none of them is
// set.
BPT_API bpt_status_t bpt_user_folder(const char *own, const char *xdg, const char *below_home, char **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_folders_create(const char *path) BPT_MUST_USE;  // with those above it
BPT_API bpt_status_t bpt_parents_create(const char *path) BPT_MUST_USE;  // only those above it
// Names in the folder sorted by bytes, without "." and ".."; freed with bpt_names_free.
BPT_API bpt_status_t bpt_folder_list(const char *path, char ***names, size_t *count) BPT_MUST_USE;
BPT_API void bpt_names_free(char **names, size_t count);
BPT_API bpt_status_t bpt_file_sync(const char *path) BPT_MUST_USE;  // what was written to a file, or a folder's list of names
// Syncs every file of the folder (one level) and the folder itself.
BPT_API bpt_status_t bpt_folder_sync(const char *path) BPT_MUST_USE;
// Renames a folder and syncs its parent. A folder already called `to` trades places with `from` in one step.
BPT_API bpt_status_t bpt_folder_rename(const char *from, const char *to) BPT_MUST_USE;
// Removes a file or a folder with all it holds; links are removed, not followed. Nothing there is fine.
BPT_API bpt_status_t bpt_path_remove(const char *path) BPT_MUST_USE;
// Makes `link` a symbolic link to `target` (kept as given, so usually relative); an old link is replaced in one step.
// Where users may make none (Windows) it is a file whose one line is the target.
BPT_API bpt_status_t bpt_link_swap(const char *link, const char *target) BPT_MUST_USE;
// The target of either kind, wherever it leads; false: it is no link.
BPT_API bool bpt_link_read(const char *link, char *target, size_t bytes);

// Lock of a folder, through FOLDER/.lock: held until released or until the process ends, however it ends.
// BPT_ERR_IO names the process that holds it.
typedef struct bpt_folder_lock bpt_folder_lock_t;
BPT_API bpt_status_t bpt_folder_lock_acquire(const char *folder, bpt_folder_lock_t **out) BPT_MUST_USE;
// Whether a process holds it, without taking it.
BPT_API bpt_status_t bpt_folder_lock_is_held(const char *folder, bool *held) BPT_MUST_USE;
// Where the locked folder `folder` is by now: *moved is NULL as long as it has this name, else its new one, freed with bpt_free. A folder
// that was deleted is BPT_ERR_IO, whatever has its name.
BPT_API bpt_status_t bpt_folder_lock_find(const bpt_folder_lock_t *lock, const char *folder, char **moved) BPT_MUST_USE;
// In the locked folder itself, whatever has its name by now; `path` is for messages, its last part the name of a file or folder there.
// Append is as bpt_file_append; ensure makes a folder that is missing.
BPT_API bpt_status_t bpt_folder_lock_append(const bpt_folder_lock_t *lock, const char *path, const void *bytes, size_t length) BPT_MUST_USE;
BPT_API bpt_status_t bpt_folder_lock_ensure(const bpt_folder_lock_t *lock, const char *path, bool *created) BPT_MUST_USE;
BPT_API bool bpt_folder_lock_has(const bpt_folder_lock_t *lock, const char *path);
BPT_API void bpt_folder_lock_remove(const bpt_folder_lock_t *lock, const char *path);  // a file, if it can be removed
BPT_API void bpt_folder_lock_release(bpt_folder_lock_t *lock);

// BPT_ERR_IO unless `bytes` are free for this user on the file system of `path`; `purpose` begins the sentence ("the next checkpoint").
BPT_API bpt_status_t bpt_disk_require(const char *path, uint64_t bytes, const char *purpose) BPT_MUST_USE;

BPT_END_DECLS

#endif
