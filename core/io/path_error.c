// Sentences for errno values (see path_error.h).
#include "core/io/path_error.h"

#include <errno.h>
#include <string.h>

static const char *remedy(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some disk space or choose a place on another disk";
    case EFBIG: return "raise the file size limit (ulimit -f) or choose another file system";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a place that you may use, or change its permissions";
    case ENOENT: return "check the path, or create the missing folder first";
    case ENOTDIR: return "a part of the path is a file where a folder is needed; choose another path";
    case EISDIR: return "it is a folder where a file is needed; name a file";
    case EEXIST:
    case ENOTEMPTY: return "something else has that name; remove it or choose another path";
    case ENAMETOOLONG: return "choose a shorter name";
    case ELOOP: return "its symbolic links lead in a circle; remove one of them";
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    case EIO: return "check the disk; its content may be damaged";
    case ENOLCK: return "its file system has no locks; choose a local disk";
    default: return "check the path and its file system";
    }
}

bpt_status_t bpt_fail_path(const char *action, const char *path, int error) {
    enum { SHOWN = 300 };  // of a very long path the end, so that the reason still fits the record
    const size_t length = strlen(path);
    char reason[128];
    return bpt_fail(BPT_ERR_IO, "cannot %s %s%s: %s; %s", action, length > SHOWN ? "..." : "",
                    length > SHOWN ? path + length - SHOWN : path, strerror_r(error, reason, sizeof reason), remedy(error));
}
