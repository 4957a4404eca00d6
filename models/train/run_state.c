// state.json (see run_state.h).
#include "models/train/run_state.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "models/train/run_dir.h"

const char *const bpt_run_file_names[BPT_RUN_FILES] = {[BPT_RUN_MODEL] = BPT_MODEL_FILE,     [BPT_RUN_OPTIMIZER] = BPT_OPTIMIZER_FILE,
                                                       [BPT_RUN_VOCAB] = "vocab.txt",        [BPT_RUN_SOURCE_VOCAB] = "source_vocab.txt",
                                                       [BPT_RUN_SUBWORDS] = "subword.model", [BPT_RUN_LABELS] = "labels.txt",
                                                       [BPT_RUN_CONFIG] = "config",          [BPT_RUN_READING] = "reading"};

void bpt_run_state_init(bpt_run_state_t *state, uint64_t seed) {
    *state = (bpt_run_state_t){.seed = seed,
                               .best_loss = INFINITY,
                               .best_step = -1,
                               .plateau_factor = 1,
                               .plateau_best = INFINITY,
                               .loss_scale = 1,
                               .version = BPT_VERSION_STRING};
}

// ---- checksums: 64 bits as 16 hexadecimal digits, which JSON numbers do not hold

static bpt_status_t set_hash(json_t *o, uint64_t hash) {
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    return bpt_json_set_text(o, "xxh3", digits);
}

static bpt_status_t get_hash(const json_t *o, uint64_t *hash) {
    const char *digits = NULL;
    BPT_TRY(bpt_json_get_text(o, "xxh3", &digits));
    if (!digits) return bpt_fail(BPT_ERR_INPUT, "key \"xxh3\" is missing");
    if (strlen(digits) != 16 || digits[strspn(digits, "0123456789abcdef")])
        return bpt_fail(BPT_ERR_INPUT, "key \"xxh3\" must be 16 hexadecimal digits");
    *hash = strtoull(digits, NULL, 16);
    return BPT_OK;
}

static bpt_status_t add_object(json_t *o, const char *key, json_t **out) {
    *out = json_object();
    return json_object_set_new(o, key, *out) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", key) : BPT_OK;
}

static bpt_status_t fill_sums(json_t *o, const bpt_run_sums_t *sums) {
    json_t *files, *file;
    if (!sums->known) return BPT_OK;
    BPT_TRY(add_object(o, "files", &files));
    for (int i = 0; i < BPT_RUN_FILES; ++i) {
        if (!sums->listed[i]) continue;
        BPT_TRY(add_object(files, bpt_run_file_names[i], &file));
        BPT_TRY(bpt_json_set_u64(file, "bytes", sums->sum[i].bytes));
        BPT_TRY(set_hash(file, sums->sum[i].xxh3));
    }
    return BPT_OK;
}

static bpt_status_t parse_sum(const json_t *file, bpt_checksum_t *sum) {
    static const char *const known[] = {"bytes", "xxh3", NULL};
    if (!json_is_object(file) || bpt_json_unknown_key(file, known) || !json_object_get(file, "bytes"))
        return bpt_fail(BPT_ERR_INPUT, "needs the keys \"bytes\" and \"xxh3\", and no others");
    BPT_TRY(bpt_json_get_u64(file, "bytes", &sum->bytes));
    return get_hash(file, &sum->xxh3);
}

static bpt_status_t parse_sums(const json_t *o, bpt_run_sums_t *sums) {
    const json_t *files = json_object_get(o, "files");
    if (!files) return BPT_OK;
    if (!json_is_object(files)) return bpt_fail(BPT_ERR_INPUT, "key \"files\" must be an object");
    size_t count = 0;
    for (int i = 0; i < BPT_RUN_FILES; ++i) {
        const json_t *file = json_object_get(files, bpt_run_file_names[i]);
        sums->listed[i] = file != NULL;
        if (file) BPT_TRY(bpt_context(parse_sum(file, &sums->sum[i]), "key \"files\", \"%s\"", bpt_run_file_names[i]));
        count += file != NULL;
    }
    sums->known = true;
    if (count == json_object_size(files) && sums->listed[BPT_RUN_MODEL] && sums->listed[BPT_RUN_CONFIG]) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "key \"files\" lacks the model or its configuration, or lists a file that this version does not know");
}

// The hash of state.json itself, over its text on one line without this key.
static bpt_status_t own_hash(const json_t *o, uint64_t *hash) {
    char *text;
    BPT_TRY(bpt_json_format(o, 0, &text));
    *hash = bpt_checksum_of(text, strlen(text)).xxh3;
    bpt_free(text);
    return BPT_OK;
}

static bpt_status_t check_own_hash(json_t *o) {
    uint64_t wanted = 0, got;
    if (!json_object_get(o, "xxh3")) return BPT_OK;  // a version without checksums
    BPT_TRY(get_hash(o, &wanted));
    (void)json_object_del(o, "xxh3");
    BPT_TRY(own_hash(o, &got));
    if (got == wanted) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "the content does not match its own checksum; it was changed or damaged, copy it again");
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
    uint64_t hash;
    BPT_TRY(own_hash(o, &hash));
    return set_hash(o, hash);
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
    static const char *const known[] = {"version",        "step",        "epoch",        "tokens",        "seconds",         "seed",
                                        "plateau_factor", "loss_scale",  "scale_steps",  "data",          "best_loss",       "best_step",
                                        "plateau_best",   "window_loss", "window_steps", "skipped_steps", "evaluation_left", "files",
                                        "xxh3",           NULL};
    enum {
        REQUIRED = 10
    };  // of the others three are absent before the first evaluation, one where none is left undone, the rest where a development version
        // wrote the file
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
        if (status == BPT_OK) status = check_own_hash(object);
        status = bpt_context(status, "%s", path);
    }
    json_decref(object);
    bpt_free(path);
    return status;
}
