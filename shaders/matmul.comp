#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "matmul.inc"
#include "matmul.cl"
