// metrics.jsonl: one JSON object a line, appended while a run goes on and read by plots. Knows nothing of models.
#ifndef BPT_TRAIN_METRICS_H
#define BPT_TRAIN_METRICS_H

#include "bpt/file.h"

// A number that is NaN (or a count that is -1) is absent from the line.
typedef struct {
    char eval[16];  // "": a training line; "valid", "test": an evaluation, key "eval"
    int64_t step, tokens;
    double epoch, loss;
    double lr, grad_norm, tokens_per_s, seconds;  // seconds: training time since the start of the run
    int64_t peak_host_bytes, peak_device_bytes;
    double loss_scale;  // of f16 training, and its steps so far that changed nothing
    int64_t skipped_steps;
    double perplexity, bits_per_char;  // of evaluations, as the next ones
    double accuracy, precision, recall, f1, mse, bleu;
    double unknown_share;  // of the words or subwords that are evaluated, 0 to 1: <unk>
} bpt_metrics_line_t;

// Everything absent.
void bpt_metrics_line_init(bpt_metrics_line_t *line);
// The number of this key ("accuracy"); NULL: there is none.
double *bpt_metrics_line_number(bpt_metrics_line_t *line, const char *key);
// Appends one whole line; a disk that is full is an error and leaves no half line. `folder`: the locked one of the file, NULL where nobody
// holds it.
bpt_status_t bpt_metrics_append(const bpt_folder_lock_t *folder, const char *path, const bpt_metrics_line_t *line) BPT_MUST_USE;
// Keeps the lines up to and including `step`, atomically; what is not a line of metrics goes too. No file is fine.
bpt_status_t bpt_metrics_cut(const char *path, int64_t step) BPT_MUST_USE;
// All lines in the order of the file, freed with bpt_free. A last line that was cut off is skipped, other lines that are not JSON
// or have no step are skipped with a warning; BPT_ERR_INPUT when no usable line is left.
bpt_status_t bpt_metrics_read(const char *path, bpt_metrics_line_t **lines, size_t *count) BPT_MUST_USE;

#endif
