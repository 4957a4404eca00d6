// What kernels that compute by float4s share.
#define ZERO4 FLOAT4(0.0f, 0.0f, 0.0f, 0.0f)
FUNCTION float sum4(float4 x) { return (x.x + x.y) + (x.z + x.w); }
