#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_item.inc"
#include "attention_item.cl"
