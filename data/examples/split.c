// Finding and cutting the parts of a corpus (split.h).
#include "data/examples/split.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/text/packings.h"

// ---- A folder

static const char *const part_names[BPT_PARTS] = {"train", "valid", "test"};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Short as it is, "val" is part of many words: retrieval, interval.
static bool holds_word(const char *name, const char *word) {
    for (const char *p = name; (p = strstr(p, word)); ++p)
        if ((p == name || !is_letter(p[-1])) && !is_letter(p[strlen(word)])) return true;
    return false;
}

static bool is_of_part(const char *name, int part) {
    if (strstr(name, part_names[part])) return true;
    return part == BPT_VALID && (strstr(name, "dev") || holds_word(name, "val"));
}

static bpt_status_t match_name(const char *folder, const char *name, const char *found[BPT_PARTS]) {
    int matched = -1;
    for (int p = 0; p < BPT_PARTS; ++p) {
        if (!is_of_part(name, p)) continue;
        if (matched >= 0)
            return bpt_fail(BPT_ERR_INPUT, "%s: '%s' could be the %s part and the %s part; rename it", folder, name, part_names[matched],
                            part_names[p]);
        if (found[p])
            return bpt_fail(BPT_ERR_INPUT, "%s: both '%s' and '%s' could be the %s part; keep one or name a file", folder, found[p], name,
                            part_names[p]);
        found[p] = name;
        matched = p;
    }
    return BPT_OK;
}

// Whether a name ends in .LANGUAGE, or the name of a packed file in .LANGUAGE.gz and its like. NULL: any.
static bool is_of(const char *name, const char *language) {
    const size_t length = bpt_packing_bare(name), end = language ? strlen(language) : 0;
    return !language || (length > end && name[length - end - 1] == '.' && !strncmp(name + length - end, language, end));
}

static bpt_status_t match_names(const char *folder, const char *language, char **names, size_t count, const char *found[BPT_PARTS]) {
    for (size_t i = 0; i < count; ++i) {
        char *path;
        if (names[i][0] == '.' || !is_of(names[i], language)) continue;
        BPT_TRY(bpt_path_format(&path, "%s/%s", folder, names[i]));
        const bool file = bpt_file_exists(path);
        bpt_free(path);
        if (file) BPT_TRY(match_name(folder, names[i], found));
    }
    return BPT_OK;
}

bpt_status_t bpt_split_find(const char *folder, const char *language, char *path[BPT_PARTS]) {
    char **names = NULL;
    const char *found[BPT_PARTS] = {0};
    size_t count = 0;
    for (int p = 0; p < BPT_PARTS; ++p) path[p] = NULL;
    BPT_TRY(bpt_folder_list(folder, &names, &count));
    bpt_status_t status = match_names(folder, language, names, count, found);
    for (int p = 0; p < BPT_PARTS && status == BPT_OK; ++p)
        if (found[p]) status = bpt_path_format(&path[p], "%s/%s", folder, found[p]);
    bpt_names_free(names, count);
    return status;
}

static bpt_status_t open_parts(const char *folder, const char *language, char *const path[BPT_PARTS], const bpt_running_t *how,
                               bpt_split_t *split) {
    if (!path[BPT_TRAIN] && language)
        return bpt_fail(BPT_ERR_INPUT, "%s: no file whose name holds 'train' and ends in '.%s', such as train.%s", folder, language,
                        language);
    if (!path[BPT_TRAIN])
        return bpt_fail(BPT_ERR_INPUT, "%s: no file whose name holds 'train'; name a file instead, or rename yours", folder);
    for (int p = 0; p < BPT_PARTS; ++p) {
        if (!path[p]) continue;
        BPT_TRY(bpt_running_open(path[p], how, &split->text[p]));
        split->part[p] = bpt_text_range(split->text[p]);
    }
    return BPT_OK;
}

static bpt_status_t open_folder(const char *folder, const char *language, const bpt_running_t *how, bpt_split_t *split) {
    char *path[BPT_PARTS];
    bpt_status_t status = bpt_split_find(folder, language, path);
    if (status == BPT_OK) status = open_parts(folder, language, path, how, split);
    for (int p = 0; p < BPT_PARTS; ++p) bpt_free(path[p]);
    return status;
}

// ---- One file, cut 90/5/5

static uint64_t count_lines(const char *data, uint64_t bytes) {  // ends of lines
    uint64_t lines = 0;
    for (const char *p = data, *end = data + bytes; p < end && (p = memchr(p, '\n', (size_t)(end - p))); ++p) ++lines;
    return lines;
}

static bool starts_char(char c) { return (c & 0xC0) != 0x80; }

// Things that are counted: lines, code points or bytes.
static uint64_t count_things(const bpt_range_t *text, bpt_unit_t unit, bool by_lines) {
    if (by_lines) return count_lines(text->data, text->bytes) + (text->data[text->bytes - 1] != '\n');
    if (unit != BPT_UNIT_CHAR) return text->bytes;
    uint64_t chars = 0;
    for (uint64_t i = 0; i < text->bytes; ++i) chars += starts_char(text->data[i]);
    return chars;
}

// The byte where thing number `index` (from 0) begins.
static uint64_t place_of(const bpt_range_t *text, bpt_unit_t unit, bool by_lines, uint64_t index) {
    uint64_t at = 0;
    if (by_lines) {
        for (const char *p; index > 0 && at < text->bytes; --index) {
            p = memchr(text->data + at, '\n', text->bytes - at);
            at = p ? (uint64_t)(p - text->data) + 1 : text->bytes;
        }
        return at;
    }
    if (unit != BPT_UNIT_CHAR) return index;
    for (uint64_t chars = 0; at < text->bytes; ++at)
        if (starts_char(text->data[at]) && chars++ == index) break;
    return at;
}

static uint64_t share(uint64_t count, uint64_t percent) { return count / 100 * percent + count % 100 * percent / 100; }

void bpt_split_places(uint64_t count, uint64_t begin[BPT_PARTS + 1]) {
    begin[BPT_TRAIN] = 0;
    begin[BPT_VALID] = share(count, 90);
    begin[BPT_TEST] = share(count, 95);
    begin[BPT_PARTS] = count;
    if (begin[BPT_VALID] != begin[BPT_TEST] && begin[BPT_TEST] != count) return;
    begin[BPT_VALID] = count - 2;  // small: one thing for each of the last two
    begin[BPT_TEST] = count - 1;
}

bpt_status_t bpt_split_fail_count(const char *path, uint64_t count, const char *thing) {
    return bpt_fail(BPT_ERR_INPUT, "%s has %llu %s%s, too %s to be cut into train, validation and test parts; name a folder of three files",
                    path, (unsigned long long)count, thing, count == 1 ? "" : "s", count < 3 ? "few" : "many");
}

static bpt_status_t open_file(const char *path, bpt_unit_t unit, bool by_lines, const bpt_running_t *how, bpt_split_t *split) {
    BPT_TRY(bpt_running_open(path, how, &split->text[0]));
    const bpt_range_t whole = bpt_text_range(split->text[0]);
    uint64_t cut[BPT_PARTS + 1];
    if (bpt_unit_of(unit)->is_text) BPT_TRY(bpt_range_check_utf8(&whole));
    const uint64_t count = count_things(&whole, unit, by_lines);
    if (count < 3) return bpt_split_fail_count(whole.path, count, by_lines ? "line" : unit == BPT_UNIT_CHAR ? "code point" : "byte");
    bpt_split_places(count, cut);
    for (int p = 0; p <= BPT_PARTS; ++p) cut[p] = p == BPT_PARTS ? whole.bytes : place_of(&whole, unit, by_lines, cut[p]);
    for (int p = 0; p < BPT_PARTS; ++p)
        split->part[p] = (bpt_range_t){whole.path, whole.data + cut[p], cut[p + 1] - cut[p], cut[p], 1 + count_lines(whole.data, cut[p])};
    return BPT_OK;
}

bpt_status_t bpt_split_open_whole(const char *path, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    BPT_TRY(bpt_text_open(path, &out->text[0]));
    for (int p = 0; p < BPT_PARTS; ++p) out->part[p] = bpt_text_range(out->text[0]);
    return BPT_OK;
}

bpt_status_t bpt_split_open_running(const char *path, bpt_unit_t unit, bool by_lines, const bpt_running_t *how, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    const bpt_status_t status = bpt_folder_exists(path) ? open_folder(path, NULL, how, out) : open_file(path, unit, by_lines, how, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

bpt_status_t bpt_split_open(const char *path, bpt_unit_t unit, bool by_lines, bpt_split_t *out) {
    return bpt_split_open_running(path, unit, by_lines, NULL, out);
}

bpt_status_t bpt_split_open_language(const char *folder, const char *language, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    if (!bpt_folder_exists(folder))
        return bpt_fail(BPT_ERR_INPUT, "%s is no folder; texts and their translations are files of one folder, such as train.%s", folder,
                        language);
    const bpt_status_t status = open_folder(folder, language, NULL, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

void bpt_split_close(bpt_split_t *split) {
    for (int p = 0; p < BPT_PARTS; ++p) bpt_text_close(split->text[p]);
    bpt_free(split->cut.part);
    *split = (bpt_split_t){0};
}
