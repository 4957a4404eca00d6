#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "mask_bits.inc"
#include "mask_bits.cl"
