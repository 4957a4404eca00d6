// The parameters of a model: names, shapes, initial values and their places in one flat f32 arena. Knows nothing of graphs or devices.
//
// Order of the arena: matrices that the optimizer updates as wholes, other trained parameters with weight decay, trained ones without,
// frozen ones. Gradients and moments have the same layout and end before the frozen ones; second moments begin behind the matrices. A
// parameter starts at a multiple of BPT_TENSOR_ALIGNMENT, unless it is joined to the one before it (query, key and value weights: one
// [3d,d] matrix); the gaps are zero and stay zero.
#ifndef BPT_MODELS_NN_PARAMS_H
#define BPT_MODELS_NN_PARAMS_H

#include "bpt/safetensors.h"

typedef enum { BPT_GROUP_DECAY, BPT_GROUP_NO_DECAY, BPT_GROUP_FROZEN, BPT_GROUP_MATRIX, BPT_N_GROUPS } bpt_param_group_t;
// What a row of a parameter belongs to: a start from another model's file takes words and labels row by row, and another task's head may
// have what the file has not.
typedef enum { BPT_ROWS_OF_MODEL, BPT_ROWS_OF_TOKENS, BPT_ROWS_OF_OUTPUTS, BPT_ROWS_OF_HEAD } bpt_param_rows_t;
typedef enum { BPT_INIT_ZERO, BPT_INIT_ONE, BPT_INIT_UNIFORM, BPT_INIT_NORMAL } bpt_param_init_t;

typedef struct {
    char name[64];  // as in a model file
    int32_t rank;
    int64_t shape[2];
    int64_t count;   // elements
    int64_t offset;  // elements from the start of the arena, after bpt_params_layout
    bpt_param_group_t group;
    bpt_param_init_t init;
    bpt_param_rows_t rows;
    double bound;  // UNIFORM: values in (-bound, bound)
    bool hidden;   // the weight of a product inside of a layer
    bool joined;   // lies directly behind the parameter before it
} bpt_param_t;

typedef struct {
    bpt_param_t *items;
    size_t count, capacity;
    int64_t matrix_elements, decay_elements, trained_elements, elements;  // ends of the parts of the arena
} bpt_params_t;

bpt_status_t bpt_params_add(bpt_params_t *params, const bpt_param_t *param) BPT_MUST_USE;  // count is computed
void bpt_params_layout(bpt_params_t *params);
// The trained weights of products inside of layers become those that are updated as whole matrices, at the beginning of a new layout.
void bpt_params_set_matrices(bpt_params_t *params);
// Where the arena begins to have elements whose gradients are final only at the end of a backward pass: embeddings behind matrices, or
// biases.
static inline int64_t bpt_params_late(const bpt_params_t *params) {
    return params->matrix_elements ? params->matrix_elements : params->decay_elements;
}
// Elements of the moments of all trained parameters.
static inline int64_t bpt_params_moments(const bpt_params_t *params) { return 2 * params->trained_elements - params->matrix_elements; }
void bpt_params_free(bpt_params_t *params);
const bpt_param_t *bpt_params_find(const bpt_params_t *params, const char *name);  // NULL: none

// Initial values of one parameter: a pure function of (seed, name, element), through Philox.
void bpt_param_init_values(const bpt_param_t *param, uint64_t seed, float *out);

// ---- Files. A set is an arena written under names with a prefix ("" for the weights, "m." and "v." for the moments).
typedef struct {
    const char *prefix;
    float *arena;
    bool trained_only;
    bool no_matrices;  // without those that are updated as wholes
    bool packed;  // written: matrices as numbers of 8 bits (bpt_param_packs), I8 [rows, columns] under the parameter's name and F16 [rows,
                  // blocks] under that and BPT_SCALES
} bpt_param_set_t;

#define BPT_SCALES ".scales"

// What the weights of a model are used as: f32, or what numbers of 8 bits stand for.
typedef enum { BPT_WEIGHTS_F32, BPT_WEIGHTS_Q8 } bpt_weights_form_t;

// Whether a parameter is one of the matrices that become numbers of 8 bits: those of products, embeddings and positions.
bool bpt_param_packs(const bpt_param_t *param);
// Whether a file has such tensors.
bool bpt_params_are_packed(const bpt_safetensors_t *file);
// The numbers that 8 bits would stand for, in place of those of the arena. BPT_ERR_USAGE where a number is too large for that.
bpt_status_t bpt_params_round(const bpt_params_t *params, float *arena) BPT_MUST_USE;
// The matrices of the arena packed (bpt/q8.h), one behind the other: where one begins (`param` NULL: how long all are), in words; and all
// of them.
int64_t bpt_params_packed_place(const bpt_params_t *params, const bpt_param_t *param);
bpt_status_t bpt_params_pack(const bpt_params_t *params, const float *arena, uint32_t *out) BPT_MUST_USE;

// Safetensors; metadata format = "bpt" and, when not NULL, config = the text. *sum is that of the file; NULL: not wanted.
bpt_status_t bpt_params_write(const bpt_params_t *params, const char *path, const char *config, const bpt_param_set_t *sets, int n_sets,
                              bpt_checksum_t *sum) BPT_MUST_USE;
// The same into a writer that may have other metadata already; the file is finished.
bpt_status_t bpt_params_write_to(const bpt_params_t *params, bpt_safetensors_writer_t *writer, const char *config,
                                 const bpt_param_set_t *sets, int n_sets) BPT_MUST_USE;
// Strict: every tensor of the sets must be there with its shape, packed or not, and nothing else; BPT_ERR_INPUT names the first that is
// missing, left over or misshapen. So it does, unless `non_finite`, where a number is infinite or not a number. *sum as above.
bpt_status_t bpt_params_read(const bpt_params_t *params, const char *path, const bpt_param_set_t *sets, int n_sets, bool non_finite,
                             bpt_checksum_t *sum) BPT_MUST_USE;
// BPT_ERR_INPUT when one of these numbers of a file's tensor is infinite or not a number.
bpt_status_t bpt_params_check_finite(const char *path, const char *name, const float *values, int64_t count) BPT_MUST_USE;
// The tensors of such a file go on to a writer that has its metadata and nothing else; the same checks, no arena.
bpt_status_t bpt_params_copy(const bpt_params_t *params, const char *path, bool non_finite, bool packed, bpt_safetensors_writer_t *to,
                             bpt_checksum_t *sum) BPT_MUST_USE;

#endif
