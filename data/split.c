// Finding and cutting the parts of a corpus (split.h).
#include "data/split.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"

static const char *const words[BPT_PARTS][2] = {{"train", "train"}, {"valid", "dev"}, {"test", "test"}};

static bpt_status_t open_folder(const char *path, bpt_split_t *split) {
    char **names = NULL, *found[BPT_PARTS] = {0};
    size_t count = 0;
    BPT_TRY(bpt_folder_list(path, &names, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        if (names[i][0] == '.') continue;
        for (int p = 0; p < BPT_PARTS && status == BPT_OK; ++p) {
            if (!strstr(names[i], words[p][0]) && !strstr(names[i], words[p][1])) continue;
            if (found[p])
                status = bpt_fail(BPT_ERR_INPUT, "%s: both '%s' and '%s' could be the %s part; keep one or name a file", path, found[p], names[i], words[p][0]);
            found[p] = names[i];
        }
    }
    if (status == BPT_OK && !found[BPT_TRAIN])
        status = bpt_fail(BPT_ERR_INPUT, "%s: no file whose name holds 'train'; name a file instead, or rename yours", path);
    for (int p = 0; p < BPT_PARTS && status == BPT_OK; ++p) {
        if (!found[p]) continue;
        char *file = NULL;
        status = bpt_path_format(&file, "%s/%s", path, found[p]);
        if (status == BPT_OK) status = bpt_text_open(file, &split->text[p]);
        if (status == BPT_OK) split->part[p] = bpt_text_range(split->text[p]);
        bpt_free(file);
    }
    bpt_names_free(names, count);
    return status;
}

// Moves a cut between two code points.
static uint64_t between_chars(const bpt_range_t *text, uint64_t at) {
    while (at < text->bytes && ((unsigned char)text->data[at] & 0xC0) == 0x80) ++at;
    return at;
}

static uint64_t count_lines(const char *data, uint64_t bytes) {
    uint64_t lines = 0;
    for (const char *p = data, *end = data + bytes; (p = memchr(p, '\n', (size_t)(end - p))); ++p) ++lines;
    return lines;
}

// The byte where line number `line` (from 0) begins.
static uint64_t line_start(const bpt_range_t *text, uint64_t line) {
    const char *p = text->data, *end = p + text->bytes;
    for (; line > 0 && p < end; --line) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    return (uint64_t)(p - text->data);
}

static bpt_status_t open_file(const char *path, bpt_unit_t unit, bool by_lines, bpt_split_t *split) {
    BPT_TRY(bpt_text_open(path, &split->text[0]));
    const bpt_range_t whole = bpt_text_range(split->text[0]);
    uint64_t at[BPT_PARTS + 1] = {0, 0, 0, whole.bytes};
    const uint64_t lines = by_lines ? count_lines(whole.data, whole.bytes) : 0;
    for (int p = 1; p < BPT_PARTS; ++p) {
        const uint64_t share = p == 1 ? 90 : 95;
        const uint64_t byte = whole.bytes / 100 * share + whole.bytes % 100 * share / 100;
        at[p] = by_lines ? line_start(&whole, lines * share / 100) : unit == BPT_UNIT_CHAR ? between_chars(&whole, byte) : byte;
    }
    for (int p = 0; p < BPT_PARTS; ++p)
        split->part[p] = (bpt_range_t){path, whole.data + at[p], at[p + 1] - at[p], at[p], 1 + count_lines(whole.data, at[p])};
    return BPT_OK;
}

bpt_status_t bpt_split_open(const char *path, bpt_unit_t unit, bool by_lines, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    const bpt_status_t status = bpt_folder_exists(path) ? open_folder(path, out) : open_file(path, unit, by_lines, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

void bpt_split_close(bpt_split_t *split) {
    for (int p = 0; p < BPT_PARTS; ++p) bpt_text_close(split->text[p]);
    *split = (bpt_split_t){0};
}
