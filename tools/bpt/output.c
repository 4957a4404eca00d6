#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/strbuf.h"
#include "data/text/text.h"
#include "tools/bpt/output.h"
#include "tools/bpt/platform/system.h"

int cli_columns(int fd, int fallback) {
    const int columns = cli_system_columns(fd);
    return columns > 20 ? columns : fallback;
}

bool cli_reader_has_gone(void) {
    return ferror(stdout) && cli_system_reader_has_gone();
}

bpt_status_t cli_flush_output(void) {
    errno = 0;
    const bool lost_before = ferror(stdout) != 0;  // its errno is forgotten
    if (fflush(stdout) == 0 && !lost_before) return BPT_OK;
    if (cli_reader_has_gone()) return bpt_fail(BPT_ERR_IO, "cannot write to standard output: its reader has gone");
    return bpt_fail(BPT_ERR_IO, "cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

bpt_status_t cli_print_json(const json_t *value, int indent) {
    char *text = NULL;
    BPT_TRY(bpt_json_format(value, indent, &text));
    printf("%s\n", text);
    bpt_free(text);
    return BPT_OK;
}

bpt_status_t cli_json_set_bytes(json_t *object, const char *key, const char *data, uint64_t bytes) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (uint64_t i = 0; i < bytes && status == BPT_OK;) {
        uint32_t code_point;
        const int used = bpt_utf8_next(data + i, bytes - i, &code_point);
        status = used && code_point ? bpt_strbuf_append(&text, data + i, (size_t)used) : bpt_strbuf_append(&text, "\xEF\xBF\xBD", 3);
        i += used ? (uint64_t)used : 1;
    }
    if (status == BPT_OK) status = bpt_json_set_text(object, key, text.data ? text.data : "");
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t cli_finish(bpt_status_t status, bpt_status_t (*finish)(void *user), void *user) {
    char message[1024];
    snprintf(message, sizeof message, "%s", bpt_error_message());
    const bpt_status_t finished = finish(user);
    return status == BPT_OK ? finished : bpt_fail(status, "%s", message);
}
