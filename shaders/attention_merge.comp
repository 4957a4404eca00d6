#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_merge.inc"
#include "attention_merge.cl"
