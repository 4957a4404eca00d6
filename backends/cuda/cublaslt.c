// Products of matrices by cuBLASLt (see cublaslt.h). It stores matrices by columns: what we store by rows it sees transposed, so it
// multiplies op(b)' op(a)' = c', and what we add per column is its bias per row.
#include "backends/cuda/cublaslt.h"

#include "bpt/alloc.h"

struct bpt_cublaslt_product {
    const bpt_cublaslt_functions_t *lt;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
    CUdeviceptr place_a, place_b, place_c, workspace;
    size_t workspace_bytes;
    float scale;
    bool add;
};

static bpt_status_t check(const bpt_cublaslt_functions_t *lt, cublasStatus_t code, const char *what) {
    if (code == CUBLAS_STATUS_SUCCESS) return BPT_OK;
    const bpt_status_t status = code == CUBLAS_STATUS_ALLOC_FAILED ? BPT_ERR_NO_MEMORY : BPT_ERR_UNSUPPORTED;
    const char *name = lt->cublasLtGetStatusName(code);
    return bpt_fail(status, "cuBLASLt %d.%d: %s failed with %s (%d); BPT_TUNING=tiles multiplies without it", lt->major, lt->minor, what,
                    name ? name : "an unknown status", (int)code);
}

// ---- What it can -----------------------------------------------------------------------------------------------------

bool bpt_cublaslt_can(bpt_gpu_api_t *base, const bpt_gpu_product_t *p) {
    const bool modern = ((bpt_cuda_api_t *)base)->capability >= 80;  // has units for bf16 and TF32
    if (p->has_bias && p->result != BPT_F32) return false;           // it takes a bias in the result's type only
    if (p->masked && (p->result == BPT_F32 || p->add || p->has_bias || p->relu)) return false;
    if (p->masked && (p->n | p->lda | p->ldb | p->ldc) % 8) return false;  // its manual does not say what else it takes
    if (p->operands == BPT_F32) return p->result == BPT_F32 && (modern || !p->tf32);
    if (p->tf32 || (p->operands == BPT_BF16 && !modern)) return false;
    return (p->operands == BPT_BF16 || p->operands == BPT_F16) && (p->result == p->operands || p->result == BPT_F32);
}

// What NVIDIA recommends for the generation: a constant, since the choice of algorithms depends on it.
static size_t workspace_bytes(const bpt_cuda_api_t *api) { return (size_t)(api->capability >= 90 ? 32 : 8) << 20; }

bpt_status_t bpt_cublaslt_scratch(bpt_gpu_api_t *base, const bpt_gpu_product_t *product, size_t *bytes) {
    const bpt_cublaslt_functions_t *lt;
    (void)product;
    *bytes = workspace_bytes((const bpt_cuda_api_t *)base);
    return bpt_cublaslt_load(&lt);
}

// ---- Recording -------------------------------------------------------------------------------------------------------

static cudaDataType_t type_of(bpt_dtype_t dtype) { return dtype == BPT_F32 ? CUDA_R_32F : dtype == BPT_BF16 ? CUDA_R_16BF : CUDA_R_16F; }

static CUdeviceptr address_of(const bpt_gpu_binding_t *b) { return b->memory ? b->memory->address + b->offset_bytes : 0; }

static bpt_status_t set(const bpt_cublaslt_functions_t *lt, cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which,
                        const void *value, size_t bytes) {
    return check(lt, lt->cublasLtMatmulDescSetAttribute(operation, which, value, bytes), "describing a product");
}

static bpt_status_t set_epilogue(const bpt_cublaslt_functions_t *lt, cublasLtMatmulDesc_t operation, const bpt_gpu_product_t *p) {
    const cublasLtEpilogue_t epilogue = p->masked     ? CUBLASLT_EPILOGUE_DRELU
                                        : p->has_bias ? (p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                        : p->relu     ? CUBLASLT_EPILOGUE_RELU
                                                      : CUBLASLT_EPILOGUE_DEFAULT;
    const CUdeviceptr bias = address_of(&p->bias), mask = address_of(&p->mask);
    const int64_t ldmask = p->ldmask;
    BPT_TRY(set(lt, operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (p->masked) BPT_TRY(set(lt, operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &mask, sizeof mask));
    if (p->masked) BPT_TRY(set(lt, operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ldmask, sizeof ldmask));
    return p->has_bias ? set(lt, operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias) : BPT_OK;
}

// A matrix of ours with `columns` elements in a row, `ld` from row to row.
static bpt_status_t lay_out(const bpt_cublaslt_functions_t *lt, bpt_dtype_t dtype, uint32_t rows, uint32_t columns, uint32_t ld,
                            cublasLtMatrixLayout_t *out) {
    return check(lt, lt->cublasLtMatrixLayoutCreate(out, type_of(dtype), columns, rows, ld), "describing a matrix");
}

static bpt_status_t describe(const bpt_gpu_product_t *p, bpt_cublaslt_product_t *out) {
    const bpt_cublaslt_functions_t *lt = out->lt;
    const cublasOperation_t of_a = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, of_b = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasComputeType_t compute = p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    BPT_TRY(check(lt, lt->cublasLtMatmulDescCreate(&out->operation, compute, CUDA_R_32F), "describing a product"));
    BPT_TRY(set(lt, out->operation, CUBLASLT_MATMUL_DESC_TRANSA, &of_a, sizeof of_a));
    BPT_TRY(set(lt, out->operation, CUBLASLT_MATMUL_DESC_TRANSB, &of_b, sizeof of_b));
    BPT_TRY(set_epilogue(lt, out->operation, p));
    BPT_TRY(lay_out(lt, p->operands, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n, p->ldb, &out->a));
    BPT_TRY(lay_out(lt, p->operands, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k, p->lda, &out->b));
    return lay_out(lt, p->result, p->m, p->n, p->ldc, &out->c);
}

static uint32_t alignment_of(CUdeviceptr place) {
    uint32_t alignment = 256;  // more makes no difference
    while (place % alignment) alignment /= 2;
    return alignment;
}

// Partial sums of a depth that is cut are f32 and added up in a fixed order: neither in place, as blocks finish, nor rounded.
static bpt_status_t prefer(const bpt_cublaslt_product_t *p, cublasLtMatmulPreference_t preference) {
    const uint64_t workspace = p->workspace_bytes;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, a = alignment_of(p->place_a),
                   b = alignment_of(p->place_b), c = alignment_of(p->place_c);
    const struct {
        cublasLtMatmulPreferenceAttributes_t which;
        const void *value;
        size_t bytes;
    } wishes[] = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
                  {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c}};
    for (size_t i = 0; i < BPT_COUNT(wishes); ++i)
        BPT_TRY(check(p->lt, p->lt->cublasLtMatmulPreferenceSetAttribute(preference, wishes[i].which, wishes[i].value, wishes[i].bytes),
                      "choosing an algorithm"));
    return BPT_OK;
}

// The first of its list for this shape, these types and alignments; nothing is timed.
static bpt_status_t choose(cublasLtHandle_t handle, bpt_cublaslt_product_t *p) {
    cublasLtMatmulHeuristicResult_t best;
    cublasLtMatmulPreference_t preference;
    int found = 0;
    BPT_TRY(check(p->lt, p->lt->cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm"));
    bpt_status_t status = prefer(p, preference);
    if (status == BPT_OK)
        status =
            check(p->lt, p->lt->cublasLtMatmulAlgoGetHeuristic(handle, p->operation, p->a, p->b, p->c, p->c, preference, 1, &best, &found),
                  "choosing an algorithm");
    if (status == BPT_OK) status = check(p->lt, found ? best.state : CUBLAS_STATUS_NOT_SUPPORTED, "choosing an algorithm");
    if (status == BPT_OK) p->algorithm = best.algo;
    (void)p->lt->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

bpt_status_t bpt_cublaslt_record(bpt_cuda_api_t *api, const bpt_gpu_product_t *product, bpt_cublaslt_product_t **out) {
    const bpt_cublaslt_functions_t *lt;
    BPT_TRY(bpt_cublaslt_load(&lt));
    BPT_TRY(bpt_cuda_enter(api));
    if (!api->cublaslt) BPT_TRY(check(lt, lt->cublasLtCreate(&api->cublaslt), "starting it on this device"));
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    bpt_cublaslt_product_t *p = *out;
    p->lt = lt;
    p->place_a = address_of(&product->b), p->place_b = address_of(&product->a), p->place_c = address_of(&product->c);
    p->workspace = address_of(&product->scratch);
    p->workspace_bytes = workspace_bytes(api);
    p->add = product->add;
    p->scale = product->masked ? product->scale : 1;
    BPT_TRY(describe(product, p));
    return choose(api->cublaslt, p);
}

void bpt_cublaslt_forget(bpt_cublaslt_product_t *p) {
    if (!p) return;
    const cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->c};
    for (size_t i = 0; i < BPT_COUNT(layouts); ++i)
        if (layouts[i]) (void)p->lt->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (p->operation) (void)p->lt->cublasLtMatmulDescDestroy(p->operation);
    bpt_free(p);
}

// ---- Running ---------------------------------------------------------------------------------------------------------

static void *pointer(CUdeviceptr place) { return (void *)(uintptr_t)place; }

bpt_status_t bpt_cublaslt_enqueue(bpt_cuda_api_t *api, const bpt_cublaslt_product_t *p) {
    const float beta = p->add ? 1 : 0;
    return check(p->lt,
                 p->lt->cublasLtMatmul(api->cublaslt, p->operation, &p->scale, pointer(p->place_a), p->a, pointer(p->place_b), p->b, &beta,
                                       pointer(p->place_c), p->c, pointer(p->place_c), p->c, &p->algorithm, pointer(p->workspace),
                                       p->workspace_bytes, api->stream),
                 "starting a product");
}

void bpt_cublaslt_close(bpt_cuda_api_t *api) {
    const bpt_cublaslt_functions_t *lt;
    if (api->cublaslt && bpt_cublaslt_load(&lt) == BPT_OK) (void)lt->cublasLtDestroy(api->cublaslt);
    api->cublaslt = NULL;
}
