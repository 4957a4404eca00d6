#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "matmul_wide.inc"
#include "matmul_wide.cl"
