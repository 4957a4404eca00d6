// A CUDA driver and an NVRTC that take notes (fake_cuda.c): what tests set and what they find.
#ifndef BPT_TEST_FAKE_CUDA_H
#define BPT_TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_MOST_LAUNCHES = 4096, FAKE_MOST_BINDINGS = 16, FAKE_PARAMS = 128 };

typedef struct {
    const char *kernel;
    unsigned groups[3], group_size;
    uint64_t bindings[FAKE_MOST_BINDINGS];
    unsigned char params[FAKE_PARAMS];
    bool in_graph;
} fake_launch_t;

typedef struct {
    // Set by tests before the library is used: what there is.
    int version, n_devices, capability, compute_mode;
    size_t memory_bytes;
    // How it behaves.
    int not_ready;            // so many queries of an event say that it is not ready
    bool hung;                // they all do
    const char *fails;        // this function fails
    int fails_with;           // with this code
    const char *compile_log;  // compiling fails with this log
    // Notes.
    fake_launch_t launches[FAKE_MOST_LAUNCHES];
    int n_launches, n_graphs_built, n_graph_launches, n_compiled, n_frees;
    char options[2048];  // of the last compilation, blank-separated
    // Objects that exist.
    int contexts, streams, events, modules, graphs, execs, blocks;
} fake_cuda_t;

#endif
