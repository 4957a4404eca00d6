#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "layernorm_grad.inc"
#include "layernorm_grad.cl"
