// What the operating system says about files and folders, and files that only this process sees. What makes files durable is in bpt/file.h.
#ifndef BPT_PATHS_H
#define BPT_PATHS_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct {
    uint64_t bytes;
    int64_t seconds;  // of the last change, since 1970
    int32_t nanoseconds;
    bool regular;  // a file with content, no folder, device or pipe
} bpt_path_info_t;

BPT_API bool bpt_path_info(const char *path, bpt_path_info_t *out);  // links are followed; false: there is none
BPT_API bool bpt_paths_same(const char *a, const char *b);           // both lead to the same file or folder
BPT_API void bpt_path_touch(const char *path);                       // changed now
BPT_API void bpt_path_unlink(const char *path);                      // a file; whatever becomes of it
BPT_API void bpt_folder_drop(const char *path);                      // if it is empty
BPT_API bool bpt_path_is_absolute(const char *path);
BPT_API bool bpt_path_separates(char c);              // between the names of a path: '/', on Windows a backslash too
BPT_API const char *bpt_path_name(const char *path);  // the last name of a path: what is behind its last separator
// The files that a pattern of the shell stands for, in order; none: *count is 0. To be freed by bpt_names_free.
BPT_API bpt_status_t bpt_paths_matching(const char *pattern, char ***paths, size_t *count) BPT_MUST_USE;
// A new folder in the folder for temporary files, named in `path`; false: errno says why.
BPT_API bool bpt_folder_temporary(char *path, size_t bytes);

// ---- Files without a name, gone with their descriptor

// The folder for large ones.
BPT_API const char *bpt_scratch_folder(void);
// To be read and written; -1: errno says why.
BPT_API int bpt_scratch_open(const char *folder) BPT_MUST_USE;
// Gives it room on the disk: 0 or an errno value.
BPT_API int bpt_scratch_reserve(int file, uint64_t bytes) BPT_MUST_USE;
// It will be read soon.
BPT_API void bpt_scratch_will_read(int file, uint64_t offset, uint64_t bytes);
// Its first bytes as memory to be read; NULL: errno says why.
BPT_API void *bpt_scratch_map(int file, size_t bytes) BPT_MUST_USE;
BPT_API void bpt_scratch_unmap(void *memory, size_t bytes);

BPT_END_DECLS

#endif
