// Inside of a model of the public interface, shared by the files of models/api.
#ifndef BPT_MODELS_API_MODEL_INTERNAL_H
#define BPT_MODELS_API_MODEL_INTERNAL_H

#include "bpt/backend.h"
#include "models/api/model.h"
#include "models/api/side_texts.h"
#include "models/run/runner.h"
#include "models/train/recovery.h"

// Where weights come from when a device has to be opened: one of these, in this order.
typedef struct {
    char *run, *checkpoint;  // a run's folder, and which checkpoint (NULL: best, else latest)
    char *file;              // a model file
    uint64_t seed;           // initial values
} bpt_origin_t;

struct bpt_model {
    bpt_model_options_t options;  // its texts belong to the caller and are not looked at after opening
    const bpt_backend_t *backend;
    bpt_optimizer_t optimizer;
    bpt_origin_t origin;
    bpt_model_config_t config;
    char *config_text;
    bpt_side_texts_t texts;
    bpt_run_t *saved_to;  // locked; NULL: no run
    bpt_device_losses_t losses;
    bpt_device_t *device;  // NULL, with the runner, after a loss that was not recovered from
    bpt_runner_t *runner;
    bpt_run_state_t state;  // where training stands; of a model that does not train, its checkpoint's
    int64_t generators;
    struct bpt_model **others;  // [n_others]: that answer together with it; they have runners on its device, and none of their own
    int64_t n_others;
};

// BPT_ERR_USAGE for NULL, BPT_ERR_DEVICE_LOST while there is no device.
bpt_status_t bpt_model_ready(const bpt_model_t *model) BPT_MUST_USE;
// BPT_ERR_USAGE unless `can`, a property of the model's task: "WHAT is for REASON, and this is a classifier".
bpt_status_t bpt_model_need(const bpt_model_t *model, bool can, const char *what, const char *reason) BPT_MUST_USE;
static inline const bpt_task_spec_t *bpt_model_task(const bpt_model_t *model) { return bpt_task_of(&model->config); }
bpt_status_t bpt_model_check_tokens(const bpt_model_t *model, const uint32_t *tokens, int64_t count) BPT_MUST_USE;
// BPT_ERR_NUMERIC unless all numbers of a result are finite.
bpt_status_t bpt_model_check_finite(const float *values, int64_t count) BPT_MUST_USE;
// BPT_ERR_USAGE unless all numbers that the caller gives are finite; `what` names them in the plural.
bpt_status_t bpt_model_check_numbers(const float *numbers, int64_t count, const char *what) BPT_MUST_USE;
// Of sequences of any model. `targets`: the last token of each is only a target. *total: all tokens.
bpt_status_t bpt_model_check_sequences(const bpt_model_t *model, const bpt_sequences_t *sequences, bool targets,
                                       int64_t *total) BPT_MUST_USE;

// The same of those that a translator reads too.
bpt_status_t bpt_model_check_read(const bpt_model_t *model, const bpt_sequences_t *sequences, bool targets, int64_t *total) BPT_MUST_USE;

// Whether an option is a finite float, 0 or more: what devices and kernels are given.
bool bpt_is_amount(double x);

#endif
