// What durable files need of the operating system (bpt/file.h). What returns int returns 0 or an errno value. Internal to core/io.
#ifndef BPT_PLATFORM_FILES_H
#define BPT_PLATFORM_FILES_H

#include "bpt/base.h"

// The file or empty name `to` is replaced by `from` in one step.
int bpt_name_replace(const char *from, const char *to);
// Two folders exchange their names in one step; EINVAL or ENOSYS: the file system cannot.
int bpt_names_exchange(const char *a, const char *b);
// Content, or of a folder its names, to the disk.
int bpt_path_flush(const char *path);
// A folder's names to the disk; 0 too where its file system needs no such thing.
int bpt_folder_flush(const char *path);

int bpt_folder_make(const char *path);
// Links are followed; errno has the value too.
int bpt_path_leads(const char *path, bool *folder);
// A link is none, and neither is a name that does not exist (ENOENT).
int bpt_is_folder(const char *path, bool *folder);
int bpt_name_remove(const char *path, bool folder);  // an empty folder, a file or a link

// A relative link to a folder: symbolic, or where users may make none a file whose one line is the target.
int bpt_link_make(const char *target, const char *link);
bool bpt_is_link(const char *path);
// A symbolic link's target; false: it is none.
bool bpt_link_target(const char *link, char *target, size_t bytes);

// The folder of the user; NULL: the system does not say.
const char *bpt_home_folder(void);

// Of devices only a terminal and the one that is empty end.
int bpt_file_is_endless(int file, bool *endless);
// Lets a pipe's writer run ahead; what is no pipe, or may not, stays as it is.
void bpt_pipe_widen(int file, int bytes);
// Whether a read would return at once; true too for what cannot be asked.
bool bpt_file_has_input(int file);

int bpt_disk_free(const char *path, uint64_t *bytes);  // UINT64_MAX: the file system does not tell

#endif
