// Stacks of their own for the threads of a block, and the switch from one to another, which takes a few nanoseconds. Knows nothing of CUDA.
#ifndef BPT_TEST_EMULATOR_FIBERS_H
#define BPT_TEST_EMULATOR_FIBERS_H

enum { EMULATED_MOST_THREADS = 1024 };

// Where a fiber, or the code outside of all fibers, goes on.
typedef void *emulated_fiber_t;

// A fiber that begins with `main`, which never returns, on stack `number` of EMULATED_MOST_THREADS. NULL without memory.
emulated_fiber_t emulated_fiber(int number, void (*main)(void));
// Goes on at `to`, and keeps in *from where to come back.
void emulated_switch(emulated_fiber_t *from, emulated_fiber_t to);

#endif
