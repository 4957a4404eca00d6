// The kernel dialect in GLSL (cl/README.md has the words). Specialisation constants: 0 the work-group's size, 1.. the kernel's constants, 64.. the
// element types of the bindings. With BPT_F16 a shader reads and writes 16-bit elements too; with BPT_SUBGROUPS it may rely on subgroups that
// are full and of one size; with BPT_TEXELS its bindings of kinds G and T are texel buffers.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef BPT_F16
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#ifdef BPT_TEXELS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#ifdef BPT_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define SUBGROUP_ID gl_SubgroupID
#define SUBGROUP_LANE gl_SubgroupInvocationID
#define SUBGROUP_SIZE gl_SubgroupSize
#define SUBGROUP_XOR(value, mask) subgroupShuffleXor(value, mask)
#define SUBGROUP_SHUFFLE(value, lane) subgroupShuffle(value, lane)
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WG = 64;

#define FUNCTION
#define NUMBER(name, value) const uint name = value;
#define TO_FLOAT(x) float(x)
#define TO_INT(x) int(x)
#define TO_UINT(x) uint(x)
#define AS_UINT(x) floatBitsToUint(x)
#define AS_FLOAT(x) uintBitsToFloat(x)
#define POPCOUNT(x) bitCount(x)
#define int4 ivec4
#define float4 vec4
#define INT4(a, b, c, d) ivec4(a, b, c, d)
#define FLOAT4(a, b, c, d) vec4(a, b, c, d)
#define UNROLL [[unroll]]
#define BARRIER memoryBarrierShared(); barrier()
#define BARRIER_GLOBAL memoryBarrierBuffer(); memoryBarrierShared(); barrier()
uint MUL_HI(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return high;
}

#define LOCAL_ID gl_LocalInvocationID.x
#define GROUP_ID (p.first_group + gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z))
#define GLOBAL_ID (GROUP_ID * WG + LOCAL_ID)

// Each binding begins `skew` elements before the operand, a byte of p.skew per binding; those of kind V by whole vectors.
#ifdef BPT_F16
#define LOAD(x, i) (DT_##x == 2u ? float(x##_half[x##_skew + (i)]) : x[x##_skew + (i)])
#define STORE(x, i, v) { if (DT_##x == 2u) x##_half[x##_skew + (i)] = float16_t(v); else x[x##_skew + (i)] = v; }
#else
#define LOAD(x, i) x[x##_skew + (i)]
#define STORE(x, i, v) x[x##_skew + (i)] = v
#endif
#define AT(x, i) x[x##_skew + (i)]
#define LOAD4(x, i) FLOAT4(LOAD(x, i), LOAD(x, (i) + 1u), LOAD(x, (i) + 2u), LOAD(x, (i) + 3u))

#define CONSTANT(number, name) layout(constant_id = 1 + number) const uint name = 1;
#ifdef BPT_F16
#define BUFFER_F(number, name)                                                                          \
    layout(constant_id = 64 + number) const uint DT_##name = 0;                                         \
    layout(std430, set = 0, binding = number) buffer name##_block { float name[]; };                    \
    layout(std430, set = 0, binding = number) buffer name##_half_block { float16_t name##_half[]; };
#else
#define BUFFER_F(number, name) layout(std430, set = 0, binding = number) buffer name##_block { float name[]; };
#endif
#define BUFFER_R(number, name) layout(std430, set = 0, binding = number) buffer name##_block { float name[]; };
#define BUFFER_U(number, name) layout(std430, set = 0, binding = number) buffer name##_block { uint name[]; };
#ifdef BPT_TEXELS
// lavapipe stores number by number, whatever their size.
#define BUFFER_V(number, name)                                                                \
    layout(std430, set = 0, binding = number) buffer name##_block { vec4 name[]; };           \
    layout(std430, set = 0, binding = number) buffer name##_pairs_block { u64vec2 name##_pairs[]; };
#define PUT(x, i, v) x##_pairs[x##_skew + (i)] = PAIRS(v)
u64vec2 PAIRS(vec4 v) {
    const uvec4 bits = floatBitsToUint(v);
    return u64vec2(packUint2x32(bits.xy), packUint2x32(bits.zw));
}
#define BUFFER_G(number, name) layout(set = 0, binding = number) uniform samplerBuffer name;
#define BUFFER_T(number, name) BUFFER_G(number, name)
#define READ(x, i) texelFetch(x, int(x##_skew + (i))).r
#define FETCH(x, i) texelFetch(x, int(x##_skew + (i)))
#else
#define BUFFER_V(number, name) layout(std430, set = 0, binding = number) buffer name##_block { vec4 name[]; };
#define PUT(x, i, v) AT(x, i) = v
#define BUFFER_G(number, name) BUFFER_F(number, name)
#define BUFFER_T(number, name) BUFFER_V(number, name)
#define READ(x, i) LOAD(x, i)
#define FETCH(x, i) AT(x, i)
#endif
#define READ4(x, i) FLOAT4(READ(x, i), READ(x, (i) + 1u), READ(x, (i) + 2u), READ(x, (i) + 3u))
#define BUFFER(number, kind, name) BUFFER_##kind(number, name)
#define SKEW_F(number, name) const uint name##_skew = bitfieldExtract(p.skew[number / 4], 8 * (number % 4), 8);
#define SKEW_R(number, name) SKEW_F(number, name)
#define SKEW_U(number, name) SKEW_F(number, name)
#define SKEW_V(number, name) const uint name##_skew = bitfieldExtract(p.skew[number / 4], 8 * (number % 4), 8) / 4;
#define SKEW_G(number, name) SKEW_F(number, name)
#define SKEW_T(number, name) SKEW_V(number, name)
#define SKEW(number, kind, name) SKEW_##kind(number, name)
#define STRUCT(name) struct name
#define FIELD(type, name) type name;
#define LOCAL_ARRAY(type, name, size) shared type name[size];
// The context of a kernel's functions is its parameters: bindings and local arrays have names outside of functions. The parameters are copied
// first: lavapipe would fetch one used in a loop or after a store for every item and every time.
#define KERNEL_TYPES                                                                      \
    CONSTANTS(CONSTANT)                                                                   \
    BINDINGS(BUFFER)                                                                      \
    struct params_t {                                                                     \
        uint first_group;                                                                 \
        uint skew[4];                                                                     \
        PARAMS(FIELD)                                                                     \
    };                                                                                    \
    layout(push_constant) uniform params_block {                                          \
        params_t params;                                                                  \
    };                                                                                    \
    LOCALS(LOCAL_ARRAY)
#define CONTEXT const params_t p
#define PASS p
#define OPEN BINDINGS(SKEW)
#define KERNEL_BEGIN                                                                      \
    void main() {                                                                         \
        const params_t p = params;                                                        \
        BINDINGS(SKEW)
#define KERNEL_END }

#include "cl/dialect/vector.h"
#include "cl/dialect/random.h"
#include "cl/dialect/reduce.h"
#ifdef BPT_FRAGMENTS
#include "cl/matrix/fragments.glsl"
#endif
