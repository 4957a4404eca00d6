#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "adam_fours.inc"
#include "adam_fours.cl"
