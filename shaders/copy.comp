#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "copy.inc"
#include "copy.cl"
