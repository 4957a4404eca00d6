#version 450
#extension GL_GOOGLE_include_directive : require
#include "vulkan.glsl"
#include "sort_scan.inc"
#include "sort_scan.cl"
