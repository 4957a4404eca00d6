// A CUDA driver and an NVRTC that run kernels on the processor (driver.c, compiler.c): what tests set and what they find.
#ifndef BPT_TEST_EMULATOR_H
#define BPT_TEST_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMULATOR_MOST_LAUNCHES = 4096, EMULATOR_MOST_BINDINGS = 16, EMULATOR_PARAMS = 128 };

typedef struct {
    char kernel[64];
    unsigned groups[3], group_size;
    uint64_t bindings[EMULATOR_MOST_BINDINGS];
    unsigned char params[EMULATOR_PARAMS];
    bool in_graph;
} emulator_launch_t;

typedef struct {
    // Set by tests before the library is used: what there is.
    int version, n_devices, capability, compute_mode, most_threads, has_pools;
    size_t memory_bytes;
    // How it behaves.
    double group_seconds;     // what a group takes, by the clock of events
    int not_ready;            // so many queries of an event say that it is not ready
    bool hung;                // they all do
    const char *fails;        // this function fails
    int fails_with;           // with this code
    const char *compile_log;  // compiling fails with this log
    // Notes.
    emulator_launch_t launches[EMULATOR_MOST_LAUNCHES];
    int n_launches, n_graphs_built, n_graph_launches, n_branches, n_compiled, n_frees;
    char options[2048];  // of the last compilation, blank-separated
    // Objects that exist.
    int contexts, streams, events, modules, graphs, execs, blocks, pinned;
} emulator_t;

extern emulator_t emulator;

#define EMULATOR_AT_START                                                                                                          \
    {                                                                                                                              \
        .version = 13000, .n_devices = 1, .capability = 90, .most_threads = 1024, .has_pools = 1, .memory_bytes = (size_t)4 << 30, \
        .group_seconds = 1e-6, .not_ready = 2                                                                                      \
    }

#endif
