// Parameters as numbers of 8 bits (bpt/q8.h) in files. Inside of params_file.c; what others see is in params.h.
#ifndef BPT_MODELS_NN_PACKED_H
#define BPT_MODELS_NN_PACKED_H

#include "models/nn/params.h"

bpt_status_t bpt_packed_declare(const bpt_param_t *param, const char *name, bpt_safetensors_writer_t *writer) BPT_MUST_USE;
bpt_status_t bpt_packed_write(const bpt_param_t *param, const char *name, const float *values,
                              bpt_safetensors_writer_t *writer) BPT_MUST_USE;
// Of a tensor that is I8 and has the parameter's shape: its scales are there.
bpt_status_t bpt_packed_check(const bpt_param_t *param, const char *name, const bpt_safetensors_t *file) BPT_MUST_USE;
// The numbers that it stands for. BPT_ERR_INPUT where bytes or scales are none that the format has.
bpt_status_t bpt_packed_read(const bpt_param_t *param, const char *name, const bpt_safetensors_t *file, float *values) BPT_MUST_USE;
// Of the name of scales, that of the tensor of bytes they belong to.
void bpt_packed_owner(const bpt_safetensors_t *file, char *name);

#endif
