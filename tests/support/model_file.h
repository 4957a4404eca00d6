// Model files with other metadata or another type of numbers, for tests of what reads them.
#ifndef BPT_TEST_MODEL_FILE_H
#define BPT_TEST_MODEL_FILE_H

#include "bpt/safetensors.h"

typedef struct {
    const char *key, *value;  // value NULL: the source's, if it has one
} test_metadata_t;

// Writes the tensors of a safetensors file into another one, with these metadata alone.
void test_copy_model(const char *from, const char *to, const test_metadata_t *metadata, int count);
// The same, and one tensor becomes zeros of a type.
void test_copy_model_with_type(const char *from, const char *to, const test_metadata_t *metadata, int count, const char *tensor,
                               bpt_safetensors_dtype_t dtype);

#endif
