// oneDNN, opened at run time (onednn.h). Its handles are opaque pointers; version 2 passes descriptors as structs in the caller's memory where
// version 3 creates them, so those calls are written twice, with room for the structs of any version 2.
#include "backends/cpu/onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/host/openmp.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/file.h"
#include "bpt/library.h"
#include "bpt/machine.h"
#include "bpt/platforms.h"

typedef int64_t dims_t[12];
typedef struct {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} version_t;
typedef struct {
    int argument;
    void *memory;
} argument_t;

enum { OUT_OF_MEMORY = 1, KIND_CPU = 1, STREAM_DEFAULT = 1, TYPE_BF16 = 2, TYPE_F32 = 3, SCRATCHPAD_USER = 1, QUERY_SCRATCHPAD = 136 };
enum { ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_BIAS = 41, ARG_SCRATCHPAD = 80 };
// At least four times sizeof(dnnl_memory_desc_t, dnnl_matmul_desc_t) of 2.x.
enum { V2_DESCRIPTOR_BYTES = 4096, V2_OPERATION_BYTES = 16384 };

// SYMBOL(versions, name, return type, arguments): versions 0 = both, else the one that has it in this form.
#define SYMBOLS                                                                                                                    \
    SYMBOL(0, version, const version_t *, (void))                                                                                  \
    SYMBOL(0, set_verbose, int, (int level))                                                                                       \
    SYMBOL(0, engine_create, int, (void **engine, int kind, size_t index))                                                         \
    SYMBOL(0, stream_create, int, (void **stream, void *engine, unsigned flags))                                                   \
    SYMBOL(0, stream_wait, int, (void *stream))                                                                                    \
    SYMBOL(0, stream_destroy, int, (void *stream))                                                                                 \
    SYMBOL(0, primitive_attr_create, int, (void **attr))                                                                           \
    SYMBOL(0, primitive_attr_destroy, int, (void *attr))                                                                           \
    SYMBOL(0, primitive_attr_set_scratchpad_mode, int, (void *attr, int mode))                                                     \
    SYMBOL(0, primitive_attr_set_post_ops, int, (void *attr, const void *ops))                                                     \
    SYMBOL(0, post_ops_create, int, (void **ops))                                                                                  \
    SYMBOL(0, post_ops_destroy, int, (void *ops))                                                                                  \
    SYMBOL(0, primitive_desc_destroy, int, (void *desc))                                                                           \
    SYMBOL(0, primitive_desc_query_md, const void *, (const void *desc, int what, int index))                                      \
    SYMBOL(0, memory_desc_get_size, size_t, (const void *desc))                                                                    \
    SYMBOL(0, primitive_create, int, (void **primitive, const void *desc))                                                         \
    SYMBOL(0, primitive_destroy, int, (void *primitive))                                                                           \
    SYMBOL(0, memory_create, int, (void **memory, const void *desc, void *engine, void *data))                                     \
    SYMBOL(0, memory_destroy, int, (void *memory))                                                                                 \
    SYMBOL(0, memory_set_data_handle, int, (void *memory, void *data))                                                             \
    SYMBOL(0, primitive_execute, int, (const void *primitive, void *stream, int count, const argument_t *arguments))               \
    SYMBOL(0, sgemm, int,                                                                                                          \
           (char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b, \
            int64_t ldb, float beta, float *c, int64_t ldc))                                                                       \
    SYMBOL(2, memory_desc_init_by_strides, int, (void *desc, int rank, const dims_t dims, int type, const dims_t strides))         \
    SYMBOL(2, matmul_desc_init, int, (void *op, const void *a, const void *b, const void *bias, const void *c))                    \
    SYMBOL(2, primitive_desc_create, int, (void **desc, const void *op, const void *attr, void *engine, const void *hint))         \
    SYMBOL(2, post_ops_append_sum, int, (void *ops, float scale))                                                                  \
    SYMBOL(3, memory_desc_create_with_strides, int, (void **desc, int rank, const dims_t dims, int type, const dims_t strides))    \
    SYMBOL(3, memory_desc_destroy, int, (void *desc))                                                                              \
    SYMBOL(3, matmul_primitive_desc_create, int,                                                                                   \
           (void **desc, void *engine, const void *a, const void *b, const void *bias, const void *c, const void *attr))           \
    SYMBOL(3, post_ops_append_sum_v3, int, (void *ops, float scale, int32_t zero_point, int type))

static struct {
#define SYMBOL(versions, name, type, args) type(*name) args;
    SYMBOLS
#undef SYMBOL
} lib;

enum { BUCKETS = 1024 };

// The memory objects of one thread: A, B, C, scratch, bias. The last only of products that have one.
enum { OBJECTS = 5 };
typedef struct {
    void *object[OBJECTS];
} slots_t;

static int count_objects(const bpt_onednn_product_t *p) { return p->bias ? OBJECTS : OBJECTS - 1; }

// A compiled product; kept, because the same shapes come back in every step.
typedef struct entry {
    struct entry *next;
    bpt_onednn_product_t product;
    void *primitive;
    size_t scratch_bytes;
    slots_t *slots;
    int threads;
} entry_t;

static struct {
    int major;
    char reason[512], version[32];
    void *engine;
    void **streams;  // one a thread number, as the slots of an entry are
    int n_streams;
    entry_t *buckets[BUCKETS];
} state;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // of what `state` lists; products run without it

// Its own name for version 3, then Debian's, which end in the minor version, the latest first, then version 2.
static void *open_installed(void) {
    enum { LATEST_MINOR = 40 };
    char name[24];
    void *handle = bpt_library_open(BPT_LIBRARY_ONEDNN, NULL);
    for (int minor = LATEST_MINOR; minor >= 0 && !handle; --minor) {
        snprintf(name, sizeof name, "libdnnl.so.3.%d", minor);
        handle = bpt_library_open_file(name, false);
    }
    return handle ? handle : bpt_library_open_file("libdnnl.so.2", false);
}

static void *open_library(void) {
    const char *wanted = bpt_env_text("BPT_ONEDNN_LIBRARY");
    void *handle = NULL;
    if (wanted && !strcmp(wanted, "none")) {
        snprintf(state.reason, sizeof state.reason, "oneDNN is switched off by BPT_ONEDNN_LIBRARY=none");
        return NULL;
    }
    handle = wanted ? bpt_library_open_file(wanted, false) : open_installed();
    if (!handle && wanted && bpt_file_exists(wanted))
        snprintf(state.reason, sizeof state.reason,
                 "it cannot be opened: %s (where that is a library beside it, add the folder to LD_LIBRARY_PATH)", bpt_library_error());
    else if (!handle)
        snprintf(state.reason, sizeof state.reason, "oneDNN was not found: %.150s; %.330s", bpt_library_error(),
                 bpt_platform_remedy(BPT_NEED_ONEDNN));
    return handle;
}

static bool load_symbol(void *handle, int versions, const char *name, void *target) {
    char full[64];
    if (versions && versions != state.major) return true;
    snprintf(full, sizeof full, "dnnl_%s", strcmp(name, "post_ops_append_sum_v3") ? name : "post_ops_append_sum");
    void *symbol = bpt_library_symbol(handle, full);
    memcpy(target, &symbol, sizeof symbol);
    if (!symbol) snprintf(state.reason, sizeof state.reason, "oneDNN %s has no function %s", state.version, full);
    return symbol != NULL;
}

// Builds for a runtime of devices compute on what this runtime offers as a CPU, which may be nothing.
static const char *runtime_note(unsigned runtime) {
    return runtime & 0x200   ? "; it was built for SYCL, which needs a CPU device of OpenCL: take a build for OpenMP"
           : runtime & 0x100 ? "; it was built for OpenCL: take a build for OpenMP"
                             : "";
}

// It writes its messages to standard output, where results of the program go; errors that it returns are said by the caller.
static void silence(void) {
    if (!getenv("ONEDNN_VERBOSE") && !getenv("DNNL_VERBOSE")) (void)lib.set_verbose(0);
}

static void load(void) {
    void *handle = open_library();
    if (!handle || !load_symbol(handle, 0, "version", &lib.version)) return;
    const version_t *v = lib.version();
    state.major = v->major;
    snprintf(state.version, sizeof state.version, "%d.%d.%d", v->major, v->minor, v->patch);
    if (v->major != 2 && v->major != 3) {
        snprintf(state.reason, sizeof state.reason, "oneDNN %s is neither version 2 nor 3", state.version);
        return;
    }
#define SYMBOL(versions, name, type, args) \
    if (!load_symbol(handle, versions, #name, &lib.name)) return;
    SYMBOLS
#undef SYMBOL
    bpt_openmp_know(handle);
    silence();
    const int status = lib.engine_create(&state.engine, KIND_CPU, 0);
    if (status)
        snprintf(state.reason, sizeof state.reason, "oneDNN %s gives no CPU engine (status %d)%s", state.version, status,
                 runtime_note(v->cpu_runtime));
}

void bpt_onednn_refuse(const char *what) {
    snprintf(state.reason, sizeof state.reason, "oneDNN %s is not used: %s%s", state.version, what,
             runtime_note(lib.version()->cpu_runtime));
}

const char *bpt_onednn_reason(void) {
    pthread_once(&once, load);
    return state.reason;
}

const char *bpt_onednn_version(void) { return *bpt_onednn_reason() ? "" : state.version; }

// ---- Descriptors, in both versions -----------------------------------------------------------------------------------
typedef struct {
    void *a, *b, *c, *bias;
} descriptors_t;

static int make_descriptor(void **out, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int type) {
    const dims_t dims = {rows, columns}, strides = {row_stride, column_stride};
    if (state.major == 3) return lib.memory_desc_create_with_strides(out, 2, dims, type, strides);
    return lib.memory_desc_init_by_strides(*out, 2, dims, type, strides);
}

static int make_descriptors(const bpt_onednn_product_t *p, descriptors_t *d) {
    int status = make_descriptor(&d->a, p->m, p->k, p->transpose_a ? 1 : p->lda, p->transpose_a ? p->lda : 1, TYPE_BF16);
    if (!status) status = make_descriptor(&d->b, p->k, p->n, p->transpose_b ? 1 : p->ldb, p->transpose_b ? p->ldb : 1, TYPE_BF16);
    if (!status) status = make_descriptor(&d->c, p->m, p->n, p->ldc, 1, p->c_dtype == BPT_F32 ? TYPE_F32 : TYPE_BF16);
    if (!status && p->bias) status = make_descriptor(&d->bias, 1, p->n, p->n, 1, TYPE_F32);
    return status;
}

static int make_attributes(const bpt_onednn_product_t *p, void **attr) {
    int status = lib.primitive_attr_create(attr);
    if (!status) status = lib.primitive_attr_set_scratchpad_mode(*attr, SCRATCHPAD_USER);
    if (status || !p->accumulate) return status;
    void *ops;
    status = lib.post_ops_create(&ops);
    if (status) return status;
    status = state.major == 3 ? lib.post_ops_append_sum_v3(ops, 1, 0, 0) : lib.post_ops_append_sum(ops, 1);
    if (!status) status = lib.primitive_attr_set_post_ops(*attr, ops);
    lib.post_ops_destroy(ops);
    return status;
}

static int make_primitive_descriptor(const descriptors_t *d, const void *attr, void **out) {
    if (state.major == 3) return lib.matmul_primitive_desc_create(out, state.engine, d->a, d->b, d->bias, d->c, attr);
    _Alignas(64) char operation[V2_OPERATION_BYTES];
    const int status = lib.matmul_desc_init(operation, d->a, d->b, d->bias, d->c);
    return status ? status : lib.primitive_desc_create(out, operation, attr, state.engine, NULL);
}

// Memory objects for threads [e->threads, threads).
static int add_slots(entry_t *e, const descriptors_t *d, const void *scratchpad, int threads) {
    const void *const descriptors[OBJECTS] = {d->a, d->b, d->c, scratchpad, d->bias};
    const int count = count_objects(&e->product);
    for (; e->threads < threads; ++e->threads) {
        slots_t *s = &e->slots[e->threads];
        *s = (slots_t){{NULL}};
        for (int i = 0; i < count; ++i) {
            const int status = lib.memory_create(&s->object[i], descriptors[i], state.engine, NULL);
            if (!status) continue;
            while (i-- > 0) lib.memory_destroy(s->object[i]);
            return status;
        }
    }
    return 0;
}

// Compiles the product (once) and makes the objects for more threads.
static int build(entry_t *e, const descriptors_t *d, int threads) {
    void *attr = NULL, *desc = NULL;
    int status = make_attributes(&e->product, &attr);
    if (!status) status = make_primitive_descriptor(d, attr, &desc);
    if (!status && !e->primitive) status = lib.primitive_create(&e->primitive, desc);
    if (!status) {
        const void *scratchpad = lib.primitive_desc_query_md(desc, QUERY_SCRATCHPAD, 0);
        e->scratch_bytes = (lib.memory_desc_get_size(scratchpad) + 63) / 64 * 64;
        status = add_slots(e, d, scratchpad, threads);
    }
    if (desc) lib.primitive_desc_destroy(desc);
    if (attr) lib.primitive_attr_destroy(attr);
    return status;
}

// Making a product takes less; where there is not even this, the library (2.6) crashes.
static bool have_room(void) {
    return bpt_address_room(1, (size_t)16 << 20, 0);
}

static int build_entry(entry_t *e, int threads) {
    if (!have_room()) return OUT_OF_MEMORY;
    _Alignas(64) char room[4][V2_DESCRIPTOR_BYTES];
    descriptors_t d = {NULL, NULL, NULL, NULL};
    if (state.major == 2) d = (descriptors_t){room[0], room[1], room[2], e->product.bias ? room[3] : NULL};
    bpt_openmp_numbers_t before;
    bpt_openmp_alone(&before);  // the kernel is made for as many threads as there are now
    int status = make_descriptors(&e->product, &d);
    if (!status) status = build(e, &d, threads);
    bpt_openmp_restore(&before);
    if (state.major == 3) {
        if (d.a) lib.memory_desc_destroy(d.a);
        if (d.b) lib.memory_desc_destroy(d.b);
        if (d.c) lib.memory_desc_destroy(d.c);
        if (d.bias) lib.memory_desc_destroy(d.bias);
    }
    return status;
}

static bool same_product(const bpt_onednn_product_t *a, const bpt_onednn_product_t *b) {
    return a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->transpose_a == b->transpose_a && a->transpose_b == b->transpose_b && a->accumulate == b->accumulate && a->bias == b->bias &&
           a->c_dtype == b->c_dtype;
}

static entry_t **bucket_of(const bpt_onednn_product_t *p) {
    const int64_t words[] = {p->m, p->n, p->k, p->lda, p->ldb, p->ldc, p->transpose_a * 4 + p->transpose_b * 2 + p->accumulate};
    uint64_t h = 0;
    for (size_t i = 0; i < BPT_COUNT(words); ++i) h = (h ^ (uint64_t)words[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return &state.buckets[h % BUCKETS];
}

static entry_t *find(const bpt_onednn_product_t *p) {
    entry_t *e = *bucket_of(p);
    while (e && !same_product(&e->product, p)) e = e->next;
    return e;
}

static bpt_status_t add_streams(int threads) {
    if (threads <= state.n_streams) return BPT_OK;
    BPT_TRY(bpt_realloc(&state.streams, (size_t)threads, sizeof *state.streams));
    for (; state.n_streams < threads; ++state.n_streams) {
        const int status = lib.stream_create(&state.streams[state.n_streams], state.engine, STREAM_DEFAULT);
        if (status) return bpt_fail(BPT_ERR_UNAVAILABLE, "oneDNN %s gives no stream (status %d)", state.version, status);
    }
    return BPT_OK;
}

static bpt_status_t prepare(const bpt_onednn_product_t *p, int threads, size_t *scratch_bytes) {
    if (*bpt_onednn_reason()) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", state.reason);
    BPT_TRY(add_streams(threads));
    entry_t *e = find(p);
    if (!e) {
        BPT_TRY(bpt_alloc(1, sizeof *e, &e));
        e->product = *p;
        e->next = *bucket_of(p);
        *bucket_of(p) = e;
    }
    if (e->threads < threads || !e->primitive) {
        BPT_TRY(bpt_realloc(&e->slots, (size_t)threads, sizeof *e->slots));
        const int status = build_entry(e, threads);
        if (status == OUT_OF_MEMORY)
            return bpt_fail(BPT_ERR_NO_MEMORY,
                            "oneDNN %s has no memory for the bf16 product %lldx%lldx%lld; if `ulimit -v` shows a limit, lift it: "
                            "ulimit -v unlimited",
                            state.version, (long long)p->m, (long long)p->n, (long long)p->k);
        if (status)
            return bpt_fail(BPT_ERR_UNSUPPORTED, "oneDNN %s cannot make the bf16 product %lldx%lldx%lld (status %d)", state.version,
                            (long long)p->m, (long long)p->n, (long long)p->k, status);
    }
    *scratch_bytes = e->scratch_bytes;
    return BPT_OK;
}

bpt_status_t bpt_onednn_prepare(const bpt_onednn_product_t *p, int numbers, size_t *scratch_bytes) {
    pthread_mutex_lock(&mutex);
    const bpt_status_t status = prepare(p, numbers, scratch_bytes);
    pthread_mutex_unlock(&mutex);
    return status;
}

// What a thread runs a product with.
typedef struct {
    void *primitive, *stream;
    slots_t slots;
} kernel_t;

static bool find_kernel(const bpt_onednn_product_t *p, int thread, kernel_t *out) {
    pthread_mutex_lock(&mutex);
    const entry_t *e = find(p);
    const bool found = e && e->primitive && thread < e->threads;
    if (found) *out = (kernel_t){e->primitive, state.streams[thread], e->slots[thread]};
    pthread_mutex_unlock(&mutex);
    return found;
}

bool bpt_onednn_multiply(const bpt_onednn_product_t *p, const bpt_onednn_data_t *data, int thread) {
    static const int numbers[OBJECTS] = {ARG_SRC, ARG_WEIGHTS, ARG_DST, ARG_SCRATCHPAD, ARG_BIAS};
    const void *const place[OBJECTS] = {data->a, data->b, data->c, data->scratch, data->bias};
    const int count = count_objects(p);
    kernel_t k;
    if (!find_kernel(p, thread, &k)) return false;
    argument_t arguments[OBJECTS];
    for (int i = 0; i < count; ++i) {
        arguments[i] = (argument_t){numbers[i], k.slots.object[i]};
        if (lib.memory_set_data_handle(arguments[i].memory, (void *)(uintptr_t)place[i])) return false;
    }
    return !lib.primitive_execute(k.primitive, k.stream, count, arguments) && !lib.stream_wait(k.stream);
}

bool bpt_onednn_multiply_f32(const bpt_onednn_product_t *p, const float *a, const float *b, float *c) {
    return BPT_ONEDNN_MULTIPLIES_F32 && !*bpt_onednn_reason() &&
           !lib.sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1, a, p->lda, b, p->ldb,
                      p->accumulate ? 1 : 0, c, p->ldc);
}

static void make_f32_kernels(const void *context, int thread) {
    (void)context, (void)thread;
    enum { SIZE = 32, FORMS = 8 };
    static const float zeros[SIZE * SIZE];
    for (int form = 0; form < FORMS; ++form) {
        float result[SIZE * SIZE] = {0};
        const bpt_onednn_product_t p = bpt_onednn_square(SIZE, form);
        (void)bpt_onednn_multiply_f32(&p, zeros, zeros, result);
    }
}

void bpt_onednn_make_f32_kernels(bpt_team_t *team) {
    uint64_t limit;
    if (bpt_address_limit(&limit)) bpt_team_run(team, bpt_team_threads(team), make_f32_kernels, NULL);
}

void bpt_onednn_clear(void) {
    pthread_mutex_lock(&mutex);
    for (int b = 0; b < BUCKETS; ++b)
        for (entry_t *e = state.buckets[b], *next; e; e = next) {
            next = e->next;
            for (int t = 0; t < e->threads; ++t)
                for (int i = 0; i < count_objects(&e->product); ++i) lib.memory_destroy(e->slots[t].object[i]);
            if (e->primitive) lib.primitive_destroy(e->primitive);
            bpt_free(e->slots);
            bpt_free(e);
            state.buckets[b] = next;
        }
    for (int i = 0; i < state.n_streams; ++i) lib.stream_destroy(state.streams[i]);
    bpt_free(state.streams);
    state.streams = NULL, state.n_streams = 0;
    pthread_mutex_unlock(&mutex);
}
