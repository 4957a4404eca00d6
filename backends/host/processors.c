// Processors, their speeds, and threads for them (processors.h).
#include "backends/host/processors.h"

#include <stdio.h>
#include <stdlib.h>

#include "bpt/machine.h"

// At least one.
static int list_processors(int *numbers, int capacity) {
    int count = bpt_machine_own_processors(numbers, capacity);
    if (count == 0) numbers[count++] = 0;
    return count;
}

int bpt_processors(void) {
    int numbers[BPT_MOST_THREADS];
    return list_processors(numbers, BPT_MOST_THREADS);
}

// ---- Speeds ----------------------------------------------------------------------------------------------------------

// 0: not told.
static long speed_of(const char *folder, int number) {
    char path[512], text[32] = "";
    snprintf(path, sizeof path, "%s/cpu%d/cpu_capacity", folder, number);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    const long speed = fgets(text, sizeof text, file) ? strtol(text, NULL, 10) : 0;
    fclose(file);
    return speed > 0 ? speed : 0;
}

static int fastest_first(const void *a, const void *b) {
    const long x = *(const long *)a, y = *(const long *)b;
    return (x < y) - (x > y);
}

int bpt_processors_worth(const char *folder, const int *numbers, int count) {
    long speed[BPT_MOST_THREADS], best = 0;
    int threads = count;
    for (int i = 0; i < count; ++i)
        if (!(speed[i] = speed_of(folder, numbers[i]))) return count;
    qsort(speed, (size_t)count, sizeof *speed, fastest_first);
    for (int n = 1; n <= count; ++n)
        if (n * speed[n - 1] > best) best = n * speed[n - 1], threads = n;
    return threads;
}

// ---- Threads ---------------------------------------------------------------------------------------------------------

bpt_status_t bpt_threads_by_default(int *out) {
    const char *wanted = getenv("OMP_NUM_THREADS");
    if (!wanted || !*wanted) {
        int numbers[BPT_MOST_THREADS];
        const int count = list_processors(numbers, BPT_MOST_THREADS);
        *out = bpt_processors_worth("/sys/devices/system/cpu", numbers, count);
        return BPT_OK;
    }
    char *end;  // OpenMP allows a list, for threads that start threads; the first is the outermost
    const long threads = strtol(wanted, &end, 10);
    if (end == wanted || (*end && *end != ',') || threads < 1 || threads > BPT_MOST_THREADS)
        return bpt_fail(BPT_ERR_USAGE, "OMP_NUM_THREADS is \"%.40s\"; set it to a number of threads, 1 to %d, or leave it out", wanted,
                        BPT_MOST_THREADS);
    *out = (int)threads;
    return BPT_OK;
}
