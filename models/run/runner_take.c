// Starting values from the file of another model of the same shape (see runner.h).
#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "bpt/strbuf.h"
#include "models/run/runner_internal.h"

typedef struct {
    bpt_runner_t *runner;
    const bpt_safetensors_t *file;
    const bpt_taken_rows_t *rows;
    bool non_finite;  // such numbers are taken
    float *values;    // of the largest parameter
    int64_t whole, in_part;
    bpt_strbuf_t fresh;  // names of those without a value in the file
} take_t;

// The rows of the file's tensor that a parameter is made of; NULL: the same rows, all of them.
static const int64_t *rows_of(const take_t *t, const bpt_param_t *p) {
    const int64_t *const rows[] = {
        [BPT_ROWS_OF_TOKENS] = t->rows->tokens, [BPT_ROWS_OF_OUTPUTS] = t->rows->outputs, [BPT_ROWS_OF_HEAD] = NULL};
    return rows[p->rows];
}

static bool same_columns(const bpt_param_t *p, const bpt_safetensors_tensor_t *tensor) {
    return tensor->rank == p->rank && (p->rank < 2 || tensor->shape[1] == p->shape[1]);
}

static bpt_status_t fail_shape(const take_t *t, const bpt_param_t *p) {
    return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" has not the shape that its configuration asks for", bpt_safetensors_path(t->file),
                    p->name);
}

static bpt_status_t set_values(take_t *t, const bpt_param_t *p) {
    if (!t->non_finite) BPT_TRY(bpt_params_check_finite(bpt_safetensors_path(t->file), p->name, t->values, p->count));
    return bpt_runner_set(t->runner, p->name, t->values);
}

static bpt_status_t note_fresh(take_t *t, const bpt_param_t *p) {
    return bpt_strbuf_printf(&t->fresh, "%s%s", t->fresh.length ? ", " : "", p->name);
}

static bpt_status_t take_whole(take_t *t, const bpt_param_t *p) {
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(t->file, p->name);
    if (!tensor && p->rows == BPT_ROWS_OF_HEAD && t->rows->other_task) return note_fresh(t, p);
    if (!tensor) return bpt_fail(BPT_ERR_INPUT, "%s has no tensor \"%s\"", bpt_safetensors_path(t->file), p->name);
    if (!same_columns(p, tensor) || tensor->shape[0] != p->shape[0]) return fail_shape(t, p);
    BPT_TRY(bpt_safetensors_read_f32(t->file, tensor, 0, tensor->count, t->values));
    ++t->whole;
    return set_values(t, p);
}

static bpt_status_t take_rows(take_t *t, const bpt_param_t *p, const int64_t *rows) {
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(t->file, p->name);
    const int64_t columns = p->count / p->shape[0];
    int64_t found = 0;
    BPT_TRY(bpt_runner_get(t->runner, p->name, t->values));
    for (int64_t i = 0; i < p->shape[0]; ++i) {
        if (rows[i] < 0) continue;
        if (!tensor || !same_columns(p, tensor) || rows[i] >= tensor->shape[0]) return fail_shape(t, p);
        BPT_TRY(bpt_safetensors_read_f32(t->file, tensor, rows[i] * columns, columns, t->values + i * columns));
        ++found;
    }
    if (!found) return note_fresh(t, p);
    ++t->in_part;
    return set_values(t, p);
}

static bpt_status_t take_all(take_t *t) {
    const bpt_params_t *params = bpt_runner_params(t->runner);
    int64_t largest = 0;
    for (size_t i = 0; i < params->count; ++i)
        if (params->items[i].count > largest) largest = params->items[i].count;
    BPT_TRY(bpt_alloc((size_t)largest, sizeof *t->values, &t->values));
    for (size_t i = 0; i < params->count; ++i) {
        const bpt_param_t *p = &params->items[i];
        const int64_t *rows = rows_of(t, p);
        BPT_TRY(rows ? take_rows(t, p, rows) : take_whole(t, p));
    }
    return BPT_OK;
}

// Tensors of the file that the model has no place for.
static bpt_status_t say_left_over(const take_t *t) {
    bpt_strbuf_t names = {0};
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < bpt_safetensors_count(t->file) && status == BPT_OK; ++i) {
        const char *name = bpt_safetensors_at(t->file, i)->name;
        if (!bpt_params_find(bpt_runner_params(t->runner), name))
            status = bpt_strbuf_printf(&names, "%s%s", names.length ? ", " : "", name);
    }
    if (status == BPT_OK && names.length)
        bpt_warn("%s: the model has no place for these tensors, they are left out: %s", bpt_safetensors_path(t->file), names.data);
    bpt_strbuf_free(&names);
    return status;
}

bpt_status_t bpt_runner_take(bpt_runner_t *r, const char *path, const bpt_taken_rows_t *rows, uint64_t seed, bool non_finite) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_runner_init(r, seed));
    BPT_TRY(bpt_safetensors_open(path, &file));
    take_t t = {.runner = r, .file = file, .rows = rows, .non_finite = non_finite};
    bpt_status_t status =
        bpt_params_are_packed(file)
            ? bpt_fail(BPT_ERR_INPUT, "%s has weights of 8 bits, which are for use, not for training; begin with an export in f32", path)
            : take_all(&t);
    if (status == BPT_OK) status = say_left_over(&t);
    if (status == BPT_OK)
        bpt_info("weights: %" PRId64 " tensors from %s%s; new: %s", t.whole + t.in_part, path,
                 t.in_part ? ", those of words or labels row by row" : "", t.fresh.length ? t.fresh.data : "none");
    bpt_free(t.values);
    bpt_strbuf_free(&t.fresh);
    bpt_safetensors_close(file);
    return status;
}
