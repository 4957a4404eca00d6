// Text files in memory (text.h).
#include "data/text/text.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/text/input.h"
#include "data/text/store.h"

struct bpt_text {
    bpt_text_file_t *file;  // each with its path, and one behind them
    size_t files;
    bpt_store_t store;
    const void *data;
    uint64_t bytes;
};

static const char *name_of(const char *path) { return strcmp(path, "-") ? path : "standard input"; }

static bpt_status_t name_files(const bpt_paths_t *paths, const uint64_t *begin, bpt_text_t *text) {
    BPT_TRY(bpt_alloc(paths->count + 1, sizeof *text->file, &text->file));
    for (; text->files < paths->count; ++text->files) {
        char *copy;
        BPT_TRY(bpt_strdup(name_of(paths->path[text->files]), &copy));
        text->file[text->files] = (bpt_text_file_t){copy, begin ? begin[text->files] : 0};
    }
    text->file[text->files].offset = UINT64_MAX;
    return BPT_OK;
}

// Appends the bytes of a file, and a line end where it has none and other files follow.
static bpt_status_t read_input(bpt_input_t *input, bool others, bpt_store_t *out) {
    char last = 0;
    bool any = false;
    for (size_t got = 1; got;) {
        char *at;
        size_t room;
        BPT_TRY(bpt_store_room(out, &at, &room));
        BPT_TRY(bpt_input_read(input, at, room, &got));
        if (got) last = at[got - 1], any = true;
        bpt_store_added(out, got);
    }
    if (!any) return bpt_fail(BPT_ERR_INPUT, "%s is empty; name a file that holds text", bpt_input_name(input));
    return others && last != '\n' ? bpt_store_append(out, "\n", 1) : BPT_OK;
}

bpt_status_t bpt_store_read(const char *path, bool others, bpt_store_t *out) {
    bpt_input_t *input;
    BPT_TRY(bpt_input_open(path, &input));
    const bpt_status_t status = read_input(input, others, out);
    bpt_input_close(input);
    return status;
}

bpt_status_t bpt_paths_check_standard_input(const bpt_paths_t *paths) {
    size_t times = 0;
    for (size_t i = 0; i < paths->count; ++i) times += !strcmp(paths->path[i], "-");
    return times < 2 ? BPT_OK : bpt_fail(BPT_ERR_USAGE, "the standard input (-) is named %zu times and is read once; name it once", times);
}

static bpt_status_t read_files(const bpt_paths_t *paths, bpt_text_t *text) {
    BPT_TRY(bpt_paths_check_standard_input(paths));
    BPT_TRY(name_files(paths, NULL, text));
    for (size_t i = 0; i < paths->count; ++i) {
        text->file[i].offset = bpt_store_size(&text->store);
        BPT_TRY(bpt_store_read(paths->path[i], i + 1 < paths->count, &text->store));
    }
    return bpt_store_finish(&text->store, &text->data, &text->bytes);
}

// Gives the text, or with an error nothing.
static bpt_status_t give(bpt_status_t status, bpt_text_t *text, bpt_text_t **out) {
    if (status == BPT_OK && !text->bytes) status = bpt_fail(BPT_ERR_INPUT, "%s is empty; name a file that holds text", text->file[0].path);
    if (status != BPT_OK) {
        bpt_text_close(text);
        return status;
    }
    *out = text;
    return BPT_OK;
}

bpt_status_t bpt_text_open_files(const bpt_paths_t *paths, bpt_text_t **out) {
    bpt_text_t *text;
    BPT_TRY(bpt_alloc(1, sizeof *text, &text));
    return give(read_files(paths, text), text, out);
}

bpt_status_t bpt_text_open(const char *path, bpt_text_t **out) { return bpt_text_open_files(BPT_ONE_PATH(path), out); }

static bpt_status_t take_bytes(const bpt_paths_t *paths, const uint64_t *begin, bpt_text_t *text) {
    BPT_TRY(name_files(paths, begin, text));
    return bpt_store_finish(&text->store, &text->data, &text->bytes);
}

bpt_status_t bpt_text_make(const bpt_paths_t *paths, const uint64_t *begin, bpt_store_t *bytes, bpt_text_t **out) {
    bpt_text_t *text;
    const bpt_status_t status = bpt_alloc(1, sizeof *text, &text);
    if (status != BPT_OK) {
        bpt_store_free(bytes);
        return status;
    }
    text->store = *bytes;
    *bytes = (bpt_store_t){0};
    return give(take_bytes(paths, begin, text), text, out);
}

void bpt_text_close(bpt_text_t *text) {
    if (!text) return;
    bpt_store_free(&text->store);
    for (size_t i = 0; i < text->files; ++i) bpt_free((char *)text->file[i].path);
    bpt_free(text->file);
    bpt_free(text);
}

bpt_range_t bpt_text_range(const bpt_text_t *text) {
    bpt_range_t range = bpt_range_of(text->file[0].path, text->data, text->bytes);
    if (text->files > 1) range.behind = &text->file[1];
    return range;
}

bpt_range_t bpt_range_of(const char *path, const void *data, uint64_t bytes) {
    return (bpt_range_t){.path = path, .data = data, .bytes = bytes, .line = 1};
}

static void skip(bpt_range_t *rest, uint64_t bytes) {
    if (bytes == 0) return;  // nothing can be added to the address of an empty range, which may be NULL
    rest->data += bytes;
    rest->bytes -= bytes;
    rest->offset += bytes;
}

// Where the next file has begun.
static void enter_file(bpt_range_t *rest) {
    if (!rest->behind || rest->offset < rest->behind->offset) return;
    while (rest->offset >= rest->behind[1].offset) ++rest->behind;
    rest->path = rest->behind->path;
    rest->line = 1;
    const bool first = rest->offset == rest->behind->offset;
    ++rest->behind;
    if (first) skip(rest, bpt_byte_order_mark(rest->data, rest->bytes));
}

void bpt_range_skip_mark(bpt_range_t *rest) {
    if (rest->offset == 0) skip(rest, bpt_byte_order_mark(rest->data, rest->bytes));
}

void bpt_line_skip_mark(bpt_range_t *line) { skip(line, bpt_byte_order_mark(line->data, line->bytes)); }

bool bpt_range_next_line(bpt_range_t *rest, bpt_range_t *line) {
    bpt_range_skip_mark(rest);
    enter_file(rest);
    if (rest->bytes == 0) return false;
    const char *newline = memchr(rest->data, '\n', rest->bytes);
    const uint64_t length = newline ? (uint64_t)(newline - rest->data) : rest->bytes;
    *line = *rest;
    line->bytes = newline && length && rest->data[length - 1] == '\r' ? length - 1 : length;
    skip(rest, newline ? length + 1 : length);
    ++rest->line;
    return true;
}

static bpt_status_t too_long(const char *path, uint64_t line) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu is longer than %zu MiB; check that it is the right file, or break the line", path,
                    (unsigned long long)line, BPT_LINE_BYTES >> 20);
}

bpt_status_t bpt_range_check_line(const bpt_range_t *line) {
    return line->bytes <= BPT_LINE_BYTES ? BPT_OK : too_long(line->path, line->line);
}

// ---- UTF-8

bool bpt_is_punctuation(uint32_t c) {
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

int bpt_utf8_next(const char *data, uint64_t bytes, uint32_t *code_point) {
    utf8proc_int32_t c;
    const utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)data, bytes > 4 ? 4 : (utf8proc_ssize_t)bytes, &c);
    if (used <= 0) return 0;
    *code_point = (uint32_t)c;
    return (int)used;
}

static uint64_t count_newlines(const char *data, uint64_t bytes) {
    uint64_t lines = 0;
    for (const char *p = data, *end = data + bytes; p < end && (p = memchr(p, '\n', (size_t)(end - p))); ++p) ++lines;
    return lines;
}

// ---- Several files

bpt_range_t bpt_range_part(const bpt_range_t *range, uint64_t begin, uint64_t end) {
    bpt_range_t part = *range;
    uint64_t file = 0;  // where the one of the first byte begins in the range
    for (; part.behind && range->offset + begin >= part.behind->offset; ++part.behind) {
        part.path = part.behind->path;
        part.line = 1;
        file = part.behind->offset - range->offset;
    }
    part.line += count_newlines(range->data + file, begin - file);
    part.data += begin, part.offset += begin, part.bytes = end - begin;
    return part;
}

bool bpt_range_next_file(bpt_range_t *rest, bpt_range_t *file) {
    enter_file(rest);
    if (rest->bytes == 0) return false;
    *file = *rest;
    file->behind = NULL;
    if (rest->behind) file->offset -= rest->behind[-1].offset;
    if (rest->behind && rest->behind->offset - rest->offset < rest->bytes) file->bytes = rest->behind->offset - rest->offset;
    skip(rest, file->bytes);
    return true;
}

uint64_t bpt_range_files(const bpt_range_t *range) {
    bpt_range_t rest = *range, file;
    uint64_t files = 0;
    while (bpt_range_next_file(&rest, &file)) ++files;
    return files;
}

// Bytes at the front that are ASCII, in steps of 8.
static uint64_t ascii_front(const char *data, uint64_t bytes) {
    uint64_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        if (word & 0x8080808080808080u) break;
    }
    return i;
}

static bpt_status_t check_file(const bpt_range_t *range) {
    for (uint64_t i = 0; i < range->bytes;) {
        i += ascii_front(range->data + i, range->bytes - i);
        if (i == range->bytes) break;
        uint32_t code_point;
        const int used = bpt_utf8_next(range->data + i, range->bytes - i, &code_point);
        if (!used)
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu, byte %llu: not valid UTF-8 (byte 0x%02X); use --unit byte or convert the file",
                            range->path, (unsigned long long)(range->line + count_newlines(range->data, i)),
                            (unsigned long long)(range->offset + i), (unsigned char)range->data[i]);
        i += (uint64_t)used;
    }
    return BPT_OK;
}

bpt_status_t bpt_range_check_utf8(const bpt_range_t *range) {
    bpt_range_t rest = *range, file;
    while (bpt_range_next_file(&rest, &file)) BPT_TRY(check_file(&file));
    return BPT_OK;
}

// ---- blocks

struct bpt_text_blocks {
    bpt_input_t *input;
    char *buffer;
    size_t capacity;
    size_t used, consumed;  // bytes in the buffer, and of them those given out as whole lines
    uint64_t first_byte, first_line;
    bool at_end;
};

bpt_status_t bpt_text_blocks_open(const char *path, size_t block_bytes, bpt_text_blocks_t **out) {
    bpt_text_blocks_t *b;
    BPT_TRY(bpt_alloc(1, sizeof *b, &b));
    b->capacity = block_bytes;
    b->first_line = 1;
    bpt_status_t status = bpt_alloc(b->capacity, 1, &b->buffer);
    if (status == BPT_OK) status = bpt_input_open(path, &b->input);
    if (status != BPT_OK) {
        bpt_text_blocks_close(b);
        return status;
    }
    *out = b;
    return BPT_OK;
}

void bpt_text_blocks_close(bpt_text_blocks_t *b) {
    if (!b) return;
    bpt_input_close(b->input);
    bpt_free(b->buffer);
    bpt_free(b);
}

bool bpt_text_blocks_ended(const bpt_text_blocks_t *b) { return b->at_end; }

static bpt_status_t fill_block(bpt_text_blocks_t *b) {
    while (b->used < b->capacity && !b->at_end) {
        if (b->used && memrchr(b->buffer, '\n', b->used) && !bpt_input_ready(b->input)) break;
        size_t got;
        BPT_TRY(bpt_input_read(b->input, b->buffer + b->used, b->capacity - b->used, &got));
        b->at_end = got == 0;
        b->used += got;
    }
    return BPT_OK;
}

bpt_status_t bpt_text_blocks_next(bpt_text_blocks_t *b, bpt_range_t *lines, bool *end) {
    for (size_t i = 0; i < b->consumed; ++i) b->first_line += b->buffer[i] == '\n';
    b->first_byte += b->consumed;
    b->used -= b->consumed;
    memmove(b->buffer, b->buffer + b->consumed, b->used);
    for (;;) {
        BPT_TRY(fill_block(b));
        b->consumed = b->used;
        if (!b->at_end)
            while (b->consumed && b->buffer[b->consumed - 1] != '\n') --b->consumed;
        if (b->consumed || b->at_end) break;
        if (b->capacity > BPT_LINE_BYTES) return too_long(bpt_input_name(b->input), b->first_line);
        BPT_TRY(bpt_realloc(&b->buffer, 2 * b->capacity, 1));
        b->capacity *= 2;
    }
    *end = b->consumed == 0;
    *lines = (bpt_range_t){
        .path = bpt_input_name(b->input), .data = b->buffer, .bytes = b->consumed, .offset = b->first_byte, .line = b->first_line};
    return BPT_OK;
}

bpt_shown_t bpt_show(const char *data, uint64_t bytes) {
    bpt_shown_t shown;
    size_t used = 0;
    uint64_t i = 0;
    for (int characters = 0; i < bytes && characters < 40; ++characters) {
        utf8proc_int32_t code_point;
        const utf8proc_ssize_t length =
            utf8proc_iterate((const uint8_t *)data + i, bytes - i > 4 ? 4 : (utf8proc_ssize_t)(bytes - i), &code_point);
        if (length > 0 && code_point >= 32 && (code_point < 127 || code_point > 159)) {
            memcpy(shown.text + used, data + i, (size_t)length);
            used += (size_t)length;
            i += (uint64_t)length;
        } else {
            used += (size_t)snprintf(shown.text + used, 5, "\\x%02x", (unsigned char)data[i++]);
        }
    }
    memcpy(shown.text + used, i < bytes ? "..." : "", i < bytes ? 4 : 1);
    return shown;
}
