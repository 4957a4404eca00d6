// Texts of rules, the shipped rules, and which rule applies (see tuning.h).
#include "backends/gpu/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/kernel.h"

// ---- Texts -----------------------------------------------------------------------------------------------------------

static bool power_of_two(uint32_t x) { return x && !(x & (x - 1)); }

// What the kernels (cl/matmul/matmul.cl, matmul_wide.cl, matmul_matrix.cl) ask of their constants.
static bool possible(const bpt_product_rule_t *r) {
    const uint32_t *s = r->size;
    if (r->kind == BPT_PRODUCT_LIBRARY) return true;
    if (r->kind == BPT_PRODUCT_WIDE)
        return s[BPT_WIDE_ROWS] && s[BPT_WIDE_ROWS] % 4 == 0 && s[BPT_WIDE_ROWS] <= 64 && s[BPT_WIDE_COLUMNS] >= 1 &&
               s[BPT_WIDE_COLUMNS] <= 8 && power_of_two(s[BPT_WIDE_GROUP]) && s[BPT_WIDE_GROUP] <= 1024 &&
               (s[BPT_WIDE_LANES] == 4 || s[BPT_WIDE_LANES] == 8 || s[BPT_WIDE_LANES] == 16);
    for (int i = 0; i < 5; ++i)
        if (!power_of_two(s[i]) || s[i] > 256) return false;
    if (r->kind == BPT_PRODUCT_MATRIX)
        return s[BPT_MATRIX_ROWS] <= 8 && s[BPT_MATRIX_COLUMNS] <= 8 && s[BPT_MATRIX_GROUP_ROWS] <= 8 && s[BPT_MATRIX_GROUP_COLUMNS] <= 8 &&
               s[BPT_MATRIX_DEPTH] >= 8;
    return s[BPT_TILE_ITEM_ROWS] <= s[BPT_TILE_ROWS] && s[BPT_TILE_ITEM_COLUMNS] <= s[BPT_TILE_COLUMNS] &&
           s[BPT_TILE_COLUMNS] <= s[BPT_TILE_DEPTH] * s[BPT_TILE_ITEM_ROWS];
}

static bool parse_rule(const char *text, bpt_product_rule_t *r) {
    char rest;
    uint32_t *s = r->size;
    *r = (bpt_product_rule_t){.kind = BPT_PRODUCT_TILES, .size = {64, 64, 16, 8, 8}};
    if (!strcmp(text, "tiles") || !strcmp(text, "0,0,0")) return true;
    if (sscanf(text, "tiles:%u,%u,%u,%u,%u%c", &s[0], &s[1], &s[2], &s[3], &s[4], &rest) == 5) return possible(r);
    *r = (bpt_product_rule_t){.kind = BPT_PRODUCT_MATRIX, .size = {2, 2, 2, 2, 32}};
    if (!strcmp(text, "matrix")) return true;
    if (sscanf(text, "matrix:%u,%u,%u,%u,%u%c", &s[0], &s[1], &s[2], &s[3], &s[4], &rest) == 5) return possible(r);
    *r = (bpt_product_rule_t){.kind = BPT_PRODUCT_LIBRARY};
    if (!strcmp(text, "library")) return true;
    s[BPT_LIBRARY_TF32] = 1;
    if (!strcmp(text, "library-tf32")) return true;
    *r = (bpt_product_rule_t){.kind = BPT_PRODUCT_WIDE, .size = {[BPT_WIDE_LANES] = 4}};
    if (!strncmp(text, "wide:", 5)) text += 5;
    const bool lanes = sscanf(text, "%u,%u,%u,%u%c", &s[0], &s[1], &s[2], &s[3], &rest) == 4;
    return (lanes || sscanf(text, "%u,%u,%u%c", &s[0], &s[1], &s[2], &rest) == 3) && possible(r);
}

// One for all forms, or one for each. Writes into `part`.
static bool parse_forms(char *part, bpt_product_rule_t form[BPT_PRODUCT_FORMS]) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) {
        char *slash = part ? strchr(part, '/') : NULL;
        if (slash) *slash = '\0';
        if (!part || !parse_rule(part, &form[f])) return false;
        part = slash ? slash + 1 : NULL;
        if (f == 0 && !part) {
            form[1] = form[2] = form[0];
            return true;
        }
    }
    return !part;
}

static bool has_kind(const bpt_product_rule_t form[BPT_PRODUCT_FORMS], bpt_product_kind_t kind) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f)
        if (form[f].kind == kind) return true;
    return false;
}

bool bpt_gpu_tuning_parse(const char *text, bpt_gpu_tuning_t *out) {
    char copy[BPT_TUNING_TEXT];
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    char *plus = strchr(copy, '+');
    if (plus) *plus = '\0';
    if (!parse_forms(copy, out->form) || has_kind(out->form, BPT_PRODUCT_MATRIX)) return false;
    if (plus) return parse_forms(plus + 1, out->half);
    memcpy(out->half, out->form, sizeof out->half);
    return true;
}

static size_t rule_text(const bpt_product_rule_t *r, char *text, size_t bytes) {
    const uint32_t *s = r->size;
    if (r->kind == BPT_PRODUCT_LIBRARY) return (size_t)snprintf(text, bytes, s[BPT_LIBRARY_TF32] ? "library-tf32" : "library");
    if (r->kind == BPT_PRODUCT_WIDE && s[BPT_WIDE_LANES] == 4) return (size_t)snprintf(text, bytes, "wide:%u,%u,%u", s[0], s[1], s[2]);
    if (r->kind == BPT_PRODUCT_WIDE) return (size_t)snprintf(text, bytes, "wide:%u,%u,%u,%u", s[0], s[1], s[2], s[3]);
    return (size_t)snprintf(text, bytes, "%s:%u,%u,%u,%u,%u", r->kind == BPT_PRODUCT_MATRIX ? "matrix" : "tiles", s[0], s[1], s[2], s[3],
                            s[4]);
}

static bool same_rule(const bpt_product_rule_t *a, const bpt_product_rule_t *b) {
    return a->kind == b->kind && !memcmp(a->size, b->size, sizeof a->size);
}

static size_t forms_text(const bpt_product_rule_t form[BPT_PRODUCT_FORMS], char *text, size_t bytes) {
    size_t used = rule_text(&form[0], text, bytes);
    if (same_rule(&form[0], &form[1]) && same_rule(&form[0], &form[2])) return used;
    for (int f = 1; f < BPT_PRODUCT_FORMS; ++f) {
        text[used++] = '/';
        used += rule_text(&form[f], text + used, bytes - used);
    }
    return used;
}

void bpt_gpu_tuning_text(const bpt_gpu_tuning_t *t, char text[BPT_TUNING_TEXT]) {
    size_t used = forms_text(t->form, text, BPT_TUNING_TEXT);
    bool same = true;
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) same = same && same_rule(&t->form[f], &t->half[f]);
    if (same) return;
    text[used++] = '+';
    (void)forms_text(t->half, text + used, BPT_TUNING_TEXT - used);
}

bool bpt_gpu_tuning_has(const bpt_gpu_tuning_t *t, bpt_product_kind_t kind) { return has_kind(t->form, kind) || has_kind(t->half, kind); }

// ---- What fits a device ----------------------------------------------------------------------------------------------

static uint32_t group_of(const bpt_product_rule_t *r, const bpt_gpu_info_t *info) {
    const uint32_t *s = r->size;
    if (r->kind == BPT_PRODUCT_WIDE) return s[BPT_WIDE_GROUP];
    if (r->kind == BPT_PRODUCT_MATRIX) return s[BPT_MATRIX_GROUP_ROWS] * s[BPT_MATRIX_GROUP_COLUMNS] * info->fragments.subgroup;
    return s[BPT_TILE_ROWS] / s[BPT_TILE_ITEM_ROWS] * (s[BPT_TILE_COLUMNS] / s[BPT_TILE_ITEM_COLUMNS]);
}

static uint64_t bytes_of(bpt_gpu_kernel_t kernel, const uint32_t *constants) { return bpt_gpu_kernels[kernel].local_bytes(0, constants); }

// Local memory of a work-group. Tiles of matrix units: the larger way in which each operand may be stored.
static uint32_t local_of(const bpt_product_rule_t *r, const bpt_gpu_info_t *info) {
    const uint32_t *s = r->size;
    const uint32_t tiles[BPT_GPU_MAX_CONSTANTS] = {
        [matmul_BM] = s[BPT_TILE_ROWS], [matmul_BN] = s[BPT_TILE_COLUMNS], [matmul_BK] = s[BPT_TILE_DEPTH]};
    if (r->kind == BPT_PRODUCT_WIDE) return 0;
    if (r->kind == BPT_PRODUCT_TILES) return (uint32_t)bytes_of(BPT_GPU_matmul, tiles);
    uint64_t most = 0;
    for (uint32_t stored = 0; stored < 4; ++stored) {
        const uint32_t fragments[BPT_GPU_MAX_CONSTANTS] = {[matmul_matrix_FRAGMENT_M] = info->fragments.rows,
                                                           [matmul_matrix_FRAGMENT_N] = info->fragments.columns,
                                                           [matmul_matrix_ROWS] = s[BPT_MATRIX_ROWS],
                                                           [matmul_matrix_COLUMNS] = s[BPT_MATRIX_COLUMNS],
                                                           [matmul_matrix_GROUP_ROWS] = s[BPT_MATRIX_GROUP_ROWS],
                                                           [matmul_matrix_GROUP_COLUMNS] = s[BPT_MATRIX_GROUP_COLUMNS],
                                                           [matmul_matrix_DEPTH] = s[BPT_MATRIX_DEPTH],
                                                           [matmul_matrix_TRANSPOSE_A] = stored & 1,
                                                           [matmul_matrix_TRANSPOSE_B] = stored >> 1};
        const uint64_t bytes = bytes_of(BPT_GPU_matmul_matrix, fragments);
        if (bytes > most) most = bytes;
    }
    return (uint32_t)most;
}

// What the device lacks for a rule, "" if nothing. Limits of 0 are not known.
static void check_fit(const bpt_product_rule_t *r, const bpt_gpu_info_t *info, char *why, size_t bytes) {
    if (r->kind == BPT_PRODUCT_LIBRARY) return;
    const uint32_t group = group_of(r, info), local = local_of(r, info);
    if (r->kind == BPT_PRODUCT_MATRIX && !info->fragments.rows)
        snprintf(why, bytes, "units for products of f16 matrices, which the device, its driver or this build of bpt lacks");
    else if (r->kind == BPT_PRODUCT_MATRIX && r->size[BPT_MATRIX_DEPTH] % info->fragments.depth)
        snprintf(why, bytes, "a depth that is a multiple of %u, which the device's units take at once", info->fragments.depth);
    else if (r->kind == BPT_PRODUCT_WIDE && r->size[BPT_WIDE_LANES] > 4 && !info->vector_lanes)
        snprintf(why, bytes, "vectors of %u columns, which only OpenCL on a processor has", r->size[BPT_WIDE_LANES]);
    else if (info->max_group_size && group > info->max_group_size)
        snprintf(why, bytes, "work-groups of %u, the device has %u", group, info->max_group_size);
    else if (info->max_local_bytes && local > info->max_local_bytes)
        snprintf(why, bytes, "%u bytes of local memory, the device has %u", local, info->max_local_bytes);
}

static void check_fits(const bpt_gpu_tuning_t *t, const bpt_device_info_t *info, char *why, size_t bytes) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    for (int f = 0; f < BPT_PRODUCT_FORMS && !*why; ++f) check_fit(&t->form[f], &gpu, why, bytes);
    for (int f = 0; f < BPT_PRODUCT_FORMS && !*why; ++f) check_fit(&t->half[f], &gpu, why, bytes);
}

// ---- By class of device ----------------------------------------------------------------------------------------------

static bool is_software(const bpt_device_info_t *info) { return !strcmp(info->type, "software"); }

bool bpt_gpu_is_rasterizer(const bpt_device_info_t *info) { return strstr(info->name, "llvmpipe") != NULL; }

// What keeps a multiprocessor busy, by the compilers' registers and waves (COMPILERS.md).
static const char *tiles_of(const bpt_gpu_info_t *gpu) {
    const bool few_items = gpu->max_group_size && gpu->max_group_size < 256;  // of a work-group
    // Waves of 64 on units of 16 lanes: four waves of 48 registers, not two of 80.
    if (gpu->least_subgroup == 64 && !few_items) return "tiles:64,64,16,8,4";
    // 128 registers of 8 lanes: subgroups of 16, not of 8.
    if (gpu->least_subgroup == 8 && !few_items) return "tiles:64,64,16,4,4";
    return "tiles:64,64,16,8,8";
}

static const char *shipped(const bpt_device_info_t *info) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    if (gpu.library) return "library";
    if (!is_software(info)) return tiles_of(&gpu);
    if (bpt_gpu_is_rasterizer(info)) return gpu.subgroup_size >= 16 ? "wide:32,2,16" : "wide:16,4,8";
    return gpu.vector_lanes >= 16 ? "wide:8,2,1,16" : gpu.vector_lanes >= 8 ? "wide:4,2,1,8" : "wide:8,2,8";
}

// Units for products of matrices go before all else on GPUs; a driver in software only says that it has them.
void bpt_gpu_tuning_shipped(const bpt_device_info_t *info, bpt_gpu_tuning_t *out) {
    bpt_product_rule_t units;
    char why[128] = "";
    (void)bpt_gpu_tuning_parse(shipped(info), out);
    (void)parse_rule("matrix", &units);
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    check_fit(&units, &gpu, why, sizeof why);
    for (int f = 0; f < BPT_PRODUCT_FORMS && !is_software(info) && !*why; ++f) out->half[f] = units;
}

const char *const *bpt_gpu_tuning_candidates(const bpt_device_info_t *info) {
    static const char *const vectors[] = {
        "wide:8,2,1,16", "wide:4,2,1,8", "library", "wide:12,2,1,16", "wide:16,1,1,16", "wide:8,3,1,16", "wide:8,1,1,8", "wide:12,1,1,8",
        "wide:4,4,1,8",  "wide:8,2,8",   NULL};
    static const char *const processor[] = {"wide:8,2,8",  "library",    "wide:16,2,8", "wide:8,4,8",         "wide:16,4,8",
                                            "wide:4,4,16", "wide:8,2,4", "wide:8,1,16", "tiles:64,64,16,8,8", NULL};
    static const char *const gpu[] = {"tiles:64,64,16,8,8",
                                      "library",
                                      "tiles:64,64,16,4,4",
                                      "tiles:64,64,16,8,4",
                                      "tiles:128,64,16,8,8",
                                      "tiles:64,128,16,8,8",
                                      "wide:8,1,64",
                                      "tiles:32,32,16,4,4",
                                      NULL};
    return !is_software(info) ? gpu : bpt_gpu_info(info).vector_lanes >= 8 ? vectors : processor;
}

const char *const *bpt_gpu_tuning_half_candidates(const bpt_device_info_t *info) {
    static const char *const units[] = {"matrix:2,2,2,2,32", "matrix:4,4,2,2,32",  "matrix:4,2,2,2,32",
                                        "matrix:2,4,2,2,32", "matrix:4,4,1,1,32",  "matrix:2,2,2,2,16",
                                        "matrix:2,2,2,4,32", "tiles:64,64,16,8,8", NULL};
    static const char *const none[] = {NULL};
    return bpt_gpu_info(info).fragments.rows ? units : none;
}

// ---- The rule that applies -------------------------------------------------------------------------------------------

static bpt_status_t from_text(const char *origin, const char *text, const bpt_device_info_t *info, bpt_gpu_rule_t *out) {
    char why[128] = "";
    out->origin = origin;
    if (!bpt_gpu_tuning_parse(text, &out->tuning))
        return bpt_fail(
            BPT_ERR_USAGE,
            "%s: '%.100s' must be tiles:ROWS,COLUMNS,DEPTH,ROWS,COLUMNS (of a tile and of an item, powers of two), "
            "wide:ROWS,COLUMNS,GROUP or wide:ROWS,COLUMNS,GROUP,LANES (rows a multiple of 4 up to 64, columns from 1 to 8, group a power "
            "of two, lanes 4, 8 or 16), library or "
            "library-tf32, for all products or as FORWARD/BACKWARD/WEIGHTS; after a + the same for products of f16 matrices, or "
            "matrix:ROWS,COLUMNS,ROWS,COLUMNS,DEPTH (fragments of a subgroup, subgroups, powers of two up to 8)",
            origin, text);
    check_fits(&out->tuning, info, why, sizeof why);
    return *why ? bpt_fail(BPT_ERR_USAGE, "%s: '%.100s' needs %s", origin, text, why) : BPT_OK;
}

// A file is a convenience: what is wrong with it is said, and the shipped rule applies.
static bpt_status_t from_file(const char *backend, const bpt_device_info_t *info, bpt_gpu_rule_t *out) {
    bool found = false;
    char why[128] = "";
    const bpt_status_t status = bpt_gpu_tuning_read(backend, info, &found, &out->tuning);
    if (status == BPT_ERR_NO_MEMORY) return status;
    if (found) check_fits(&out->tuning, info, why, sizeof why);
    if (found && !*why) {
        out->origin = "tuned";
        return BPT_OK;
    }
    if (status != BPT_OK)
        snprintf(out->note, sizeof out->note, "%.300s; the shipped rule for products is used, `bpt tune` makes a new file",
                 bpt_error_message());
    else if (found)
        snprintf(out->note, sizeof out->note, "the tuned rule for products needs %s; the shipped one is used, `bpt tune` finds another",
                 why);
    bpt_error_clear();
    bpt_gpu_tuning_shipped(info, &out->tuning);
    return BPT_OK;
}

bpt_status_t bpt_gpu_rule(const char *backend, const bpt_device_info_t *info, const char *wanted, bpt_gpu_rule_t *out) {
    const char *variable = getenv("BPT_TUNING");
    *out = (bpt_gpu_rule_t){.origin = "shipped"};
    if (wanted) return from_text("asked for", wanted, info, out);
    if (variable && *variable) return from_text("BPT_TUNING", variable, info, out);
    return from_file(backend, info, out);
}
