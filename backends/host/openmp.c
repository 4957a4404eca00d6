// The OpenMP of other libraries (openmp.h).
#include "backends/host/openmp.h"

#include <pthread.h>
#include <stdatomic.h>

#include "bpt/library.h"

typedef struct {
    int (*get_max_threads)(void);
    void (*set_num_threads)(int threads);
} runtime_t;

static runtime_t runtimes[BPT_OPENMP_MOST];  // those below `known` do not change any more
static atomic_int known;

void bpt_openmp_know(void *library) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    runtime_t found;  // on Linux also by what the library was linked with
    *(void **)&found.get_max_threads = bpt_library_symbol(library, "omp_get_max_threads");
    *(void **)&found.set_num_threads = bpt_library_symbol(library, "omp_set_num_threads");
    if (!found.get_max_threads || !found.set_num_threads) return;
    pthread_mutex_lock(&mutex);
    int i = 0, count = atomic_load(&known);
    while (i < count && runtimes[i].set_num_threads != found.set_num_threads) ++i;
    if (i == count && count < BPT_OPENMP_MOST) {
        runtimes[count] = found;
        atomic_store(&known, count + 1);
    }
    pthread_mutex_unlock(&mutex);
}

void bpt_openmp_alone(bpt_openmp_numbers_t *before) {
    before->count = atomic_load(&known);
    for (int i = 0; i < before->count; ++i) {
        before->threads[i] = runtimes[i].get_max_threads();
        runtimes[i].set_num_threads(1);
    }
}

void bpt_openmp_restore(const bpt_openmp_numbers_t *before) {
    for (int i = 0; i < before->count; ++i) runtimes[i].set_num_threads(before->threads[i]);
}
