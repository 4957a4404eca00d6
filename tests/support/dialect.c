// Kernel texts put together (see dialect.h).
#include "support/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

static void append_file(const char *folder, const char *name, FILE *text) {
    static const char include[] = "#include \"";
    char path[4096];
    size_t length;
    int line = 0;
    const char *source = getenv("BPT_SOURCE_DIR");
    if (!source) fail_msg("BPT_SOURCE_DIR is not set");
    snprintf(path, sizeof path, "%s/%s%s", source, folder, name);
    char *content = test_read_file(path, &length), *rest = content;
    if (!content) fail_msg("%s cannot be read", path);
    for (char *start; (start = strsep(&rest, "\n"));) {
        fprintf(text, "#line %d \"%s%s\"\n", ++line, folder, name);
        if (strncmp(start, include, sizeof include - 1)) {
            fprintf(text, "%s\n", start);
            while (rest && *start && start[strlen(start) - 1] == '\\') {  // a macro of several lines is one for #line
                start = strsep(&rest, "\n");
                fprintf(text, "%s\n", start);
                ++line;
            }
        } else {
            char *name_end = strchr(start + sizeof include - 1, '"');
            if (name_end) *name_end = '\0';
            const char *included = start + sizeof include - 1;
            append_file(strncmp(included, "bpt/", 4) ? "" : "core/include/", included, text);
        }
    }
    free(content);
}

char *test_cuda_text(const char *path) {
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) fail_msg("no memory");
    append_file("", "cl/dialect/cuda.h", stream);
    append_file("", path, stream);
    fclose(stream);
    return text;
}
