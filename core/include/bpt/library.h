// Libraries that are opened at run time, by this system's names of them (bpt/libraries.def). They stay open: drivers do not survive being
// closed.
#ifndef BPT_LIBRARY_H
#define BPT_LIBRARY_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

typedef enum {
#define BPT_LIBRARY(which, linux_names, windows_names) BPT_LIBRARY_##which,
#include "bpt/libraries.def"
    BPT_LIBRARIES
} bpt_library_t;

// The names of a library on this system, the first for messages; both stay valid. "": there is none here.
BPT_API const char *bpt_library_names(bpt_library_t which);
BPT_API const char *bpt_library_name(bpt_library_t which);
// The library by the first of its names that there is, or by `other` alone where that is neither NULL nor "". NULL: there is none, or it
// cannot be opened.
BPT_API void *bpt_library_open(bpt_library_t which, const char *other);
// By a name or a path; `global`: what is opened later finds its functions.
BPT_API void *bpt_library_open_file(const char *name, bool global);
BPT_API void *bpt_library_symbol(void *library, const char *symbol);
// Why this thread's last attempt came to nothing; valid until its next one.
BPT_API const char *bpt_library_error(void);
// Whether that was because there is no such file, or because it needs another that there is not.
BPT_API bool bpt_library_absent(void);
// The name of the file that a function is in, with links followed and without its folder; false: the system does not tell.
BPT_API bool bpt_library_file_of(const void *function, char *name, size_t bytes);

BPT_END_DECLS

#endif
