#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "xent_rows.inc"
#include "xent_rows.cl"
