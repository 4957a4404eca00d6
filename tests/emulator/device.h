// What NVRTC has built in, as far as kernels use it, for the host's C++ compiler: put in front of a kernel's text by compiler.c. It needs
// no other header, so that compiling is quick. Barriers and what the lanes of a warp do together are the emulator's (block.h).
#include "block.h"
#include "numbers.h"

#define BPT_EMULATED  // the dialect leaves to this file what it has as inline assembly
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("emulated_shared")))

struct int2 {
    int x, y;
} __attribute__((aligned(8)));
struct uint2 {
    unsigned x, y;
} __attribute__((aligned(8)));
struct float2 {
    float x, y;
} __attribute__((aligned(8)));
struct int4 {
    int x, y, z, w;
} __attribute__((aligned(16)));
struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));
struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static inline unsigned __float_as_uint(float v) { return emulated_bits(v); }
static inline float __uint_as_float(unsigned bits) { return emulated_float(bits); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
static inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
static inline float min(float a, float b) { return __builtin_fminf(a, b); }
static inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static inline float exp(float x) { return __builtin_expf(x); }
static inline float log(float x) { return __builtin_logf(x); }
static inline float sqrt(float x) { return __builtin_sqrtf(x); }

// ---- The block ---------------------------------------------------------------------------------------------------------

extern "C" {
static emulated_block_t *emulated;
}
#define threadIdx emulated->thread
#define blockIdx emulated->block
#define gridDim emulated->grid
#define blockDim emulated->block_size
#define __syncthreads() emulated->barrier(__COUNTER__, __FILE__, __LINE__)
static inline void __syncwarp() { emulated->warp(EMULATED_SYNC, 0, nullptr, 0, nullptr, 0); }

// ---- Warps: all lanes take part, so a mask is that of all --------------------------------------------------------------

template <typename T> static inline T emulated_shuffle(int mode, unsigned mask, T v, unsigned lane) {
    static_assert(sizeof(T) == 4, "the emulator shuffles words");
    T out;
    unsigned in[2] = {0, lane};
    __builtin_memcpy(in, &v, 4);
    if (mask != 0xFFFFFFFFu) emulated->fault(EMULATED_LAUNCH_FAILED, "", 0, "a shuffle of a part of the lanes");
    emulated->warp(EMULATED_SHUFFLE, mode, in, 2, &out, 1);
    return out;
}
#define EMULATED_LANE (emulated->thread.x % 32u)
template <typename T> static inline T __shfl_sync(unsigned mask, T v, int lane) {
    return emulated_shuffle(0, mask, v, (unsigned)lane % 32u);
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int bits) {
    return emulated_shuffle(1, mask, v, EMULATED_LANE ^ (unsigned)bits);
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by) {
    return emulated_shuffle(2, mask, v, EMULATED_LANE + by);
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by) {
    return emulated_shuffle(3, mask, v, EMULATED_LANE - by);
}

// ---- What the dialect has as inline assembly (cl/dialect/cuda.h, cl/dialect/warp.h) --------------------------------------

static inline float half_to_float(unsigned short bits) { return emulated_half_to_float(bits); }
static inline unsigned short float_to_half(float v) { return emulated_float_to_half(v); }

static inline unsigned load_matrix_x1(const void *row) {
    unsigned out;
    emulated->warp(EMULATED_LOAD_MATRIX, 1, &row, 2, &out, 1);
    return out;
}
static inline uint2 load_matrix_x2(const void *row) {
    uint2 out;
    emulated->warp(EMULATED_LOAD_MATRIX, 2, &row, 2, &out, 2);
    return out;
}
static inline uint4 load_matrix_x4(const void *row) {
    uint4 out;
    emulated->warp(EMULATED_LOAD_MATRIX, 4, &row, 2, &out, 4);
    return out;
}
static inline unsigned load_matrix_x1_transposed(const void *row) {
    unsigned out;
    emulated->warp(EMULATED_LOAD_MATRIX, 8 + 1, &row, 2, &out, 1);
    return out;
}
static inline uint2 load_matrix_x2_transposed(const void *row) {
    uint2 out;
    emulated->warp(EMULATED_LOAD_MATRIX, 8 + 2, &row, 2, &out, 2);
    return out;
}
static inline uint4 load_matrix_x4_transposed(const void *row) {
    uint4 out;
    emulated->warp(EMULATED_LOAD_MATRIX, 8 + 4, &row, 2, &out, 4);
    return out;
}
static inline unsigned warp_transposed(unsigned x) {
    unsigned out;
    emulated->warp(EMULATED_TRANSPOSE, 0, &x, 1, &out, 1);
    return out;
}
static inline void emulated_mma(int mode, float4 &d, uint4 a, uint2 b) {
    unsigned in[10] = {a.x, a.y, a.z, a.w, b.x, b.y};
    __builtin_memcpy(in + 6, &d, sizeof d);
    emulated->warp(EMULATED_MMA, mode, in, 10, &d, 4);
}
static inline void warp_mma_bf16(float4 &d, uint4 a, uint2 b) { emulated_mma(1, d, a, b); }
static inline void warp_mma_f16(float4 &d, uint4 a, uint2 b) { emulated_mma(2, d, a, b); }
static inline unsigned warp_pair_f16(float x, float y) { return emulated_float_to_half(x) | (unsigned)emulated_float_to_half(y) << 16; }
static inline unsigned warp_pair_bf16(float x, float y) { return emulated_float_to_bf16(x) | (unsigned)emulated_float_to_bf16(y) << 16; }

// ---- Checks: what -fsanitize finds (the names and arguments are those of its run-time library) --------------------------

struct emulated_place {
    const char *file;
    unsigned line, column;
};
static void emulated_stop(emulated_fault_t fault, const void *place, const char *what) {
    emulated->fault(fault, ((const emulated_place *)place)->file, (int)((const emulated_place *)place)->line, what);
}
extern "C" {
void __ubsan_handle_type_mismatch_v1_abort(void *place, void *) {
    emulated_stop(EMULATED_MISALIGNED_ADDRESS, place, "a misaligned address");
}
void __ubsan_handle_out_of_bounds_abort(void *place, void *) {
    emulated_stop(EMULATED_ILLEGAL_ADDRESS, place, "an index beyond the end of an array");
}
void __ubsan_handle_shift_out_of_bounds_abort(void *place, void *, void *) {
    emulated_stop(EMULATED_LAUNCH_FAILED, place, "a shift by more bits than there are");
}
void __ubsan_handle_divrem_overflow_abort(void *place, void *, void *) {
    emulated_stop(EMULATED_LAUNCH_FAILED, place, "a division by zero");
}
}

// ---- What is exported; compiler.c puts EMULATED_KERNEL behind the text ---------------------------------------------------

extern "C" char __start_emulated_shared[] __attribute__((weak)), __stop_emulated_shared[] __attribute__((weak));

template <int... I> struct emulated_numbers {};
template <int N, int... I> struct emulated_count : emulated_count<N - 1, N - 1, I...> {};
template <int... I> struct emulated_count<0, I...> { typedef emulated_numbers<I...> numbers; };
template <typename T> struct emulated_bare { typedef T type; };
template <typename T> struct emulated_bare<const T> { typedef T type; };
template <typename... A> struct emulated_signature {
    static constexpr unsigned bytes[] = {sizeof(A)...};
    template <int... I> static void call(void (*kernel)(A...), void **arguments, emulated_numbers<I...>) {
        kernel(*(typename emulated_bare<A>::type *)arguments[I]...);
    }
};
template <typename... A> static emulated_signature<A...> emulated_signature_of(void (*)(A...)) { return {}; }
template <typename... A> static void emulated_run(void (*kernel)(A...), void **arguments) {
    emulated_signature<A...>::call(kernel, arguments, typename emulated_count<sizeof...(A)>::numbers{});
}
#define EMULATED_KERNEL                                                                                           \
    typedef decltype(emulated_signature_of(KERNEL)) emulated_kernel_signature;                                    \
    extern "C" __attribute__((visibility("default")))                                                             \
    const emulated_kernel_t emulated_kernel = {&emulated,                                                         \
                                               [](void **arguments) { emulated_run(KERNEL, arguments); },                                          \
                                               __start_emulated_shared,                                           \
                                               __stop_emulated_shared,                                            \
                                               (int)(WG),                                                         \
                                               (int)(sizeof emulated_kernel_signature::bytes / sizeof(unsigned)), \
                                               emulated_kernel_signature::bytes};
