// A cuBLASLt that multiplies on the host (fake_cublaslt.c): what tests set and what they find.
#ifndef BPT_TEST_FAKE_CUBLASLT_H
#define BPT_TEST_FAKE_CUBLASLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    // Set by tests: what there is, and how it behaves.
    size_t version;     // 130100 is 13.1.0
    const char *fails;  // this function fails
    int fails_with;     // with this code
    bool is_wrong;      // every product is off by a little
    bool bits_differ;   // masks have their first element in the highest bit of a byte
    // Notes.
    char complaint[256];  // what was first done against the manual, "" when nothing was
    int n_products;       // that ran
    int n_chosen;         // algorithms
    size_t workspace_bytes;
    int compute, epilogue;                // of the last product
    int operands, result;                 // its types, cudaDataType_t
    uint32_t reductions, alignment_of_a;  // of the last choice
    int objects;                          // that exist
} fake_cublaslt_t;

#endif
