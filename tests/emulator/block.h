// What a kernel that was compiled for the processor and the emulator that runs it know of each other. Read by C (the emulator) and, behind
// device.h, by C++ (the kernel). Knows no op and no kernel by name.
#ifndef BPT_TEST_EMULATOR_BLOCK_H
#define BPT_TEST_EMULATOR_BLOCK_H

typedef struct {
    unsigned x, y, z;
} emulated_index_t;

typedef enum {
    EMULATED_LAUNCH_FAILED = 719,
    EMULATED_ILLEGAL_ADDRESS = 700,
    EMULATED_MISALIGNED_ADDRESS = 716
} emulated_fault_t;  // as CUDA has them

// What the lanes of a warp do together. `mode` tells two uses of one operation apart where all lanes must agree on them.
typedef enum {
    EMULATED_SYNC,
    EMULATED_SHUFFLE,      // mode: which one; in: a word, the lane to take from (any beyond the warp: one's own); out: a word
    EMULATED_LOAD_MATRIX,  // mode: 1, 2 or 4 matrices, + 8 transposed; in: the address of a row; out: a word of each matrix
    EMULATED_TRANSPOSE,    // in, out: a word of the matrix
    EMULATED_MMA,          // mode: 1 bf16, 2 f16; in: 4 words of a, 2 of b, 4 floats of d; out: 4 floats
} emulated_operation_t;
enum { EMULATED_MOST_WORDS = 10, EMULATED_WARP = 32 };

// The running thread, and what it may ask of the emulator.
typedef struct {
    emulated_index_t thread, block, grid, block_size;
    // Waits for all threads of the block. `site` is another number wherever the text has a barrier.
    void (*barrier)(int site, const char *file, int line);
    // Waits for all lanes of the warp, then gives each its result.
    void (*warp)(emulated_operation_t operation, int mode, const void *in, int n_in, void *out, int n_out);
    // Does not return.
    void (*fault)(emulated_fault_t fault, const char *file, int line, const char *what);
} emulated_block_t;

// What a compiled kernel exports, as EMULATED_EXPORT.
typedef struct {
    emulated_block_t **block;  // to be set before it runs
    void (*run)(void **arguments);
    char *shared, *shared_end;  // its __shared__ variables
    int most_threads;           // __launch_bounds__
    int n_arguments;
    const unsigned *argument_bytes;
} emulated_kernel_t;
#define EMULATED_EXPORT "emulated_kernel"

#endif
