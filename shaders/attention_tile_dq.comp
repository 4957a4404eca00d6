#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_tile_dq.inc"
#include "attention_tile_dq.cl"
