// Fragments of matrices that a subgroup holds together, by cooperative matrices (cl/README.md has the words).
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

#define FRAGMENT_LEFT coopmat<float16_t, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_K, gl_MatrixUseA>
#define FRAGMENT_RIGHT coopmat<float16_t, gl_ScopeSubgroup, FRAGMENT_K, FRAGMENT_N, gl_MatrixUseB>
#define FRAGMENT_SUM coopmat<float, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>
#define FRAGMENT_HALVES coopmat<float16_t, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>
#define FRAGMENT_ZERO(sum) sum = FRAGMENT_SUM(0.0f)
#define FRAGMENT_LOAD(x, array, first, stride) coopMatLoad(x, array, first, stride, gl_CooperativeMatrixLayoutRowMajor)
#define FRAGMENT_LOAD_ACROSS(x, array, first, stride) coopMatLoad(x, array, first, stride, gl_CooperativeMatrixLayoutColumnMajor)
#define FRAGMENT_MULTIPLY_ADD(sum, left, right) sum = coopMatMulAdd(left, right, sum)
#define FRAGMENT_SCALE(sum, factor) sum = (sum) * float(factor)
#define FRAGMENT_STORE(sum, array, first, stride) coopMatStore(sum, array, first, stride, gl_CooperativeMatrixLayoutRowMajor)
#define FRAGMENT_STORE_HALVES(sum, array, first, stride) \
    coopMatStore(FRAGMENT_HALVES(sum), array, first, stride, gl_CooperativeMatrixLayoutRowMajor)

#define uint4 uvec4
#define UINT4(a, b, c, d) uvec4(a, b, c, d)
#define HALVES(a, b) packFloat2x16(f16vec2(a, b))
#define LOAD_HALF(x, i) float(x##_half[x##_skew + (i)])
#define EIGHT(x, i) x##_eights[(x##_skew + (i)) / 8u]
#define BUFFER_E(number, name)                                                                            \
    layout(std430, set = 0, binding = number) buffer name##_half_block { float16_t name##_half[]; };      \
    layout(std430, set = 0, binding = number) buffer name##_eights_block { uvec4 name##_eights[]; };
#define SKEW_E(number, name) SKEW_F(number, name)
