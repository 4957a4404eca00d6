// The cpu backend: the machine as one device, its threads, and the choice of instruction set and matrix library.
#include <cblas.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "bpt/alloc.h"

extern const bpt_backend_t bpt_cpu_backend;

// The first line "<key> : <value>" of /proc/cpuinfo; false when there is none.
static bool read_cpuinfo(const char *key, char *out, size_t capacity) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[4096];
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

static void add_word(char *list, size_t capacity, const char *word) {
    const size_t used = strlen(list);
    snprintf(list + used, capacity - used, "%s%s", used ? " " : "", word);
}

// The features that decide speed or precision here, under the kernel's names for them.
static void describe_features(char *out, size_t capacity) {
    static const char *const interesting[] = {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "amx_bf16", "asimd", "asimdhp", "bf16"};
    char flags[4096] = "";
    if (!read_cpuinfo("flags", flags, sizeof flags)) read_cpuinfo("Features", flags, sizeof flags);
    char *rest = NULL;
    for (char *word = strtok_r(flags, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        for (size_t i = 0; i < BPT_COUNT(interesting); ++i)
            if (!strcmp(word, interesting[i])) add_word(out, capacity, word);
}

// Read before anything here changes OpenMP's setting: OMP_NUM_THREADS, else the cores that this process may use.
static int default_threads;
static void read_default_threads(void) { default_threads = omp_get_max_threads(); }
static int all_threads(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_default_threads);
    return default_threads;
}

static bpt_status_t cpu_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    *count = 1;
    if (capacity < 1) return BPT_OK;
    bpt_device_info_t *info = &infos[0];
    *info = (bpt_device_info_t){.type = "cpu", .usable = true, .units = omp_get_num_procs()};
    all_threads();
    if (!read_cpuinfo("model name", info->name, sizeof info->name)) snprintf(info->name, sizeof info->name, "CPU");
    snprintf(info->driver, sizeof info->driver, "OpenBLAS for %s", openblas_get_corename());
    describe_features(info->features, sizeof info->features);
    info->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    info->max_buffer_bytes = info->memory_bytes;
    return BPT_OK;
}

static bpt_status_t cpu_open(int index, const bpt_device_options_t *options, bpt_device_t **out) {
    if (index != 0) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend cpu has one device, 0; device %d was asked for", index);
    const int threads = options && options->threads ? options->threads : all_threads();
    if (threads < 1 || threads > 4096) return bpt_fail(BPT_ERR_USAGE, "%d threads: the number must be from 1 to 4096 (0 = all cores)", threads);
    BPT_TRY(bpt_cpu_kernels_select());
    openblas_set_num_threads(1);  // the threads are ours (gemm.h)
    bpt_host_device_t *host;
    BPT_TRY(bpt_alloc(1, sizeof *host, &host));
    int count;
    const bpt_status_t status = cpu_enumerate(&host->base.info, 1, &count);
    if (status != BPT_OK) {
        bpt_free(host);
        return status;
    }
    host->base.backend = &bpt_cpu_backend;
    host->base.info.units = threads;
    host->ops = bpt_cpu_ops;
    host->threads = threads;
    *out = &host->base;
    return BPT_OK;
}

const bpt_backend_t bpt_cpu_backend = {
    .name = "cpu",
    .description = "vectorised kernels on all cores, matrix products by OpenBLAS and oneDNN",
    .enumerate = cpu_enumerate,
    .open = cpu_open,
    BPT_HOST_BACKEND_FUNCTIONS,
};
