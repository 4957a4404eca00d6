// Texts of blueprints, and which sizes each kernel can have (see blueprint.h).
#include "backends/gpu/blueprint.h"

#include <stdio.h>
#include <string.h>

static bool power_of_two(uint32_t x) { return x && !(x & (x - 1)); }

static bool are_powers(const uint32_t *size, int count, uint32_t most) {
    for (int i = 0; i < count; ++i)
        if (!power_of_two(size[i]) || size[i] > most) return false;
    return true;
}

// ---- What the kernels ask of their sizes
static bool any_sizes(const uint32_t *s) {
    (void)s;
    return true;
}

static bool tiles_can(const uint32_t *s) {
    return are_powers(s, 5, 256) && s[BPT_TILE_ITEM_ROWS] <= s[BPT_TILE_ROWS] && s[BPT_TILE_ITEM_COLUMNS] <= s[BPT_TILE_COLUMNS] &&
           s[BPT_TILE_COLUMNS] <= s[BPT_TILE_DEPTH] * s[BPT_TILE_ITEM_ROWS];
}

static bool wide_can(const uint32_t *s) {
    return s[BPT_WIDE_ROWS] && s[BPT_WIDE_ROWS] % 4 == 0 && s[BPT_WIDE_ROWS] <= 64 && s[BPT_WIDE_COLUMNS] >= 1 &&
           s[BPT_WIDE_COLUMNS] <= 8 && power_of_two(s[BPT_WIDE_GROUP]) && s[BPT_WIDE_GROUP] <= 1024 &&
           (s[BPT_WIDE_LANES] == 4 || s[BPT_WIDE_LANES] == 8 || s[BPT_WIDE_LANES] == 16);
}

static bool matrix_can(const uint32_t *s) {
    return are_powers(s, 4, 8) && power_of_two(s[BPT_MATRIX_DEPTH]) && s[BPT_MATRIX_DEPTH] <= 256 && s[BPT_MATRIX_DEPTH] >= 8;
}

// Items of a group have all rows of a tile together, each group of them with other keys (check_sizes in lower/software/attention_tile.c).
static bool rows_can(const uint32_t *s) {
    if (!are_powers(s, BPT_ROWS_HEADS, 1024) || s[BPT_ROWS_HEADS] < 1 || s[BPT_ROWS_HEADS] > 64) return false;
    return s[BPT_ROWS_ITEM] >= 4 && s[BPT_ROWS_TILE] >= s[BPT_ROWS_ITEM] && s[BPT_ROWS_TILE] <= 64 && s[BPT_ROWS_KEYS] <= 256 &&
           s[BPT_ROWS_SUMS] >= s[BPT_ROWS_ITEM] / 4 && s[BPT_ROWS_SUMS] <= 64;
}

static bool block_can(const uint32_t *s) {
    return s[BPT_BLOCK_KEYS] >= 1 && s[BPT_BLOCK_KEYS] <= 8 && s[BPT_BLOCK_KEYS_BACK] >= 1 && s[BPT_BLOCK_KEYS_BACK] <= 8;
}

static bool warps_can(const uint32_t *s) { return are_powers(s, 2, 128) && s[BPT_WARPS_GROUP] <= 8 && s[BPT_WARPS_KEYS] >= 64; }

// Of the sizes the first `least` are always written, further ones where they are not the usual ones.
static const struct {
    const char *name;
    bpt_blueprint_kind_t kind;
    int least, most;
    bool alone;  // the name alone means the usual sizes
    uint32_t usual[BPT_BLUEPRINT_SIZES];
    bool (*can)(const uint32_t *size);
} kinds[] = {
    {"none", BPT_BLUEPRINT_NONE, 0, 0, true, {0}, any_sizes},
    {"tiles", BPT_BLUEPRINT_TILES, 5, 5, true, {64, 64, 16, 8, 8}, tiles_can},
    {"wide", BPT_BLUEPRINT_WIDE, 3, 4, false, {[BPT_WIDE_LANES] = 4}, wide_can},
    {"library", BPT_BLUEPRINT_LIBRARY, 0, 0, true, {0}, any_sizes},
    {"library-tf32", BPT_BLUEPRINT_LIBRARY, 0, 0, true, {[BPT_LIBRARY_TF32] = 1}, any_sizes},
    {"matrix", BPT_BLUEPRINT_MATRIX, 5, 5, true, {2, 2, 2, 2, 32}, matrix_can},
    {"rows", BPT_BLUEPRINT_ROWS, 6, 6, false, {0}, rows_can},
    {"block", BPT_BLUEPRINT_BLOCK, 2, 2, true, {5, 3}, block_can},
    {"warps", BPT_BLUEPRINT_WARPS, 2, 2, true, {4, 128}, warps_can},
    {"fragments", BPT_BLUEPRINT_FRAGMENTS, 2, 2, true, {3, 3}, block_can},
    {"no-fragments", BPT_BLUEPRINT_NONE, 0, 0, true, {[BPT_NONE_OF_FRAGMENTS] = 1}, any_sizes},
};

// How many numbers with commas between them the text is; -1: it is something else, or there are too many.
static int read_numbers(const char *text, int most, uint32_t *out) {
    for (int n = 0; n < most;) {
        int length = 0;
        if (*text < '0' || *text > '9' || sscanf(text, "%9u%n", &out[n], &length) != 1) return -1;
        ++n;
        text += length;
        if (!*text) return n;
        if (*text++ != ',') return -1;
    }
    return -1;
}

static bool parse_kind(const char *name, size_t length, const char *sizes, bpt_blueprint_t *out) {
    for (size_t i = 0; i < BPT_COUNT(kinds); ++i) {
        if (strlen(kinds[i].name) != length || memcmp(kinds[i].name, name, length)) continue;
        *out = (bpt_blueprint_t){.kind = kinds[i].kind};
        memcpy(out->size, kinds[i].usual, sizeof out->size);
        if (!sizes) return kinds[i].alone;
        const int count = read_numbers(sizes, kinds[i].most, out->size);
        return count >= 0 && count >= kinds[i].least && kinds[i].can(out->size);
    }
    return false;
}

bool bpt_blueprint_parse(const char *text, bpt_blueprint_t *out) {
    const char *colon = strchr(text, ':');
    if (!strcmp(text, "0,0,0")) text = "tiles";
    if (*text >= '0' && *text <= '9') return parse_kind("wide", 4, text, out);
    return parse_kind(text, colon ? (size_t)(colon - text) : strlen(text), colon ? colon + 1 : NULL, out);
}

size_t bpt_blueprint_text(const bpt_blueprint_t *b, char *text, size_t bytes) {
    size_t i = 0, used;
    while (i + 1 < BPT_COUNT(kinds) && (kinds[i].kind != b->kind || (!kinds[i].most && memcmp(kinds[i].usual, b->size, sizeof b->size))))
        ++i;
    int count = kinds[i].most;
    while (count > kinds[i].least && b->size[count - 1] == kinds[i].usual[count - 1]) --count;
    used = (size_t)snprintf(text, bytes, "%s", kinds[i].name);
    for (int s = 0; s < count && used < bytes; ++s) used += (size_t)snprintf(text + used, bytes - used, "%c%u", s ? ',' : ':', b->size[s]);
    return used;
}

bool bpt_blueprint_same(const bpt_blueprint_t *a, const bpt_blueprint_t *b) {
    return a->kind == b->kind && !memcmp(a->size, b->size, sizeof a->size);
}
