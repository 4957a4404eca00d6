# SPIR-V from elsewhere (BPT_SPIRV_DIR): what fits is taken without glslc, everything else is refused in a sentence that names kernel and remedy.
#   cmake -DSOURCE=<source folder> -DSCRATCH=<folder, emptied first> -DGLSLC=<glslc> -DSPIRV_VAL=<spirv-val> -DCC=<compiler> -P spirv.cmake
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

# configure(GIVEN OUT ..): what CMake says of a build with it and the status; further arguments are CMake's.
function(configure given out out_status)
  file(REMOVE_RECURSE ${SCRATCH}/build)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G Ninja -DCMAKE_C_COMPILER=${CC} -DBPT_BUILD_TESTS=OFF -DBPT_SPIRV_DIR=${given} ${ARGN}
    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  set(${out} "${said}" PARENT_SCOPE)
  set(${out_status} ${status} PARENT_SCOPE)
endfunction()

function(refused given sentence)
  configure(${given} said status)
  string(FIND "${said}" "${sentence}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "with ${given} it must fail and say: ${sentence}\nIt ended with ${status} and said: ${said}")
  endif()
endfunction()

# All modules that this glslc can compile.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/shaders -B ${SCRATCH}/pack -G Ninja -DBPT_GLSLC=${GLSLC} -DBPT_SPIRV_VAL=${SPIRV_VAL}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/pack OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(folder ${SCRATCH}/pack/bpt-spirv)
file(READ ${folder}/manifest.txt manifest)

# A build without glslc takes the folder and the archive; nothing is left to be compiled.
foreach(given IN ITEMS ${folder} ${folder}.tar.gz)
  configure(${given} said status)
  if(NOT status EQUAL 0 OR NOT said MATCHES "SPIR-V of ${given}, by shaderc")
    message(FATAL_ERROR "${given} is not taken: ${said}")
  endif()
  file(READ ${SCRATCH}/build/build.ninja rules)
  if(rules MATCHES "Compiling the shader")
    message(FATAL_ERROR "with ${given} shaders are compiled all the same")
  endif()
endforeach()
# The words in the library are those of the modules.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/build --target kernel_texts/vulkan/fill.c OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${SCRATCH}/build/kernel_texts/vulkan/fill.c code)
file(READ ${folder}/fill.f32.spv words HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${words}")
string(REPLACE "\n" "" code "${code}")
string(FIND "${code}" "${words}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "fill.c does not hold the words of fill.f32.spv")
endif()

# A kernel that was made from another source, one that is damaged, one that is gone, and what is no such folder.
set(bad ${SCRATCH}/bad)
file(COPY ${folder}/ DESTINATION ${bad})
string(REGEX REPLACE "(module fill.f32 )[0-9a-f][0-9a-f]" "\\1zz" changed "${manifest}")
string(REPLACE "zz" "00" changed "${changed}")
if(changed STREQUAL manifest)
  string(REPLACE "module fill.f32 00" "module fill.f32 11" changed "${manifest}")
endif()
file(WRITE ${bad}/manifest.txt "${changed}")
refused(${bad} "made from other sources than these: fill.f32. Renew it by tools/scripts/spirv")
file(WRITE ${bad}/manifest.txt "${manifest}")
file(APPEND ${bad}/fill.f32.spv "1234")
refused(${bad} "missing or damaged: fill.f32. Renew it by tools/scripts/spirv")
file(REMOVE ${bad}/fill.f32.spv ${bad}/copy.f16.spv)
refused(${bad} "missing or damaged: ")
file(WRITE ${bad}/manifest.txt "${manifest}nonsense\n")
refused(${bad} "has a line that is none of a manifest: nonsense")
file(REMOVE ${bad}/manifest.txt)
refused(${bad} "has no manifest.txt")
refused(${SCRATCH}/nowhere "there is no ${SCRATCH}/nowhere")
file(WRITE ${SCRATCH}/text.tar.gz "no archive")
refused(${SCRATCH}/text.tar.gz "is no archive (.tar.gz) that can be unpacked")
