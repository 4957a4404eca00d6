// The table of selector.def, and what blueprints ask of a device (see selector.h).
#include "backends/gpu/selector.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/kernel.h"

// ---- What a blueprint asks of a device

// Work-items and local memory of a work-group; 0: what there is will do.
typedef struct {
    uint64_t items, local_bytes;
} needs_t;

static uint64_t bytes_of(bpt_gpu_kernel_t kernel, const uint32_t *constants) { return bpt_gpu_kernels[kernel].local_bytes(0, constants); }

static needs_t tiles_need(const uint32_t *s) {
    const uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {
        [matmul_BM] = s[BPT_TILE_ROWS], [matmul_BN] = s[BPT_TILE_COLUMNS], [matmul_BK] = s[BPT_TILE_DEPTH]};
    return (needs_t){s[BPT_TILE_ROWS] / s[BPT_TILE_ITEM_ROWS] * (s[BPT_TILE_COLUMNS] / s[BPT_TILE_ITEM_COLUMNS]),
                     bytes_of(BPT_GPU_matmul, constants)};
}

// The larger way in which each operand may be stored.
static needs_t matrix_needs(const uint32_t *s, const bpt_fragments_t *fragments) {
    needs_t needs = {.items = s[BPT_MATRIX_GROUP_ROWS] * s[BPT_MATRIX_GROUP_COLUMNS] * fragments->subgroup};
    for (uint32_t stored = 0; stored < 4; ++stored) {
        const uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {[matmul_matrix_FRAGMENT_M] = fragments->rows,
                                                           [matmul_matrix_FRAGMENT_N] = fragments->columns,
                                                           [matmul_matrix_ROWS] = s[BPT_MATRIX_ROWS],
                                                           [matmul_matrix_COLUMNS] = s[BPT_MATRIX_COLUMNS],
                                                           [matmul_matrix_GROUP_ROWS] = s[BPT_MATRIX_GROUP_ROWS],
                                                           [matmul_matrix_GROUP_COLUMNS] = s[BPT_MATRIX_GROUP_COLUMNS],
                                                           [matmul_matrix_DEPTH] = s[BPT_MATRIX_DEPTH],
                                                           [matmul_matrix_TRANSPOSE_A] = stored & 1,
                                                           [matmul_matrix_TRANSPOSE_B] = stored >> 1};
        const uint64_t bytes = bytes_of(BPT_GPU_matmul_matrix, constants);
        if (bytes > needs.local_bytes) needs.local_bytes = bytes;
    }
    return needs;
}

static needs_t needs_of(const bpt_blueprint_t *b, const bpt_gpu_info_t *gpu) {
    switch (b->kind) {
    case BPT_BLUEPRINT_TILES: return tiles_need(b->size);
    case BPT_BLUEPRINT_MATRIX: return matrix_needs(b->size, &gpu->fragments);
    case BPT_BLUEPRINT_WIDE: return (needs_t){.items = b->size[BPT_WIDE_GROUP]};
    default: return (needs_t){0};  // attention takes what there is of both: its calls have sizes of their own
    }
}

void bpt_blueprint_lacks(const bpt_blueprint_t *b, const bpt_gpu_info_t *gpu, char *why, size_t bytes) {
    const needs_t needs = needs_of(b, gpu);
    *why = '\0';
    if ((b->kind == BPT_BLUEPRINT_MATRIX || b->kind == BPT_BLUEPRINT_FRAGMENTS) && !gpu->fragments.rows)
        snprintf(why, bytes, "units for products of f16 matrices, which the device, its driver or this build of bpt lacks");
    else if (b->kind == BPT_BLUEPRINT_MATRIX && b->size[BPT_MATRIX_DEPTH] % gpu->fragments.depth)
        snprintf(why, bytes, "a depth that is a multiple of %u, which the device's units take at once", gpu->fragments.depth);
    else if (b->kind == BPT_BLUEPRINT_WARPS && !gpu->mma)
        snprintf(why, bytes, "matrix units of CUDA, from compute capability 8.0 on");
    else if (b->kind == BPT_BLUEPRINT_WIDE && b->size[BPT_WIDE_LANES] > 4 && !gpu->vector_lanes)
        snprintf(why, bytes, "vectors of %u columns, which only OpenCL on a processor has", b->size[BPT_WIDE_LANES]);
    else if (gpu->max_group_size && needs.items > gpu->max_group_size)
        snprintf(why, bytes, "work-groups of %u, the device has %u", (uint32_t)needs.items, gpu->max_group_size);
    else if (gpu->max_local_bytes && needs.local_bytes > gpu->max_local_bytes)
        snprintf(why, bytes, "%u bytes of local memory, the device has %u", (uint32_t)needs.local_bytes, gpu->max_local_bytes);
}

// ---- The table
const bpt_problem_info_t bpt_problems[BPT_PROBLEM_COUNT] = {
#define PROBLEM(id, name, kernels, lines) [BPT_PROBLEM_##id] = {name, kernels, lines},
#define SELECT(class, problem, blueprints)
#include "backends/gpu/selector.def"
#undef PROBLEM
#undef SELECT
};

static const struct {
    const char *class;
    bpt_problem_t problem;
    const char *blueprints;
} rows[] = {
#define PROBLEM(id, name, kernels, lines)
#define SELECT(class, problem, blueprints) {class, BPT_PROBLEM_##problem, blueprints},
#include "backends/gpu/selector.def"
#undef PROBLEM
#undef SELECT
};

// The next blueprint of a row; false: there is none.
static bool next(const char **words, const bpt_device_info_t *info, bpt_blueprint_t *out) {
    char word[BPT_BLUEPRINT_TEXT];
    const size_t length = strcspn(*words, " ");
    if (!length) return false;
    snprintf(word, sizeof word, "%.*s", (int)length, *words);
    *words += length + ((*words)[length] == ' ');
    if (!strcmp(word, "same"))
        *out = bpt_select(info, BPT_PROBLEM_PRODUCT);
    else if (!bpt_blueprint_parse(word, out))
        *out = (bpt_blueprint_t){.kind = BPT_BLUEPRINT_NONE};
    return true;
}

// Calls `found` with each blueprint, and whether it fits the device, the nearest class's first, until it says that this was enough.
typedef bool (*found_t)(void *user, const bpt_blueprint_t *b, bool fits);
static void visit(const bpt_device_info_t *info, bpt_problem_t problem, found_t found, void *user) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    for (const bpt_gpu_class_t *class = bpt_gpu_class(info); class; class = bpt_gpu_class_like(class))
        for (size_t i = 0; i < BPT_COUNT(rows); ++i) {
            const char *words = rows[i].blueprints;
            bpt_blueprint_t b;
            if (rows[i].problem != problem || strcmp(rows[i].class, bpt_gpu_class_name(class))) continue;
            while (next(&words, info, &b)) {
                char why[128];
                bpt_blueprint_lacks(&b, &gpu, why, sizeof why);
                if (found(user, &b, !*why)) return;
            }
        }
}

typedef struct {
    bpt_blueprint_t *blueprint;
    int count;
    bool library;  // suits the device
} taken_t;

// Where none fits it is the last, whose compiler says why.
static bool take_first(void *user, const bpt_blueprint_t *b, bool fits) {
    taken_t *t = user;
    if (b->kind == BPT_BLUEPRINT_LIBRARY && !t->library) return false;
    *t->blueprint = *b;
    return fits;
}

bpt_blueprint_t bpt_select(const bpt_device_info_t *info, bpt_problem_t problem) {
    bpt_blueprint_t b = {.kind = BPT_BLUEPRINT_NONE};
    taken_t taken = {.blueprint = &b, .library = bpt_gpu_info(info).library};
    visit(info, problem, take_first, &taken);
    return b;
}

static bool take_other(void *user, const bpt_blueprint_t *b, bool fits) {
    taken_t *t = user;
    if (!fits) return false;
    for (int i = 0; i < t->count; ++i)
        if (bpt_blueprint_same(&t->blueprint[i], b)) return false;
    t->blueprint[t->count++] = *b;
    return t->count == BPT_MOST_CANDIDATES;
}

int bpt_select_candidates(const bpt_device_info_t *info, bpt_problem_t problem, bpt_blueprint_t out[BPT_MOST_CANDIDATES]) {
    taken_t taken = {.blueprint = out, .count = 1};
    out[0] = bpt_select(info, problem);
    visit(info, problem, take_other, &taken);
    return taken.count;
}

void bpt_select_text(const bpt_device_info_t *info, bpt_problem_t problem, char *text, size_t bytes) {
    bpt_blueprint_t blueprints[BPT_MOST_CANDIDATES];
    const int count = bpt_select_candidates(info, problem, blueprints);
    size_t used = 0;
    for (int i = 0; i < count && used + BPT_BLUEPRINT_TEXT < bytes; ++i) {
        if (i) text[used++] = ' ';
        used += bpt_blueprint_text(&blueprints[i], text + used, bytes - used);
    }
}
