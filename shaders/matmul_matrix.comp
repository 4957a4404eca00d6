#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "matrix.glsl"
#include "matmul_matrix.inc"
#include "matmul_matrix.cl"
