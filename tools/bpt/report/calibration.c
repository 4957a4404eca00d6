// Calibration (see calibration.h).
#include "tools/bpt/report/calibration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/names.h"
#include "bpt/paths.h"

void cli_calibration_free(cli_calibration_t *c) {
    bpt_free(c->logits);
    bpt_free(c->labels);
    *c = (cli_calibration_t){0};
}

// ---- Answers

static bpt_status_t add(cli_calibration_t *c, const bpt_batch_t *batch, const bpt_measure_t *m, int64_t target) {
    const float *row = m->logits + target * c->classes;
    const uint32_t label = bpt_batch_label(batch, target);
    bpt_calibration_add(&c->found, row, c->classes, label, 1);
    if (!c->fits) return BPT_OK;
    while (c->logit_capacity < (c->count + 1) * (size_t)c->classes)
        BPT_TRY(bpt_grow(&c->logits, c->logit_capacity, &c->logit_capacity, sizeof *c->logits));
    memcpy(c->logits + c->count * (size_t)c->classes, row, (size_t)c->classes * sizeof *row);
    BPT_TRY(bpt_grow(&c->labels, c->count, &c->label_capacity, sizeof *c->labels));
    c->labels[c->count++] = label;
    return BPT_OK;
}

bpt_status_t cli_calibration_add(cli_calibration_t *c, const bpt_batch_t *batch, const bpt_measure_t *m) {
    if (!c->wanted) return BPT_OK;
    for (int64_t s = 0; s < batch->n_real && c->task->per_token; ++s)
        for (uint32_t i = 0; i < batch->side[0].lengths[s]; ++i) BPT_TRY(add(c, batch, m, (int64_t)batch->side[0].start[s] + i));
    for (int64_t e = 0; e < batch->n_targets && !c->task->per_token; ++e)
        if (batch->weights[e] > 0 || !bpt_batch_knows(batch, e)) BPT_TRY(add(c, batch, m, e));
    return BPT_OK;
}

bpt_status_t cli_calibration_finish(cli_calibration_t *c) {
    if (!c->fits) return BPT_OK;
    BPT_TRY(bpt_temperature_fit(c->logits, c->labels, (int64_t)c->count, c->classes, &c->temperature));
    for (size_t i = 0; i < c->count; ++i)
        bpt_calibration_add(&c->calibrated, c->logits + i * (size_t)c->classes, c->classes, c->labels[i], c->temperature);
    return BPT_OK;
}

// ---- Text

static void print_error(const char *name, const bpt_calibration_t *c) {
    const bpt_calibration_error_t e = bpt_calibration_error(c);
    printf("%-12s expected error %.4f, largest %.4f, mean probability %.4f, right %.4f\n", name, e.expected, e.largest, e.confidence,
           e.accuracy);
}

void cli_calibration_print(const cli_calibration_t *c) {
    const bpt_calibration_t *shown = c->fits ? &c->calibrated : &c->found;
    if (!c->wanted) return;
    print_error("calibration", &c->found);
    if (c->fits) printf("temperature  %.6f\n", c->temperature);
    if (c->fits) print_error("calibrated", &c->calibrated);
    printf("%-18s %10s %12s %10s\n", "probability", "answers", "mean", "right");
    for (int b = 0; b < BPT_CALIBRATION_BINS; ++b) {
        const double n = (double)shown->count[b];
        if (n > 0)
            printf("%.4f to %.4f   %10" PRId64 " %12.4f %10.4f\n", (double)b / BPT_CALIBRATION_BINS, (b + 1.0) / BPT_CALIBRATION_BINS,
                   shown->count[b], shown->confidence[b] / n, (double)shown->right[b] / n);
    }
}

// ---- JSON

static bpt_status_t no_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the result"); }

static bpt_status_t add_bin(const bpt_calibration_t *c, int b, json_t *bins) {
    json_t *bin = json_object();
    const double n = (double)c->count[b];
    if (json_array_append_new(bins, bin)) return no_memory();
    BPT_TRY(bpt_json_set_real(bin, "from", (double)b / BPT_CALIBRATION_BINS));
    BPT_TRY(bpt_json_set_real(bin, "to", (b + 1.0) / BPT_CALIBRATION_BINS));
    BPT_TRY(bpt_json_set_int(bin, "count", c->count[b]));
    BPT_TRY(bpt_json_set_real(bin, "confidence", c->confidence[b] / n));
    return bpt_json_set_real(bin, "accuracy", (double)c->right[b] / n);
}

static bpt_status_t fill(const bpt_calibration_t *c, json_t *object) {
    const bpt_calibration_error_t e = bpt_calibration_error(c);
    json_t *bins = json_array();
    BPT_TRY(bpt_json_set_real(object, "expected_error", e.expected));
    BPT_TRY(bpt_json_set_real(object, "largest_error", e.largest));
    BPT_TRY(bpt_json_set_real(object, "confidence", e.confidence));
    if (json_object_set_new(object, "bins", bins)) return no_memory();
    for (int b = 0; b < BPT_CALIBRATION_BINS; ++b)
        if (c->count[b]) BPT_TRY(add_bin(c, b, bins));
    return BPT_OK;
}

bpt_status_t cli_calibration_to_json(const cli_calibration_t *c, json_t *object) {
    json_t *found = json_object(), *calibrated;
    if (!c->wanted) {
        json_decref(found);
        return BPT_OK;
    }
    if (json_object_set_new(object, "calibration", found)) return no_memory();
    BPT_TRY(fill(&c->found, found));
    if (!c->fits) return BPT_OK;
    BPT_TRY(bpt_json_set_real(found, "temperature", c->temperature));
    if (json_object_set_new(found, "calibrated", calibrated = json_object())) return no_memory();
    return fill(&c->calibrated, calibrated);
}

// ---- The file of a run

static bpt_status_t write(const char *path, const char *checkpoint, const cli_calibration_t *c, json_t *object) {
    char *text;
    BPT_TRY(bpt_json_set_text(object, "checkpoint", bpt_path_name(checkpoint)));
    BPT_TRY(bpt_json_set_real(object, "temperature", c->temperature));
    BPT_TRY(bpt_json_set_int(object, "examples", (int64_t)c->count));
    BPT_TRY(bpt_json_format(object, 2, &text));
    const bpt_status_t status = bpt_file_write(path, text, strlen(text));
    bpt_free(text);
    return status;
}

bpt_status_t cli_temperature_write(const char *run, const char *checkpoint, const cli_calibration_t *c) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/temperature.json", run));
    json_t *object = json_object();
    const bpt_status_t status = write(path, checkpoint, c, object);
    json_decref(object);
    bpt_free(path);
    return status;
}

static bpt_status_t check_checkpoint(const json_t *object, const char *checkpoint, double *out) {
    const char *of = "";
    *out = 0;
    BPT_TRY(bpt_json_get_text(object, "checkpoint", &of));
    BPT_TRY(bpt_json_get_real(object, "temperature", 1.0 / BPT_MOST_TEMPERATURE, BPT_MOST_TEMPERATURE, out));
    if (!*out) return bpt_fail(BPT_ERR_INPUT, "it has no \"temperature\"; write it anew: bpt eval RUN --fit-temperature");
    if (!strcmp(of, bpt_path_name(checkpoint))) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "the temperature is of checkpoint %s, and this is %s; fit it anew: bpt eval RUN --fit-temperature", of,
                    bpt_path_name(checkpoint));
}

static bpt_status_t read(const char *path, const char *checkpoint, double *out) {
    json_t *object;
    if (!bpt_file_exists(path))
        return bpt_fail(BPT_ERR_INPUT, "there is no %s; bpt eval RUN --fit-temperature writes it, by the validation data", path);
    BPT_TRY(bpt_json_read(path, &object));
    const bpt_status_t status = bpt_context(check_checkpoint(object, checkpoint, out), "%s", path);
    json_decref(object);
    return status;
}

bpt_status_t cli_temperature_read(const char *run, const char *checkpoint, double *out) {
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/temperature.json", run));
    const bpt_status_t status = read(path, checkpoint, out);
    bpt_free(path);
    return status;
}
