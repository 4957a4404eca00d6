#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "layernorm_item_grad.inc"
#include "layernorm_item_grad.cl"
