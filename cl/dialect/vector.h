// Vectors of SIMD_WIDTH floats where SIMD_WIDTH is 4: the words of kernels that have them (README.md) in GLSL, CUDA C and mostly in OpenCL C.
#define VECTOR float4
#define VECTOR_FOURS 1u
#define VECTOR_FETCH(x, i) FETCH(x, i)
#define VECTOR_OF(array, i) array[i]
#define VECTOR_PUT(array, i, v) array[i] = v
#define VECTOR_PART(v, part) (v)
#define VECTOR_ZERO FLOAT4(0.0f, 0.0f, 0.0f, 0.0f)
