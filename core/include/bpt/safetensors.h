// Safetensors files: named tensors in one file. 8 bytes little-endian header length, a JSON header (padded with blanks so that the
// data start at a multiple of 8), then the tensors without gaps. Knows nothing of models.
//
// The reader is strict: a file that is truncated, has a header longer than the file or than 100 MB, is not JSON, or has
// duplicate names, unknown types, gaps, overlaps or sizes that contradict the shape is BPT_ERR_INPUT and names the tensor.
// A file may have tensors of any type of the format; the numbers of some types only can be read.
#ifndef BPT_SAFETENSORS_H
#define BPT_SAFETENSORS_H

#include "bpt/checksum.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_ST_F32,
    BPT_ST_F16,
    BPT_ST_BF16,
    BPT_ST_F64,
    BPT_ST_U8,
    BPT_ST_U16,
    BPT_ST_U32,
    BPT_ST_U64,
    BPT_ST_I8,
    BPT_ST_I16,
    BPT_ST_I32,
    BPT_ST_I64,
    BPT_ST_BOOL,
    BPT_ST_C64,  // complex: two F32
    BPT_ST_F8_E4M3,
    BPT_ST_F8_E5M2,
    BPT_ST_F8_E4M3FNUZ,
    BPT_ST_F8_E5M2FNUZ,
    BPT_ST_F8_E8M0,
    BPT_ST_F6_E2M3,  // elements of fewer than 8 bits lie without gaps, and fill whole bytes together
    BPT_ST_F6_E3M2,
    BPT_ST_F4,
} bpt_safetensors_dtype_t;

BPT_API const char *bpt_safetensors_dtype_name(bpt_safetensors_dtype_t dtype);  // "F32", ..
BPT_API uint32_t bpt_safetensors_dtype_bits(bpt_safetensors_dtype_t dtype);     // of one element

enum { BPT_ST_MAX_RANK = 8 };

typedef struct {
    const char *name;
    bpt_safetensors_dtype_t dtype;
    int32_t rank;                    // 0: a scalar
    int64_t shape[BPT_ST_MAX_RANK];  // each >= 0
    int64_t count;                   // product of the shape
    uint64_t offset, bytes;          // place in the data part of the file
} bpt_safetensors_tensor_t;

// ---- reading

typedef struct bpt_safetensors bpt_safetensors_t;

BPT_API bpt_status_t bpt_safetensors_open(const char *path, bpt_safetensors_t **out) BPT_MUST_USE;
// The same, and what is read is hashed on its way: no second pass over the file, but one thread only.
BPT_API bpt_status_t bpt_safetensors_open_hashed(const char *path, bpt_safetensors_t **out) BPT_MUST_USE;
// Of the whole file, which was opened hashed. Data that were not read in the order of the file are read here.
BPT_API bpt_status_t bpt_safetensors_checksum(const bpt_safetensors_t *file, bpt_checksum_t *out) BPT_MUST_USE;
BPT_API void bpt_safetensors_close(bpt_safetensors_t *file);
BPT_API const char *bpt_safetensors_path(const bpt_safetensors_t *file);
BPT_API size_t bpt_safetensors_count(const bpt_safetensors_t *file);
// Tensor `index` in the order of the data; owned by the file.
BPT_API const bpt_safetensors_tensor_t *bpt_safetensors_at(const bpt_safetensors_t *file, size_t index);
BPT_API const bpt_safetensors_tensor_t *bpt_safetensors_find(const bpt_safetensors_t *file, const char *name);  // NULL: none
BPT_API const char *bpt_safetensors_metadata(const bpt_safetensors_t *file, const char *key);                   // NULL: none
// Elements [first, first + count) as they are stored, which must be whole bytes; safe to call from several threads, unless the file was
// opened hashed.
BPT_API bpt_status_t bpt_safetensors_read(const bpt_safetensors_t *file, const bpt_safetensors_tensor_t *tensor, int64_t first,
                                          int64_t count, void *out) BPT_MUST_USE;
// The same as f32, from F32, F16, BF16 or F64; other types are BPT_ERR_INPUT, which says that they are not supported.
BPT_API bpt_status_t bpt_safetensors_read_f32(const bpt_safetensors_t *file, const bpt_safetensors_tensor_t *tensor, int64_t first,
                                              int64_t count, float *out) BPT_MUST_USE;

// ---- writing. Declare all tensors and metadata, then hand over the data in the order of declaration, in pieces of any size.
// The file appears under its name when it is finished, complete and synced (bpt/file.h).

typedef struct bpt_safetensors_writer bpt_safetensors_writer_t;

BPT_API bpt_status_t bpt_safetensors_writer_create(const char *path, bpt_safetensors_writer_t **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_safetensors_writer_metadata(bpt_safetensors_writer_t *writer, const char *key, const char *value) BPT_MUST_USE;
BPT_API bpt_status_t bpt_safetensors_writer_declare(bpt_safetensors_writer_t *writer, const char *name, bpt_safetensors_dtype_t dtype,
                                                    int rank, const int64_t *shape) BPT_MUST_USE;
BPT_API bpt_status_t bpt_safetensors_writer_data(bpt_safetensors_writer_t *writer, const void *bytes, size_t length) BPT_MUST_USE;
BPT_API bpt_status_t bpt_safetensors_writer_finish(bpt_safetensors_writer_t *writer) BPT_MUST_USE;
BPT_API bpt_checksum_t bpt_safetensors_writer_checksum(const bpt_safetensors_writer_t *writer);  // of the file, once it is finished
BPT_API void bpt_safetensors_writer_destroy(bpt_safetensors_writer_t *writer);                   // without finish nothing is left behind

BPT_END_DECLS

#endif
