// Every kernel that a device would use, compiled by the device's compiler in child processes, and what each takes. Nothing runs.
#ifndef BPT_TOOLS_COMPILED_H
#define BPT_TOOLS_COMPILED_H

#include <stdatomic.h>

#include "backends/gpu/compile.h"
#include "backends/gpu/tuning.h"
#include "tools/bpt/devices/drivers.h"
#include "tools/bpt/options/options.h"

enum { CLI_MOST_KERNELS = 2048 };

// A kernel with its constants as it was compiled, or why it was not.
typedef struct {
    char kernel[40], variant[480], problem[400];
    uint64_t source;  // a number for what the compiler is given
    bool compiled, known;  // its figures are here; they were known before, so that nothing was compiled
    bpt_gpu_resources_t takes;
} cli_kernel_t;

typedef struct {
    char device[128], driver[128];
    char compiler[192];                        // "": it is not here
    char class[128], rule[BPT_TUNING_TEXT];    // of the device
    char blueprints[BPT_PROBLEM_COUNT][1024];  // that the class may take, the one that it does first
    char problem[512];
    int count;           // kernels in all, in the order of their names
    atomic_int current;  // the one that is being compiled
    cli_kernel_t kernel[CLI_MOST_KERNELS];
} cli_kernels_t;

typedef struct {
    const bpt_backend_t *backend;
    const cli_drivers_t *drivers;
    const char *target;  // NULL: the device of this index
    int index, processes;
    unsigned precisions;  // of cli_compile_precisions
    const char *only;     // kernels whose name begins so; "": all
    bool sources_only, quiet, verbose;
    // Unless NULL: fills in what is known of a kernel whose `source` is set; it is not compiled then. Runs in the child processes.
    bool (*known)(const void *user, const char *compiler, cli_kernel_t *kernel);
    // Unless NULL: gets what is there by now, a few times while kernels are compiled; those to come have no name yet. Runs in this process.
    bpt_status_t (*keep)(void *user, const cli_kernels_t *so_far);
    void *user;
} cli_compile_t;

// Whether a kernel is one of those that --kernels asks for by the beginning of their names; "": all.
bool cli_kernel_is_one_of(const char *kernel, const char *beginning);

// A compiler that is missing is out->problem, with no kernels; with sources_only or `known` there are kernels all the same.
bpt_status_t cli_compile(const cli_compile_t *wanted, cli_kernels_t *out) BPT_MUST_USE;
// Bit 1 << type for each number type: all, or what --precision names.
unsigned cli_compile_precisions(const cli_options_t *o);

// What is said of a kernel, by its name in JSON and in tables.
typedef struct {
    const char *key, *title;  // NULL after the last
    size_t field;
    bool kept;  // in the ledger
} cli_resource_t;

extern const cli_resource_t cli_resources[];
int64_t *cli_resource_value(const cli_resource_t *column, const bpt_gpu_resources_t *takes);

#endif
