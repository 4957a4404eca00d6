# Puts the GPU kernels into the library. backends/gpu/kernels.def lists them; cl/<kernel>.inc and .cl are their texts.
#
# OpenCL: one C string per kernel, for the driver's compiler at run time (backends/opencl/texts.h).
# Sets bpt_kernel_text_sources: the generated C files.
set(kernel_list ${CMAKE_CURRENT_SOURCE_DIR}/backends/gpu/kernels.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_list})
file(STRINGS ${kernel_list} gpu_kernels REGEX "^#include \"cl/")
list(TRANSFORM gpu_kernels REPLACE "^#include \"cl/([a-z_0-9]+)\\.inc\".*$" "\\1")
set(kernel_text_dir ${CMAKE_BINARY_DIR}/kernel_texts)
file(GLOB kernel_texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cl/*.inc ${CMAKE_CURRENT_SOURCE_DIR}/cl/*.cl
  ${CMAKE_CURRENT_SOURCE_DIR}/cl/include/*.h)

string(REPLACE ";" "," gpu_kernel_names "${gpu_kernels}")
add_custom_command(OUTPUT ${kernel_text_dir}/opencl_texts.c VERBATIM
  COMMAND ${CMAKE_COMMAND} -D KERNELS=${gpu_kernel_names} -D SOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR} -D OUTPUT=${kernel_text_dir}/opencl_texts.c
    -P ${CMAKE_CURRENT_LIST_DIR}/embed_opencl.cmake
  DEPENDS ${kernel_list} ${kernel_texts} ${CMAKE_CURRENT_LIST_DIR}/embed_opencl.cmake
  COMMENT "Embedding the OpenCL kernels")
set(bpt_kernel_text_sources ${kernel_text_dir}/opencl_texts.c)
