#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "add_rows.inc"
#include "add_rows.cl"
