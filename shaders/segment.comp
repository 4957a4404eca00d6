#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "segment.inc"
#include "segment.cl"
