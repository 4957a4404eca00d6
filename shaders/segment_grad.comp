#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "segment_grad.inc"
#include "segment_grad.cl"
