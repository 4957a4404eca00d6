// Finding and cutting the parts of a corpus (split.h).
#include "data/examples/split.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/paths.h"
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

// The part that a name says, -1: none.
static bpt_status_t part_of(const char *folder, const char *name, int *part) {
    *part = -1;
    for (int p = 0; p < BPT_PARTS; ++p) {
        if (!is_of_part(name, p)) continue;
        if (*part >= 0)
            return bpt_fail(BPT_ERR_INPUT, "%s: '%s' could be the %s part and the %s part; rename it", folder, name, part_names[*part],
                            part_names[p]);
        *part = p;
    }
    return BPT_OK;
}

// Of several test sets the one that is called so: test.en beside test2017.en.
static bool is_plain_test(const char *name) {
    const size_t length = strlen(part_names[BPT_TEST]);
    return !strncmp(name, part_names[BPT_TEST], length) && (!name[length] || name[length] == '.');
}

// Whether a name ends in .LANGUAGE, or the name of a packed file in .LANGUAGE.gz and its like. NULL: any.
static bool is_of(const char *name, const char *language) {
    const size_t length = bpt_packing_bare(name), end = language ? strlen(language) : 0;
    return !language || (length > end && name[length - end - 1] == '.' && !strncmp(name + length - end, language, end));
}

// ---- Shards: names that differ in numbers alone

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// However they are packed.
static bool are_shards(const char *a, const char *b) {
    const char *a_end = a + bpt_packing_bare(a), *b_end = b + bpt_packing_bare(b);
    while (a < a_end && b < b_end) {
        if (is_digit(*a) && is_digit(*b)) {
            while (is_digit(*a)) ++a;
            while (is_digit(*b)) ++b;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return a == a_end && b == b_end;
}

// They are counted from 0 or 1: two years of a test set are no shards. `first` and `second` in their order.
static bool are_counted(const char *first, const char *second) {
    const char *number = first;
    for (; *first && *first == *second; ++first, ++second)
        if (!is_digit(*first)) number = first + 1;
    first = number;
    return strtoull(first, NULL, 10) <= 1;
}

// By their numbers: part-2 comes before part-10.
static int compare_shards(const void *x, const void *y) {
    const char *first = *(const char *const *)x, *second = *(const char *const *)y, *a = first, *b = second;
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            while (*a == '0') ++a;
            while (*b == '0') ++b;
            const size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            const int order = n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
            if (order) return order;
            a += n, b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            ++a, ++b;
        }
    }
    return *a || *b ? (*a ? 1 : -1) : strcmp(first, second);
}

// One file twice, packed and not, or packed in two ways.
static bool is_same(const char *first, const char *second) {
    const size_t length = bpt_packing_bare(first);
    return length == bpt_packing_bare(second) && !strncmp(first, second, length);
}

// ---- Lists of files

void bpt_part_paths_free(bpt_part_paths_t *p) {
    for (size_t i = 0; i < p->count; ++i) bpt_free(p->path[i]);
    bpt_free(p->path);
    *p = (bpt_part_paths_t){0};
}

static bpt_status_t add_path(bpt_part_paths_t *p, const char *folder, const char *name) {
    BPT_TRY(bpt_grow(&p->path, p->count, &p->capacity, sizeof *p->path));
    BPT_TRY(folder ? bpt_path_format(&p->path[p->count], "%s/%s", folder, name) : bpt_strdup(name, &p->path[p->count]));
    ++p->count;
    return BPT_OK;
}

static bpt_status_t fail_both(const char *folder, const char *first, const char *second, int part) {
    return bpt_fail(
        BPT_ERR_INPUT,
        "%s: both '%s' and '%s' could be the %s part; keep one in the folder%s (shards of a part differ in numbers alone, which "
        "count from 0 or 1)",
        folder, first, second, part_names[part], part == BPT_TEST ? ", or call it 'test' and no more, which is then taken" : "");
}

static bpt_status_t sort_shards(const char *folder, int part, char **path, size_t count) {
    if (count < 2) return BPT_OK;
    qsort(path, count, sizeof *path, compare_shards);
    for (size_t i = 1; i < count; ++i)
        if (is_same(path[i - 1], path[i]) || (i == 1 && !are_counted(path[0], path[1])))
            return fail_both(folder, bpt_path_name(path[i - 1]), bpt_path_name(path[i]), part);
    return BPT_OK;
}

// Whether a name in the folder is that of a file which may be a part.
static bpt_status_t is_candidate(const char *folder, const char *name, const char *language, bool *yes) {
    char *path;
    *yes = false;
    if (name[0] == '.' || !is_of(name, language)) return BPT_OK;
    BPT_TRY(bpt_path_format(&path, "%s/%s", folder, name));
    *yes = bpt_file_exists(path);
    bpt_free(path);
    return BPT_OK;
}

static bpt_status_t take_name(const char *folder, const char *name, const char *language, bool plain_test, const char *first[BPT_PARTS],
                              bpt_part_paths_t part[BPT_PARTS]) {
    bool candidate;
    int p;
    BPT_TRY(is_candidate(folder, name, language, &candidate));
    if (!candidate) return BPT_OK;
    BPT_TRY(part_of(folder, name, &p));
    if (p < 0 || (p == BPT_TEST && plain_test && !is_plain_test(name))) return BPT_OK;
    if (first[p] && !are_shards(first[p], name)) return fail_both(folder, first[p], name, p);
    if (!first[p]) first[p] = name;
    return add_path(&part[p], folder, name);
}

bpt_status_t bpt_split_find(const char *folder, const char *language, bpt_part_paths_t part[BPT_PARTS]) {
    char **names = NULL;
    const char *first[BPT_PARTS] = {0};
    size_t count = 0, before[BPT_PARTS];
    BPT_TRY(bpt_folder_list(folder, &names, &count));
    bpt_status_t status = BPT_OK;
    bool plain_test = false;
    for (int p = 0; p < BPT_PARTS; ++p) before[p] = part[p].count;
    for (size_t i = 0; i < count && status == BPT_OK && !plain_test; ++i)
        if (is_plain_test(names[i])) status = is_candidate(folder, names[i], language, &plain_test);
    for (size_t i = 0; i < count && status == BPT_OK; ++i) status = take_name(folder, names[i], language, plain_test, first, part);
    for (int p = 0; p < BPT_PARTS && status == BPT_OK; ++p)
        status = sort_shards(folder, p, part[p].path + before[p], part[p].count - before[p]);
    bpt_names_free(names, count);
    return status;
}

// ---- What is named: folders with parts, files whose names are those of parts, or files that are cut

static bool names_a_part(const char *path) {
    int part = -1;
    for (int p = 0; p < BPT_PARTS; ++p) part = is_of_part(bpt_path_name(path), p) ? p : part;
    return part >= 0;
}

bool bpt_split_has_folder(const bpt_paths_t *paths) {
    bool any = false;
    for (size_t i = 0; i < paths->count; ++i) any |= bpt_folder_exists(paths->path[i]);
    return any;
}

bool bpt_split_has_parts(const bpt_paths_t *paths) {
    bool train = false, other = false;
    for (size_t i = 0; i < paths->count; ++i) {
        if (!names_a_part(paths->path[i])) return bpt_split_has_folder(paths);
        if (is_of_part(bpt_path_name(paths->path[i]), BPT_TRAIN))
            train = true;
        else
            other = true;
    }
    return (train && other) || bpt_split_has_folder(paths);
}

static bpt_status_t take_path(const char *path, const char *language, bpt_part_paths_t part[BPT_PARTS]) {
    int p;
    if (bpt_folder_exists(path)) return bpt_split_find(path, language, part);
    if (language)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s is no folder; texts and their translations are files of one folder, such as train.%s, or two columns of a "
                        "file that --format names, such as csv",
                        path, language);
    if (strcmp(path, "-") && !bpt_file_exists(path))
        return bpt_fail(BPT_ERR_IO, "%s: there is no such file or folder; check the path", path);
    BPT_TRY(part_of(path, bpt_path_name(path), &p));
    if (p < 0) return bpt_fail(BPT_ERR_INPUT, "%s: its name says no part, as a file beside folders must: 'train', 'valid' or 'test'", path);
    return add_path(&part[p], NULL, path);
}

static bpt_status_t open_parts(const bpt_paths_t *paths, const char *language, const bpt_part_paths_t part[BPT_PARTS],
                               const bpt_running_t *how, bpt_split_t *split) {
    const char *folder = paths->path[0];
    if (!part[BPT_TRAIN].count && language)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s: no file whose name holds 'train' and ends in '.%s', such as train.%s; where both sides are in one file, "
                        "--format names how it is written, such as csv",
                        folder, language, language);
    if (!part[BPT_TRAIN].count)
        return bpt_fail(BPT_ERR_INPUT, "%s: no file whose name holds 'train'; name a file instead, or several (%s/*), or rename yours",
                        folder, folder);
    for (int p = 0; p < BPT_PARTS; ++p) {
        if (!part[p].count) continue;
        const bpt_paths_t files = {(const char *const *)part[p].path, part[p].count};
        BPT_TRY(bpt_running_open(&files, how, &split->text[p]));
        split->part[p] = bpt_text_range(split->text[p]);
    }
    return BPT_OK;
}

static bpt_status_t open_all(const bpt_paths_t *paths, const char *language, const bpt_running_t *how, bpt_split_t *split) {
    bpt_part_paths_t part[BPT_PARTS] = {{0}};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < paths->count && status == BPT_OK; ++i) status = take_path(paths->path[i], language, part);
    if (status == BPT_OK) status = open_parts(paths, language, part, how, split);
    for (int p = 0; p < BPT_PARTS; ++p) bpt_part_paths_free(&part[p]);
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

static bpt_status_t open_files(const bpt_paths_t *paths, bpt_unit_t unit, bool by_lines, const bpt_running_t *how, bpt_split_t *split) {
    BPT_TRY(bpt_running_open(paths, how, &split->text[0]));
    const bpt_range_t whole = bpt_text_range(split->text[0]);
    uint64_t cut[BPT_PARTS + 1];
    if (bpt_unit_of(unit)->is_text) BPT_TRY(bpt_range_check_utf8(&whole));
    const uint64_t count = count_things(&whole, unit, by_lines);
    if (count < 3) return bpt_split_fail_count(whole.path, count, by_lines ? "line" : unit == BPT_UNIT_CHAR ? "code point" : "byte");
    bpt_split_places(count, cut);
    for (int p = 0; p <= BPT_PARTS; ++p) cut[p] = p == BPT_PARTS ? whole.bytes : place_of(&whole, unit, by_lines, cut[p]);
    for (int p = 0; p < BPT_PARTS; ++p) split->part[p] = bpt_range_part(&whole, cut[p], cut[p + 1]);
    return BPT_OK;
}

bpt_status_t bpt_split_open_whole(const bpt_paths_t *paths, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    BPT_TRY(bpt_text_open_files(paths, &out->text[0]));
    for (int p = 0; p < BPT_PARTS; ++p) out->part[p] = bpt_text_range(out->text[0]);
    return BPT_OK;
}

bpt_status_t bpt_split_open_running(const bpt_paths_t *paths, bpt_unit_t unit, bool by_lines, const bpt_running_t *how, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    const bpt_status_t status = bpt_split_has_parts(paths) ? open_all(paths, NULL, how, out) : open_files(paths, unit, by_lines, how, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

bpt_status_t bpt_split_open(const bpt_paths_t *paths, bpt_unit_t unit, bool by_lines, bpt_split_t *out) {
    return bpt_split_open_running(paths, unit, by_lines, NULL, out);
}

bpt_status_t bpt_split_open_language(const bpt_paths_t *folders, const char *language, bpt_split_t *out) {
    *out = (bpt_split_t){0};
    const bpt_status_t status = open_all(folders, language, NULL, out);
    if (status != BPT_OK) bpt_split_close(out);
    return status;
}

void bpt_split_close(bpt_split_t *split) {
    for (int p = 0; p < BPT_PARTS; ++p) bpt_text_close(split->text[p]);
    bpt_free(split->cut.part);
    *split = (bpt_split_t){0};
}
