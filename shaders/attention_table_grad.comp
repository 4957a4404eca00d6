#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "attention_table_grad.inc"
#include "attention_table_grad.cl"
