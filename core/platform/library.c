// What is the same on all systems about libraries that are opened at run time (see bpt/library.h).
#include "bpt/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAME = 256 };

static size_t first_name(const char *names, char *name) {
    const size_t length = strcspn(names, " ");
    snprintf(name, MOST_NAME, "%.*s", (int)length, names);
    return length;
}

static char first_names[BPT_LIBRARIES][MOST_NAME];

static void fill_first_names(void) {
    for (int i = 0; i < BPT_LIBRARIES; ++i) (void)first_name(bpt_library_names((bpt_library_t)i), first_names[i]);
}

const char *bpt_library_name(bpt_library_t which) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_first_names);
    return first_names[which];
}

void *bpt_library_open(bpt_library_t which, const char *other) {
    if (other && *other) return bpt_library_open_file(other, false);
    void *library = NULL;
    for (const char *names = bpt_library_names(which); *names && !library; names += strspn(names, " ")) {
        char name[MOST_NAME];
        names += first_name(names, name);
        library = bpt_library_open_file(name, false);
        if (!library && !bpt_library_absent()) break;
    }
    return library;
}
