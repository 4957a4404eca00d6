# The shaders of the Vulkan backend: a module of SPIR-V for each kernel and variant (shaders/README.md). Knows neither the library nor a C
# compiler: shaders/CMakeLists.txt makes the modules for other builds with it, the build of the library those that it is not given.
#
# Sets shader_kernels, room and name of those that are shaders too (needs of warps are CUDA's); for each of them, K: modules_K, its modules, as K.f32 and K.subgroup_f16; for each module M: options_M, those of glslc that make it what it
# is; requires_M, the probes that glslc must pass (bpt_glslc.cmake).
include(bpt_kernel_list)
include(bpt_glslc)
get_filename_component(shader_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(shader_template ${shader_root}/shaders/kernel.comp.in)
set(shader_dir ${CMAKE_BINARY_DIR}/kernel_texts/vulkan)
file(MAKE_DIRECTORY ${shader_dir})

set(shader_kernels "")
foreach(path IN LISTS all_kernels)
  get_filename_component(kernel ${path} NAME)
  if(needs_${kernel} STREQUAL "WARPS")
    continue()
  endif()
  list(APPEND shader_kernels ${path})
  set(text ${shader_root}/cl/${path})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text}.cl ${text}.inc) # they say which variants there are
  file(STRINGS ${text}.cl reductions REGEX "FOLDS\\(")
  file(STRINGS ${text}.inc texels REGEX "B\\([0-9]+, [GT], ")
  file(STRINGS ${text}.cl shuffles REGEX "SUBGROUP_SHUFFLE")
  set(variants f32 f16)
  if(texels)
    list(APPEND variants texels)
  endif()
  if(texels AND shuffles)
    list(APPEND variants subgroup_texels)
  endif()
  if(needs_${kernel} STREQUAL "FRAGMENTS")
    set(variants subgroup_f16)
  elseif(reductions)
    list(APPEND variants subgroup_f32 subgroup_f16)
  endif()
  set(modules_${kernel} "")
  foreach(variant IN LISTS variants)
    set(module ${kernel}.${variant})
    list(APPEND modules_${kernel} ${module})
    # Drivers of GPUs optimise better what glslc has not: its passes carry variables of inlined functions around loops, in registers.
    set(options_${module} --target-env=vulkan1.2 -O0)
    set(requires_${module} "")
    if(variant MATCHES "texels" OR path MATCHES "^software/") # for devices in software
      set(options_${module} --target-env=vulkan1.2 -O)
    endif()
    if(needs_${kernel} STREQUAL "FRAGMENTS")
      list(APPEND options_${module} -DBPT_FRAGMENTS)
      list(APPEND requires_${module} COOPERATIVE_MATRIX)
    endif()
    if(variant MATCHES "f16")
      list(APPEND options_${module} -DBPT_F16)
    endif()
    if(variant MATCHES "subgroup")
      list(APPEND options_${module} -DBPT_SUBGROUPS)
    endif()
    if(variant MATCHES "texels")
      list(APPEND options_${module} -DBPT_TEXELS)
    endif()
  endforeach()
endforeach()

# bpt_glslc_takes(MODULE OUT): can this glslc compile it?
function(bpt_glslc_takes module out)
  set(${out} TRUE PARENT_SCOPE)
  foreach(probe IN ITEMS ${requires_${module}})
    if(NOT BPT_GLSLC_${probe})
      set(${out} FALSE PARENT_SCOPE)
    endif()
  endforeach()
  if(NOT BPT_GLSLC)
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# bpt_shader_text(KERNEL): <shader_dir>/<kernel>.comp, what glslc reads.
function(bpt_shader_text kernel path)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader_template})
  configure_file(${shader_template} ${shader_dir}/${kernel}.comp @ONLY)
endfunction()

# bpt_compile_shader(MODULE VALIDATES): a rule for <shader_dir>/<module>.spv.
function(bpt_compile_shader module validates)
  get_filename_component(kernel ${module} NAME_WE)
  set(output ${shader_dir}/${module}.spv)
  set(check "")
  if(validates)
    set(check COMMAND ${BPT_SPIRV_VAL} --target-env vulkan1.2 ${output})
  endif()
  add_custom_command(OUTPUT ${output} VERBATIM
    COMMAND ${BPT_GLSLC} ${options_${module}} -I ${shader_root} -I ${shader_root}/core/include ${shader_dir}/${kernel}.comp
      -MD -MF ${output}.d -MT ${output} -o ${output}
    ${check}
    DEPENDS ${shader_dir}/${kernel}.comp
    DEPFILE ${output}.d
    COMMENT "Compiling the shader ${module}")
endfunction()
