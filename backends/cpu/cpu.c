// The cpu backend: the machine as one device, its threads, and the choice of instruction set and matrix library.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/openblas.h"
#include "backends/host/processors.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/machine.h"

extern const bpt_backend_t bpt_cpu_backend;

static void read_name(char *out, size_t capacity) {
    if (!bpt_machine_processor(out, capacity)) snprintf(out, capacity, "CPU");
}

// What this process can know once and for all about the machine.
static struct {
    char features[512];
    bool multiplies_bf16;
} machine;

static void add_feature(const char *word) {
    const size_t used = strlen(machine.features);
    snprintf(machine.features + used, sizeof machine.features - used, "%s%s", used ? " " : "", word);
}

// The features that decide speed or precision here, under the kernel's names for them, and bf16-as-f32 where products have to do without.
static void read_features(void) {
    static const char *const interesting[] = {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "amx_bf16", "asimd", "asimdhp"};
    char flags[8192] = "";
    (void)bpt_machine_features(flags, sizeof flags);
    char *rest = NULL;
    bool bf16 = false;
    for (char *word = strtok_r(flags, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        for (size_t i = 0; i < BPT_COUNT(interesting); ++i) {
            if (strcmp(word, interesting[i])) continue;
            add_feature(word);
            if (strstr(word, "_bf16")) bf16 = true;
        }
    bpt_onednn_try(bf16);
    if (*bpt_onednn_reason()) bpt_openblas_replace_if_too_old();
    machine.multiplies_bf16 = bf16 && !*bpt_onednn_reason();
    if (!machine.multiplies_bf16) add_feature("bf16-as-f32");
}

static void know_machine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_features);
}

bool bpt_cpu_multiplies_bf16(void) {
    know_machine();
    return machine.multiplies_bf16;
}

static bpt_status_t cpu_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    *count = 1;
    if (capacity < 1) return BPT_OK;
    bpt_device_info_t *info = &infos[0];
    *info = (bpt_device_info_t){.type = "cpu", .usable = true, .units = bpt_processors(), .bf16 = true, .f16 = true, .packed = true};
    read_name(info->name, sizeof info->name);
    if (bpt_openblas_load() != BPT_OK) {
        info->usable = false;
        snprintf(info->reason, sizeof info->reason, "%s", bpt_error_message());
        bpt_error_clear();
        return BPT_OK;
    }
    know_machine();
    const char *onednn = bpt_onednn_version();
    char products[100];
    bpt_openblas_describe(products, sizeof products);
    snprintf(info->driver, sizeof info->driver, "%s%s%s", products, *onednn ? ", oneDNN " : "", onednn);
    snprintf(info->features, sizeof info->features, "%s", machine.features);
    info->memory_bytes = bpt_machine_memory_bytes();
    info->max_buffer_bytes = info->memory_bytes;
    return BPT_OK;
}

static atomic_int open_devices;

static void cpu_close(bpt_device_t *device) {
    if (!device) return;
    const int threads = bpt_team_threads(((bpt_host_device_t *)device)->team);
    bpt_host_close(device);
    bpt_openblas_close(threads);
    if (atomic_fetch_sub(&open_devices, 1) == 1) bpt_onednn_clear();
}

// A library that was named is used, or nothing is.
static bpt_status_t check_onednn(void) {
    const char *named = bpt_env_text("BPT_ONEDNN_LIBRARY");
    if (!named || !strcmp(named, "none") || !*bpt_onednn_reason()) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_ONEDNN_LIBRARY=%s: %s; name another file, none, or leave it out", named, bpt_onednn_reason());
}

static bpt_status_t cpu_open(int index, const bpt_device_options_t *options, bpt_device_t **out) {
    if (index != 0) return bpt_fail(BPT_ERR_UNAVAILABLE, "backend cpu has one device, 0; device %d was asked for", index);
    BPT_TRY(bpt_openblas_load());
    know_machine();
    BPT_TRY(check_onednn());
    int threads = options ? options->threads : 0;
    if (!threads) BPT_TRY(bpt_threads_by_default(&threads));
    if (threads < 1 || threads > BPT_MOST_THREADS)
        return bpt_fail(BPT_ERR_USAGE, "%d threads: the number must be from 1 to %d (0 = all fast cores)", threads, BPT_MOST_THREADS);
    BPT_TRY(bpt_cpu_kernels_select());
    BPT_TRY(bpt_openblas_open(threads));
    bpt_device_info_t info;
    int count;
    bpt_status_t status = cpu_enumerate(&info, 1, &count);
    if (status == BPT_OK) status = bpt_host_open(&bpt_cpu_backend, bpt_cpu_ops, threads, out);
    if (status != BPT_OK) {
        bpt_openblas_close(threads);
        return status;
    }
    bpt_onednn_make_f32_kernels(((bpt_host_device_t *)*out)->team);
    info.units = threads;
    (*out)->info = info;
    atomic_fetch_add(&open_devices, 1);
    return BPT_OK;
}

const bpt_backend_t bpt_cpu_backend = {
    .version = BPT_BACKEND_VERSION,
    .name = "cpu",
    .description = "vectorised kernels on all cores, matrix products by OpenBLAS and oneDNN",
    .enumerate = cpu_enumerate,
    .open = cpu_open,
    .close = cpu_close,
    BPT_HOST_BACKEND_FUNCTIONS,
};
