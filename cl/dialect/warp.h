// What the 32 work-items of a warp do together, in CUDA alone: tensor cores, fragments of matrices from local memory, values of other items. A
// kernel includes this behind cuda.h, has work-groups of whole warps, and lets all items of a warp come to each of these together. Fragments lie as
// the PTX manual says (mma.m16n8k16, ldmatrix). load_matrix_*, warp_transposed, warp_mma_* and warp_pair_* need compute capability 8.0: a kernel
// that calls them does not compile for less.
#define WARP 32u
#define LANE (LOCAL_ID % WARP)
#define WARP_BARRIER __syncwarp()  // orders memory for the items of the warp

// The value of another item; warp_shuffle_down gives the last `by` items their own.
static __device__ __forceinline__ float warp_shuffle(float v, uint lane) { return __shfl_sync(0xFFFFFFFFu, v, (int)lane); }
static __device__ __forceinline__ uint warp_shuffle(uint v, uint lane) { return __shfl_sync(0xFFFFFFFFu, v, (int)lane); }
static __device__ __forceinline__ float warp_shuffle_xor(float v, uint bits) { return __shfl_xor_sync(0xFFFFFFFFu, v, (int)bits); }
static __device__ __forceinline__ uint warp_shuffle_xor(uint v, uint bits) { return __shfl_xor_sync(0xFFFFFFFFu, v, (int)bits); }
static __device__ __forceinline__ float warp_shuffle_down(float v, uint by) { return __shfl_down_sync(0xFFFFFFFFu, v, by); }
static __device__ __forceinline__ uint warp_shuffle_down(uint v, uint by) { return __shfl_down_sync(0xFFFFFFFFu, v, by); }

#if !defined(BPT_EMULATED) && __CUDA_ARCH__ >= 800
// Matrices of 8 x 8 16-bit elements from local memory. `row` of item l is the address of row l % 8 of matrix l / 8, a multiple of 16 bytes
// (x1 looks at items 0 to 7, x2 at 0 to 15; the others' must be valid). Each item gets elements 2 (l % 4) and the next of row l / 4 of
// every matrix, the first in the lower half; transposed: of column l / 4.
#define LOAD_MATRIX_1(name, suffix)                                                   \
    static __device__ __forceinline__ uint name(const void *row) {                    \
        uint x;                                                                       \
        asm volatile("ldmatrix.sync.aligned.m8n8.x1" suffix ".shared.b16 {%0}, [%1];" \
                     : "=r"(x)                                                        \
                     : "r"((uint)__cvta_generic_to_shared(row))                       \
                     : "memory");                                                     \
        return x;                                                                     \
    }
#define LOAD_MATRIX_2(name, suffix)                                                       \
    static __device__ __forceinline__ uint2 name(const void *row) {                       \
        uint2 v;                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" suffix ".shared.b16 {%0, %1}, [%2];" \
                     : "=r"(v.x), "=r"(v.y)                                               \
                     : "r"((uint)__cvta_generic_to_shared(row))                           \
                     : "memory");                                                         \
        return v;                                                                         \
    }
#define LOAD_MATRIX_4(name, suffix)                                                               \
    static __device__ __forceinline__ uint4 name(const void *row) {                               \
        uint4 v;                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" suffix ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                 \
                     : "r"((uint)__cvta_generic_to_shared(row))                                   \
                     : "memory");                                                                 \
        return v;                                                                                 \
    }
LOAD_MATRIX_1(load_matrix_x1, "")
LOAD_MATRIX_2(load_matrix_x2, "")
LOAD_MATRIX_4(load_matrix_x4, "")
LOAD_MATRIX_1(load_matrix_x1_transposed, ".trans")
LOAD_MATRIX_2(load_matrix_x2_transposed, ".trans")
LOAD_MATRIX_4(load_matrix_x4_transposed, ".trans")

// A matrix of 8 x 8 16-bit elements, of which each item has the word that load_matrix_x1 would give it, transposed.
static __device__ __forceinline__ uint warp_transposed(uint x) {
    uint y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

// d (16 x 8, f32) += a (16 x 16) b (16 x 8).
#define WARP_MMA(name, type)                                                                                                      \
    static __device__ __forceinline__ void name(float4 &d, uint4 a, uint2 b) {                                                    \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                     "{%0, %1, %2, %3};"                                                                                          \
                     : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w)                                                                 \
                     : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));                                               \
    }
WARP_MMA(warp_mma_bf16, "bf16")
WARP_MMA(warp_mma_f16, "f16")

// Two numbers rounded to 16 bits, x in the lower half.
#define WARP_PAIR(name, type)                                                          \
    static __device__ __forceinline__ uint name(float x, float y) {                    \
        uint pair;                                                                     \
        asm("cvt.rn." type "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));        \
        return pair;                                                                   \
    }
WARP_PAIR(warp_pair_bf16, "bf16")
WARP_PAIR(warp_pair_f16, "f16")
#endif
