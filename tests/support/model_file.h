// Model files with other metadata, for tests of what reads them.
#ifndef BPT_TEST_MODEL_FILE_H
#define BPT_TEST_MODEL_FILE_H

typedef struct {
    const char *key, *value;  // value NULL: the source's, if it has one
} test_metadata_t;

// Writes the tensors of a safetensors file into another one, with these metadata alone.
void test_copy_model(const char *from, const char *to, const test_metadata_t *metadata, int count);

#endif
