// The kernel dialect in CUDA C++ as NVRTC compiles it, without any header (README.md has the words). The driver gives -D for WG, the
// constants and the element types DT_<binding>; then come this file, the kernel's .inc and its .cl; the build replaces #include lines by the
// files. A binding is a pointer to its first element, NULL where the kernel never reads it.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;

#define FUNCTION static __device__ __forceinline__
#define NUMBER(name, value) enum { name = value };
#if __CUDA_ARCH__ >= 800
#define MMA  // see matrix.h
#endif
#define TO_FLOAT(x) ((float)(x))
#define TO_INT(x) ((int)(x))
#define TO_UINT(x) ((uint)(x))
#define AS_UINT(x) __float_as_uint(x)
#define AS_FLOAT(x) __uint_as_float(x)
#define MUL_HI(a, b) __umulhi((uint)(a), (uint)(b))
#define POPCOUNT(x) __popc(x)
#define INT4(a, b, c, d) make_int4(a, b, c, d)
#define FLOAT4(a, b, c, d) make_float4(a, b, c, d)
#define UNROLL _Pragma("unroll")
#define BARRIER __syncthreads()  // orders bindings too, for the items of the group
#define BARRIER_GLOBAL __syncthreads()

#define LOCAL_ID threadIdx.x
#define GROUP_ID (p.first_group + blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z))
#define GLOBAL_ID (GROUP_ID * WG + LOCAL_ID)

// What kernels do with float4s; CUDA has the type without its arithmetic.
static __device__ __forceinline__ float4 operator*(float s, float4 v) { return make_float4(s * v.x, s * v.y, s * v.z, s * v.w); }
static __device__ __forceinline__ float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
static __device__ __forceinline__ void operator+=(float4 &sum, float4 v) {
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
}

// The instructions of f16 belong to every architecture that NVRTC knows. tests/emulator, which compiles this for the processor, has what is
// assembly here (also in warp.h) in C++.
#ifndef BPT_EMULATED
static __device__ __forceinline__ float half_to_float(ushort bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}
static __device__ __forceinline__ ushort float_to_half(float v) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
#endif

// Element types as in bpt/dtype.h: 0 f32, 1 bf16, 2 f16.
static __device__ __forceinline__ float load_element(uint dtype, const void *data, uint i) {
    if (dtype == 0u) return ((const float *)data)[i];
    const ushort bits = ((const ushort *)data)[i];
    return dtype == 2u ? half_to_float(bits) : __uint_as_float((uint)bits << 16);
}
static __device__ __forceinline__ void store_element(uint dtype, void *data, uint i, float v) {
    const uint bits = __float_as_uint(v);
    if (dtype == 0u)
        ((float *)data)[i] = v;
    else if (dtype == 2u)
        ((ushort *)data)[i] = float_to_half(v);
    else
        ((ushort *)data)[i] =
            (bits & 0x7FFFFFFFu) > 0x7F800000u ? (ushort)(bits >> 16 | 0x40u) : (ushort)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
#define LOAD(x, i) load_element(DT_##x, x, i)
#define STORE(x, i, v) store_element(DT_##x, x, i, v)
#define READ(x, i) LOAD(x, i)
#define AT(x, i) x[i]
#define PUT(x, i, v) x[i] = v
#define FETCH(x, i) x[i]
#define LOAD4(x, i) FLOAT4(LOAD(x, i), LOAD(x, (i) + 1u), LOAD(x, (i) + 2u), LOAD(x, (i) + 3u))
#define READ4(x, i) LOAD4(x, i)
#define UINT4(a, b, c, d) make_uint4(a, b, c, d)
#define HALVES(a, b) ((uint)float_to_half(a) | (uint)float_to_half(b) << 16)
#define LOAD_HALF(x, i) half_to_float(x[i])
#define EIGHT(x, i) (*(const uint4 *)(x + (i)))

#define TYPE_F void *
#define TYPE_R float *
#define TYPE_U uint *
#define TYPE_V float4 *
#define TYPE_G TYPE_F
#define TYPE_T TYPE_V
#define TYPE_E ushort *
#define STRUCT(name) struct name

// The context of a kernel's functions: its parameters and where its bindings are. Functions are expanded where they are called, so nothing of
// it is passed in the end. Local arrays have names outside of functions.
#define FIELD(type, name) type name;
#define MEMBER(number, kind, name) TYPE_##kind name;
#define LOCAL_ARRAY(type, name, size) __shared__ type name[size];
#define KERNEL_TYPES          \
    struct params_t {         \
        uint first_group;     \
        uchar skew[16];       \
        PARAMS(FIELD)         \
    };                        \
    struct context_t {        \
        params_t p;           \
        BINDINGS(MEMBER)      \
    };                        \
    LOCALS(LOCAL_ARRAY)
#define CONTEXT const context_t &context
#define PASS context
#define OPEN_BINDING(number, kind, name) TYPE_##kind const name = context.name;
#define OPEN                       \
    const params_t &p = context.p; \
    BINDINGS(OPEN_BINDING)

#define ARGUMENT(number, kind, name) void *name##_base,
#define POINTER(number, kind, name) TYPE_##kind const name = (TYPE_##kind)name##_base;
#define GIVE(number, kind, name) , name
// At least so many items share a multiprocessor and its 65,536 registers: with 256 an item may take all it wants, and a kernel that does with less
// says so. Left to itself, ptxas may spill to take 64.
#define LEAST_ITEMS 256u
#define LEAST_GROUPS (WG < LEAST_ITEMS ? LEAST_ITEMS / WG : 1u)
#define KERNEL_BEGIN                                                                                                   \
    extern "C" __global__ void __launch_bounds__(WG, LEAST_GROUPS) KERNEL(BINDINGS(ARGUMENT) const params_t p) {       \
        BINDINGS(POINTER)                                                                                              \
        const context_t context = {p BINDINGS(GIVE)};
#define KERNEL_END }

#include "cl/dialect/vector.h"
#include "cl/dialect/random.h"
#include "cl/dialect/reduce.h"
