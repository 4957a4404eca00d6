// Small matrices that a subgroup holds together, for kernels that multiply by the device's units for them (cl/README.md has the words).
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

#define MATRIX_LEFT(m, k) coopmat<float16_t, gl_ScopeSubgroup, m, k, gl_MatrixUseA>
#define MATRIX_RIGHT(k, n) coopmat<float16_t, gl_ScopeSubgroup, k, n, gl_MatrixUseB>
#define MATRIX_SUM(m, n) coopmat<float, gl_ScopeSubgroup, m, n, gl_MatrixUseAccumulator>
#define MATRIX_ZERO(x, m, n) x = MATRIX_SUM(m, n)(0.0f)
#define MATRIX_LOAD(x, array, first, stride) coopMatLoad(x, array, first, stride, gl_CooperativeMatrixLayoutRowMajor)
#define MATRIX_LOAD_ACROSS(x, array, first, stride) coopMatLoad(x, array, first, stride, gl_CooperativeMatrixLayoutColumnMajor)
#define MATRIX_STORE(x, array, first, stride) coopMatStore(x, array, first, stride, gl_CooperativeMatrixLayoutRowMajor)
#define MATRIX_ADD_PRODUCT(sum, left, right) sum = coopMatMulAdd(left, right, sum)

#define uint4 uvec4
#define UINT4(a, b, c, d) uvec4(a, b, c, d)
#define HALVES(a, b) packFloat2x16(f16vec2(a, b))
#define LOAD_HALF(x, i) float(x##_half[x##_skew + (i)])
#define EIGHT(x, i) x##_eights[(x##_skew + (i)) / 8u]
#define BUFFER_E(number, name)                                                                            \
    layout(std430, set = 0, binding = number) buffer name##_half_block { float16_t name##_half[]; };      \
    layout(std430, set = 0, binding = number) buffer name##_eights_block { uvec4 name##_eights[]; };
#define SKEW_E(number, name) SKEW_F(number, name)
