#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_item_dkv.inc"
#include "attention_item_dkv.cl"
