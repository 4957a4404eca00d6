// Names of the choices (see config_names.h).
#include "models/config/config_names.h"

#include <stdio.h>
#include <string.h>

const char *const bpt_task_names[] = {
#define BPT_TASK(id, name) [BPT_TASK_##id] = #name,
#include "models/tasks/tasks.def"
#undef BPT_TASK
    NULL};
const char *const bpt_model_names[] = {
#define BPT_KIND(id, name) [BPT_MODEL_##id] = #name,
#include "models/kinds/kinds.def"
#undef BPT_KIND
    NULL};
const char *const bpt_attention_names[] = {
    [BPT_ATTENTION_DENSE] = "dense", [BPT_ATTENTION_WINDOW] = "window", [BPT_ATTENTION_SPARSE] = "sparse", NULL};
const char *const bpt_pool_names[] = {[BPT_POOL_ROOT] = "root",           [BPT_POOL_MEAN] = "mean",   [BPT_POOL_MAX] = "max",
                                      [BPT_POOL_RELAY_MAX] = "relay-max", [BPT_POOL_RELAY] = "relay", NULL};
const char *const bpt_positions_names[] = {
    [BPT_POSITIONS_RELATIVE] = "relative",     [BPT_POSITIONS_ABSOLUTE] = "absolute", [BPT_POSITIONS_NONE] = "none",
    [BPT_POSITIONS_SINUSOIDAL] = "sinusoidal", [BPT_POSITIONS_ROTARY] = "rotary",     NULL};
const char *const bpt_norm_names[] = {[BPT_NORM_LAYER] = "layer", [BPT_NORM_RMS] = "rms", NULL};
const char *const bpt_ffn_names[] = {[BPT_FFN_RELU] = "relu", [BPT_FFN_SWIGLU] = "swiglu", NULL};
const char *const bpt_shared_names[] = {[BPT_SHARED_NONE] = "none", [BPT_SHARED_TARGET] = "target", [BPT_SHARED_ALL] = "all", NULL};
const char *const bpt_rule_names[] = {"paper", "reference", NULL};
const char *const bpt_up_norm_names[] = {[BPT_UP_NORM_PAPER] = "paper", [BPT_UP_NORM_CODE] = "code", NULL};
const char *const bpt_vertex_loss_names[] = {[BPT_VERTEX_LOSS_ROOT] = "root", [BPT_VERTEX_LOSS_ALL] = "all", NULL};
const char *const bpt_schedule_names[] = {[BPT_SCHEDULE_CONSTANT] = "constant",
                                          [BPT_SCHEDULE_COSINE] = "cosine",
                                          [BPT_SCHEDULE_NOAM] = "noam",
                                          [BPT_SCHEDULE_EXPONENTIAL] = "exponential",
                                          [BPT_SCHEDULE_PLATEAU] = "plateau",
                                          [BPT_SCHEDULE_INVERSE_SQRT] = "inverse-sqrt",
                                          [BPT_SCHEDULE_WARMUP_STABLE_DECAY] = "warmup-stable-decay",
                                          NULL};
const char *const bpt_best_by_names[] = {"loss", "accuracy", "precision", "recall", "f1", "mse", "bleu", NULL};
const char *const bpt_optimizer_names[] = {
#define BPT_OPTIMIZER(id, name) [BPT_OPTIMIZER_##id] = #name,
#include "models/optimizers/optimizers.def"
#undef BPT_OPTIMIZER
    NULL};
const char *const bpt_weights_names[] = {"f32", "q8", NULL};
const char *const bpt_precision_names[] = {[BPT_F32] = "f32", [BPT_BF16] = "bf16", [BPT_F16] = "f16", NULL};

bpt_status_t bpt_name_parse(const char *what, const char *const *names, const char *text, int *out) {
    for (int i = 0; names[i]; ++i) {
        if (strcmp(names[i], text)) continue;
        *out = i;
        return BPT_OK;
    }
    char choices[256] = "";
    for (size_t i = 0, used = 0; names[i] && used < sizeof choices; ++i)
        used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s", i ? (names[i + 1] ? ", " : " or ") : "", names[i]);
    return bpt_fail(BPT_ERR_USAGE, "%s \"%.100s\" is unknown; choose %s", what, text, choices);
}
