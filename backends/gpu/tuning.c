// Texts of rules, and which rule applies (see tuning.h).
#include "backends/gpu/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Texts -----------------------------------------------------------------------------------------------------------

// The problem that a blueprint of attention is for; PRODUCT: of products.
static bpt_problem_t problem_of(const bpt_blueprint_t *b) {
    static const bpt_problem_t of_kind[] = {
        [BPT_BLUEPRINT_ROWS] = BPT_PROBLEM_ATTENTION_ROWS,
        [BPT_BLUEPRINT_BLOCK] = BPT_PROBLEM_ATTENTION_BLOCKS,
        [BPT_BLUEPRINT_WARPS] = BPT_PROBLEM_ATTENTION_WARPS,
        [BPT_BLUEPRINT_FRAGMENTS] = BPT_PROBLEM_ATTENTION_FRAGMENTS,
    };
    _Static_assert(BPT_PROBLEM_PRODUCT == 0, "kinds of products are not in the table");
    if (b->kind == BPT_BLUEPRINT_NONE)
        return b->size[BPT_NONE_OF_FRAGMENTS] ? BPT_PROBLEM_ATTENTION_FRAGMENTS : BPT_PROBLEM_ATTENTION_WARPS;
    return (size_t)b->kind < BPT_COUNT(of_kind) ? of_kind[b->kind] : BPT_PROBLEM_PRODUCT;
}

static bool parse_product(const char *text, bpt_blueprint_t *out) {
    return bpt_blueprint_parse(text, out) && problem_of(out) == BPT_PROBLEM_PRODUCT;
}

// One for all forms, or one for each. Writes into `part`.
static bool parse_forms(char *part, bpt_blueprint_t form[BPT_PRODUCT_FORMS]) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) {
        char *slash = part ? strchr(part, '/') : NULL;
        if (slash) *slash = '\0';
        if (!part || !parse_product(part, &form[f])) return false;
        part = slash ? slash + 1 : NULL;
        if (f == 0 && !part) {
            form[1] = form[2] = form[0];
            return true;
        }
    }
    return !part;
}

static bool has_kind(const bpt_blueprint_t form[BPT_PRODUCT_FORMS], bpt_blueprint_kind_t kind) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f)
        if (form[f].kind == kind) return true;
    return false;
}

static bool parse_products(char *text, bpt_gpu_tuning_t *out) {
    char *plus = strchr(text, '+');
    if (plus) *plus = '\0';
    if (!parse_forms(text, out->form) || has_kind(out->form, BPT_BLUEPRINT_MATRIX)) return false;
    if (plus) return parse_forms(plus + 1, out->half);
    memcpy(out->half, out->form, sizeof out->half);
    return true;
}

// Of the parts between semicolons the first may be of products.
bool bpt_gpu_tuning_parse(const char *text, bpt_gpu_tuning_t *out) {
    char copy[BPT_TUNING_TEXT];
    bpt_blueprint_t b;
    *out = (bpt_gpu_tuning_t){0};
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    for (char *part = copy, *next; part; part = next) {
        next = strchr(part, ';');
        if (next) *next++ = '\0';
        const bpt_problem_t problem = bpt_blueprint_parse(part, &b) ? problem_of(&b) : BPT_PROBLEM_PRODUCT;
        if (problem == BPT_PROBLEM_PRODUCT && part == copy && parse_products(part, out)) continue;
        if (problem == BPT_PROBLEM_PRODUCT || out->other[problem].kind != BPT_BLUEPRINT_UNSET) return false;
        out->other[problem] = b;
    }
    return true;
}

static size_t forms_text(const bpt_blueprint_t form[BPT_PRODUCT_FORMS], char *text, size_t bytes) {
    size_t used = bpt_blueprint_text(&form[0], text, bytes);
    if (bpt_blueprint_same(&form[0], &form[1]) && bpt_blueprint_same(&form[0], &form[2])) return used;
    for (int f = 1; f < BPT_PRODUCT_FORMS; ++f) {
        text[used++] = '/';
        used += bpt_blueprint_text(&form[f], text + used, bytes - used);
    }
    return used;
}

void bpt_gpu_tuning_text(const bpt_gpu_tuning_t *t, char text[BPT_TUNING_TEXT]) {
    const bool products = t->form[0].kind != BPT_BLUEPRINT_UNSET;
    size_t used = products ? forms_text(t->form, text, BPT_TUNING_TEXT) : 0;
    bool same = true;
    text[used] = '\0';
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) same = same && bpt_blueprint_same(&t->form[f], &t->half[f]);
    if (!same) {
        text[used++] = '+';
        used += forms_text(t->half, text + used, BPT_TUNING_TEXT - used);
    }
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) {
        if (t->other[p].kind == BPT_BLUEPRINT_UNSET) continue;
        if (used) text[used++] = ';';
        used += bpt_blueprint_text(&t->other[p], text + used, BPT_TUNING_TEXT - used);
    }
}

bool bpt_gpu_tuning_has(const bpt_gpu_tuning_t *t, bpt_blueprint_kind_t kind) { return has_kind(t->form, kind) || has_kind(t->half, kind); }

// ---- What the selector says ------------------------------------------------------------------------------------------

static void set_products(const bpt_device_info_t *info, bpt_gpu_tuning_t *t) {
    for (int f = 0; f < BPT_PRODUCT_FORMS; ++f) {
        t->form[f] = bpt_select(info, BPT_PROBLEM_PRODUCT);
        t->half[f] = bpt_select(info, BPT_PROBLEM_PRODUCT_OF_HALVES);
    }
}

void bpt_gpu_tuning_shipped(const bpt_device_info_t *info, bpt_gpu_tuning_t *out) {
    *out = (bpt_gpu_tuning_t){0};
    set_products(info, out);
}

void bpt_gpu_tuning_complete(const bpt_device_info_t *info, bpt_gpu_tuning_t *t) {
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p)
        if (t->other[p].kind == BPT_BLUEPRINT_UNSET) t->other[p] = bpt_select(info, (bpt_problem_t)p);
}

const bpt_blueprint_t *bpt_select_product(const bpt_gpu_tuning_t *t, const bpt_product_problem_t *p) {
    return &(p->a == BPT_F16 && p->b == BPT_F16 ? t->half : t->form)[p->form];
}

const bpt_blueprint_t *bpt_select_tiles(const bpt_gpu_tuning_t *t, const bpt_product_problem_t *p) {
    const bpt_blueprint_t *b = bpt_select_product(t, p);
    if (bpt_product_is_small(p)) return &t->other[BPT_PROBLEM_SMALL_PRODUCT];
    return b->kind == BPT_BLUEPRINT_TILES ? b : &t->other[BPT_PROBLEM_TILED_PRODUCT];
}

// ---- The rule that applies -------------------------------------------------------------------------------------------

static void check_fits(const bpt_gpu_tuning_t *t, const bpt_device_info_t *info, char *why, size_t bytes) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    *why = '\0';
    for (int f = 0; f < BPT_PRODUCT_FORMS && !*why; ++f) bpt_blueprint_lacks(&t->form[f], &gpu, why, bytes);
    for (int f = 0; f < BPT_PRODUCT_FORMS && !*why; ++f) bpt_blueprint_lacks(&t->half[f], &gpu, why, bytes);
    for (int p = 0; p < BPT_PROBLEM_COUNT && !*why; ++p) bpt_blueprint_lacks(&t->other[p], &gpu, why, bytes);
}

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
            "matrix:ROWS,COLUMNS,ROWS,COLUMNS,DEPTH (fragments of a subgroup, subgroups, powers of two up to 8); after a ; for attention "
            "rows:ROWS,GROUP,ROWS,SUMS,KEYS,HEADS, warps:WARPS,KEYS or none (powers of two), block:KEYS,KEYS, fragments:KEYS,KEYS (of an "
            "item "
            "in a step, forward and backward) or no-fragments, as in backends/gpu/blueprint.h",
            origin, text);
    if (out->tuning.form[0].kind == BPT_BLUEPRINT_UNSET) set_products(info, &out->tuning);
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
