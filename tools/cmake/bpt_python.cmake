# What the wheel of the package for Python (tools/python) has beside its own files: declarations, library, program, and the library of
# products that the cpu backend opens, all in one folder where they find each other. Read where scikit-build-core builds.
find_package(Python REQUIRED COMPONENTS Interpreter)
set(declarations ${CMAKE_BINARY_DIR}/python/_native.py)
file(GLOB public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/include/bpt/*.h)
add_custom_command(OUTPUT ${declarations} VERBATIM
  COMMAND Python::Interpreter ${CMAKE_SOURCE_DIR}/tools/python/declarations.py ${declarations} ${CMAKE_SOURCE_DIR}/core/include
    ${CMAKE_SOURCE_DIR}/models/api/model.h
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/python/declarations.py ${CMAKE_SOURCE_DIR}/models/api/model.h ${public_headers})
add_custom_target(bpt_declarations ALL DEPENDS ${declarations})

set_target_properties(bpt bpt_program PROPERTIES INSTALL_RPATH "$ORIGIN")
find_file(BPT_OPENBLAS_FILE libopenblas.so.0 HINTS ${OPENBLAS_LIBDIR} ${OPENBLAS_LIBRARY_DIRS} NO_CACHE REQUIRED)
file(REAL_PATH ${BPT_OPENBLAS_FILE} BPT_OPENBLAS_FILE)
install(FILES ${declarations} DESTINATION bpt COMPONENT python)
install(PROGRAMS $<TARGET_FILE:bpt> DESTINATION bpt/native RENAME libbpt.so COMPONENT python)
install(PROGRAMS $<TARGET_FILE:bpt_program> DESTINATION bpt/native COMPONENT python)
install(PROGRAMS ${BPT_OPENBLAS_FILE} DESTINATION bpt/native RENAME libopenblas.so.0 COMPONENT python)
