// Parameters to and from safetensors files (see params.h).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/safetensors.h"
#include "models/nn/params.h"

typedef bpt_status_t (*visit_t)(const bpt_param_t *param, const char *name, float *values, void *user);

// Every tensor of the sets in the order of a file.
static bpt_status_t each(const bpt_params_t *params, const bpt_param_set_t *sets, int n_sets, visit_t visit, void *user) {
    for (int s = 0; s < n_sets; ++s)
        for (size_t i = 0; i < params->count; ++i) {
            const bpt_param_t *p = &params->items[i];
            char name[80];
            if (sets[s].trained_only && p->group == BPT_GROUP_FROZEN) continue;
            snprintf(name, sizeof name, "%s%s", sets[s].prefix, p->name);
            BPT_TRY(visit(p, name, sets[s].arena + p->offset, user));
        }
    return BPT_OK;
}

static bpt_status_t declare(const bpt_param_t *p, const char *name, float *values, void *user) {
    (void)values;
    return bpt_safetensors_writer_declare(user, name, BPT_ST_F32, p->rank, p->shape);
}

static bpt_status_t write_values(const bpt_param_t *p, const char *name, float *values, void *user) {
    (void)name;
    return bpt_safetensors_writer_data(user, values, (size_t)p->count * sizeof *values);
}

bpt_status_t bpt_params_write(const bpt_params_t *params, const char *path, const bpt_params_metadata_t *metadata,
                              const bpt_param_set_t *sets, int n_sets, bpt_checksum_t *sum) {
    bpt_safetensors_writer_t *writer;
    BPT_TRY(bpt_safetensors_writer_create(path, &writer));
    bpt_status_t status = bpt_safetensors_writer_metadata(writer, "format", "bpt");
    for (const bpt_params_metadata_t *m = metadata; m && m->key && status == BPT_OK; ++m)
        if (m->value) status = bpt_safetensors_writer_metadata(writer, m->key, m->value);
    if (status == BPT_OK) status = each(params, sets, n_sets, declare, writer);
    if (status == BPT_OK) status = each(params, sets, n_sets, write_values, writer);
    if (status == BPT_OK) status = bpt_safetensors_writer_finish(writer);
    if (status == BPT_OK && sum) *sum = bpt_safetensors_writer_checksum(writer);
    bpt_safetensors_writer_destroy(writer);
    return status;
}

static void describe(int32_t rank, const int64_t *shape, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (int32_t i = 0; i < rank && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, i ? ",%" PRId64 : "%" PRId64, shape[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

typedef struct {
    bpt_safetensors_t *file;
    bool non_finite;  // such numbers are taken
} source_t;

static int64_t count_non_finite(const float *values, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        found += (bits & 0x7f800000) == 0x7f800000;
    }
    return found;
}

static bpt_status_t fail_non_finite(const char *path, const char *name, const float *values, int64_t count) {
    int64_t first = 0;
    while (isfinite(values[first])) ++first;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: tensor \"%s\" has %" PRId64 " numbers of %" PRId64 " that are not finite, the first at index %" PRId64
                    ": the file is damaged, or training diverged (bpt import --allow-non-finite takes it as it is)",
                    path, name, count_non_finite(values, count), count, first);
}

// In pieces that stay in the cache while they are hashed and looked through.
static bpt_status_t read_finite(const source_t *from, const bpt_safetensors_tensor_t *tensor, float *values) {
    enum { PIECE = 1 << 17 };
    int64_t non_finite = 0;
    for (int64_t done = 0; done < tensor->count; done += PIECE) {
        const int64_t some = tensor->count - done < PIECE ? tensor->count - done : PIECE;
        BPT_TRY(bpt_safetensors_read_f32(from->file, tensor, done, some, values + done));
        if (!from->non_finite) non_finite += count_non_finite(values + done, some);
    }
    return non_finite ? fail_non_finite(bpt_safetensors_path(from->file), tensor->name, values, tensor->count) : BPT_OK;
}

static bpt_status_t read_values(const bpt_param_t *p, const char *name, float *values, void *user) {
    const source_t *from = user;
    const bpt_safetensors_t *file = from->file;
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(file, name);
    if (!tensor)
        return bpt_fail(BPT_ERR_INPUT, "%s has no tensor \"%s\"; was it written for another configuration?", bpt_safetensors_path(file),
                        name);
    bool same = tensor->rank == p->rank;
    for (int32_t i = 0; same && i < p->rank; ++i) same = tensor->shape[i] == p->shape[i];
    if (!same) {
        char got[200], wanted[80];
        describe(tensor->rank, tensor->shape, got, sizeof got);
        describe(p->rank, p->shape, wanted, sizeof wanted);
        return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" is %s, the configuration asks for %s", bpt_safetensors_path(file), name, got,
                        wanted);
    }
    return read_finite(from, tensor, values);
}

static bool expected(const bpt_params_t *params, const bpt_param_set_t *sets, int n_sets, const char *name) {
    for (int s = 0; s < n_sets; ++s) {
        const size_t length = strlen(sets[s].prefix);
        if (strncmp(name, sets[s].prefix, length)) continue;
        const bpt_param_t *p = bpt_params_find(params, name + length);
        if (p && !(sets[s].trained_only && p->group == BPT_GROUP_FROZEN)) return true;
    }
    return false;
}

bpt_status_t bpt_params_read(const bpt_params_t *params, const char *path, const bpt_param_set_t *sets, int n_sets, bool non_finite,
                             bpt_checksum_t *sum) {
    source_t from = {.non_finite = non_finite};
    BPT_TRY(sum ? bpt_safetensors_open_hashed(path, &from.file) : bpt_safetensors_open(path, &from.file));
    bpt_status_t status = each(params, sets, n_sets, read_values, &from);
    for (size_t i = 0; i < bpt_safetensors_count(from.file) && status == BPT_OK; ++i) {
        const char *name = bpt_safetensors_at(from.file, i)->name;
        if (!expected(params, sets, n_sets, name))
            status = bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" belongs to no part of the configured model", path, name);
    }
    if (status == BPT_OK && sum) status = bpt_safetensors_checksum(from.file, sum);
    bpt_safetensors_close(from.file);
    return status;
}
