#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "pack.inc"
#include "pack.cl"
