// state.json (see run_state.h).
#include "models/train/run_state.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "models/train/own_checksum.h"
#include "models/train/run_dir.h"

const char *const bpt_run_file_names[BPT_RUN_FILES] = {[BPT_RUN_MODEL] = BPT_MODEL_FILE,     [BPT_RUN_OPTIMIZER] = BPT_OPTIMIZER_FILE,
                                                       [BPT_RUN_VOCAB] = "vocab.txt",        [BPT_RUN_SOURCE_VOCAB] = "source_vocab.txt",
                                                       [BPT_RUN_SUBWORDS] = "subword.model", [BPT_RUN_LABELS] = "labels.txt",
                                                       [BPT_RUN_CONFIG] = "config",          [BPT_RUN_READING] = "reading",
                                                       [BPT_RUN_ORIGIN] = "origin"};

void bpt_run_state_init(bpt_run_state_t *state, uint64_t seed) {
    *state = (bpt_run_state_t){.seed = seed,
                               .best_loss = INFINITY,
                               .best_step = -1,
                               .plateau_factor = 1,
                               .plateau_best = INFINITY,
                               .loss_scale = 1,
                               .version = BPT_VERSION_STRING};
}

// ---- checksums

static bpt_status_t fill_sums(json_t *o, const bpt_run_sums_t *sums) {
    if (!sums->known) return BPT_OK;
    json_t *files = json_object();
    if (json_object_set_new(o, "files", files)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing checksums");
    for (int i = 0; i < BPT_RUN_FILES; ++i)
        if (sums->listed[i]) BPT_TRY(bpt_json_set_checksum(files, bpt_run_file_names[i], sums->sum[i]));
    return BPT_OK;
}

static bpt_status_t parse_sums(const json_t *o, bpt_run_sums_t *sums) {
    const json_t *files = json_object_get(o, "files");
    if (!files) return BPT_OK;
    if (!json_is_object(files)) return bpt_fail(BPT_ERR_INPUT, "key \"files\" must be an object");
    size_t count = 0;
    for (int i = 0; i < BPT_RUN_FILES; ++i) {
        BPT_TRY(bpt_context(bpt_json_get_checksum(files, bpt_run_file_names[i], &sums->listed[i], &sums->sum[i]), "key \"files\""));
        count += sums->listed[i];
    }
    sums->known = true;
    if (count == json_object_size(files) && sums->listed[BPT_RUN_MODEL] && sums->listed[BPT_RUN_CONFIG]) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "key \"files\" lacks the model or its configuration, or lists a file that this version does not know");
}

// ---- the keys

static bpt_status_t fill(json_t *o, const bpt_run_state_t *s) {
    BPT_TRY(bpt_json_set_text(o, "version", BPT_VERSION_STRING));
    BPT_TRY(bpt_json_set_int(o, "step", s->step));
    BPT_TRY(bpt_json_set_real(o, "epoch", s->epoch));
    BPT_TRY(bpt_json_set_int(o, "tokens", s->tokens));
    BPT_TRY(bpt_json_set_real(o, "seconds", s->seconds));
    BPT_TRY(bpt_json_set_u64(o, "seed", s->seed));
    if (isfinite(s->best_loss)) BPT_TRY(bpt_json_set_real(o, "best_loss", s->best_loss));  // JSON has no infinity: absent
    if (s->best_step >= 0) BPT_TRY(bpt_json_set_int(o, "best_step", s->best_step));
    if (s->waited) BPT_TRY(bpt_json_set_int(o, "waited", s->waited));
    BPT_TRY(bpt_json_set_real(o, "plateau_factor", s->plateau_factor));
    if (isfinite(s->plateau_best)) BPT_TRY(bpt_json_set_real(o, "plateau_best", s->plateau_best));
    BPT_TRY(bpt_json_set_real(o, "loss_scale", s->loss_scale));
    BPT_TRY(bpt_json_set_int(o, "scale_steps", s->scale_steps));
    BPT_TRY(bpt_json_set_int(o, "skipped_steps", s->skipped_steps));
    BPT_TRY(bpt_json_set_real(o, "window_loss", s->window_loss));
    BPT_TRY(bpt_json_set_int(o, "window_steps", s->window_steps));
    if (s->evaluation_left) BPT_TRY(bpt_json_set_int(o, "evaluation_left", s->evaluation_left));
    BPT_TRY(bpt_json_set_text(o, "data", s->data));
    BPT_TRY(fill_sums(o, &s->sums));
    return bpt_json_seal(o);
}

bpt_status_t bpt_run_state_write(const char *folder, const bpt_run_state_t *state) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/state.json", folder));
    json_t *object = json_object();
    bpt_status_t status = object ? fill(object, state) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", path);
    if (status == BPT_OK) status = bpt_json_write(path, object);
    json_decref(object);
    bpt_free(path);
    return status;
}

static bpt_status_t get_string(const json_t *o, const char *key, char *out, size_t capacity) {
    const char *text = "";
    BPT_TRY(bpt_json_get_text(o, key, &text));
    if (strlen(text) >= capacity) return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is longer than %zu bytes", key, capacity - 1);
    strcpy(out, text);
    return BPT_OK;
}

static bpt_status_t check_keys(const json_t *o) {
    static const char *const known[] = {"version",
                                        "step",
                                        "epoch",
                                        "tokens",
                                        "seconds",
                                        "seed",
                                        "plateau_factor",
                                        "loss_scale",
                                        "scale_steps",
                                        "data",
                                        "best_loss",
                                        "best_step",
                                        "plateau_best",
                                        "window_loss",
                                        "window_steps",
                                        "skipped_steps",
                                        "evaluation_left",
                                        "files",
                                        "xxh3",
                                        "waited",
                                        NULL};
    enum {
        REQUIRED = 10
    };  // of the others three are absent before the first evaluation, one where none is left undone, "waited" where it is 0, the rest where
        // a development version wrote the file
    if (!json_is_object(o)) return bpt_fail(BPT_ERR_INPUT, "not a JSON object");
    for (int i = 0; i < REQUIRED; ++i)
        if (!json_object_get(o, known[i])) return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is missing", known[i]);
    const char *unknown = bpt_json_unknown_key(o, known);
    if (unknown)
        return bpt_fail(BPT_ERR_INPUT, "unknown key \"%s\"; a newer version may have written it, this is %s", unknown, BPT_VERSION_STRING);
    return BPT_OK;
}

static bpt_status_t parse(const json_t *o, bpt_run_state_t *s) {
    BPT_TRY(check_keys(o));
    BPT_TRY(get_string(o, "version", s->version, sizeof s->version));
    BPT_TRY(bpt_json_get_int(o, "step", 0, INT64_MAX, &s->step));
    BPT_TRY(bpt_json_get_real(o, "epoch", 0, DBL_MAX, &s->epoch));
    BPT_TRY(bpt_json_get_int(o, "tokens", 0, INT64_MAX, &s->tokens));
    BPT_TRY(bpt_json_get_real(o, "seconds", 0, DBL_MAX, &s->seconds));
    BPT_TRY(bpt_json_get_u64(o, "seed", &s->seed));
    BPT_TRY(bpt_json_get_real(o, "best_loss", -DBL_MAX, DBL_MAX, &s->best_loss));
    BPT_TRY(bpt_json_get_int(o, "best_step", 0, s->step, &s->best_step));
    BPT_TRY(bpt_json_get_int(o, "waited", 0, s->step, &s->waited));
    BPT_TRY(bpt_json_get_real(o, "plateau_factor", 0, DBL_MAX, &s->plateau_factor));
    BPT_TRY(bpt_json_get_real(o, "plateau_best", -DBL_MAX, DBL_MAX, &s->plateau_best));
    BPT_TRY(bpt_json_get_real(o, "loss_scale", DBL_MIN, DBL_MAX, &s->loss_scale));
    BPT_TRY(bpt_json_get_int(o, "scale_steps", 0, INT64_MAX, &s->scale_steps));
    BPT_TRY(bpt_json_get_int(o, "skipped_steps", 0, s->step, &s->skipped_steps));
    BPT_TRY(bpt_json_get_real(o, "window_loss", -DBL_MAX, DBL_MAX, &s->window_loss));
    BPT_TRY(bpt_json_get_int(o, "window_steps", 0, s->step, &s->window_steps));
    BPT_TRY(bpt_json_get_int(o, "evaluation_left", 0, BPT_EVALUATION_OF_SCHEDULE, &s->evaluation_left));
    BPT_TRY(get_string(o, "data", s->data, sizeof s->data));
    return parse_sums(o, &s->sums);
}

bpt_status_t bpt_run_state_read(const char *folder, bpt_run_state_t *state) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/state.json", folder));
    json_t *object = NULL;
    bpt_status_t status = bpt_json_read(path, &object);
    if (status == BPT_OK) {
        bpt_run_state_init(state, 0);
        status = parse(object, state);
        bool sealed;  // not by a version without checksums
        if (status == BPT_OK) status = bpt_json_unseal(object, &sealed);
        status = bpt_context(status, "%s", path);
    }
    json_decref(object);
    bpt_free(path);
    return status;
}
