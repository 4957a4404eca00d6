// Boundary 1: what core sees of a backend. One call of an op at a time, recorded into a list that is replayed.
// A backend includes this header and bpt/ops.h; core includes this header and nothing else of backends/.
#ifndef BPT_BACKEND_H
#define BPT_BACKEND_H

#include "bpt/ops.h"

BPT_BEGIN_DECLS

// Counts up with every change of what follows. A backend carries the number of the header that it was compiled with, and whoever makes a
// workspace on one of its devices checks it (bpt_backend_check).
enum { BPT_BACKEND_VERSION = 6 };

typedef struct bpt_device bpt_device_t;  // an open device; the first member of every backend's own struct
typedef struct bpt_buffer bpt_buffer_t;  // device memory
typedef struct bpt_list bpt_list_t;      // recorded work
typedef uint64_t bpt_ticket_t;           // a submission
typedef struct bpt_link bpt_link_t;      // devices of several processes

typedef struct {
    char name[128], driver[128], reason[256];  // reason: why it cannot be used, "" when usable
    char type[16];                             // "cpu", "discrete", "integrated", "software"
    char features[512];                        // blank-separated words, e.g. "avx512 bf16 fma"
    char pci[16];                              // place on the bus, "0000:03:00.0"; "" when there is none or the driver does not tell
    uint64_t memory_bytes;
    uint64_t max_buffer_bytes;
    int32_t units;           // cores, compute units; 0 = unknown
    bool usable, bf16, f16;  // f16, bf16: storage of 16-bit elements
    bool packed;             // it multiplies numbers of 8 bits (matmul's packed_b)
    char bf16_reason[256];   // why bf16 is false, where there is more to say than that the device has none
    // What the backends of its kind say besides, and only they and those who ask them understand (GPUs: backends/gpu/info.h).
    unsigned char detail[1024];
} bpt_device_info_t;

typedef struct {
    int32_t threads;        // cpu: 0 = all
    double submit_ms;       // GPUs: longest submission; 0 = what suits the kind of device
    uint64_t memory_bytes;  // GPUs: most to use of its memory; 0 = all
    const char *products;   // GPUs: the rule for products of matrices in place of the recorded one, as in BPT_TUNING; NULL = none
    bool compile_only;      // GPUs: nothing runs and no memory is taken; kernels are only noted, to be compiled (backends/gpu/compile.h)
    const char *target;     // with compile_only: a device that need not be here, by its name among the backend's targets; NULL = the index
} bpt_device_options_t;

// A driver as the loader of its API finds it: a file that names a library, or the library itself.
typedef struct {
    char path[256];     // what a user can move away
    char library[256];  // "" where it cannot be told
    char damage[192];   // why a loader cannot read the file, "" when it can
} bpt_driver_file_t;

// How the loader of an API finds drivers, and by which environment variables a program can have it take some of them only. Variables belong
// to the whole process, so the library sets none.
typedef struct {
    int (*list)(bpt_driver_file_t *files, int capacity);  // in the loader's order; how many there are, at most `capacity`
    const char *lists[3];                                 // variables that hold paths with colons between them; NULL after the last
    const char *folder;                                   // or the variable that names a folder of files; NULL
    const char *further;                                  // the variable that names files besides these; NULL
    // What a driver that is installed still has to be told to list its devices, half a sentence; NULL: nothing. A NULL function: none has.
    const char *(*unset)(void);
} bpt_loader_t;

// A tensor operand: `buffer` NULL = absent. In a dry run buffers may be NULL; `present` tells.
typedef struct {
    bpt_buffer_t *buffer;
    size_t offset_bytes;
    bpt_dtype_t dtype;
    bpt_shape_t shape;
    bool present;
} bpt_operand_t;

typedef struct {
    bpt_op_t op;
    bpt_attrs_t attrs;
    bpt_operand_t in[BPT_MAX_INPUTS], out[BPT_MAX_OUTPUTS];
    bpt_operand_t scratch;  // as large as the dry run asked for, aligned to BPT_TENSOR_ALIGNMENT
} bpt_op_call_t;

// Holds a call against the contract of bpt/ops.h: presence, element types and shapes of its operands, attributes that go together. Backends
// ask this before an op's own plan, so that what follows may rely on it. A mismatch is a bug of the caller (BPT_ERR_INTERNAL).
BPT_API bpt_status_t bpt_call_check(const bpt_op_call_t *call) BPT_MUST_USE;

// What a list notes of the times of its work.
typedef enum {
    BPT_TIMING_NONE,
    BPT_TIMING_OPS,      // each op
    BPT_TIMING_KERNELS,  // each kernel too, where ops are made of kernels; those that could run side by side may then wait for each other
} bpt_timing_t;

// An op, or a kernel of it, from one moment to another.
typedef struct {
    int op;              // its number, in recording order
    const char *kernel;  // NULL: the op has no kernels, or they were not noted
    double begin, seconds;
} bpt_list_event_t;

// What goes between this rank and another in a swap: bytes of the buffer that is sent from, and of the one that is received into.
typedef struct {
    size_t send_at, send_bytes, receive_at, receive_bytes;
} bpt_swap_part_t;

// Devices of one backend in several processes ("ranks") that exchange memory without their hosts. All ranks call `open` and `swap` in the
// same order.
enum { BPT_LINK_ID_BYTES = 128 };
typedef struct {
    // Whether this device can, and by what, for a message. BPT_ERR_UNAVAILABLE: the user has named a library for it that cannot be used.
    bpt_status_t (*find)(bpt_device_t *device, bool *there, char *text, size_t bytes);
    bpt_status_t (*make_id)(bpt_device_t *device, unsigned char *id);  // [BPT_LINK_ID_BYTES] of a new link; by one rank for all
    bpt_status_t (*open)(bpt_device_t *device, const unsigned char *id, int rank, int size, bpt_link_t **out);
    void (*close)(bpt_link_t *link);
    // Begins, behind all that was submitted: part r of `from` goes to rank r, and what that one sends comes to part r of `to`. What is
    // submitted later runs beside it and must leave these bytes alone until `wait` has returned.
    bpt_status_t (*swap)(bpt_link_t *link, bpt_buffer_t *from, bpt_buffer_t *to, const bpt_swap_part_t *parts);
    // All swaps that were begun are done. BPT_ERR_IO when the other ranks have not answered for so many seconds.
    bpt_status_t (*wait)(bpt_link_t *link, double seconds);
} bpt_links_t;

typedef struct bpt_backend {
    uint32_t version;            // BPT_BACKEND_VERSION; stays the first member
    const char *name;            // "cpu"
    const char *description;     // one line for `bpt devices`
    const char *lacks;           // what this build of it lacks and how to get it, a line for `bpt doctor`; NULL = nothing
    bool gpu;                    // its devices belong to drivers, which may crash while they are asked
    const bpt_loader_t *loader;  // of drivers, NULL where there is none

    // Whether the environment variables that this backend reads mean something (BPT_ERR_USAGE); asks no driver. NULL: it has none to check
    // before it is opened.
    bpt_status_t (*environment)(void);
    // Fills up to `capacity` entries, *count = devices seen (unusable ones included, with the reason).
    bpt_status_t (*enumerate)(bpt_device_info_t *infos, int capacity, int *count);
    bpt_status_t (*open)(int index, const bpt_device_options_t *options, bpt_device_t **out);
    void (*close)(bpt_device_t *device);
    // The library of products that a rule may name, or why there is none; NULL: this backend knows none. True: it is there.
    bool (*library)(char *text, size_t bytes);
    // Devices that need not be here to be compiled for (compile_only), as enumerate lists those that are; NULL: there are none.
    bpt_status_t (*targets)(bpt_device_info_t *infos, int capacity, int *count);

    bpt_status_t (*buffer_create)(bpt_device_t *device, size_t bytes, bpt_buffer_t **out);  // zeroed
    void (*buffer_destroy)(bpt_device_t *device, bpt_buffer_t *buffer);
    bpt_status_t (*write)(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, const void *source, size_t bytes);
    bpt_status_t (*read)(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *target, size_t bytes);

    // One function per op answers "can you, and how much scratch" (list NULL: dry run, *scratch_bytes is set) and records
    // (list not NULL). BPT_ERR_UNSUPPORTED says what is missing.
    bpt_status_t (*op)(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes);

    bpt_status_t (*list_create)(bpt_device_t *device, bpt_list_t **out);
    void (*list_destroy)(bpt_device_t *device, bpt_list_t *list);
    bpt_status_t (*list_barrier)(bpt_list_t *list);  // everything before is visible to everything after
    bpt_status_t (*list_seal)(bpt_list_t *list);     // no more recording; from now on it can be submitted, again and again
    bpt_status_t (*submit)(bpt_device_t *device, bpt_list_t *list, bpt_ticket_t *ticket);
    bpt_status_t (*wait)(bpt_device_t *device, bpt_ticket_t ticket, uint64_t timeout_ns);
    // Seconds of each recorded op in the last finished submission, in recording order; switched on with timings_enable.
    bpt_status_t (*timings_enable)(bpt_list_t *list, bpt_timing_t what);
    bpt_status_t (*timings)(bpt_list_t *list, double *seconds, int capacity, int *count);
    // The same as events in the order of their times, `begin` counted from where the device began with the list. Up to `capacity` of them;
    // *count = all. Where a list is cut into several submissions, what lies between two of them is not told.
    bpt_status_t (*events)(bpt_list_t *list, bpt_list_event_t *events, int capacity, int *count);

    const bpt_links_t *links;  // NULL: devices of this backend are not connected
    // Where the bytes of a buffer lie in the memory of the host; NULL: in that of the device.
    const char *(*address)(const bpt_buffer_t *buffer);
    // Calls work(user, i) for i = 0 .. n - 1 at the same time, each on one of the threads of the device (n is at most info.units), which
    // does nothing else meanwhile. NULL: its devices have no such threads. Where it is there all devices of the backend have one memory: a
    // buffer of one can be bound in the lists of every other.
    void (*side_by_side)(bpt_device_t *device, int n, void (*work)(void *user, int i), void *user);
} bpt_backend_t;

struct bpt_device {
    const bpt_backend_t *backend;
    bpt_device_info_t info;
};

// The compiled-in backends, in the order of preference of `auto`. Ends with NULL.
BPT_API extern const bpt_backend_t *const bpt_backends[];
BPT_API const bpt_backend_t *bpt_backend_find(const char *name);
// BPT_ERR_UNSUPPORTED when the backend was compiled with another version of this header than the library; `version` is the caller's
// BPT_BACKEND_VERSION. A program that is linked with a shared library calls it before it uses a backend.
BPT_API bpt_status_t bpt_backend_check(const bpt_backend_t *backend, uint32_t version) BPT_MUST_USE;
// The backend of a name that a user gave, with its environment variables checked. BPT_ERR_UNAVAILABLE: it is not built in.
BPT_API bpt_status_t bpt_backend_named(const char *name, const bpt_backend_t **out) BPT_MUST_USE;
// BPT_ERR_UNSUPPORTED, with the reason, where the device does not store numbers of this type.
BPT_API bpt_status_t bpt_device_check_precision(const bpt_device_t *device, bpt_dtype_t precision) BPT_MUST_USE;

BPT_END_DECLS

#endif
