# Installs a build, moves the prefix and builds and runs a small consumer by CMake and by pkg-config.
#   cmake -DBUILD=<build folder> -DSCRATCH=<folder, emptied first> -DCC=<compiler> [-DSHARED_SOURCE=<source folder>] -P run.cmake
# With SHARED_SOURCE a shared build of that source is made first, in BUILD.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(SHARED_SOURCE)
  run(${CMAKE_COMMAND} -S ${SHARED_SOURCE} -B ${BUILD} -G Ninja -DCMAKE_C_COMPILER=${CC} -DBUILD_SHARED_LIBS=ON -DBPT_BUILD_TESTS=OFF)
  run(${CMAKE_COMMAND} --build ${BUILD})
endif()
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/installed)
file(RENAME ${SCRATCH}/installed ${SCRATCH}/moved)
foreach(file IN ITEMS include/bpt/graph.h include/bpt/ops.def include/bpt/backend.h bin/bpt)
  if(NOT EXISTS ${SCRATCH}/moved/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
run(${SCRATCH}/moved/bin/bpt --version)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${SCRATCH}/by-cmake -G Ninja -DCMAKE_PREFIX_PATH=${SCRATCH}/moved -DCMAKE_C_COMPILER=${CC})
run(${CMAKE_COMMAND} --build ${SCRATCH}/by-cmake)
run(${SCRATCH}/by-cmake/consumer)

file(GLOB pc ${SCRATCH}/moved/lib*/pkgconfig/bpt.pc ${SCRATCH}/moved/lib/*/pkgconfig/bpt.pc)
cmake_path(GET pc PARENT_PATH pc_dir)
cmake_path(GET pc_dir PARENT_PATH lib_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir}:$ENV{PKG_CONFIG_PATH})
set(ENV{LD_LIBRARY_PATH} ${lib_dir}:$ENV{LD_LIBRARY_PATH})
execute_process(COMMAND pkg-config --cflags --libs bpt OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CC} -std=c17 ${CMAKE_CURRENT_LIST_DIR}/consumer/main.c -o ${SCRATCH}/by-pkg-config ${flags})
run(${SCRATCH}/by-pkg-config)
