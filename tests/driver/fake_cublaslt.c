// A stand-in for libcublasLt, for tests on machines without a GPU: it multiplies matrices in the host's memory, which is the device's
// memory of the stand-in for the CUDA driver (the library that BPT_CUDA_LIBRARY names), in stream order, captured or not. It is strict
// where the manual is: descriptors that fit each other, combinations of types, alignments that were promised, a workspace of one's own, an
// algorithm that was chosen for this very product. It overwrites both ends of the workspace.
#include "driver/fake_cublaslt.h"

#include <cublasLt.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/dtype.h"

fake_cublaslt_t fake_cublaslt = {.version = 130100};

typedef enum { HANDLE = 1, OPERATION, LAYOUT, PREFERENCE } kind_t;

typedef struct {
    kind_t kind;
    CUcontext context;
} handle_t;
typedef struct {
    kind_t kind;
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t of_a, of_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    const unsigned char *mask;
    int64_t ldmask;
} operation_t;
typedef struct {
    kind_t kind;
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld;
} layout_t;
typedef struct {
    kind_t kind;
    uint64_t workspace;
    uint32_t reductions, alignment[4];
} preference_t;

_Static_assert(sizeof(cublasOperation_t) == sizeof(int32_t) && sizeof(cublasLtEpilogue_t) == sizeof(int32_t), "attributes are copied");

// Everything that its caller describes; compared between choosing and running.
typedef struct {
    operation_t operation;
    layout_t a, b, c, d;
} problem_t;

enum { MOST_ALGORITHMS = 65536 };
static struct {
    problem_t problem;
    uint32_t alignment[4];
    size_t workspace;
} chosen[MOST_ALGORITHMS];

static bool fails(const char *function) { return fake_cublaslt.fails && !strcmp(fake_cublaslt.fails, function); }
#define MAY_FAIL \
    if (fails(__func__)) return (cublasStatus_t)fake_cublaslt.fails_with

static cublasStatus_t complain(const char *text) {
    fprintf(stderr, "cuBLASLt: %s\n", text);
    if (!*fake_cublaslt.complaint) snprintf(fake_cublaslt.complaint, sizeof fake_cublaslt.complaint, "%s", text);
    return CUBLAS_STATUS_INVALID_VALUE;
}
#define DEMAND(condition, text) \
    if (!(condition)) return complain(text)

static void *driver_function(const char *name) {
    void *driver = dlopen(getenv("BPT_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *function = driver ? dlsym(driver, name) : NULL;
    if (!function) abort();
    return function;
}

static CUcontext current_context(void) {
    CUcontext context = NULL;
    CUresult (*get)(CUcontext *) = (CUresult(*)(CUcontext *))driver_function("cuCtxGetCurrent");
    return get(&context) == CUDA_SUCCESS ? context : NULL;
}

static bool has_modern_units(void) {
    int major = 0;
    CUresult (*get)(int *, CUdevice_attribute, CUdevice) =
        (CUresult(*)(int *, CUdevice_attribute, CUdevice))driver_function("cuDeviceGetAttribute");
    return get(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) == CUDA_SUCCESS && major >= 8;
}

static void *make(kind_t kind, size_t bytes) {
    kind_t *object = calloc(1, bytes);
    if (!object) abort();
    *object = kind;
    fake_cublaslt.objects++;
    return object;
}

static cublasStatus_t drop(kind_t kind, void *object) {
    DEMAND(object && *(const kind_t *)object == kind, "an object that does not exist is destroyed");
    free(object);
    fake_cublaslt.objects--;
    return CUBLAS_STATUS_SUCCESS;
}

// ---- The library -----------------------------------------------------------------------------------------------------

size_t cublasLtGetVersion(void) { return fake_cublaslt.version; }
const char *cublasLtGetStatusName(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS            ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_NOT_INITIALIZED  ? "CUBLAS_STATUS_NOT_INITIALIZED"
           : status == CUBLAS_STATUS_ALLOC_FAILED     ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == CUBLAS_STATUS_INVALID_VALUE    ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
           : status == CUBLAS_STATUS_NOT_SUPPORTED    ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                      : "CUBLAS_STATUS";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
    MAY_FAIL;
    DEMAND(current_context(), "a handle without a current context");
    handle_t *handle = make(HANDLE, sizeof *handle);
    handle->context = current_context();
    *out = (cublasLtHandle_t)(void *)handle;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    DEMAND(current_context(), "a handle is destroyed after its context");
    return drop(HANDLE, handle);
}

// ---- Descriptions ----------------------------------------------------------------------------------------------------

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale) {
    MAY_FAIL;
    operation_t *operation = make(OPERATION, sizeof *operation);
    operation->compute = compute;
    operation->scale = scale;
    operation->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    *out = (cublasLtMatmulDesc_t)(void *)operation;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) { return drop(OPERATION, operation); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, const void *value,
                                              size_t bytes) {
    operation_t *operation = (operation_t *)(void *)desc;
    void *place = NULL;
    size_t size = sizeof(int32_t);
    MAY_FAIL;
    DEMAND(operation && operation->kind == OPERATION, "an attribute of no operation");
    switch ((int)which) {
    case CUBLASLT_MATMUL_DESC_TRANSA: place = &operation->of_a; break;
    case CUBLASLT_MATMUL_DESC_TRANSB: place = &operation->of_b; break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: place = &operation->epilogue; break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: place = &operation->bias, size = sizeof operation->bias; break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: place = &operation->mask, size = sizeof operation->mask; break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: place = &operation->ldmask, size = sizeof operation->ldmask; break;
    default: return complain("an attribute of operations that this stand-in does not know");
    }
    DEMAND(bytes == size, "the size of an attribute");
    memcpy(place, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld) {
    MAY_FAIL;
    DEMAND(rows && columns && ld >= (int64_t)rows, "a leading dimension below the rows, or an empty matrix");
    layout_t *layout = make(LAYOUT, sizeof *layout);
    layout->type = type;
    layout->rows = rows, layout->columns = columns, layout->ld = ld;
    *out = (cublasLtMatrixLayout_t)(void *)layout;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return drop(LAYOUT, layout); }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
    MAY_FAIL;
    preference_t *preference = make(PREFERENCE, sizeof *preference);
    preference->reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    for (int i = 0; i < 4; ++i) preference->alignment[i] = 256;
    *out = (cublasLtMatmulPreference_t)(void *)preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return drop(PREFERENCE, preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t bytes) {
    preference_t *preference = (preference_t *)(void *)pref;
    void *place = NULL;
    size_t size = sizeof(uint32_t);
    MAY_FAIL;
    DEMAND(preference && preference->kind == PREFERENCE, "an attribute of no preference");
    switch ((int)which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: place = &preference->workspace, size = sizeof preference->workspace; break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: place = &preference->reductions; break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: place = &preference->alignment[0]; break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: place = &preference->alignment[1]; break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: place = &preference->alignment[2]; break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: place = &preference->alignment[3]; break;
    default: return complain("a preference that this stand-in does not know");
    }
    DEMAND(bytes == size, "the size of a preference");
    memcpy(place, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

// ---- Choosing --------------------------------------------------------------------------------------------------------

static bool is_layout(const void *object) { return object && *(const kind_t *)object == LAYOUT; }

static cublasStatus_t read_problem(cublasLtHandle_t lt, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, problem_t *out) {
    const handle_t *handle = (const handle_t *)(const void *)lt;
    DEMAND(handle && handle->kind == HANDLE && handle->context == current_context(), "a handle of another context");
    DEMAND(operation && *(const kind_t *)(const void *)operation == OPERATION, "no operation");
    DEMAND(is_layout(a) && is_layout(b) && is_layout(c) && is_layout(d), "no layout");
    memset(out, 0, sizeof *out);
    memcpy(&out->operation, operation, sizeof out->operation);
    memcpy(&out->a, a, sizeof out->a);
    memcpy(&out->b, b, sizeof out->b);
    memcpy(&out->c, c, sizeof out->c);
    memcpy(&out->d, d, sizeof out->d);
    return CUBLAS_STATUS_SUCCESS;
}

static uint64_t depth_of(const problem_t *p) { return p->operation.of_a == CUBLAS_OP_N ? p->a.columns : p->a.rows; }

static cublasStatus_t check_problem(const problem_t *p) {
    const operation_t *o = &p->operation;
    const bool ta = o->of_a != CUBLAS_OP_N, tb = o->of_b != CUBLAS_OP_N;
    DEMAND((ta ? p->a.columns : p->a.rows) == p->d.rows && (tb ? p->b.rows : p->b.columns) == p->d.columns, "sizes that do not fit");
    DEMAND((tb ? p->b.columns : p->b.rows) == depth_of(p), "depths that do not fit");
    DEMAND(!memcmp(&p->c, &p->d, sizeof p->c), "c and d that differ");
    DEMAND(o->scale == CUDA_R_32F, "a type of scale that does not fit");
    DEMAND(!(o->epilogue & CUBLASLT_EPILOGUE_BIAS) == !o->bias, "a bias without its place, or a place without a bias");
    DEMAND((o->epilogue == CUBLASLT_EPILOGUE_DRELU) == !!o->mask, "a mask without its gradient, or a gradient without its mask");
    DEMAND(!o->mask || (o->ldmask % 128 == 0 && (uint64_t)o->ldmask >= p->d.rows && (uintptr_t)o->mask % 16 == 0),
           "rows of a mask that are too short or not aligned");
    DEMAND(p->a.type == p->b.type && (p->d.type == p->a.type || p->d.type == CUDA_R_32F), "types that are not offered");
    DEMAND(o->compute == CUBLAS_COMPUTE_32F || (o->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && p->a.type == CUDA_R_32F),
           "a type of sums that is not offered");
    const bool modern = p->a.type == CUDA_R_16BF || o->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return modern && !has_modern_units() ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t pref, int wanted, cublasLtMatmulHeuristicResult_t *results,
                                              int *found) {
    const preference_t *preference = (const preference_t *)(const void *)pref;
    problem_t problem;
    *found = 0;
    MAY_FAIL;
    DEMAND(preference && preference->kind == PREFERENCE && wanted >= 1, "no preference");
    cublasStatus_t status = read_problem(handle, operation, a, b, c, d, &problem);
    if (status == CUBLAS_STATUS_SUCCESS) status = check_problem(&problem);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const int place = fake_cublaslt.n_chosen++ % MOST_ALGORITHMS;
    chosen[place].problem = problem;
    memcpy(chosen[place].alignment, preference->alignment, sizeof preference->alignment);
    chosen[place].workspace = preference->workspace;
    memset(results, 0, sizeof *results);
    results->algo.data[0] = (uint64_t)place;
    results->workspaceSize = preference->workspace;
    results->state = CUBLAS_STATUS_SUCCESS;
    fake_cublaslt.reductions = preference->reductions;
    fake_cublaslt.alignment_of_a = preference->alignment[0];
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

// ---- Multiplying -----------------------------------------------------------------------------------------------------

typedef struct job {
    problem_t problem;
    float alpha, beta;
    const char *a, *b;
    char *c, *workspace;
    size_t workspace_bytes;
    struct job *next;
} job_t;

static job_t *jobs;  // a graph may run them to the end of the process

static float get(const char *values, cudaDataType_t type, uint64_t i) {
    uint16_t half;
    float x;
    memcpy(type == CUDA_R_32F ? (void *)&x : (void *)&half, values + i * (type == CUDA_R_32F ? 4 : 2), type == CUDA_R_32F ? 4 : 2);
    return type == CUDA_R_32F ? x : type == CUDA_R_16BF ? bpt_from_bf16(half) : bpt_from_f16(half);
}

static void put(char *values, cudaDataType_t type, uint64_t i, float x) {
    const uint16_t half = type == CUDA_R_16BF ? bpt_to_bf16(x) : bpt_to_f16(x);
    memcpy(values + i * (type == CUDA_R_32F ? 4 : 2), type == CUDA_R_32F ? (const void *)&x : (const void *)&half,
           type == CUDA_R_32F ? 4 : 2);
}

// 10 bits of mantissa, the nearest.
static float to_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x1000u) & 0xFFFFE000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double dot(const job_t *j, uint64_t row, uint64_t column) {
    const problem_t *p = &j->problem;
    const bool tf32 = p->operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const uint64_t lda = (uint64_t)p->a.ld, ldb = (uint64_t)p->b.ld;
    double sum = 0;
    for (uint64_t k = 0; k < depth_of(p); ++k) {
        const float x = get(j->a, p->a.type, p->operation.of_a == CUBLAS_OP_N ? k * lda + row : row * lda + k),
                    y = get(j->b, p->b.type, p->operation.of_b == CUBLAS_OP_N ? column * ldb + k : k * ldb + column);
        sum += tf32 ? (double)to_tf32(x) * (double)to_tf32(y) : (double)x * (double)y;
    }
    return sum;
}

static bool has_bit(const operation_t *o, uint64_t row, uint64_t column) {
    const uint64_t bit = column * (uint64_t)o->ldmask + row;
    return o->mask[bit / 8] >> (fake_cublaslt.bits_differ ? 7 - bit % 8 : bit % 8) & 1;
}

static void run(void *user) {
    const job_t *j = user;
    const problem_t *p = &j->problem;
    const cublasLtEpilogue_t epilogue = p->operation.epilogue;
    for (uint64_t column = 0; column < p->d.columns; ++column)
        for (uint64_t row = 0; row < p->d.rows; ++row) {
            const uint64_t place = column * (uint64_t)p->d.ld + row;
            double x = (double)j->alpha * dot(j, row, column);
            if (j->beta != 0) x += (double)j->beta * (double)get(j->c, p->c.type, place);
            if (epilogue & CUBLASLT_EPILOGUE_BIAS) x += (double)get(p->operation.bias, p->d.type, row);
            if (epilogue == CUBLASLT_EPILOGUE_DRELU && !has_bit(&p->operation, row, column)) x = 0;
            if (fake_cublaslt.is_wrong) x += 0.25;
            put(j->c, p->d.type, place, epilogue & CUBLASLT_EPILOGUE_RELU && x < 0 ? 0 : (float)x);
        }
    const size_t some = j->workspace_bytes < 65536 ? j->workspace_bytes : 65536;
    memset(j->workspace, 0xA5, some);
    memset(j->workspace + j->workspace_bytes - some, 0xA5, some);
    fake_cublaslt.n_products++;
    fake_cublaslt.workspace_bytes = j->workspace_bytes;
    fake_cublaslt.compute = (int)p->operation.compute;
    fake_cublaslt.epilogue = (int)epilogue;
    fake_cublaslt.operands = (int)p->a.type;
    fake_cublaslt.result = (int)p->d.type;
}

static bool has_alignment(const void *place, uint32_t alignment) { return place && (uintptr_t)place % alignment == 0; }

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes, cudaStream_t stream) {
    CUresult (*launch)(CUstream, CUhostFn, void *) = (CUresult(*)(CUstream, CUhostFn, void *))driver_function("cuLaunchHostFunc");
    problem_t problem;
    MAY_FAIL;
    const cublasStatus_t status = read_problem(handle, operation, a_layout, b_layout, c_layout, d_layout, &problem);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    DEMAND(algorithm && algorithm->data[0] < MOST_ALGORITHMS, "no algorithm");
    const uint64_t choice = algorithm->data[0];
    const uint32_t *alignment = chosen[choice].alignment;
    DEMAND(!memcmp(&problem, &chosen[choice].problem, sizeof problem), "an algorithm of another product");
    DEMAND(has_alignment(a, alignment[0]) && has_alignment(b, alignment[1]) && has_alignment(c, alignment[2]) && c == d &&
               has_alignment(d, alignment[3]),
           "a matrix that is not aligned as was said, or none");
    DEMAND(workspace_bytes >= chosen[choice].workspace && has_alignment(workspace, 256), "a workspace too small or not aligned");
    DEMAND(stream, "the default stream");
    job_t *job = calloc(1, sizeof *job);
    if (!job) abort();
    *job = (job_t){problem, *(const float *)alpha, *(const float *)beta, a, b, d, workspace, workspace_bytes, jobs};
    jobs = job;
    return launch(stream, run, job) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
