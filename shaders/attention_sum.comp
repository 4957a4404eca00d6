#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_sum.inc"
#include "attention_sum.cl"
