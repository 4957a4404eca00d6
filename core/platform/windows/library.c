// Libraries by LoadLibrary (see bpt/library.h). By a plain name they are looked for beside the program and in the system's folder, not in the
// current folder, where a library may lie beside somebody's data.
#include "bpt/library.h"

#include <windows.h>

static _Thread_local char error[512];
static _Thread_local bool absent = true;

const char *bpt_library_names(bpt_library_t which) {
    static const char *const names[] = {
#define BPT_LIBRARY(which, linux_names, windows_names) windows_names,
#include "bpt/libraries.def"
    };
    return names[which];
}

static void say_why_not(const char *name) {
    const DWORD code = GetLastError();
    absent = code == ERROR_MOD_NOT_FOUND || code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
    char text[300] = "";
    DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text, sizeof text, NULL);
    while (length && strchr("\r\n .", text[length - 1])) text[--length] = '\0';
    snprintf(error, sizeof error, "%s: %s (%lu)", name, *text ? text : "cannot be opened", code);
}

void *bpt_library_open_file(const char *name, bool global) {
    char full[MAX_PATH * 4];
    const bool path = strpbrk(name, "/\\:") != NULL;
    (void)global;  // symbols are never looked up among all libraries
    if (path && !GetFullPathNameA(name, sizeof full, full, NULL)) snprintf(full, sizeof full, "%s", name);
    HMODULE library = path ? LoadLibraryExA(full, NULL, LOAD_WITH_ALTERED_SEARCH_PATH)
                           : LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library) say_why_not(name);
    return library;
}

void *bpt_library_symbol(void *library, const char *symbol) {
    const FARPROC function = GetProcAddress(library, symbol);
    void *found;
    memcpy(&found, &function, sizeof found);
    if (!found) say_why_not(symbol);
    return found;
}

const char *bpt_library_error(void) { return *error ? error : "there is none for Windows"; }

bool bpt_library_absent(void) { return absent; }

bool bpt_library_file_of(const void *function, char *name, size_t bytes) {
    HMODULE library;
    char path[MAX_PATH * 4];
    if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, function, &library) ||
        !GetModuleFileNameA(library, path, sizeof path))
        return false;
    const char *slash = strrchr(path, '\\');
    snprintf(name, bytes, "%s", slash ? slash + 1 : path);
    return true;
}
