// Strict reader of safetensors files (see bpt/safetensors.h).
#include "bpt/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/dtype.h"
#include "bpt/json.h"
#include "core/io/path_error.h"
#include "core/io/safetensors_layout.h"

struct bpt_safetensors {
    int fd;
    char *path;
    json_t *header;  // owns names and metadata
    uint64_t data_start, data_bytes;
    bpt_safetensors_tensor_t *tensors;  // in the order of the data
    const bpt_safetensors_tensor_t **by_name;
    size_t count;
    bpt_hasher_t *hasher;  // of the file's bytes up to where they were read in order; NULL: not wanted
};

static bpt_status_t read_at(const bpt_safetensors_t *file, uint64_t offset, void *out, size_t length) {
    for (char *to = out; length;) {
        const ssize_t got = pread(file->fd, to, length, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return bpt_fail_path("read", file->path, errno);
        if (got == 0) return bpt_fail(BPT_ERR_INPUT, "%s became shorter while it was read; copy it again", file->path);
        if (file->hasher && offset == bpt_hasher_bytes(file->hasher)) bpt_hasher_add(file->hasher, to, (size_t)got);
        to += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return BPT_OK;
}

// ---- header

static bpt_status_t parse_shape(const json_t *shape, bpt_safetensors_tensor_t *t) {
    if (!json_is_array(shape)) return bpt_fail(BPT_ERR_INPUT, "\"shape\" is missing or not an array");
    if (json_array_size(shape) > BPT_ST_MAX_RANK)
        return bpt_fail(BPT_ERR_INPUT, "%zu dimensions, at most %d are possible", json_array_size(shape), BPT_ST_MAX_RANK);
    t->rank = (int32_t)json_array_size(shape);
    for (int32_t i = 0; i < t->rank; ++i) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return bpt_fail(BPT_ERR_INPUT, "dimension %d of \"shape\" is not a size", i);
        t->shape[i] = json_integer_value(size);
    }
    return bpt_safetensors_size(t);
}

static bpt_status_t parse_tensor(const json_t *entry, uint64_t data_bytes, bpt_safetensors_tensor_t *t) {
    static const char *const known[] = {"dtype", "shape", "data_offsets", NULL};
    if (!json_is_object(entry)) return bpt_fail(BPT_ERR_INPUT, "its entry is not an object");
    const char *unknown = bpt_json_unknown_key(entry, known);
    if (unknown) return bpt_fail(BPT_ERR_INPUT, "unknown key \"%s\"", unknown);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype) return bpt_fail(BPT_ERR_INPUT, "\"dtype\" is missing or not a text");
    if (!bpt_safetensors_dtype_find(dtype, &t->dtype)) return bpt_fail(BPT_ERR_INPUT, "unknown dtype \"%s\"", dtype);
    BPT_TRY(parse_shape(json_object_get(entry, "shape"), t));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return bpt_fail(BPT_ERR_INPUT, "\"data_offsets\" is missing or not two integers");
    const int64_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > data_bytes)
        return bpt_fail(BPT_ERR_INPUT, "its data [%" PRId64 ", %" PRId64 ") are not inside the %" PRIu64 " bytes of data", begin, end,
                        data_bytes);
    t->offset = (uint64_t)begin;
    if ((uint64_t)(end - begin) != t->bytes)
        return bpt_fail(BPT_ERR_INPUT, "its data have %" PRId64 " bytes, its shape and dtype need %" PRIu64, end - begin, t->bytes);
    return BPT_OK;
}

static int by_place(const void *a, const void *b) {
    const bpt_safetensors_tensor_t *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const bpt_safetensors_tensor_t *const *)a)->name, (*(const bpt_safetensors_tensor_t *const *)b)->name);
}

static bpt_status_t check_places(const bpt_safetensors_t *file) {
    uint64_t end = 0;
    for (size_t i = 0; i < file->count; ++i) {
        const bpt_safetensors_tensor_t *t = &file->tensors[i];
        if (t->offset < end) return bpt_fail(BPT_ERR_INPUT, "tensors \"%s\" and \"%s\" overlap", file->tensors[i - 1].name, t->name);
        if (t->offset > end) return bpt_fail(BPT_ERR_INPUT, "a gap of %" PRIu64 " bytes before tensor \"%s\"", t->offset - end, t->name);
        end = t->offset + t->bytes;
    }
    if (end != file->data_bytes) return bpt_fail(BPT_ERR_INPUT, "%" PRIu64 " bytes after the last tensor", file->data_bytes - end);
    return BPT_OK;
}

static bpt_status_t check_metadata(const json_t *metadata) {
    if (!json_is_object(metadata)) return bpt_fail(BPT_ERR_INPUT, "\"__metadata__\" is not an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value)) return bpt_fail(BPT_ERR_INPUT,
                                                                                                    "metadata \"%s\" is not a text", key);
    return BPT_OK;
}

static bpt_status_t parse_header(bpt_safetensors_t *file) {
    const size_t entries = json_object_size(file->header);
    BPT_TRY(bpt_alloc(entries, sizeof *file->tensors, &file->tensors));
    BPT_TRY(bpt_alloc(entries, sizeof *file->by_name, (void *)&file->by_name));
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry) {
        if (!strcmp(name, "__metadata__")) {
            BPT_TRY(check_metadata(entry));
            continue;
        }
        bpt_safetensors_tensor_t *t = &file->tensors[file->count];
        t->name = name;
        BPT_TRY(bpt_context(parse_tensor(entry, file->data_bytes, t), "tensor \"%s\"", name));
        ++file->count;
    }
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    BPT_TRY(check_places(file));
    for (size_t i = 0; i < file->count; ++i) file->by_name[i] = &file->tensors[i];
    if (file->count) qsort(file->by_name, file->count, sizeof *file->by_name, by_name);
    return BPT_OK;
}

// Whether a file begins with bytes that a text in UTF-8 can have. Those of a header's size are zeros towards its end.
static bool begins_as_text(uint64_t length) {
    unsigned char bytes[sizeof length];
    memcpy(bytes, &length, sizeof length);
    for (size_t i = 0; i < sizeof bytes; ++i)
        if ((bytes[i] < ' ' && !memchr("\t\n\r", bytes[i], 3)) || bytes[i] > 0xf4) return false;
    return true;
}

static bpt_status_t load_header(bpt_safetensors_t *file, uint64_t file_bytes) {
    uint64_t length = 0;
    if (file_bytes < 8) return bpt_fail(BPT_ERR_INPUT, "%" PRIu64 " bytes are too few for a header", file_bytes);
    BPT_TRY(read_at(file, 0, &length, 8));
    if (begins_as_text(length)) return bpt_fail(BPT_ERR_INPUT, "it is a text");
    if (length > BPT_ST_MAX_HEADER)
        return bpt_fail(BPT_ERR_INPUT, "its header would be %" PRIu64 " bytes, at most 100 MB are possible", length);
    if (length > file_bytes - 8)
        return bpt_fail(BPT_ERR_INPUT, "its header of %" PRIu64 " bytes is longer than the file of %" PRIu64 " bytes; it was cut off",
                        length, file_bytes);
    file->data_start = 8 + length;
    file->data_bytes = file_bytes - file->data_start;
    char *text;
    BPT_TRY(bpt_alloc(length + 1, 1, &text));
    bpt_status_t status = read_at(file, 8, text, length);
    if (status == BPT_OK && (length == 0 || text[0] != '{')) status = bpt_fail(BPT_ERR_INPUT, "its header does not begin with {");
    if (status == BPT_OK) status = bpt_json_parse(text, length, "header", &file->header);
    bpt_free(text);
    return status == BPT_OK ? parse_header(file) : status;
}

static bpt_status_t load(bpt_safetensors_t *file, const char *path, bool hashed) {
    BPT_TRY(bpt_strdup(path, &file->path));
    if (hashed) BPT_TRY(bpt_hasher_create(&file->hasher));
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe must not wait
    if (file->fd < 0) return bpt_fail_path("open", path, errno);
    struct stat info;
    if (fstat(file->fd, &info)) return bpt_fail_path("read", path, errno);
    if (S_ISDIR(info.st_mode)) return bpt_fail_path("read", path, EISDIR);
    if (!S_ISREG(info.st_mode)) return bpt_fail(BPT_ERR_INPUT, "%s is not a regular file; copy the model into one", path);
    const bpt_status_t status = load_header(file, (uint64_t)info.st_size);
    return status == BPT_ERR_INPUT ? bpt_context(status, "%s is not a valid safetensors file", path) : status;
}

static bpt_status_t open_file(const char *path, bool hashed, bpt_safetensors_t **out) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_alloc(1, sizeof *file, &file));
    file->fd = -1;
    const bpt_status_t status = load(file, path, hashed);
    if (status == BPT_OK)
        *out = file;
    else
        bpt_safetensors_close(file);
    return status;
}

bpt_status_t bpt_safetensors_open(const char *path, bpt_safetensors_t **out) { return open_file(path, false, out); }
bpt_status_t bpt_safetensors_open_hashed(const char *path, bpt_safetensors_t **out) { return open_file(path, true, out); }

void bpt_safetensors_close(bpt_safetensors_t *file) {
    if (!file) return;
    if (file->fd >= 0) close(file->fd);
    json_decref(file->header);
    bpt_free(file->tensors);
    bpt_free((void *)file->by_name);
    bpt_free(file->path);
    bpt_hasher_destroy(file->hasher);
    bpt_free(file);
}

const char *bpt_safetensors_path(const bpt_safetensors_t *file) { return file->path; }
size_t bpt_safetensors_count(const bpt_safetensors_t *file) { return file->count; }
const bpt_safetensors_tensor_t *bpt_safetensors_at(const bpt_safetensors_t *file, size_t index) { return &file->tensors[index]; }

const bpt_safetensors_tensor_t *bpt_safetensors_find(const bpt_safetensors_t *file, const char *name) {
    const bpt_safetensors_tensor_t wanted = {.name = name}, *key = &wanted;
    if (!file->count) return NULL;
    const bpt_safetensors_tensor_t *const *found = bsearch(&key, file->by_name, file->count, sizeof *file->by_name, by_name);
    return found ? *found : NULL;
}

const char *bpt_safetensors_metadata(const bpt_safetensors_t *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

// ---- data

bpt_status_t bpt_safetensors_read(const bpt_safetensors_t *file, const bpt_safetensors_tensor_t *t, int64_t first, int64_t count,
                                  void *out) {
    if (first < 0 || count < 0 || first > t->count || count > t->count - first)
        return bpt_fail(BPT_ERR_INTERNAL, "%s: elements %" PRId64 " + %" PRId64 " are outside tensor \"%s\"", file->path, first, count,
                        t->name);
    const uint64_t bits = bpt_safetensors_dtype_bits(t->dtype), begin = (uint64_t)first * bits, length = (uint64_t)count * bits;
    if (begin % 8 || length % 8)
        return bpt_fail(BPT_ERR_INTERNAL, "%s: elements %" PRId64 " + %" PRId64 " of tensor \"%s\" are not whole bytes", file->path, first,
                        count, t->name);
    return read_at(file, file->data_start + t->offset + begin / 8, out, (size_t)(length / 8));
}

bpt_status_t bpt_safetensors_checksum(const bpt_safetensors_t *file, bpt_checksum_t *out) {
    char block[65536];
    const uint64_t end = file->data_start + file->data_bytes;
    if (!file->hasher) return bpt_fail(BPT_ERR_INTERNAL, "%s was not opened to be hashed", file->path);
    for (uint64_t at; (at = bpt_hasher_bytes(file->hasher)) < end;)
        BPT_TRY(read_at(file, at, block, end - at < sizeof block ? (size_t)(end - at) : sizeof block));
    *out = bpt_hasher_sum(file->hasher);
    return BPT_OK;
}

static void convert(bpt_safetensors_dtype_t dtype, const void *from, int64_t count, float *to) {
    for (int64_t i = 0; i < count; ++i) {
        if (dtype == BPT_ST_F64)
            to[i] = (float)((const double *)from)[i];
        else if (dtype == BPT_ST_F16)
            to[i] = bpt_from_f16(((const uint16_t *)from)[i]);
        else
            to[i] = bpt_from_bf16(((const uint16_t *)from)[i]);
    }
}

bpt_status_t bpt_safetensors_read_f32(const bpt_safetensors_t *file, const bpt_safetensors_tensor_t *t, int64_t first, int64_t count,
                                      float *out) {
    if (t->dtype == BPT_ST_F32) return bpt_safetensors_read(file, t, first, count, out);
    if (t->dtype != BPT_ST_F16 && t->dtype != BPT_ST_BF16 && t->dtype != BPT_ST_F64)
        return bpt_fail(BPT_ERR_INPUT, "%s: tensor \"%s\" has type %s, which is not supported; convert it to F32, F16, BF16 or F64",
                        file->path, t->name, bpt_safetensors_dtype_name(t->dtype));
    enum { CHUNK = 4096 };
    union {
        double wide[CHUNK];
        uint16_t half[CHUNK];
    } buffer;
    for (int64_t done = 0; done < count || count < 0; done += CHUNK) {
        const int64_t some = count - done < CHUNK ? count - done : CHUNK;
        BPT_TRY(bpt_safetensors_read(file, t, first + done, some, &buffer));
        convert(t->dtype, &buffer, some, out + done);
    }
    return BPT_OK;
}
