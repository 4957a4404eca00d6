// The machine by sysconf, /proc and the like (see bpt/machine.h).
#include "bpt/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpt/clock.h"

int bpt_machine_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

int bpt_machine_own_processors(int *numbers, int capacity) {
    int count = 0;
    cpu_set_t *set = CPU_ALLOC((size_t)capacity);
    const size_t bytes = CPU_ALLOC_SIZE((size_t)capacity);
    if (set && !sched_getaffinity(0, bytes, set))
        for (int i = 0; i < capacity; ++i)
            if (CPU_ISSET_S((size_t)i, bytes, set)) numbers[count++] = i;
    CPU_FREE(set);
    return count;
}

uint64_t bpt_machine_memory_bytes(void) { return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE); }

bool bpt_machine_room(uint64_t *total_bytes, uint64_t *available_bytes) {
    unsigned long long total = 0, available = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "MemTotal: %llu", &total);
        sscanf(line, "MemAvailable: %llu", &available);
    }
    fclose(file);
    *total_bytes = total * 1024;
    *available_bytes = available * 1024;
    return total && available;
}

// The first line "<key> : <value>" of /proc/cpuinfo; false when there is none.
static bool read_cpuinfo(const char *key, char *out, size_t capacity) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[8192];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value || strncmp(line, key, strlen(key))) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, capacity, "%s", value);
        found = true;
    }
    if (file) fclose(file);
    return found;
}

bool bpt_machine_processor(char *name, size_t bytes) { return read_cpuinfo("model name", name, bytes); }
bool bpt_machine_features(char *words, size_t bytes) {
    return read_cpuinfo("flags", words, bytes) || read_cpuinfo("Features", words, bytes);
}

const char *bpt_machine_os(void) { return ""; }

bool bpt_machine_system(char *text, size_t bytes) {
    struct utsname system;
    if (uname(&system)) return false;
    snprintf(text, bytes, "%s %s", system.release, system.machine);
    return true;
}

bool bpt_machine_program(char *path, size_t bytes) { return snprintf(path, bytes, "/proc/self/exe") < (int)bytes; }

// ---- Address space of this process

bool bpt_address_limit(uint64_t *bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return false;
    *bytes = limit.rlim_cur;
    return true;
}

size_t bpt_address_used(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

bool bpt_address_room(int count, size_t bytes, size_t more) {
    enum { MOST = 256 };
    void *block[MOST];
    int n = 0;
    while (n < count && n < MOST) {
        block[n] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block[n] == MAP_FAILED) break;
        ++n;
    }
    void *rest = n == count && more ? mmap(NULL, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;
    const bool all = n == count && rest != MAP_FAILED;
    if (rest && rest != MAP_FAILED) munmap(rest, more);
    while (n-- > 0) munmap(block[n], bytes);
    return all;
}

int64_t bpt_peak_host_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : -1;
}
