// Model files with other metadata or types (model_file.h).
#include "support/model_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/check.h"

static void write_metadata(const bpt_safetensors_t *from, bpt_safetensors_writer_t *to, const test_metadata_t *metadata, int count) {
    for (int i = 0; i < count; ++i) {
        const char *value = metadata[i].value ? metadata[i].value : bpt_safetensors_metadata(from, metadata[i].key);
        if (value) assert_ok(bpt_safetensors_writer_metadata(to, metadata[i].key, value));
    }
}

static void write_floats(const bpt_safetensors_t *from, bpt_safetensors_writer_t *to, const bpt_safetensors_tensor_t *tensor) {
    float *data = calloc((size_t)tensor->count + 1, sizeof *data);
    assert_non_null(data);
    assert_ok(bpt_safetensors_read_f32(from, tensor, 0, tensor->count, data));
    assert_ok(bpt_safetensors_writer_data(to, data, (size_t)tensor->count * sizeof *data));
    free(data);
}

static void write_zeros(bpt_safetensors_writer_t *to, size_t bytes) {
    void *zeros = calloc(bytes + 1, 1);
    assert_non_null(zeros);
    assert_ok(bpt_safetensors_writer_data(to, zeros, bytes));
    free(zeros);
}

void test_copy_model_with_type(const char *from_path, const char *to_path, const test_metadata_t *metadata, int count, const char *tensor,
                               bpt_safetensors_dtype_t dtype) {
    bpt_safetensors_t *from;
    bpt_safetensors_writer_t *to;
    assert_ok(bpt_safetensors_open(from_path, &from));
    assert_true(!tensor || bpt_safetensors_find(from, tensor));
    assert_ok(bpt_safetensors_writer_create(to_path, &to));
    write_metadata(from, to, metadata, count);
    for (int writes = 0; writes < 2; ++writes)  // all declarations come before the data
        for (size_t i = 0; i < bpt_safetensors_count(from); ++i) {
            const bpt_safetensors_tensor_t *t = bpt_safetensors_at(from, i);
            const bool changed = tensor && !strcmp(t->name, tensor);
            if (!writes)
                assert_ok(bpt_safetensors_writer_declare(to, t->name, changed ? dtype : BPT_ST_F32, t->rank, t->shape));
            else if (changed)
                write_zeros(to, (size_t)t->count * bpt_safetensors_dtype_bits(dtype) / 8);
            else
                write_floats(from, to, t);
        }
    assert_ok(bpt_safetensors_writer_finish(to));
    bpt_safetensors_writer_destroy(to);
    bpt_safetensors_close(from);
}

void test_copy_model(const char *from, const char *to, const test_metadata_t *metadata, int count) {
    test_copy_model_with_type(from, to, metadata, count, NULL, BPT_ST_F32);
}
