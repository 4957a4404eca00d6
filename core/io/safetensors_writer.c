// Writer of safetensors files (see bpt/safetensors.h).
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "core/io/safetensors_layout.h"

struct bpt_safetensors_writer {
    char *path;
    json_t *header, *metadata;  // tensors; the metadata become the header's first key when it is written
    uint64_t total, written;    // bytes of data
    bpt_file_writer_t *file;    // NULL until the header is written
    bpt_hasher_t *hasher;       // of everything written
};

bpt_status_t bpt_safetensors_writer_create(const char *path, bpt_safetensors_writer_t **out) {
    bpt_safetensors_writer_t *w;
    BPT_TRY(bpt_alloc(1, sizeof *w, &w));
    w->header = json_object();
    w->metadata = json_object();
    bpt_status_t status = bpt_strdup(path, &w->path);
    if (status == BPT_OK) status = bpt_hasher_create(&w->hasher);
    if (status == BPT_OK && (!w->header || !w->metadata)) status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", path);
    if (status != BPT_OK) {
        bpt_safetensors_writer_destroy(w);
        return status;
    }
    *out = w;
    return BPT_OK;
}

bpt_status_t bpt_safetensors_writer_metadata(bpt_safetensors_writer_t *w, const char *key, const char *value) {
    if (w->file) return bpt_fail(BPT_ERR_INTERNAL, "metadata \"%s\" come after the first data of %s", key, w->path);
    if (json_object_set_new(w->metadata, key, json_string(value)))
        return bpt_fail(BPT_ERR_INPUT, "metadata \"%s\" of %s is not valid UTF-8", key, w->path);
    return BPT_OK;
}

bpt_status_t bpt_safetensors_writer_declare(bpt_safetensors_writer_t *w, const char *name, bpt_safetensors_dtype_t dtype, int rank,
                                            const int64_t *shape) {
    if (w->file) return bpt_fail(BPT_ERR_INTERNAL, "tensor \"%s\" is declared after the first data of %s", name, w->path);
    if (!strcmp(name, "__metadata__") || json_object_get(w->header, name))
        return bpt_fail(BPT_ERR_INPUT, "%s cannot hold two tensors called \"%s\"", w->path, name);
    if (rank < 0 || rank > BPT_ST_MAX_RANK)
        return bpt_fail(BPT_ERR_INPUT, "tensor \"%s\" has %d dimensions, at most %d are possible", name, rank, BPT_ST_MAX_RANK);
    bpt_safetensors_tensor_t tensor = {.dtype = dtype, .rank = rank};
    json_t *sizes = json_array();
    bool stored = sizes;
    for (int i = 0; i < rank; ++i) {
        tensor.shape[i] = shape[i];
        stored = stored && !json_array_append_new(sizes, json_integer(shape[i]));
    }
    uint64_t end = 0;
    bpt_status_t status = bpt_safetensors_size(&tensor);
    if (status == BPT_OK && (__builtin_add_overflow(w->total, tensor.bytes, &end) || end > INT64_MAX))
        status = bpt_fail(BPT_ERR_INPUT, "the file is too large");
    if (status != BPT_OK) {
        json_decref(sizes);
        return bpt_context(status, "tensor \"%s\"", name);
    }
    json_t *entry = NULL;
    if (stored)
        entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", bpt_safetensors_dtype_name(dtype), "shape", sizes, "data_offsets",
                          (json_int_t)w->total, (json_int_t)end);
    else
        json_decref(sizes);
    if (!entry || json_object_set_new(w->header, name, entry))
        return bpt_fail(BPT_ERR_INPUT, "cannot store the tensor name \"%s\": it is not valid UTF-8, or memory is exhausted", name);
    w->total = end;
    return BPT_OK;
}

static bpt_status_t put(bpt_safetensors_writer_t *w, const void *bytes, size_t length) {
    bpt_hasher_add(w->hasher, bytes, length);
    return bpt_file_writer_write(w->file, bytes, length);
}

static bpt_status_t write_header(bpt_safetensors_writer_t *w) {
    json_t *whole = json_object();
    bool stored = whole && (!json_object_size(w->metadata) || !json_object_set(whole, "__metadata__", w->metadata));
    stored = stored && !json_object_update(whole, w->header);
    char *text = stored ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    if (!text) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", w->path);
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    bpt_status_t status = BPT_OK;
    if (padded > BPT_ST_MAX_HEADER)
        status = bpt_fail(BPT_ERR_INPUT, "%s would have a header of more than 100 MB; store fewer tensors", w->path);
    const uint64_t prefix = padded;
    if (status == BPT_OK) status = bpt_file_writer_open(w->path, &w->file);
    if (status == BPT_OK) status = put(w, &prefix, sizeof prefix);
    if (status == BPT_OK) status = put(w, text, length);
    if (status == BPT_OK) status = put(w, "       ", padded - length);
    free(text);
    return status;
}

bpt_status_t bpt_safetensors_writer_data(bpt_safetensors_writer_t *w, const void *bytes, size_t length) {
    if (length > w->total - w->written)
        return bpt_fail(BPT_ERR_INTERNAL, "more data for %s than the %" PRIu64 " bytes of its declared tensors", w->path, w->total);
    if (!w->file) BPT_TRY(write_header(w));
    BPT_TRY(put(w, bytes, length));
    w->written += length;
    return BPT_OK;
}

bpt_status_t bpt_safetensors_writer_finish(bpt_safetensors_writer_t *w) {
    if (w->written != w->total)
        return bpt_fail(BPT_ERR_INTERNAL, "%s got %" PRIu64 " of the %" PRIu64 " bytes of its declared tensors", w->path, w->written,
                        w->total);
    if (!w->file) BPT_TRY(write_header(w));
    return bpt_file_writer_commit(w->file);
}

bpt_checksum_t bpt_safetensors_writer_checksum(const bpt_safetensors_writer_t *w) { return bpt_hasher_sum(w->hasher); }

void bpt_safetensors_writer_destroy(bpt_safetensors_writer_t *w) {
    if (!w) return;
    bpt_file_writer_close(w->file);
    bpt_hasher_destroy(w->hasher);
    json_decref(w->header);
    json_decref(w->metadata);
    bpt_free(w->path);
    bpt_free(w);
}
