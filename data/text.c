// Text files in memory (text.h).
#include "data/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

#include "bpt/alloc.h"

struct bpt_text {
    char *path;
    char *data;
    uint64_t bytes;
};

static bpt_status_t map_file(int fd, const char *path, bpt_text_t *text) {
    struct stat info;
    if (fstat(fd, &info) != 0) return bpt_fail(BPT_ERR_IO, "%s: cannot be examined: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return bpt_fail(BPT_ERR_INPUT, "%s: is a folder; name a file", path);
    if (!S_ISREG(info.st_mode)) return bpt_fail(BPT_ERR_INPUT, "%s: is not a regular file; copy its contents into one", path);
    if (info.st_size == 0) return bpt_fail(BPT_ERR_INPUT, "%s: is empty; a text is needed", path);
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return bpt_fail(BPT_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    text->data = data;
    text->bytes = (uint64_t)info.st_size;
    return BPT_OK;
}

bpt_status_t bpt_text_open(const char *path, bpt_text_t **out) {
    bpt_text_t *text;
    BPT_TRY(bpt_alloc(1, sizeof *text, &text));
    bpt_status_t status = bpt_strdup(path, &text->path);
    const int fd = status == BPT_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (status == BPT_OK) status = fd < 0 ? bpt_fail(BPT_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno)) : map_file(fd, path, text);
    if (fd >= 0) close(fd);
    if (status != BPT_OK) {
        bpt_text_close(text);
        return status;
    }
    *out = text;
    return BPT_OK;
}

void bpt_text_close(bpt_text_t *text) {
    if (!text) return;
    if (text->data) munmap(text->data, text->bytes);
    bpt_free(text->path);
    bpt_free(text);
}

bpt_range_t bpt_text_range(const bpt_text_t *text) { return (bpt_range_t){text->path, text->data, text->bytes, 0, 1}; }

bool bpt_range_next_line(bpt_range_t *rest, bpt_range_t *line) {
    if (rest->bytes == 0) return false;
    const char *newline = memchr(rest->data, '\n', rest->bytes);
    const uint64_t length = newline ? (uint64_t)(newline - rest->data) : rest->bytes, step = newline ? length + 1 : length;
    *line = *rest;
    line->bytes = length && rest->data[length - 1] == '\r' ? length - 1 : length;
    rest->data += step;
    rest->bytes -= step;
    rest->offset += step;
    ++rest->line;
    return true;
}

int bpt_utf8_next(const char *data, uint64_t bytes, uint32_t *code_point) {
    utf8proc_int32_t c;
    const utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)data, bytes > 4 ? 4 : (utf8proc_ssize_t)bytes, &c);
    if (used <= 0) return 0;
    *code_point = (uint32_t)c;
    return (int)used;
}

bpt_status_t bpt_range_check_utf8(const bpt_range_t *range) {
    uint64_t line = range->line;
    for (uint64_t i = 0; i < range->bytes;) {
        const unsigned char c = (unsigned char)range->data[i];
        if (c < 0x80) {
            line += c == '\n';
            ++i;
            continue;
        }
        uint32_t code_point;
        const int used = bpt_utf8_next(range->data + i, range->bytes - i, &code_point);
        if (!used)
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu, byte %llu: not valid UTF-8 (byte 0x%02X); use --unit byte or convert the file", range->path,
                            (unsigned long long)line, (unsigned long long)(range->offset + i), c);
        i += (uint64_t)used;
    }
    return BPT_OK;
}
