// OpenBLAS, opened at run time (openblas.h). It stays loaded.
#include "backends/cpu/openblas.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/openmp.h"
#include "backends/host/processors.h"
#include "bpt/library.h"
#include "bpt/machine.h"
#include "bpt/platforms.h"

bpt_openblas_t bpt_openblas;

// What OpenBLAS maps for a thread that multiplies (BUFFER_SIZE of its x86-64 builds, the largest), and what it and oneDNN take as files.
#define BUFFER_BYTES ((size_t)128 << 20)
#define LIBRARY_BYTES ((size_t)112 << 20)
enum { MOST_BUFFERS = 256 };  // its smallest table of buffers has room for no more than this

static struct {
    bool loaded, replaced, suits_processor;
    char reason[512];  // why it cannot be opened whatever the memory; "" while that is not known
    char instead_of[80];  // why what there is has been replaced
    void *(*take)(int);
    void (*give)(void *);
    int threads;  // of all open devices
    int buffers;  // that OpenBLAS has mapped by now
} state;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int most(int a, int b) { return a > b ? a : b; }

// ---- Room ------------------------------------------------------------------------------------------------------------

static size_t stack_bytes(void) {
    pthread_attr_t attributes;
    size_t bytes = (size_t)8 << 20;
    if (pthread_attr_init(&attributes)) return bytes;
    (void)pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

static bpt_status_t no_room(size_t bytes, int threads) {
    const unsigned long long need = (bytes >> 20) + 1;
    uint64_t limit;
    if (bpt_address_limit(&limit))
        return bpt_fail(BPT_ERR_NO_MEMORY,
                        "the address space of this program is limited to %llu MiB, and products on %d thread%s take another %llu MiB of "
                        "it (OpenBLAS); lift the limit: ulimit -v unlimited",
                        (unsigned long long)limit >> 20, threads, threads == 1 ? "" : "s", need);
    return bpt_fail(BPT_ERR_NO_MEMORY,
                    "the system has no %llu MiB of address space left for products on %d thread%s (OpenBLAS); end other programs, or "
                    "allow more (sysctl vm.overcommit_memory=0)",
                    need, threads, threads == 1 ? "" : "s");
}

static bpt_status_t check_room(size_t library, int buffers, int stacks, int threads) {
    const size_t more = library + (size_t)stacks * stack_bytes();
    return bpt_address_room(buffers, BUFFER_BYTES, more) ? BPT_OK : no_room(more + (size_t)buffers * BUFFER_BYTES, threads);
}

// ---- Opening ---------------------------------------------------------------------------------------------------------

static bool have_avx512(const char *kernels) {
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    for (size_t i = 0; i < BPT_COUNT(names); ++i)
        if (!strcmp(kernels, names[i])) return true;
    return false;
}

static bool kernels_suit(const char *kernels) {
#if defined(__x86_64__)
    if (have_avx512(kernels)) return __builtin_cpu_is("intel");
#endif
    return strcmp(kernels, "Prescott") != 0;
}

// Whether those kernels know no AVX, on a processor whose AVX2 this project's own products use.
static bool kernels_are_too_old(const char *kernels) {
#if defined(__x86_64__)
    return !strcmp(kernels, "Prescott") && __builtin_cpu_supports("avx2");
#else
    (void)kernels;
    return false;
#endif
}

static bool is_off(void) {
    const char *named = getenv("BPT_OPENBLAS_LIBRARY");
    return named && !strcmp(named, "none");
}

static void load(void) {
    const char *named = getenv("BPT_OPENBLAS_LIBRARY");
    const bool has_package = !bpt_platform_has_none(BPT_NEED_OPENBLAS);
    void *handle = bpt_library_open(BPT_LIBRARY_OPENBLAS, named);
    if (!handle && !has_package && !(named && *named)) {
        state.loaded = state.replaced = true;
        if (!bpt_library_absent()) snprintf(state.instead_of, sizeof state.instead_of, "%s", bpt_library_error());
        return;
    }
    if (!handle) {
        snprintf(state.reason, sizeof state.reason, "OpenBLAS was not found (%s); %s%sname its file in BPT_OPENBLAS_LIBRARY", bpt_library_error(),
                 has_package ? bpt_platform_remedy(BPT_NEED_OPENBLAS) : "", has_package ? ", or " : "");
        return;
    }
#define FIND(name)                                                           \
    bpt_openblas.name = (__typeof__(bpt_openblas.name))bpt_library_symbol(handle, #name); \
    if (!bpt_openblas.name)                                                  \
        snprintf(state.reason, sizeof state.reason, "OpenBLAS has no function %s; BPT_OPENBLAS_LIBRARY names another", #name);
    BPT_OPENBLAS_FUNCTIONS(FIND)
#undef FIND
    // Its allocator, which its own parts call; one that hides it allocates when it multiplies.
    *(void **)&state.take = bpt_library_symbol(handle, "blas_memory_alloc");
    *(void **)&state.give = bpt_library_symbol(handle, "blas_memory_free");
    if (*state.reason) return;
    bpt_openmp_numbers_t before;
    bpt_openmp_know(handle);
    bpt_openmp_alone(&before);  // OpenBLAS also sets the number of the host process
    bpt_openblas.openblas_set_num_threads(1);  // the threads are ours (backends/host/team.h)
    bpt_openmp_restore(&before);
    state.suits_processor = kernels_suit(bpt_openblas.openblas_get_corename());
    if (!(named && *named) && kernels_are_too_old(bpt_openblas.openblas_get_corename()))
        snprintf(state.instead_of, sizeof state.instead_of, "OpenBLAS has only %s kernels here", bpt_openblas.openblas_get_corename());
    state.loaded = true;
}

static bpt_status_t load_once(int threads) {
    if (is_off()) state.loaded = state.replaced = true;
    if (!state.loaded && !*state.reason) {
        const int own = bpt_processors();  // its constructor may take a buffer for each processor
        BPT_TRY(check_room(LIBRARY_BYTES, most(own, threads) < MOST_BUFFERS ? most(own, threads) + 1 : MOST_BUFFERS, threads, threads));
        const size_t before = bpt_address_used();
        load();
        const size_t after = bpt_address_used();
        if (after > before) state.buffers = most((int)((after - before) / BUFFER_BYTES) - 1, 0);  // it keeps one to itself
    }
    return state.loaded ? BPT_OK : bpt_fail(BPT_ERR_UNAVAILABLE, "%s", state.reason);
}

void bpt_openblas_replace_if_too_old(void) {
    pthread_mutex_lock(&mutex);
    if (*state.instead_of) state.replaced = true;
    pthread_mutex_unlock(&mutex);
}

bool bpt_openblas_is_replaced(void) { return state.replaced; }

void bpt_openblas_describe(char *text, size_t bytes) {
    if (state.replaced)
        snprintf(text, bytes, "own products%s%s%s", *state.instead_of ? " (" : "", state.instead_of, *state.instead_of ? ")" : "");
    else
        snprintf(text, bytes, "OpenBLAS (%s kernels)", bpt_openblas.openblas_get_corename());
}

bool bpt_openblas_suits_processor(void) { return state.suits_processor; }

bpt_status_t bpt_openblas_load(void) {
    pthread_mutex_lock(&mutex);
    const bpt_status_t status = load_once(1);
    pthread_mutex_unlock(&mutex);
    return status;
}

// Has OpenBLAS map this many buffers; given back they stay with it.
static void map_buffers(int count) {
    void *held[MOST_BUFFERS];
    if (!state.take || !state.give) return;
    for (int i = 0; i < count; ++i) held[i] = state.take(1);
    for (int i = 0; i < count; ++i) state.give(held[i]);
}

static bpt_status_t reserve(int threads) {
    const int stacks = threads < MOST_BUFFERS ? threads : MOST_BUFFERS;
    BPT_TRY(load_once(stacks));
    if (state.replaced) return BPT_OK;
    const int wanted = state.threads + threads < MOST_BUFFERS ? state.threads + threads : MOST_BUFFERS;
    BPT_TRY(check_room(0, most(wanted - state.buffers, 0), stacks, threads));
    map_buffers(wanted);
    state.buffers = most(state.buffers, wanted);
    state.threads += threads;
    return BPT_OK;
}

bpt_status_t bpt_openblas_open(int threads) {
    pthread_mutex_lock(&mutex);
    const bpt_status_t status = reserve(threads);
    pthread_mutex_unlock(&mutex);
    return status;
}

void bpt_openblas_close(int threads) {
    pthread_mutex_lock(&mutex);
    if (!state.replaced) state.threads -= threads;
    pthread_mutex_unlock(&mutex);
}
