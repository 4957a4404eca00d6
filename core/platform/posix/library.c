// Libraries by dlopen (see bpt/library.h).
#include "bpt/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bpt_library_names(bpt_library_t which) {
    static const char *const names[] = {
#define BPT_LIBRARY(which, linux_names, windows_names) linux_names,
#include "bpt/libraries.def"
    };
    return names[which];
}

static _Thread_local char error[1024];

static void *said_why_not(void *found) {
    const char *reason = found ? NULL : dlerror();
    if (!found) snprintf(error, sizeof error, "%s", reason ? reason : "no reason is known");
    return found;
}

void *bpt_library_open_file(const char *name, bool global) { return said_why_not(dlopen(name, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL))); }

void *bpt_library_symbol(void *library, const char *symbol) { return said_why_not(dlsym(library, symbol)); }

const char *bpt_library_error(void) { return *error ? error : "no reason is known"; }

bool bpt_library_absent(void) { return strstr(error, "No such file or directory") != NULL; }

bool bpt_library_file_of(const void *function, char *name, size_t bytes) {
    Dl_info where;
    char *path = dladdr(function, &where) ? realpath(where.dli_fname, NULL) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) snprintf(name, bytes, "%s", slash + 1);
    free(path);
    return slash != NULL;
}
