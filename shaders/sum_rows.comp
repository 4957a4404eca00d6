#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "sum_rows.inc"
#include "sum_rows.cl"
