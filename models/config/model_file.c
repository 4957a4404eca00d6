// The configuration of a model file (see model_file.h).
#include "models/config/model_file.h"

#include <jansson.h>
#include <string.h>

#include "bpt/json.h"
#include "models/config/config_json.h"
#include "models/nn/names.h"

static bpt_status_t add_positions(json_t *config, const bpt_safetensors_t *file) {
    const bpt_safetensors_tensor_t *table = bpt_safetensors_find(file, BPT_NAME_POSITIONS);
    if (!table || table->rank != 2 || !json_is_object(config) || json_object_get(config, "max_positions")) return BPT_OK;
    return bpt_json_set_int(config, "max_positions", table->shape[0]);
}

bpt_status_t bpt_model_file_config(const bpt_safetensors_t *file, bpt_model_config_t *config) {
    const char *path = bpt_safetensors_path(file), *text = bpt_safetensors_metadata(file, "config");
    json_t *object;
    if (!text) return bpt_fail(BPT_ERR_INPUT, "%s: the metadata key \"config\" is missing, so the model's shape is not known", path);
    BPT_TRY(bpt_json_parse(text, strlen(text), path, &object));
    bpt_status_t status = add_positions(object, file);
    if (status == BPT_OK) status = bpt_model_config_from_json(object, path, config);
    json_decref(object);
    return status;
}
