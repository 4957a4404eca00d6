# Puts the GPU kernels into the library. backends/gpu/kernels.def lists them, with their folder below cl/ and what they need of a device;
# <kernel>.inc and .cl there are their texts. shaders/kernel.comp.in becomes the shader of each.
#
# OpenCL: one C string per kernel, for the driver's compiler at run time (backends/opencl/texts.h).
# CUDA: one C++ string per kernel, for NVRTC at run time (backends/cuda/texts.h). Without the toolkit's headers the backend is left out;
# with them BPT_WITH_CUDA is defined and BPT_CUDA_HEADERS is their folder. Neither toolkit nor driver is linked.
# Vulkan: SPIR-V (shaders/README.md), given by BPT_SPIRV_DIR (bpt_spirv.cmake) or compiled by glslc. Without both or the headers the backend is left out;
# with them BPT_WITH_VULKAN is defined. Kernels that no module is given for and glslc is too old for are left out, alone.
# Sets bpt_kernel_text_sources: the generated C files.
option(BPT_CUDA "Build the CUDA backend where the headers of the CUDA toolkit are there" ON)
option(BPT_VULKAN "Build the Vulkan backend where glslc (or BPT_SPIRV_DIR) and the Vulkan headers are there" ON)

include(bpt_shaders)
include(bpt_spirv)
set(kernel_text_dir ${CMAKE_BINARY_DIR}/kernel_texts)
file(GLOB kernel_texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cl/*/*.inc ${CMAKE_CURRENT_SOURCE_DIR}/cl/*/*.cl
  ${CMAKE_CURRENT_SOURCE_DIR}/cl/*/*.h ${CMAKE_CURRENT_SOURCE_DIR}/core/intervals/rules/*.h ${CMAKE_CURRENT_SOURCE_DIR}/core/include/bpt/steps.def)

# Each API gets the kernels that need nothing and those that need what it alone has: CUDA warps, Vulkan texels and fragments.
set(bpt_kernel_text_sources "")
function(kernels_that_need result) # as a,b,c
  set(chosen "")
  foreach(path IN LISTS all_kernels)
    get_filename_component(kernel ${path} NAME)
    if(needs_${kernel} IN_LIST ARGN)
      list(APPEND chosen ${path})
    endif()
  endforeach()
  string(REPLACE ";" "," chosen "${chosen}")
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()
macro(embed_texts api)
  kernels_that_need(embedded_kernels ${ARGN})
  add_custom_command(OUTPUT ${kernel_text_dir}/${api}_texts.c VERBATIM
    COMMAND ${CMAKE_COMMAND} -D API=${api} -D KERNELS=${embedded_kernels} -D SOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}
      -D OUTPUT=${kernel_text_dir}/${api}_texts.c -P ${CMAKE_CURRENT_LIST_DIR}/embed_texts.cmake
    DEPENDS ${kernel_list} ${kernel_texts} ${CMAKE_CURRENT_LIST_DIR}/embed_texts.cmake
    COMMENT "Embedding the kernels for ${api}")
  list(APPEND bpt_kernel_text_sources ${kernel_text_dir}/${api}_texts.c)
endmacro()
embed_texts(opencl NOTHING)

find_path(BPT_CUDA_HEADERS NAMES nvrtc.h HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
mark_as_advanced(BPT_CUDA_HEADERS)
set(why_no_cuda "")
if(NOT BPT_CUDA)
  set(why_no_cuda "BPT_CUDA is off")
elseif(NOT BPT_CUDA_HEADERS OR NOT EXISTS ${BPT_CUDA_HEADERS}/cuda.h OR NOT EXISTS ${BPT_CUDA_HEADERS}/cublasLt.h)
  set(why_no_cuda "cuda.h, nvrtc.h and cublasLt.h of the CUDA toolkit, version 12 or later, were not found (set CUDA_PATH)")
else()
  file(STRINGS ${BPT_CUDA_HEADERS}/cuda.h cuda_version REGEX "^#define CUDA_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" cuda_version "${cuda_version}")
  if(cuda_version LESS 12000)
    set(why_no_cuda "the toolkit in ${BPT_CUDA_HEADERS} is older than version 12")
  endif()
endif()
if(why_no_cuda)
  message(STATUS "The CUDA backend is left out: ${why_no_cuda}")
  list(FILTER bpt_sources EXCLUDE REGEX "/backends/cuda/")
else()
  add_compile_definitions(BPT_WITH_CUDA)
  set(BPT_WITH_CUDA TRUE)
  embed_texts(cuda NOTHING WARPS)
endif()

find_path(BPT_VULKAN_HEADERS vulkan/vulkan_core.h)
mark_as_advanced(BPT_VULKAN_HEADERS)
set(why_no_vulkan "")
if(NOT BPT_VULKAN)
  set(why_no_vulkan "BPT_VULKAN is off")
elseif(NOT BPT_GLSLC AND NOT BPT_SPIRV_DIR)
  set(why_no_vulkan "glslc was not found (Debian: sudo apt-get install glslc)")
elseif(NOT BPT_VULKAN_HEADERS)
  set(why_no_vulkan "the Vulkan headers were not found (Debian: sudo apt-get install libvulkan-dev)")
endif()
if(why_no_vulkan)
  message(STATUS "The Vulkan backend is left out: ${why_no_vulkan}")
  list(FILTER bpt_sources EXCLUDE REGEX "/backends/vulkan/")
  return()
endif()
add_compile_definitions(BPT_WITH_VULKAN)
set(BPT_WITH_VULKAN TRUE)

set(validates FALSE)
if(BPT_SPIRV_VAL AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  set(validates TRUE)
endif()
set(shaders_by "${glslc_version}") # those of another version are others
if(BPT_SPIRV_DIR)
  set(shaders_by "${spirv_compiler}")
endif()
string(REGEX REPLACE ",.*" "" shaders_by "${shaders_by}")
set(shader_declarations "")
set(shader_entries "")
set(shaders_left_out "")
foreach(path IN LISTS shader_kernels)
  get_filename_component(kernel ${path} NAME)
  bpt_shader_text(${kernel} ${path})
  set(words "")
  set(given "") # the hashes of what is given, whose files may be older than what was made from others
  foreach(module IN LISTS modules_${kernel})
    bpt_glslc_takes(${module} possible)
    if(taken_${module})
      list(APPEND words ${taken_${module}})
      list(APPEND given ${given_${module}})
    elseif(possible)
      bpt_compile_shader(${module} ${validates})
      list(APPEND words ${shader_dir}/${module}.spv)
    elseif(requires_${module})
      list(APPEND shaders_left_out ${module})
    else()
      message(FATAL_ERROR "BPT_SPIRV_DIR: ${BPT_SPIRV_DIR} lacks ${module}, and there is no glslc to compile it. ${spirv_renew}.")
    endif()
  endforeach()
  if(NOT words)
    continue()
  endif()
  set(shader ${shader_dir}/${kernel})
  string(REPLACE ";" "," files "${words}")
  string(SHA256 given "${given}")
  add_custom_command(OUTPUT ${shader}.c VERBATIM
    COMMAND ${CMAKE_COMMAND} -D KERNEL=${kernel} -D OUTPUT=${shader}.c -D MODULES=${files} -D GIVEN=${given} -P ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake
    DEPENDS ${words} ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake
    COMMENT "Embedding the shader ${kernel}")
  list(APPEND bpt_kernel_text_sources ${shader}.c)
  string(APPEND shader_declarations "extern const bpt_vulkan_shader_t bpt_vulkan_shader_${kernel};\n")
  string(APPEND shader_entries "    [BPT_GPU_${kernel}] = &bpt_vulkan_shader_${kernel},\n")
endforeach()
file(CONFIGURE OUTPUT ${shader_dir}/shaders.c CONTENT "// Generated by tools/cmake/bpt_kernel_texts.cmake.
#include \"backends/vulkan/shaders.h\"

${shader_declarations}
const char bpt_vulkan_shaders_by[] = \"${shaders_by}\";
const bpt_vulkan_shader_t *const bpt_vulkan_shaders[BPT_GPU_KERNEL_COUNT] = {
${shader_entries}};
")
list(APPEND bpt_kernel_text_sources ${shader_dir}/shaders.c)
if(BPT_SPIRV_DIR)
  message(STATUS "SPIR-V of ${spirv_given}, by ${spirv_compiler}")
endif()
set(lacks NULL)
if(shaders_left_out)
  string(REPLACE ";" ", " shaders_left_out "${shaders_left_out}")
  set(lacks "this build lacks kernels for matrix units that its glslc is too old for (${shaders_left_out}): run tools/scripts/spirv and \
configure with -DBPT_SPIRV_DIR=build/spirv/bpt-spirv.tar.gz")
  message(STATUS "Vulkan: ${lacks}")
  set(lacks "\"${lacks}\"")
endif()
set_property(SOURCE backends/vulkan/vulkan.c APPEND PROPERTY COMPILE_DEFINITIONS "BPT_VULKAN_LACKS=${lacks}")
