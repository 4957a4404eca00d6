// Parameters to and from safetensors files (see params.h).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "models/nn/packed.h"

typedef bpt_status_t (*visit_t)(const bpt_param_t *param, const char *name, float *values, bool packed, void *user);

static bool is_in(const bpt_param_set_t *set, const bpt_param_t *p) {
    return !(set->trained_only && p->group == BPT_GROUP_FROZEN) && !(set->no_matrices && p->group == BPT_GROUP_MATRIX);
}

// Every tensor of the sets in the order of a file.
static bpt_status_t each(const bpt_params_t *params, const bpt_param_set_t *sets, int n_sets, visit_t visit, void *user) {
    for (int s = 0; s < n_sets; ++s)
        for (size_t i = 0; i < params->count; ++i) {
            const bpt_param_t *p = &params->items[i];
            char name[80];
            if (!is_in(&sets[s], p)) continue;
            snprintf(name, sizeof name, "%s%s", sets[s].prefix, p->name);
            BPT_TRY(visit(p, name, sets[s].arena ? sets[s].arena + p->offset : NULL, sets[s].packed && bpt_param_packs(p), user));
        }
    return BPT_OK;
}

static bpt_status_t declare(const bpt_param_t *p, const char *name, float *values, bool packed, void *user) {
    (void)values;
    if (packed) return bpt_packed_declare(p, name, user);
    return bpt_safetensors_writer_declare(user, name, BPT_ST_F32, p->rank, p->shape);
}

static bpt_status_t write_values(const bpt_param_t *p, const char *name, float *values, bool packed, void *user) {
    if (packed) return bpt_packed_write(p, name, values, user);
    return bpt_safetensors_writer_data(user, values, (size_t)p->count * sizeof *values);
}

bpt_status_t bpt_params_write_to(const bpt_params_t *params, bpt_safetensors_writer_t *writer, const char *config,
                                 const bpt_param_set_t *sets, int n_sets) {
    BPT_TRY(bpt_safetensors_writer_metadata(writer, "format", "bpt"));
    if (config) BPT_TRY(bpt_safetensors_writer_metadata(writer, "config", config));
    BPT_TRY(each(params, sets, n_sets, declare, writer));
    BPT_TRY(each(params, sets, n_sets, write_values, writer));
    return bpt_safetensors_writer_finish(writer);
}

bpt_status_t bpt_params_write(const bpt_params_t *params, const char *path, const char *config, const bpt_param_set_t *sets, int n_sets,
                              bpt_checksum_t *sum) {
    bpt_safetensors_writer_t *writer;
    BPT_TRY(bpt_safetensors_writer_create(path, &writer));
    const bpt_status_t status = bpt_params_write_to(params, writer, config, sets, n_sets);
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

// ---- reading

// Every tensor of the sets is there with its shape, and nothing else.
static bpt_status_t check_shape(const bpt_param_t *p, const char *name, float *values, bool packed, void *user) {
    const bpt_safetensors_t *file = user;
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(file, name);
    (void)values, (void)packed;
    if (!tensor)
        return bpt_fail(BPT_ERR_INPUT, "%s has no tensor \"%s\"; was it written for another configuration?", bpt_safetensors_path(file),
                        name);
    bool same = tensor->rank == p->rank;
    for (int32_t i = 0; same && i < p->rank; ++i) same = tensor->shape[i] == p->shape[i];
    if (same) return tensor->dtype == BPT_ST_I8 ? bpt_packed_check(p, name, file) : BPT_OK;
    char got[200], wanted[80];
    describe(tensor->rank, tensor->shape, got, sizeof got);
    describe(p->rank, p->shape, wanted, sizeof wanted);
    return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" is %s, the configuration asks for %s", bpt_safetensors_path(file), name, got, wanted);
}

static bool expected(const bpt_params_t *params, const bpt_param_set_t *sets, int n_sets, const bpt_safetensors_t *file,
                     const char *tensor) {
    char name[80];
    snprintf(name, sizeof name, "%s", tensor);
    bpt_packed_owner(file, name);
    for (int s = 0; s < n_sets; ++s) {
        const size_t length = strlen(sets[s].prefix);
        if (strncmp(name, sets[s].prefix, length)) continue;
        const bpt_param_t *p = bpt_params_find(params, name + length);
        if (p && is_in(&sets[s], p)) return true;
    }
    return false;
}

static bpt_status_t open_matching(const bpt_params_t *params, const char *path, const bpt_param_set_t *sets, int n_sets, bool hashed,
                                  bpt_safetensors_t **out) {
    bpt_safetensors_t *file;
    BPT_TRY(hashed ? bpt_safetensors_open_hashed(path, &file) : bpt_safetensors_open(path, &file));
    bpt_status_t status = each(params, sets, n_sets, check_shape, file);
    for (size_t i = 0; i < bpt_safetensors_count(file) && status == BPT_OK; ++i) {
        const char *name = bpt_safetensors_at(file, i)->name;
        if (!expected(params, sets, n_sets, file, name))
            status = bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" belongs to no part of the configured model", path, name);
    }
    if (status == BPT_OK)
        *out = file;
    else
        bpt_safetensors_close(file);
    return status;
}

typedef struct {
    bpt_safetensors_t *file;
    bool non_finite;               // such numbers are taken
    bpt_safetensors_writer_t *to;  // where the numbers go on to; NULL: they stay
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

static bpt_status_t fail_non_finite(const char *path, const char *name, int64_t bad, int64_t count, int64_t first) {
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: tensor \"%s\" has %" PRId64 " numbers of %" PRId64 " that are not finite, the first at index %" PRId64
                    ": the file is damaged, or training diverged (bpt import --allow-non-finite takes it as it is)",
                    path, name, bad, count, first);
}

bpt_status_t bpt_params_check_finite(const char *path, const char *name, const float *values, int64_t count) {
    const int64_t bad = count_non_finite(values, count);
    int64_t first = 0;
    if (!bad) return BPT_OK;
    while (isfinite(values[first])) ++first;
    return fail_non_finite(path, name, bad, count, first);
}

// In pieces that stay in the cache while they are hashed, looked through and written.
enum { PIECE = 1 << 17 };
static bpt_status_t read_values(const bpt_param_t *p, const char *name, float *values, bool packed, void *user) {
    const source_t *from = user;
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(from->file, name);
    (void)packed;
    if (tensor->dtype == BPT_ST_I8) return bpt_packed_read(p, name, from->file, values);
    int64_t bad = 0, first = -1;
    for (int64_t done = 0; done < p->count; done += PIECE) {
        const int64_t some = p->count - done < PIECE ? p->count - done : PIECE;
        float *piece = from->to ? values : values + done;
        BPT_TRY(bpt_safetensors_read_f32(from->file, tensor, done, some, piece));
        if (!from->non_finite) bad += count_non_finite(piece, some);
        for (int64_t i = 0; bad && first < 0; ++i)
            if (!isfinite(piece[i])) first = done + i;
        if (from->to) BPT_TRY(bpt_safetensors_writer_data(from->to, piece, (size_t)some * sizeof *piece));
    }
    return bad ? fail_non_finite(bpt_safetensors_path(from->file), name, bad, p->count, first) : BPT_OK;
}

bpt_status_t bpt_params_read(const bpt_params_t *params, const char *path, const bpt_param_set_t *sets, int n_sets, bool non_finite,
                             bpt_checksum_t *sum) {
    source_t from = {.non_finite = non_finite};
    BPT_TRY(open_matching(params, path, sets, n_sets, sum != NULL, &from.file));
    bpt_status_t status = each(params, sets, n_sets, read_values, &from);
    if (status == BPT_OK && sum) status = bpt_safetensors_checksum(from.file, sum);
    bpt_safetensors_close(from.file);
    return status;
}

// As one tensor after the other, whole where it changes its form.
static bpt_status_t copy_tensor(const bpt_param_t *p, source_t *from, bool packed, float *room) {
    const bpt_safetensors_tensor_t *tensor = bpt_safetensors_find(from->file, p->name);
    bpt_safetensors_writer_t *to = from->to;
    if (!packed && tensor->dtype != BPT_ST_I8) return read_values(p, p->name, room, false, from);
    from->to = NULL;
    bpt_status_t status = read_values(p, p->name, room, false, from);
    from->to = to;
    return status == BPT_OK ? write_values(p, p->name, room, packed, to) : status;
}

static int64_t most_of_a_tensor(const bpt_params_t *params) {
    int64_t most = PIECE;
    for (size_t i = 0; i < params->count; ++i)
        if (params->items[i].count > most) most = params->items[i].count;
    return most;
}

bpt_status_t bpt_params_copy(const bpt_params_t *params, const char *path, bool non_finite, bool packed, bpt_safetensors_writer_t *to,
                             bpt_checksum_t *sum) {
    source_t from = {.non_finite = non_finite, .to = to};
    float *room;
    BPT_TRY(bpt_alloc((size_t)most_of_a_tensor(params), sizeof *room, &room));
    const bpt_param_set_t set = {.prefix = "", .packed = packed};
    bpt_status_t status = open_matching(params, path, &set, 1, sum != NULL, &from.file);
    if (status == BPT_OK) status = each(params, &set, 1, declare, to);
    for (size_t i = 0; i < params->count && status == BPT_OK; ++i)
        status = copy_tensor(&params->items[i], &from, packed && bpt_param_packs(&params->items[i]), room);
    if (status == BPT_OK && sum) status = bpt_safetensors_checksum(from.file, sum);
    bpt_safetensors_close(from.file);
    bpt_free(room);
    return status;
}
