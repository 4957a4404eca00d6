#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "sort_count.inc"
#include "sort_count.cl"
