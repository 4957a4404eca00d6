// Included once per kernel by kernel.h, after the kernel's .inc: its parameter block and the numbers of its constants and bindings.
#define uint uint32_t
#define int int32_t
#define FIELD(type, name) type name;
typedef struct {
    BPT_GPU_PARAMS_HEAD
    PARAMS(FIELD)
} BPT_PASTE3(KERNEL, _params_, t);
#undef FIELD
#undef uint
#undef int
_Static_assert(sizeof(BPT_PASTE3(KERNEL, _params_, t)) <= BPT_GPU_PARAMS_BYTES, "a parameter block is too large");

#define NUMBER(number, name) BPT_PASTE3(KERNEL, _, name) = number,
enum { CONSTANTS(NUMBER) BPT_PASTE3(KERNEL, _, no_constant) = -1 };
#undef NUMBER
#define NUMBER(number, kind, name) BPT_PASTE3(KERNEL, _, name) = number,
enum { BINDINGS(NUMBER) BPT_PASTE3(KERNEL, _, no_binding) = -1 };
#undef NUMBER
#include "backends/gpu/kernel_undef.h"
