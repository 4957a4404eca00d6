// libFuzzer: any text as a model configuration, as a state.json and as a metrics.jsonl. What is accepted must survive writing and reading.
// So the files of any run are inputs to begin with.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/config/config_json.h"
#include "models/train/metrics.h"
#include "models/train/run_state.h"

static void require(bool condition) {
    if (!condition) abort();
}

static bpt_status_t parse(const char *text, const char *where, bpt_model_config_t *config) {
    json_t *object;
    BPT_TRY(bpt_json_parse(text, strlen(text), where, &object));
    const bpt_status_t status = bpt_model_config_from_json(object, where, config);
    json_decref(object);
    return status;
}

static void model(const char *text) {
    bpt_model_config_t config, again;
    if (parse(text, "input", &config) != BPT_OK) return;
    char *first, *second;
    require(bpt_model_config_check(&config) == BPT_OK);
    require(bpt_model_config_format(&config, &first) == BPT_OK);
    require(parse(first, "first", &again) == BPT_OK);
    require(bpt_model_config_format(&again, &second) == BPT_OK);
    require(!strcmp(first, second));
    bpt_free(first);
    bpt_free(second);
}

static const char *folder(void) {
    static char path[] = "/tmp/bpt-fuzz-XXXXXX";
    static bool made;
    if (!made) require(mkdtemp(path));
    made = true;
    return path;
}

static void put(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wb");
    require(file && fwrite(text, 1, length, file) == length && !fclose(file));
}

static void run_state(const char *text, size_t length) {
    char path[64];
    snprintf(path, sizeof path, "%s/state.json", folder());
    put(path, text, length);
    bpt_run_state_t state, again;
    if (bpt_run_state_read(folder(), &state) == BPT_OK) {
        require(bpt_run_state_write(folder(), &state) == BPT_OK);
        require(bpt_run_state_read(folder(), &again) == BPT_OK);
        require(!memcmp(&state.step, &again.step, offsetof(bpt_run_state_t, version)) && !strcmp(state.data, again.data));
    }
    unlink(path);
}

static void metrics(const char *text, size_t length) {
    char path[64];
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder());
    put(path, text, length);
    bpt_metrics_line_t *before, *after;
    size_t n_before, n_after;
    if (bpt_metrics_read(path, &before, &n_before) == BPT_OK) {
        require(bpt_metrics_cut(path, INT64_MAX) == BPT_OK);
        require(bpt_metrics_read(path, &after, &n_after) == BPT_OK && n_before == n_after);
        bpt_free(before);
        bpt_free(after);
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bpt_log_set_level(BPT_LOG_OFF);
    char *text;  // NUL-terminated, and of exactly this size, so that reading over its end is seen
    require(bpt_alloc(size + 1, 1, &text) == BPT_OK);
    if (size) memcpy(text, data, size);
    model(text);
    run_state(text, size);
    metrics(text, size);
    bpt_free(text);
    require(bpt_alloc_live() == 0);
    return 0;
}
