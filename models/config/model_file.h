// The configuration in the metadata of a model file. Knows no run directory.
#ifndef BPT_MODELS_MODEL_FILE_H
#define BPT_MODELS_MODEL_FILE_H

#include "bpt/safetensors.h"
#include "models/config/config.h"

// Reads and checks the metadata `config`. A file need not say what its tensors tell: `max_positions` is the number of rows of
// pos_embed.weight. BPT_ERR_INPUT names the file and the key.
bpt_status_t bpt_model_file_config(const bpt_safetensors_t *file, bpt_model_config_t *config) BPT_MUST_USE;

#endif
