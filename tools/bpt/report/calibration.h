// Calibration of a model that chooses labels, for `bpt eval`, and the temperature that a run keeps for `bpt classify`.
#ifndef BPT_TOOLS_CALIBRATION_H
#define BPT_TOOLS_CALIBRATION_H

#include <jansson.h>

#include "data/score/calibration.h"
#include "models/tasks/task.h"

typedef struct {
    bool wanted, fits;
    const bpt_task_spec_t *task;
    int64_t classes;
    bpt_calibration_t found, calibrated;  // as the model answers; by the temperature
    double temperature;                   // that is fitted
    float *logits;                        // [count, classes], where a temperature is fitted
    uint32_t *labels;                     // [count]
    size_t count, logit_capacity, label_capacity;
} cli_calibration_t;

void cli_calibration_free(cli_calibration_t *calibration);
// Adds the targets of a batch that accuracy counts.
bpt_status_t cli_calibration_add(cli_calibration_t *calibration, const bpt_batch_t *batch, const bpt_measure_t *measure) BPT_MUST_USE;
// Fits the temperature, where that is wanted.
bpt_status_t cli_calibration_finish(cli_calibration_t *calibration) BPT_MUST_USE;
void cli_calibration_print(const cli_calibration_t *calibration);
// "calibration": {"expected_error", "largest_error", "confidence", "bins": [{"from", "to", "count", "confidence", "accuracy"}, ..]}, and
// where a temperature is fitted "temperature" and the same of the "calibrated" probabilities.
bpt_status_t cli_calibration_to_json(const cli_calibration_t *calibration, json_t *object) BPT_MUST_USE;

// RUN/temperature.json, of one checkpoint. BPT_ERR_INPUT: there is none, or it is of another one.
bpt_status_t cli_temperature_write(const char *run, const char *checkpoint, const cli_calibration_t *calibration) BPT_MUST_USE;
bpt_status_t cli_temperature_read(const char *run, const char *checkpoint, double *out) BPT_MUST_USE;

#endif
