// metrics.jsonl (see metrics.h).
#include "models/train/metrics.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/log.h"
#include "bpt/strbuf.h"

// The numbers of a line in their order; one table for writing and reading.
static const struct {
    const char *key;
    size_t offset;
    bool is_real;
} fields[] = {
#define REAL(name) \
    { #name, offsetof(bpt_metrics_line_t, name), true }
#define COUNT(name) \
    { #name, offsetof(bpt_metrics_line_t, name), false }
    COUNT(step),
    REAL(epoch),
    COUNT(tokens),
    REAL(loss),
    REAL(perplexity),
    REAL(bits_per_char),
    REAL(accuracy),
    REAL(precision),
    REAL(recall),
    REAL(f1),
    REAL(mse),
    REAL(bleu),
    REAL(unknown_share),
    REAL(lr),
    REAL(grad_norm),
    REAL(tokens_per_s),
    REAL(seconds),
    COUNT(peak_host_bytes),
    COUNT(peak_device_bytes),
    REAL(loss_scale),
    COUNT(skipped_steps),
#undef REAL
#undef COUNT
};

static double *real_of(const bpt_metrics_line_t *line, size_t field) { return (double *)((char *)line + fields[field].offset); }
static int64_t *count_of(const bpt_metrics_line_t *line, size_t field) { return (int64_t *)((char *)line + fields[field].offset); }

void bpt_metrics_line_init(bpt_metrics_line_t *line) {
    *line = (bpt_metrics_line_t){0};
    for (size_t i = 0; i < BPT_COUNT(fields); ++i) {
        if (fields[i].is_real)
            *real_of(line, i) = NAN;
        else
            *count_of(line, i) = -1;
    }
}

double *bpt_metrics_line_number(bpt_metrics_line_t *line, const char *key) {
    for (size_t i = 0; i < BPT_COUNT(fields); ++i)
        if (fields[i].is_real && !strcmp(fields[i].key, key)) return real_of(line, i);
    return NULL;
}

// ---- writing

static bpt_status_t fill(json_t *object, const bpt_metrics_line_t *line) {
    if (line->eval[0]) BPT_TRY(bpt_json_set_text(object, "eval", line->eval));
    for (size_t i = 0; i < BPT_COUNT(fields); ++i) {
        if (fields[i].is_real && isfinite(*real_of(line, i))) BPT_TRY(bpt_json_set_real(object, fields[i].key, *real_of(line, i)));
        if (!fields[i].is_real && *count_of(line, i) >= 0) BPT_TRY(bpt_json_set_int(object, fields[i].key, *count_of(line, i)));
    }
    return BPT_OK;
}

bpt_status_t bpt_metrics_append(const bpt_folder_lock_t *folder, const char *path, const bpt_metrics_line_t *line) {
    json_t *object = json_object();
    if (!object) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", path);
    char *text = NULL;
    bpt_status_t status = fill(object, line);
    if (status == BPT_OK) status = bpt_json_format(object, 0, &text);
    if (status == BPT_OK) {
        const size_t length = strlen(text);
        text[length] = '\n';  // in the place of the terminator
        status = folder ? bpt_folder_lock_append(folder, path, text, length + 1) : bpt_file_append(path, text, length + 1);
    }
    bpt_free(text);
    json_decref(object);
    return status;
}

// ---- reading

static bool parse_fields(const json_t *object, bpt_metrics_line_t *line) {
    const char *eval = "";
    if (bpt_json_get_text(object, "eval", &eval) != BPT_OK || strlen(eval) >= sizeof line->eval) return false;
    strcpy(line->eval, eval);
    for (size_t i = 0; i < BPT_COUNT(fields); ++i) {
        const bpt_status_t status = fields[i].is_real ? bpt_json_get_real(object, fields[i].key, -DBL_MAX, DBL_MAX, real_of(line, i))
                                                      : bpt_json_get_int(object, fields[i].key, 0, INT64_MAX, count_of(line, i));
        if (status != BPT_OK) return false;
    }
    return line->step >= 0;
}

static bool parse_line(const char *text, size_t length, bpt_metrics_line_t *line) {
    bpt_metrics_line_init(line);
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const bool usable = json_is_object(object) && parse_fields(object, line);
    json_decref(object);
    return usable;
}

// Walks over the lines of a file: usable ones have `line` filled. Returns false at the end.
typedef struct {
    const char *at, *end;
    const char *text;  // of the current line, without its newline
    size_t length, number;
    bool usable, complete;
    bpt_metrics_line_t line;
} walk_t;

static bool walk(walk_t *w) {
    if (w->at == w->end) return false;
    const char *stop = memchr(w->at, '\n', (size_t)(w->end - w->at));
    w->complete = stop;
    w->text = w->at;
    w->length = (size_t)((stop ? stop : w->end) - w->at);
    w->at = stop ? stop + 1 : w->end;
    ++w->number;
    w->usable = parse_line(w->text, w->length, &w->line);
    return true;
}

enum { MAX_BYTES = 1 << 30 };

bpt_status_t bpt_metrics_cut(const char *path, int64_t step) {
    if (!bpt_file_exists(path)) return BPT_OK;
    char *text;
    size_t length;
    BPT_TRY(bpt_file_read(path, MAX_BYTES, &text, &length));
    bpt_file_writer_t *writer = NULL;
    bpt_status_t status = bpt_file_writer_open(path, &writer);
    walk_t w = {.at = text, .end = text + length};
    while (status == BPT_OK && walk(&w)) {
        if (!w.usable || w.line.step > step) continue;
        status = bpt_file_writer_write(writer, w.text, w.length);
        if (status == BPT_OK) status = bpt_file_writer_write(writer, "\n", 1);
    }
    if (status == BPT_OK) status = bpt_file_writer_commit(writer);
    bpt_file_writer_close(writer);
    bpt_free(text);
    return status;
}

static bpt_status_t collect(const char *path, walk_t *w, bpt_metrics_line_t **lines, size_t *count) {
    size_t capacity = 0, skipped = 0;
    while (walk(w)) {
        if (w->usable) {
            BPT_TRY(bpt_grow(lines, *count, &capacity, sizeof **lines));
            (*lines)[(*count)++] = w->line;
        } else if (w->complete && skipped++ == 0) {
            bpt_warn("%s: line %zu is not a line of metrics and is skipped", path, w->number);
        }
    }
    if (skipped > 1) bpt_warn("%s: %zu lines in all are not lines of metrics", path, skipped);
    if (*count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s has no usable line of metrics; check that it is the metrics.jsonl of a run that has begun to train",
                    path);
}

bpt_status_t bpt_metrics_read(const char *path, bpt_metrics_line_t **lines, size_t *count) {
    *lines = NULL;
    *count = 0;
    char *text;
    size_t length;
    BPT_TRY(bpt_file_read(path, MAX_BYTES, &text, &length));
    walk_t w = {.at = text, .end = text + length};
    const bpt_status_t status = collect(path, &w, lines, count);
    bpt_free(text);
    if (status == BPT_OK) return BPT_OK;
    bpt_free(*lines);
    *lines = NULL;
    *count = 0;
    return status;
}
