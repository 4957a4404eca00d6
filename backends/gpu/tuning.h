// Which product of matrices runs where several compute the same: a recorded rule, never a timing at start, so that runs repeat bit for bit.
// A rule has a text, as in BPT_TUNING, `bpt devices`, the file that `bpt tune` writes and a run's config.json. Knows no API and no kernel.
#ifndef BPT_GPU_TUNING_H
#define BPT_GPU_TUNING_H

#include "backends/gpu/info.h"

typedef enum { BPT_PRODUCT_TILES, BPT_PRODUCT_WIDE, BPT_PRODUCT_LIBRARY, BPT_PRODUCT_MATRIX } bpt_product_kind_t;

enum { BPT_TILE_ROWS, BPT_TILE_COLUMNS, BPT_TILE_DEPTH, BPT_TILE_ITEM_ROWS, BPT_TILE_ITEM_COLUMNS };  // sizes of tiles in local memory
enum { BPT_WIDE_ROWS, BPT_WIDE_COLUMNS, BPT_WIDE_GROUP, BPT_WIDE_LANES };  // of products without it: vectors of LANES columns
// Of products by the device's units: their fragments that a subgroup holds, the subgroups of a work-group, the depth of tiles.
enum { BPT_MATRIX_ROWS, BPT_MATRIX_COLUMNS, BPT_MATRIX_GROUP_ROWS, BPT_MATRIX_GROUP_COLUMNS, BPT_MATRIX_DEPTH };
enum { BPT_LIBRARY_TF32 };  // 1: f32 operands may be rounded to TF32

typedef struct {
    bpt_product_kind_t kind;
    uint32_t size[5];
} bpt_product_rule_t;

// What a training step multiplies: x W^T forward, dy W backward, dy^T x for the gradients of weights.
typedef enum { BPT_PRODUCT_FORWARD, BPT_PRODUCT_BACKWARD, BPT_PRODUCT_WEIGHTS, BPT_PRODUCT_FORMS } bpt_product_form_t;

typedef struct {
    bpt_product_rule_t form[BPT_PRODUCT_FORMS];
    bpt_product_rule_t half[BPT_PRODUCT_FORMS];  // where both operands are f16
} bpt_gpu_tuning_t;

enum { BPT_TUNING_TEXT = 160 };  // room for the text of a tuning

// "tiles:64,64,16,8,8", "wide:8,2,8", "wide:8,2,1,16", "library", "library-tf32"; one for all forms or forward/backward/weights. Also
// "tiles", "8,2,8" and "0,0,0". After a +, in the same way, what products of two f16 matrices do instead, "matrix:2,2,2,2,32" (also
// "matrix") among them. False: not such a text.
bool bpt_gpu_tuning_parse(const char *text, bpt_gpu_tuning_t *out);
void bpt_gpu_tuning_text(const bpt_gpu_tuning_t *tuning, char text[BPT_TUNING_TEXT]);
bool bpt_gpu_tuning_has(const bpt_gpu_tuning_t *tuning, bpt_product_kind_t kind);
// Of the devices in software, Mesa's rasterizer runs 4, 8 or 16 items side by side and pays for every load of each: it wants large tiles in
// registers. OpenCL on processors has vectors as long as their registers.
bool bpt_gpu_is_rasterizer(const bpt_device_info_t *info);
// The rule of a class of device as it is shipped.
void bpt_gpu_tuning_shipped(const bpt_device_info_t *info, bpt_gpu_tuning_t *out);
// What is worth measuring on a device, as texts, likely ones first; ends with NULL. The shipped rule is not always among them. The others
// are for products of two f16 matrices on a device with units for them.
const char *const *bpt_gpu_tuning_candidates(const bpt_device_info_t *info);
const char *const *bpt_gpu_tuning_half_candidates(const bpt_device_info_t *info);

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
