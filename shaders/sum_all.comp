#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "sum_all.inc"
#include "sum_all.cl"
