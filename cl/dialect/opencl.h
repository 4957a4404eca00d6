// The kernel dialect in OpenCL C 1.2 (README.md has the words). The driver puts -D for WG, the constants and the element types DT_<binding>
// in front, then this file, the kernel's .inc and its .cl; the build replaces #include lines by the files.
#define FUNCTION
#define NUMBER(name, value) enum { name = value };
#define TO_FLOAT(x) ((float)(x))
#define TO_INT(x) ((int)(x))
#define TO_UINT(x) ((uint)(x))
#define AS_UINT(x) as_uint(x)
#define AS_FLOAT(x) as_float(x)
#define MUL_HI(a, b) mul_hi((uint)(a), (uint)(b))
#define POPCOUNT(x) popcount(x)
#define INT4(a, b, c, d) ((int4)(a, b, c, d))
#define FLOAT4(a, b, c, d) ((float4)(a, b, c, d))
#define UNROLL _Pragma("unroll")
#if WG == 1  // compilers for processors make much better code of kernels without barriers
#define BARRIER
#else
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define BARRIER_GLOBAL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define LOCAL_ID ((uint)get_local_id(0))
#define GROUP_ID                                                                                                        \
    (p.first_group + (uint)get_group_id(0) +                                                                            \
     (uint)get_num_groups(0) * ((uint)get_group_id(1) + (uint)get_num_groups(1) * (uint)get_group_id(2)))
#define GLOBAL_ID (GROUP_ID * WG + LOCAL_ID)

// Element types as in bpt/dtype.h: 0 f32, 1 bf16, 2 f16.
float load_element(uint dtype, __global const void *data, uint i) {
    if (dtype == 0u) return ((__global const float *)data)[i];
    if (dtype == 2u) return vload_half(i, (__global const half *)data);
    return as_float((uint)((__global const ushort *)data)[i] << 16);
}
void store_element(uint dtype, __global void *data, uint i, float v) {
    if (dtype == 0u)
        ((__global float *)data)[i] = v;
    else if (dtype == 2u)
        vstore_half_rte(v, i, (__global half *)data);
    else {
        const uint bits = as_uint(v);
        ((__global ushort *)data)[i] =
            (bits & 0x7FFFFFFFu) > 0x7F800000u ? (ushort)(bits >> 16 | 0x40u) : (ushort)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
    }
}
// Vectors of SIMD_WIDTH floats, a constant of the kernels that have them.
#if SIMD_WIDTH == 16
#define VECTOR float16
#define VECTOR_FOURS 4u
#define VECTOR_FETCH(x, i) vload16(i, (__global const float *)x)
#define VECTOR_OF(array, i) vload16(0, (__local const float *)(array + (i)))
#define VECTOR_PUT(array, i, v) vstore16(v, 0, (__local float *)(array + (i)))
#define VECTOR_PART(v, part) ((part) == 0u ? (v).s0123 : (part) == 1u ? (v).s4567 : (part) == 2u ? (v).s89ab : (v).scdef)
#define VECTOR_ZERO ((float16)(0.0f))
#elif SIMD_WIDTH == 8
#define VECTOR float8
#define VECTOR_FOURS 2u
#define VECTOR_FETCH(x, i) vload8(i, (__global const float *)x)
#define VECTOR_OF(array, i) vload8(0, (__local const float *)(array + (i)))
#define VECTOR_PUT(array, i, v) vstore8(v, 0, (__local float *)(array + (i)))
#define VECTOR_PART(v, part) ((part) == 0u ? (v).s0123 : (v).s4567)
#define VECTOR_ZERO ((float8)(0.0f))
#else
#include "cl/dialect/vector.h"
#endif

#define LOAD(x, i) load_element(DT_##x, x, i)
#define STORE(x, i, v) store_element(DT_##x, x, i, v)
float4 load_four(uint dtype, __global const void *data, uint i) {
    if (dtype == 0u) return vload4(0, (__global const float *)data + i);
    if (dtype == 2u) return vload_half4(0, (__global const half *)data + i);
    return as_float4(convert_uint4(vload4(0, (__global const ushort *)data + i)) << 16);
}
#define LOAD4(x, i) load_four(DT_##x, x, i)
#define READ(x, i) LOAD(x, i)
#define READ4(x, i) LOAD4(x, i)
#define AT(x, i) x[i]
#define PUT(x, i, v) x[i] = v
#define FETCH(x, i) x[i]

#define TYPE_F __global void *
#define TYPE_R __global float *
#define TYPE_U __global uint *
#define TYPE_V __global float4 *
#define TYPE_G TYPE_F
#define TYPE_T TYPE_V
#define STRUCT(name)          \
    typedef struct name name; \
    struct name

// The context of a kernel's functions: its parameters and where its bindings and local arrays are. Functions are expanded where they are
// called, so nothing of it is passed in the end.
#define FIELD(type, name) type name;
#define MEMBER(number, kind, name) TYPE_##kind name;
#define LOCAL_MEMBER(type, name, size) __local type *name;
#define KERNEL_TYPES          \
    STRUCT(params_t) {        \
        uint first_group;     \
        uchar skew[16];       \
        PARAMS(FIELD)         \
    };                        \
    STRUCT(context_t) {       \
        params_t p;           \
        BINDINGS(MEMBER)      \
        LOCALS(LOCAL_MEMBER)  \
    };
#define CONTEXT const context_t context
#define PASS context
#define OPEN_BINDING(number, kind, name) TYPE_##kind name = context.name;
#define OPEN_LOCAL(type, name, size) __local type *name = context.name;
#define OPEN                      \
    const params_t p = context.p; \
    BINDINGS(OPEN_BINDING)        \
    LOCALS(OPEN_LOCAL)

#define ARGUMENT(number, kind, name) __global uchar *name##_base, ulong name##_offset,
#define POINTER(number, kind, name) TYPE_##kind name = (TYPE_##kind)(name##_base + name##_offset);
#define LOCAL_ARRAY(type, name, size) __local type name[size];
#define GIVE(number, kind, name) , name
#define GIVE_LOCAL(type, name, size) , name
#define KERNEL_BEGIN                                                                                                    \
    __kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void KERNEL(BINDINGS(ARGUMENT) const params_t p) {         \
        BINDINGS(POINTER)                                                                                               \
        LOCALS(LOCAL_ARRAY)                                                                                             \
        const context_t context = {p BINDINGS(GIVE) LOCALS(GIVE_LOCAL)};
#define KERNEL_END }

#include "cl/dialect/random.h"
#include "cl/dialect/reduce.h"
