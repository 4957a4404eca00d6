#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "layernorm_sums.inc"
#include "layernorm_sums.cl"
