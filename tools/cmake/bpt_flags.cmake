# Warnings for all code; optimisation that keeps IEEE semantics (no -ffast-math: NaN checks must work), contraction to FMA allowed.
add_compile_options(-Wall -Wextra -Wshadow -Wvla -Wundef -Wpointer-arith $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> -Wno-missing-field-initializers -ffp-contract=fast
  -fno-math-errno -fno-trapping-math)
add_compile_definitions(_GNU_SOURCE)
set(bpt_extra_sources "") # more of what the program and the tests are made of
if(WIN32)
  add_compile_definitions(_POSIX_C_SOURCE=200809L)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-include> $<$<COMPILE_LANGUAGE:C>:${CMAKE_SOURCE_DIR}/core/platform/windows/posix.h>)
  include_directories(core/platform/windows/include)
  add_link_options(-Wl,--stack,8388608) # as large as elsewhere, threads' too
  set(manifest ${CMAKE_SOURCE_DIR}/core/platform/windows)
  set(bpt_extra_sources ${CMAKE_BINARY_DIR}/utf8.o)
  execute_process(COMMAND ${CMAKE_RC_COMPILER} -I ${manifest} ${manifest}/utf8.rc ${bpt_extra_sources} COMMAND_ERROR_IS_FATAL ANY)
endif()
if(BPT_SANITIZE)
  add_compile_options(-fsanitize=${BPT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BPT_SANITIZE})
endif()
if(BPT_SANITIZE MATCHES "address")
  add_library(bpt_keep_loaded OBJECT tests/sanitizers/keep_loaded.c)
  list(APPEND bpt_extra_sources $<TARGET_OBJECTS:bpt_keep_loaded>)
endif()
