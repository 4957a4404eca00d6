// The machine by the functions of kernel32 and the processor's own word (see bpt/machine.h).
#include "bpt/machine.h"

#include <cpuid.h>
#include <windows.h>

#include <psapi.h>

#include "bpt/clock.h"

int bpt_machine_processors(void) { return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); }

// Of the process's group of at most 64.
int bpt_machine_own_processors(int *numbers, int capacity) {
    DWORD_PTR own, all;
    int count = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) return 0;
    for (int i = 0; i < 64 && count < capacity; ++i)
        if (own >> i & 1) numbers[count++] = i;
    return count;
}

static MEMORYSTATUSEX memory(void) {
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    if (!GlobalMemoryStatusEx(&status)) status.ullTotalPhys = status.ullAvailPhys = 0;
    return status;
}

uint64_t bpt_machine_memory_bytes(void) { return memory().ullTotalPhys; }

bool bpt_machine_room(uint64_t *total_bytes, uint64_t *available_bytes) {
    const MEMORYSTATUSEX status = memory();
    *total_bytes = status.ullTotalPhys;
    *available_bytes = status.ullAvailPhys;
    return status.ullTotalPhys != 0;
}

bool bpt_machine_processor(char *name, size_t bytes) {
    unsigned text[13] = {0};
    if (__get_cpuid_max(0x80000000, NULL) < 0x80000004) return false;
    for (unsigned i = 0; i < 3; ++i) __cpuid(0x80000002 + i, text[4 * i], text[4 * i + 1], text[4 * i + 2], text[4 * i + 3]);
    const char *first = (const char *)text;
    snprintf(name, bytes, "%s", first + strspn(first, " "));
    return true;
}

bool bpt_machine_features(char *words, size_t bytes) {
    snprintf(words, bytes, "%s%s%s%s%s%s%s", __builtin_cpu_supports("avx2") ? "avx2 " : "", __builtin_cpu_supports("fma") ? "fma " : "",
             __builtin_cpu_supports("f16c") ? "f16c " : "", __builtin_cpu_supports("avx512f") ? "avx512f " : "",
             __builtin_cpu_supports("avx512bw") ? "avx512bw " : "", __builtin_cpu_supports("avx512bf16") ? "avx512_bf16 " : "",
             __builtin_cpu_supports("amx-bf16") ? "amx_bf16" : "");
    return true;
}

const char *bpt_machine_os(void) { return "windows"; }

// What it says of its version without a manifest that names it would be that of Windows 8.
bool bpt_machine_system(char *text, size_t bytes) {
    char version[64];
    DWORD length = sizeof version;
    if (RegGetValueA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuildNumber", RRF_RT_REG_SZ, NULL, version,
                     &length))
        return false;
    snprintf(text, bytes, "Windows %s x86_64", version);
    return true;
}

bool bpt_machine_program(char *path, size_t bytes) {
    const DWORD length = GetModuleFileNameA(NULL, path, (DWORD)bytes);
    return length && length < bytes;
}

// ---- Address space of this process

bool bpt_address_limit(uint64_t *bytes) { return (void)bytes, false; }

size_t bpt_address_used(void) { return 0; }

bool bpt_address_room(int count, size_t bytes, size_t more) {
    enum { MOST = 256 };
    void *block[MOST];
    int n = 0;
    while (n < count && n < MOST && (block[n] = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE))) ++n;
    void *rest = n == count && more ? VirtualAlloc(NULL, more, MEM_RESERVE, PAGE_NOACCESS) : NULL;
    const bool all = n == count && (!more || rest);
    if (rest) VirtualFree(rest, 0, MEM_RELEASE);
    while (n-- > 0) VirtualFree(block[n], 0, MEM_RELEASE);
    return all;
}

int64_t bpt_peak_host_bytes(void) {
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) ? (int64_t)counters.PeakWorkingSetSize : -1;
}
