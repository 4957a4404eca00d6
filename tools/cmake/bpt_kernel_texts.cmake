# Puts the GPU kernels into the library. backends/gpu/kernels.def lists them, with their folder below cl/ and what they need of a device;
# <kernel>.inc and .cl there are their texts. shaders/kernel.comp.in becomes the shader of each.
#
# OpenCL: one C string per kernel, for the driver's compiler at run time (backends/opencl/texts.h).
# CUDA: one C++ string per kernel, for NVRTC at run time (backends/cuda/texts.h). Without the toolkit's headers the backend is left out;
# with them BPT_WITH_CUDA is defined and BPT_CUDA_HEADERS is their folder. Neither toolkit nor driver is linked.
# Vulkan: SPIR-V, with and without 16-bit elements, reductions also by subgroups (backends/vulkan/shaders.h). Without glslc or the headers the backend is left out;
# with them BPT_WITH_VULKAN is defined, and BPT_VULKAN_MATRIX where they know cooperative matrices (glslc from 2024 on).
# Sets bpt_kernel_text_sources: the generated C files.
option(BPT_CUDA "Build the CUDA backend where the headers of the CUDA toolkit are there" ON)
option(BPT_VULKAN "Build the Vulkan backend where glslc and the Vulkan headers are there" ON)

set(kernel_list ${CMAKE_CURRENT_SOURCE_DIR}/backends/gpu/kernels.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_list})
# all_kernels: room and name of each, as rows/copy; needs_<name>: its NEEDS.
set(all_kernels "")
file(STRINGS ${kernel_list} lines REGEX "^#define NEEDS |^#include \"cl/")
foreach(line IN LISTS lines)
  if(line MATCHES "^#define NEEDS ([A-Z_]+)")
    set(needs ${CMAKE_MATCH_1})
  elseif(line MATCHES "\"cl/([a-z]+/([a-z_0-9]+))\\.inc\"")
    list(APPEND all_kernels ${CMAKE_MATCH_1})
    set(needs_${CMAKE_MATCH_2} ${needs})
  endif()
endforeach()
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

find_program(BPT_GLSLC glslc)
find_program(BPT_SPIRV_VAL spirv-val)
find_path(BPT_VULKAN_HEADERS vulkan/vulkan_core.h)
mark_as_advanced(BPT_GLSLC BPT_SPIRV_VAL BPT_VULKAN_HEADERS)
set(why_no_vulkan "")
if(NOT BPT_VULKAN)
  set(why_no_vulkan "BPT_VULKAN is off")
elseif(NOT BPT_GLSLC)
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

set(shader_dir ${kernel_text_dir}/vulkan)
file(MAKE_DIRECTORY ${shader_dir})
file(WRITE ${shader_dir}/matrix_probe.comp "#version 450\n#extension GL_KHR_cooperative_matrix : require\nvoid main() {}\n")
execute_process(COMMAND ${BPT_GLSLC} --target-env=vulkan1.2 -o ${shader_dir}/matrix_probe.spv ${shader_dir}/matrix_probe.comp
  RESULT_VARIABLE matrix_probe OUTPUT_QUIET ERROR_QUIET)
file(STRINGS ${BPT_VULKAN_HEADERS}/vulkan/vulkan_core.h matrix_header REGEX "^#define VK_KHR_cooperative_matrix ")
if(matrix_probe EQUAL 0 AND matrix_header)
  add_compile_definitions(BPT_VULKAN_MATRIX)
  set(BPT_VULKAN_MATRIX TRUE)
else()
  message(STATUS "Vulkan's cooperative matrices are left out: glslc or the Vulkan headers are older than 2024")
endif()

set(shader_declarations "")
set(shader_entries "")
set(shader_template ${CMAKE_CURRENT_SOURCE_DIR}/shaders/kernel.comp.in)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader_template})
foreach(path IN LISTS all_kernels)
  get_filename_component(kernel ${path} NAME)
  if(needs_${kernel} STREQUAL "WARPS" OR (needs_${kernel} STREQUAL "FRAGMENTS" AND NOT BPT_VULKAN_MATRIX))
    continue()
  endif()
  set(shader ${shader_dir}/${kernel})
  configure_file(${shader_template} ${shader}.comp @ONLY)
  set(variants f32 f16)
  set(kernel_defines "")
  set(text ${CMAKE_CURRENT_SOURCE_DIR}/cl/${path})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text}.cl ${text}.inc) # they say which variants there are
  file(STRINGS ${text}.cl reductions REGEX "FOLDS\\(")
  file(STRINGS ${text}.inc texels REGEX "B\\([0-9]+, [GT], ")
  file(STRINGS ${text}.cl shuffles REGEX "SUBGROUP_SHUFFLE")
  if(texels)
    list(APPEND variants texels)
  endif()
  if(texels AND shuffles)
    list(APPEND variants subgroup_texels)
  endif()
  if(needs_${kernel} STREQUAL "FRAGMENTS")
    set(variants subgroup_f16)
    set(kernel_defines -DBPT_FRAGMENTS)
  elseif(reductions)
    list(APPEND variants subgroup_f32 subgroup_f16)
  endif()
  set(compile ${BPT_GLSLC} --target-env=vulkan1.2 -I ${CMAKE_CURRENT_SOURCE_DIR} -I ${CMAKE_CURRENT_SOURCE_DIR}/core/include
    ${kernel_defines} ${shader}.comp)
  set(depfile -MD -MF ${shader}.d -MT ${shader}.c) # of the first variant: all include the same
  set(commands "")
  foreach(variant IN LISTS variants)
    # Drivers of GPUs optimise better what glslc has not: its passes carry variables of inlined functions around loops, in registers.
    set(defines -O0)
    if(variant MATCHES "texels" OR path MATCHES "^software/") # for devices in software
      set(defines -O)
    endif()
    if(variant MATCHES "f16")
      list(APPEND defines -DBPT_F16)
    endif()
    if(variant MATCHES "subgroup")
      list(APPEND defines -DBPT_SUBGROUPS)
    endif()
    if(variant MATCHES "texels")
      list(APPEND defines -DBPT_TEXELS)
    endif()
    list(APPEND commands COMMAND ${compile} ${defines} ${depfile} -o ${shader}.${variant}.spv)
    if(BPT_SPIRV_VAL AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
      list(APPEND commands COMMAND ${BPT_SPIRV_VAL} --target-env vulkan1.2 ${shader}.${variant}.spv)
    endif()
    set(depfile "")
  endforeach()
  string(REPLACE ";" "," variants "${variants}")
  add_custom_command(OUTPUT ${shader}.c VERBATIM
    ${commands}
    COMMAND ${CMAKE_COMMAND} -D KERNEL=${kernel} -D SHADER=${shader} -D VARIANTS=${variants} -P ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake
    DEPENDS ${shader}.comp ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake
    DEPFILE ${shader}.d
    COMMENT "Compiling the shader ${kernel}")
  list(APPEND bpt_kernel_text_sources ${shader}.c)
  string(APPEND shader_declarations "extern const bpt_vulkan_shader_t bpt_vulkan_shader_${kernel};\n")
  string(APPEND shader_entries "    [BPT_GPU_${kernel}] = &bpt_vulkan_shader_${kernel},\n")
endforeach()
file(CONFIGURE OUTPUT ${shader_dir}/shaders.c CONTENT "// Generated by tools/cmake/bpt_kernel_texts.cmake.
#include \"backends/vulkan/shaders.h\"

${shader_declarations}
const bpt_vulkan_shader_t *const bpt_vulkan_shaders[BPT_GPU_KERNEL_COUNT] = {
${shader_entries}};
")
list(APPEND bpt_kernel_text_sources ${shader_dir}/shaders.c)
