// Fibers (see fibers.h): a switch keeps what the calling convention says that a function keeps, and changes the stack.
#include "emulator/fibers.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 65536 };  // a guard is a multiple of any page

#if defined(__x86_64__)
enum { SAVED = 7, RETURN_ADDRESS = 6, MISALIGNED = 1 };  // words; a function begins with the stack 8 bytes off a multiple of 16
__asm__(".text\n"
        ".globl emulated_switch\n"
        ".type emulated_switch, @function\n"
        "emulated_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emulated_switch, .-emulated_switch\n");
#elif defined(__aarch64__)
enum { SAVED = 20, RETURN_ADDRESS = 11, MISALIGNED = 0 };
__asm__(".text\n"
        ".globl emulated_switch\n"
        ".type emulated_switch, %function\n"
        "emulated_switch:\n"
        "    stp x19, x20, [sp, #-160]!\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x19, x20, [sp], #160\n"
        "    ret\n"
        ".size emulated_switch, .-emulated_switch\n");
#endif

// All stacks, each above a guard; memory is taken as it is touched.
static char *stacks(void) {
    static char *all;
    const size_t each = STACK_BYTES + GUARD_BYTES;
    if (all) return all;
    char *block = mmap(NULL, EMULATED_MOST_THREADS * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return NULL;
    for (int i = 0; i < EMULATED_MOST_THREADS; ++i)
        if (mprotect(block + (size_t)i * each, GUARD_BYTES, PROT_NONE)) return NULL;
    return all = block;
}

emulated_fiber_t emulated_fiber(int number, void (*main)(void)) {
    char *all = stacks();
    if (!all) return NULL;
    uint64_t *top = (uint64_t *)(all + (size_t)(number + 1) * (STACK_BYTES + GUARD_BYTES)) - 2;
    uint64_t *saved = top - MISALIGNED - SAVED;
    for (int i = 0; i < SAVED; ++i) saved[i] = 0;
    saved[RETURN_ADDRESS] = (uint64_t)(uintptr_t)main;
    return saved;
}
