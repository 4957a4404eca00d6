// What atomic replacement of files, links and folders has in common. Internal to core/io.
#ifndef BPT_IO_TEMPORARY_H
#define BPT_IO_TEMPORARY_H

#include "bpt/status.h"

// A short unused-looking name (.tmp-PID-SERIAL) in the folder of `beside`; *out is freed with bpt_free.
bpt_status_t bpt_temporary_name(const char *beside, char **out) BPT_MUST_USE;
// Makes a rename in the folder of `path` durable.
bpt_status_t bpt_parent_sync(const char *path) BPT_MUST_USE;

// Appends to a file that was opened with these flags, which messages call `path`, and closes it (file.c). -1: errno says why it was not.
#define BPT_APPEND_FLAGS (O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC)
bpt_status_t bpt_append_to(int fd, const char *path, const void *bytes, size_t length) BPT_MUST_USE;

#endif
