// The threads of a block, as fibers: each runs until it reaches a barrier, an operation of its warp or its end. What a device may do in any
// order is done in one that changes from launch to launch and from block to block (BPT_EMULATOR_ORDER: forward, backward or mixed), so
// that a race shows as bits that differ. Barriers that not all threads reach, and the like, are faults, told with their place.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/fibers.h"
#include "emulator/internal.h"

typedef enum { READY, AT_BARRIER, AT_WARP, DONE } state_t;
typedef struct {
    emulated_fiber_t fiber;
    state_t state;
    int site, line;  // of the barrier
    const char *file;
} thread_t;
typedef struct {
    int arrived, mode;
    emulated_operation_t operation;
    uint32_t in[EMULATED_WARP][EMULATED_MOST_WORDS], out[EMULATED_WARP][EMULATED_MOST_WORDS];
} warp_t;

static struct {
    pthread_mutex_t lock;
    thread_t threads[EMULATED_MOST_THREADS];
    warp_t warps[EMULATED_MOST_THREADS / EMULATED_WARP];
    int n_threads, running, n_ready, step;  // step: from a thread to the next, 1 or -1
    emulated_fiber_t outside;
    const emulated_kernel_t *kernel;
    const char *name;
    void **arguments;
    int fault;
    uint32_t n_launches;
    bool fresh;  // fibers are at their beginning, or at the end of a thread
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static emulated_block_t block;

// ---- Faults ----------------------------------------------------------------------------------------------------------

static void tell(emulated_fault_t fault, const char *file, int line, const char *what) {
    fprintf(stderr, "CUDA emulator: kernel %s, block %u of %u, thread %d", now.name,
            block.block.x + block.grid.x * (block.block.y + block.grid.y * block.block.z), block.grid.x * block.grid.y * block.grid.z,
            now.running);
    if (*file) fprintf(stderr, ", %s:%d", file, line);
    fprintf(stderr, ": %s\n", what);
    now.fault = fault;
    now.fresh = false;
}

static void stop(emulated_fault_t fault, const char *file, int line, const char *what) {
    tell(fault, file, line, what);
    emulated_switch(&now.threads[now.running].fiber, now.outside);
}

// A fault that the processor sees: an address that is nowhere, or misaligned for an instruction (which x86 tells without an address), or
// the end of a fiber's stack. Once outside, nothing of the thread or of the handler goes on.
static void processor_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    const bool misaligned = signal == SIGBUS || info->si_code == SI_KERNEL;
    stop(misaligned ? EMULATED_MISALIGNED_ADDRESS : EMULATED_ILLEGAL_ADDRESS, "", 0,
         misaligned ? "a misaligned address" : "an address that is none");
}

typedef struct {
    struct sigaction segv, bus;
    stack_t stack;
} handlers_t;

static void set_handlers(handlers_t *before) {
    static char stack[65536];
    const struct sigaction action = {.sa_sigaction = processor_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, &before->stack);
    sigaction(SIGSEGV, &action, &before->segv);
    sigaction(SIGBUS, &action, &before->bus);
}

static void restore_handlers(const handlers_t *before) {
    sigaction(SIGSEGV, &before->segv, NULL);
    sigaction(SIGBUS, &before->bus, NULL);
    sigaltstack(&before->stack, NULL);
}

// ---- Switching -------------------------------------------------------------------------------------------------------

// Goes on with the next thread that can, or outside of all when none can.
static void leave(state_t state) {
    thread_t *t = &now.threads[now.running];
    int to = now.running;
    t->state = state;
    if (--now.n_ready == 0) {
        emulated_switch(&t->fiber, now.outside);
        return;
    }
    do to = to + now.step < 0 ? now.n_threads - 1 : to + now.step == now.n_threads ? 0 : to + now.step;
    while (now.threads[to].state != READY);
    now.running = to;
    block.thread.x = (unsigned)to;
    emulated_switch(&t->fiber, now.threads[to].fiber);
}

static void thread_main(void) {
    for (;;) {
        now.kernel->run(now.arguments);
        leave(DONE);
    }
}

static void barrier(int site, const char *file, int line) {
    thread_t *t = &now.threads[now.running];
    t->site = site;
    t->file = file;
    t->line = line;
    leave(AT_BARRIER);
}

static void meet(emulated_operation_t operation, int mode, const void *in, int n_in, void *out, int n_out) {
    const int lane = now.running % EMULATED_WARP, first = now.running - lane;
    warp_t *w = &now.warps[now.running / EMULATED_WARP];
    const char *why;
    if (now.n_threads % EMULATED_WARP)
        stop(EMULATED_LAUNCH_FAILED, "", 0, "an operation of a warp in a block that is not made of whole warps");
    if (w->arrived && (w->operation != operation || w->mode != mode))
        stop(EMULATED_LAUNCH_FAILED, "", 0, "the lanes of a warp are at different operations of the warp");
    w->operation = operation;
    w->mode = mode;
    if (n_in) memcpy(w->in[lane], in, 4 * (size_t)n_in);
    if (++w->arrived < EMULATED_WARP) {
        leave(AT_WARP);
    } else {
        w->arrived = 0;
        if (!emulated_warp(operation, mode, w->in, w->out, now.kernel, &why)) stop(EMULATED_LAUNCH_FAILED, "", 0, why);
        for (int i = first; i < first + EMULATED_WARP; ++i) now.threads[i].state = READY;
        now.n_ready += EMULATED_WARP - 1;
    }
    if (n_out) memcpy(out, w->out[lane], 4 * (size_t)n_out);
}

static emulated_block_t block = {.barrier = barrier, .warp = meet, .fault = stop};

// ---- Blocks ----------------------------------------------------------------------------------------------------------

// None is ready: all have ended, or all wait at one barrier, which then opens.
static bool open_barrier(void) {
    const thread_t *first = &now.threads[0];
    for (int i = 0; i < now.n_threads; ++i) {
        const thread_t *t = &now.threads[i];
        now.running = i;
        if (t->state == AT_WARP) {
            tell(EMULATED_LAUNCH_FAILED, "", 0, "waits for lanes of its warp that do not come");
        } else if (t->state != first->state || (t->state == AT_BARRIER && t->site != first->site)) {
            char text[256];
            const thread_t *at = t->state == AT_BARRIER ? t : first;
            if (first->state == AT_BARRIER && t->state == AT_BARRIER)
                snprintf(text, sizeof text, "waits at this barrier, and thread 0 at another one, %s:%d", first->file, first->line);
            else
                snprintf(text, sizeof text, "of this thread and thread 0 one waits at this barrier, and the other has ended");
            tell(EMULATED_LAUNCH_FAILED, at->file, at->line, text);
        }
        if (now.fault) return false;
    }
    return first->state == AT_BARRIER;
}

static void run_block(void) {
    const size_t shared = (size_t)(now.kernel->shared_end - now.kernel->shared);
    if (shared) memset(now.kernel->shared, 0xFF, shared);  // NaN, and far beyond any array
    do {
        for (int i = 0; i < now.n_threads; ++i) now.threads[i].state = READY;
        now.n_ready = now.n_threads;
        now.running = now.step > 0 ? 0 : now.n_threads - 1;
        block.thread.x = (unsigned)now.running;
        emulated_switch(&now.outside, now.threads[now.running].fiber);
    } while (!now.fault && open_barrier());
}

static bool make_fibers(void) {
    for (int i = 0; i < EMULATED_MOST_THREADS && !now.fresh; ++i)
        if (!(now.threads[i].fiber = emulated_fiber(i, thread_main))) return false;
    memset(now.warps, 0, sizeof now.warps);
    return now.fresh = true;
}

// Whether number `of` runs backward.
static bool backward(uint32_t of) {
    const char *order = getenv("BPT_EMULATOR_ORDER");
    if (order && !strcmp(order, "forward")) return false;
    if (order && !strcmp(order, "backward")) return true;
    return (of + 1) * 0x9E3779B1u >> 31;
}

int emulated_launch(const emulated_kernel_t *kernel, const char *name, const unsigned grid[3], unsigned threads, void **arguments) {
    pthread_mutex_lock(&now.lock);
    const uint32_t n = grid[0] * grid[1] * grid[2], launch = now.n_launches++;
    const bool last_first = backward(launch);
    handlers_t handlers;
    now.kernel = kernel;
    now.name = name;
    now.arguments = arguments;
    now.n_threads = (int)threads;
    now.fault = make_fibers() ? 0 : 2;  // CUDA_ERROR_OUT_OF_MEMORY
    *kernel->block = &block;
    block.grid = (emulated_index_t){grid[0], grid[1], grid[2]};
    block.block_size = (emulated_index_t){threads, 1, 1};
    set_handlers(&handlers);
    for (uint32_t i = 0; i < n && !now.fault; ++i) {
        const uint32_t b = last_first ? n - 1 - i : i;
        block.block = (emulated_index_t){b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
        now.step = backward(launch * 31 + b) ? -1 : 1;
        run_block();
    }
    restore_handlers(&handlers);
    const int fault = now.fault;
    pthread_mutex_unlock(&now.lock);
    return fault;
}
