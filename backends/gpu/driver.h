// Boundary 2: what a GPU API implements for the lowering, one dispatch at a time. A driver knows memory, programs and command lists;
// it never names an op. All of a device's calls come from one thread at a time.
#ifndef BPT_GPU_DRIVER_H
#define BPT_GPU_DRIVER_H

#include "backends/gpu/info.h"
#include "backends/gpu/kernel.h"
#include "backends/gpu/nodes.h"
#include "bpt/backend.h"

typedef struct bpt_gpu_api bpt_gpu_api_t;            // an open device of one API; the first member of every driver's own struct
typedef struct bpt_gpu_memory bpt_gpu_memory_t;      // device memory
typedef struct bpt_gpu_program bpt_gpu_program_t;    // a kernel compiled with its constants
typedef struct bpt_gpu_commands bpt_gpu_commands_t;  // recorded dispatches, submitted again and again

// What the device allows and has. Faked downwards by BPT_LIMITS (limits.h) before anything else reads it.
typedef struct {
    uint32_t max_groups[3];         // work-groups per axis
    uint32_t max_group_size;        // work-items of a group
    uint32_t local_bytes;           // local (shared) memory of a group
    uint64_t max_binding_bytes;     // range of one binding
    uint64_t max_allocation_bytes;  // one block of memory
    uint64_t memory_bytes;
    uint32_t offset_alignment;  // of a binding's offset; a power of two, 1 = any
    uint32_t subgroup_size;     // 0 = unknown or not to be relied on
    uint32_t vector_lanes;      // floats of a vector register, of processors through OpenCL; 0 = kernels use vectors of four
    uint32_t max_texels;        // floats that a kernel can read as texels, which is faster than from a buffer; 0 = it is not
    uint32_t max_loops;         // rounds of all loops of a work-item together, after which the driver silently stops; 0 = none
    bpt_fragments_t fragments;  // of matrices that a subgroup holds together, for cl/matrix/matmul_matrix.cl: f16, sums in f32; 0 = none
    bool f16;                   // 16-bit elements in storage
    bool mma;                   // warps have the instruction mma for 16-bit products (cl/attention/warp_rows.h)
    bool unified;               // host and device share the memory
    bool disjoint_writes;       // dispatches without a barrier between them may write different rows of one binding
    bool software;              // the device is a processor (set by gpu.c)
} bpt_gpu_limits_t;

struct bpt_gpu_api {
    const struct bpt_gpu_driver *driver;
    bpt_gpu_limits_t limits;
};

// A program's key: a kernel and the values of its constants (kernel.h), which are the sizes of its blueprint (blueprint.h) and what the
// problem adds to them.
typedef struct {
    bpt_gpu_kernel_t kernel;
    uint32_t group_size;
    uint32_t constants[BPT_GPU_MAX_CONSTANTS];  // in the order of the kernel's CONSTANTS
    uint8_t dtypes[BPT_GPU_MAX_BINDINGS];       // element type (bpt_dtype_t) of each binding
    uint32_t texels;                            // 1: kinds G and T are texel buffers, of f32. Variants are compared as bytes
} bpt_gpu_variant_t;

typedef struct {
    bpt_gpu_memory_t *memory;  // NULL: the kernel never reads it; the driver binds something harmless
    size_t offset_bytes;       // a multiple of limits.offset_alignment
    size_t bytes;              // <= limits.max_binding_bytes
} bpt_gpu_binding_t;

typedef struct {
    bpt_gpu_program_t *program;
    bpt_gpu_binding_t bindings[BPT_GPU_MAX_BINDINGS];
    uint8_t params[BPT_GPU_PARAMS_BYTES];  // the kernel's parameter block as in kernel.h
    uint32_t params_bytes;
    uint32_t groups[3];
} bpt_gpu_dispatch_t;

// A product of matrices by a library of the API, stored by rows: c = op(a) op(b), added to what c holds where `add` says so, then the
// bias, one value per column, then relu. Sums are f32 and rounded once. m x n is the size of c, k the depth; lda, ldb, ldc are the
// elements of a stored row. Where `masked` says so (and `add`, `has_bias`, `relu` do not) c is the gradient of a relu: `scale` times the
// product where the mask has a bit, else 0; a row of the mask has ldmask bits, as cl/matmul/mask_bits.cl lays them out.
typedef struct {
    bpt_gpu_binding_t a, b, c, bias, mask;  // offsets are multiples of their elements' size, of the mask's of 16
    bpt_gpu_binding_t scratch;              // of product_scratch
    bpt_dtype_t operands, result;           // of a and b; of c; a bias is f32
    uint32_t m, n, k, lda, ldb, ldc;
    bool transpose_a, transpose_b, add;
    bool has_bias, relu, masked;
    uint32_t ldmask;  // a multiple of 128
    float scale;
    bool tf32;  // f32 operands may be rounded to 10 bits of mantissa
} bpt_gpu_product_t;

// What a compiler says of a kernel that it made; -1: it does not say. A register is what one work-item sees of it (AMD's vector registers,
// NVIDIA's registers), or on Intel one of the thread that runs a whole subgroup.
typedef struct {
    int64_t registers, scalar_registers;  // scalar: one for a whole subgroup
    int64_t spilled, spilled_scalars;     // registers that were moved to memory; bytes of them where a compiler counts bytes
    int64_t local_bytes;                  // of a work-group
    int64_t scratch_bytes;                // memory of a work-item: spilled registers, arrays that are indexed
    int64_t subgroup;                     // work-items side by side: SIMD width, wave or warp
    int64_t waves;                        // subgroups that a SIMD unit holds at once
    int64_t instructions, code_bytes;
} bpt_gpu_resources_t;

#define BPT_GPU_NOTHING_SAID ((bpt_gpu_resources_t){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1})

// Compiling without running. Nothing but these functions is called with what `open` gives.
typedef struct {
    bpt_status_t (*targets)(bpt_device_info_t *infos, int capacity, int *count);  // as in bpt_backend_t; NULL: none
    // Device `index` of `enumerate`, or the target of this name unless NULL. Fills `limits`; nothing of the device is used but its
    // compiler.
    bpt_status_t (*open)(int index, const char *target, bpt_gpu_api_t **out);
    void (*close)(bpt_gpu_api_t *api);
    // The compiler and its version, since what it says holds for that version alone. BPT_ERR_UNAVAILABLE with what to install: a target can
    // be opened, but not compiled for.
    bpt_status_t (*name)(bpt_gpu_api_t *api, char *text, size_t bytes);
    // What the compiler is given for a variant, from bpt_alloc: the text after the preprocessor, or SPIR-V. Works without the compiler.
    bpt_status_t (*source)(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, void **source, size_t *bytes);
    // A build failure is BPT_ERR_UNSUPPORTED with the first line of the compiler's log.
    bpt_status_t (*compile)(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out);
} bpt_gpu_compiler_t;

// Devices of several processes that exchange memory without their hosts; as bpt_links_t, on the device of the driver.
typedef struct bpt_gpu_link bpt_gpu_link_t;
typedef struct {
    bpt_status_t (*find)(bpt_gpu_api_t *api, bool *there, char *text, size_t bytes);
    bpt_status_t (*make_id)(bpt_gpu_api_t *api, unsigned char *id);
    bpt_status_t (*open)(bpt_gpu_api_t *api, const unsigned char *id, int rank, int size, bpt_gpu_link_t **out);
    void (*close)(bpt_gpu_link_t *link);
    // The device is idle.
    bpt_status_t (*swap)(bpt_gpu_link_t *link, bpt_gpu_memory_t *from, bpt_gpu_memory_t *to, const bpt_swap_part_t *parts);
    bpt_status_t (*wait)(bpt_gpu_link_t *link, double seconds);
} bpt_gpu_links_t;

typedef struct bpt_gpu_driver {
    // As in bpt_backend_t. `index` counts the devices in the order of `enumerate`.
    bpt_status_t (*enumerate)(bpt_device_info_t *infos, int capacity, int *count);
    bpt_status_t (*open)(int index, bpt_gpu_api_t **out);  // fills `limits`
    void (*close)(bpt_gpu_api_t *api);                     // everything made from it has been destroyed; safe after a device loss

    bpt_status_t (*memory_create)(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out);  // zeroed
    void (*memory_destroy)(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory);
    // The device is idle when these are called. `write` is done with its source when it returns, and everything that comes after it sees
    // the bytes; `read` returns when they are there.
    bpt_status_t (*write)(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes);
    bpt_status_t (*read)(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes);

    // A build failure is BPT_ERR_UNSUPPORTED with the first line of the compiler's log.
    bpt_status_t (*program_create)(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
    void (*program_destroy)(bpt_gpu_api_t *api, bpt_gpu_program_t *program);

    bpt_status_t (*commands_create)(bpt_gpu_api_t *api, bpt_gpu_commands_t **out);
    void (*commands_destroy)(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands);
    bpt_status_t (*dispatch)(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *dispatch);
    bpt_status_t (*barrier)(bpt_gpu_commands_t *commands);  // everything before is visible to everything after
    // Marks a moment: after all dispatches before it. Marks are numbered from 0 in recording order.
    bpt_status_t (*mark)(bpt_gpu_commands_t *commands);
    bpt_status_t (*finish)(bpt_gpu_commands_t *commands);  // no more recording
    // Commands of one device run one after the other, in the order of submission, each seeing the writes of those before. Tickets count
    // up from 1.
    bpt_status_t (*submit)(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands, uint64_t *ticket);
    // All up to `ticket` have finished. BPT_ERR_DEVICE_LOST when the driver gave up or the time is over.
    bpt_status_t (*wait)(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns);
    // Seconds of each mark of the last finished submission, from a common origin; count as recorded.
    bpt_status_t (*marks)(bpt_gpu_commands_t *commands, double *seconds, int capacity, int *count);

    const bpt_gpu_compiler_t *compiler;  // NULL: there is none without a device that runs

    // Products by a library, all NULL where the API has none. The bits of a result depend on nothing but the product's fields; of the
    // places of its operands only their alignment may matter.
    bool (*library)(char *text, size_t bytes);  // its name and version, or why it is not there
    double product_flops;                       // the most that one product may do, so that no submission is long
    // Whether the library computes this product: its types, with this bias, relu and mask, masked ones with these sizes too. The bindings
    // are not looked at.
    bool (*product_can)(bpt_gpu_api_t *api, const bpt_gpu_product_t *product);
    // Scratch that a product needs wherever its operands lie; `memory` of the bindings is not looked at.
    bpt_status_t (*product_scratch)(bpt_gpu_api_t *api, const bpt_gpu_product_t *product, size_t *bytes);
    bpt_status_t (*product)(bpt_gpu_commands_t *commands, const bpt_gpu_product_t *product);  // ordered like a dispatch

    const bpt_gpu_links_t *links;  // NULL: the API connects no devices of several processes
} bpt_gpu_driver_t;

// For a loader's `list`: appends a driver's file to the `count` that there are (files.c).
// Fills in `library` and `damage` by `read`, unless the file is among those before or there is no such file.
void bpt_gpu_add_file(bpt_driver_file_t *files, int capacity, int *count, const char *path, void (*read)(bpt_driver_file_t *file));
// The same for the files of a folder whose names end so, in the order of their names.
void bpt_gpu_add_folder(bpt_driver_file_t *files, int capacity, int *count, const char *folder, const char *ending,
                        void (*read)(bpt_driver_file_t *file));
// Calls `add` for every part of a list with colons.
void bpt_gpu_each_path(const char *list, void (*add)(void *user, const char *path), void *user);
// Where the system's linker finds a library, "" when that cannot be told. `name` without a slash is looked for.
void bpt_gpu_library_path(const char *name, char *path, size_t bytes);

#endif
