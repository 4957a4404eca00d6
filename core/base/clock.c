// The clock (see bpt/clock.h).
#include "bpt/clock.h"

#include <math.h>
#include <time.h>

double bpt_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bpt_clock_rest(double seconds) {
    const double whole = floor(seconds);
    if (!(seconds > 0)) return;
    nanosleep(&(struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (seconds - whole))}, NULL);
}
