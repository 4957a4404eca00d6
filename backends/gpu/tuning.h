// The blueprints of a device, problem by problem: what the selector says, or what was measured, or asked for. A recorded rule, never a
// timing at start, so that runs repeat bit for bit. A rule has a text, as in BPT_TUNING, `bpt devices`, the file that `bpt tune` writes and
// a run's config.json. Knows no API and no kernel.
#ifndef BPT_GPU_TUNING_H
#define BPT_GPU_TUNING_H

#include "backends/gpu/selector.h"

// What a training step multiplies: x W^T forward, dy W backward, dy^T x for the gradients of weights.
typedef enum { BPT_PRODUCT_FORWARD, BPT_PRODUCT_BACKWARD, BPT_PRODUCT_WEIGHTS, BPT_PRODUCT_FORMS } bpt_product_form_t;

typedef struct {
    bpt_blueprint_t form[BPT_PRODUCT_FORMS];
    bpt_blueprint_t half[BPT_PRODUCT_FORMS];   // where both operands are f16
    bpt_blueprint_t other[BPT_PROBLEM_COUNT];  // of problems that are no products of a step; unset: what the selector says
} bpt_gpu_tuning_t;

enum { BPT_TUNING_TEXT = 224 };  // room for the text of a tuning

// "tiles:64,64,16,8,8", "library-tf32": one blueprint for all forms or forward/backward/weights. After a +, in the same way, what products
// of two f16 matrices do instead, "matrix" among them. After or in place of these, each behind a semicolon, blueprints of attention:
// "library;rows:16,64,4,4,64,1;warps:4,64". Unset is what is not there. False: not such a text.
bool bpt_gpu_tuning_parse(const char *text, bpt_gpu_tuning_t *out);
void bpt_gpu_tuning_text(const bpt_gpu_tuning_t *tuning, char text[BPT_TUNING_TEXT]);
bool bpt_gpu_tuning_has(const bpt_gpu_tuning_t *tuning, bpt_blueprint_kind_t kind);  // for a product of a step
// The rule of a class of device as it is shipped: products; others are unset.
void bpt_gpu_tuning_shipped(const bpt_device_info_t *info, bpt_gpu_tuning_t *out);
// Sets what is unset as the selector says.
void bpt_gpu_tuning_complete(const bpt_device_info_t *info, bpt_gpu_tuning_t *tuning);

// ---- Products --------------------------------------------------------------------------------------------------------

// A product as it is asked for, without the matrices.
typedef struct {
    bpt_product_form_t form;
    int64_t m, n, k;
    bpt_dtype_t a, b;
} bpt_product_problem_t;

// What a complete rule says of it.
const bpt_blueprint_t *bpt_select_product(const bpt_gpu_tuning_t *t, const bpt_product_problem_t *p);
// Tiles for it, where that is no way for it.
const bpt_blueprint_t *bpt_select_tiles(const bpt_gpu_tuning_t *t, const bpt_product_problem_t *p);
static inline bool bpt_product_is_small(const bpt_product_problem_t *p) { return p->m <= 32 || p->n <= 32; }

// ---- The rule that applies -------------------------------------------------------------------------------------------

typedef struct {
    bpt_gpu_tuning_t tuning;
    const char *origin;  // "shipped", "tuned" (the file), "BPT_TUNING" or "asked for"
    char note[560];      // a sentence on why a file is not used, "" otherwise
} bpt_gpu_rule_t;

// `wanted` (NULL: none) before BPT_TUNING before the file before the shipped rule. A file that is damaged, or asks for what the device does
// not have, is the note; a wrong text elsewhere is BPT_ERR_USAGE.
bpt_status_t bpt_gpu_rule(const char *backend, const bpt_device_info_t *info, const char *wanted, bpt_gpu_rule_t *out);

// ---- The file (tuning_file.c) ----------------------------------------------------------------------------------------
// One per backend, device and version of the driver, in $BPT_CONFIG_DIR, else $XDG_CONFIG_HOME/bpt, else ~/.config/bpt.

// The path; *out NULL: no folder, since none of these variables is set.
bpt_status_t bpt_gpu_tuning_path(const char *backend, const bpt_device_info_t *info, char **out);
// BPT_ERR_INPUT or BPT_ERR_IO, with the path, when the file cannot be used.
bpt_status_t bpt_gpu_tuning_read(const char *backend, const bpt_device_info_t *info, bool *found, bpt_gpu_tuning_t *out);
// Makes the folder, so that what cannot be written is known before anything is measured.
bpt_status_t bpt_gpu_tuning_prepare(const char *backend, const bpt_device_info_t *info);
// Replaces the file as a whole; `gflops`: what was measured, per form.
bpt_status_t bpt_gpu_tuning_write(const char *backend, const bpt_device_info_t *info, const bpt_gpu_tuning_t *tuning,
                                  const double gflops[BPT_PRODUCT_FORMS]);

#endif
