// Included once per kernel by kernel.c, after the kernel's .inc: the bytes of its local arrays, whose sizes follow from constants and
// group.
#define TAKE(number, name)                   \
    const uint64_t name = constants[number]; \
    (void)name;
#define BYTES(type, name, size) +BYTES_OF_##type *(uint64_t)(size)
static uint64_t BPT_PASTE3(KERNEL, _local, _bytes)(uint32_t WG, const uint32_t *constants) {
    (void)WG, (void)constants;
    CONSTANTS(TAKE)
    return 0 LOCALS(BYTES);
}
#undef TAKE
#undef BYTES
#include "backends/gpu/kernel_undef.h"
