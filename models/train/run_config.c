// Checksums of config.json (see run_config.h).
#include "models/train/run_config.h"

#include <jansson.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/train/own_checksum.h"

#define ORIGIN_KEY "origin"

bool bpt_run_config_is_checksum(const char *key) { return !strcmp(key, ORIGIN_KEY) || !strcmp(key, BPT_OWN_CHECKSUM_KEY); }

static bpt_status_t begin(const json_t *options, bpt_run_origin_t *out) {
    char *text;
    BPT_TRY(bpt_json_format(options, 0, &text));
    *out = (bpt_run_origin_t){.known = true, .sum = bpt_checksum_of(text, strlen(text))};
    bpt_free(text);
    return BPT_OK;
}

bpt_status_t bpt_run_config_write(const char *path, json_t *options, bpt_run_origin_t *origin) {
    if (!origin->known) BPT_TRY(begin(options, origin));
    BPT_TRY(bpt_json_set_checksum(options, ORIGIN_KEY, origin->sum));
    BPT_TRY(bpt_json_seal(options));
    return bpt_json_write(path, options);
}

// One without the other is damage of a key's name.
static bpt_status_t check(json_t *config, bpt_run_origin_t *out) {
    bool sealed, known;
    BPT_TRY(bpt_json_unseal(config, &sealed));
    BPT_TRY(bpt_json_get_checksum(config, ORIGIN_KEY, &known, &out->sum));
    (void)json_object_del(config, ORIGIN_KEY);
    out->known = sealed;
    if (sealed == known) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "the key \"%s\" is missing; it was changed or damaged, copy it again",
                    known ? BPT_OWN_CHECKSUM_KEY : ORIGIN_KEY);
}

bpt_status_t bpt_run_config_check(json_t *config, const char *path, bpt_run_origin_t *out) {
    *out = (bpt_run_origin_t){0};
    if (!json_is_object(config)) return BPT_OK;  // who reads the options says what is there instead
    const bpt_status_t status = check(config, out);
    if (status != BPT_ERR_INPUT) return status;
    return bpt_fail(status, "%s: %s (to change an option, give it to bpt train --resume)", path, bpt_error_message());
}

bpt_status_t bpt_run_config_read(const char *path, bpt_run_origin_t *out) {
    json_t *config;
    BPT_TRY(bpt_json_read(path, &config));
    const bpt_status_t status = bpt_run_config_check(config, path, out);
    json_decref(config);
    return status;
}
