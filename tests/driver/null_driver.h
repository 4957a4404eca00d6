// A driver without a device (backends/gpu/driver.h): it has every function that a GPU API must have, in the order in which a device uses
// them, each with what it must do. It computes nothing and takes notes, on which test_gpu_lists.c tests what all GPU backends share.
//
// To start a new API, copy null_driver.c to backends/<api>/<api>.c and replace the bodies one by one; tests/driver/test_driver.c says when
// they are right, kernel by kernel the conformance tests. At the end of the file belong
//     BPT_GPU_BACKEND(<api>, "what bpt devices says of it", NULL);
// and a bpt_<api>_loader (bpt_loader_t). Besides its folder an API needs its line in backends/backends.def. An API with a language of its
// own for kernels also needs the words of cl/README.md in it (cl/dialect/<api>.h).
#ifndef BPT_TEST_NULL_DRIVER_H
#define BPT_TEST_NULL_DRIVER_H

#include "backends/gpu/driver.h"

enum { NULL_MOST_BOXES = 4096 };

// What was dispatched, and how the device behaves. A test clears it before it opens a device.
typedef struct {
    bpt_gpu_api_t api;
    struct {
        uint32_t first, groups[3];
    } box[NULL_MOST_BOXES];
    int n_boxes, n_submits;
    uint64_t tickets, waited;
    double seconds_per_group;  // what the device really takes
    int64_t longest;           // groups of the largest submission
    bool drops_work, times_out, has_library, library_is_wrong, library_ran;
    struct {
        uint32_t m;
        size_t a, c;
    } product[64];
    int n_products, n_scratches;
    uint32_t max_groups[3];
    char type[16];
    bpt_gpu_memory_t *canary;
} null_notes_t;

extern null_notes_t null_notes;
extern const bpt_gpu_driver_t null_driver;

#endif
