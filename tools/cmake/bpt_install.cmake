# Installs library, program, headers and what CMake and pkg-config need to find them. The files may move with their prefix.
#
# The public interface is core's headers and models/api/model.h as <bpt/model.h>. A static library needs its dependencies at the
# consumer's link; a shared one has them inside and names none.
include(CMakePackageConfigHelpers)
get_target_property(bpt_type bpt TYPE)

install(TARGETS bpt EXPORT bptTargets)
if(TARGET bpt_program)
  install(TARGETS bpt_program)
  if(NOT CMAKE_CROSSCOMPILING) # the program writes its own manual page and completion
    add_custom_command(TARGET bpt_program POST_BUILD VERBATIM
      COMMAND bpt_program help --man > ${CMAKE_BINARY_DIR}/bpt.1
      COMMAND bpt_program help --completion > ${CMAKE_BINARY_DIR}/bpt.bash
      COMMAND bpt_program help --completion --shell zsh > ${CMAKE_BINARY_DIR}/_bpt
      COMMAND bpt_program help --completion --shell fish > ${CMAKE_BINARY_DIR}/bpt.fish)
    install(FILES ${CMAKE_BINARY_DIR}/bpt.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${CMAKE_BINARY_DIR}/bpt.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME bpt)
    install(FILES ${CMAKE_BINARY_DIR}/_bpt DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
    install(FILES ${CMAKE_BINARY_DIR}/bpt.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
foreach(module bpt_mpi bpt_mpi_abi)
  if(TARGET ${module})
    install(TARGETS ${module} DESTINATION ${CMAKE_INSTALL_LIBDIR}/bpt)
  endif()
endforeach()
install(DIRECTORY core/include/bpt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(FILES models/api/model.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bpt)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c" PATTERN "CMakeLists.txt")

# CMake: find_package(bpt), target bpt::bpt
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bpt)
if(bpt_type STREQUAL "STATIC_LIBRARY")
  install(TARGETS bpt_private_dependencies EXPORT bptTargets)
  set(modules "JANSSON:jansson UTF8PROC:libutf8proc XXHASH:libxxhash")
  set(bpt_dependencies [[
find_dependency(Threads)
find_dependency(PkgConfig)
foreach(module IN ITEMS MODULES)
  string(REPLACE ":" ";" module ${module})
  list(GET module 0 name)
  list(GET module 1 module)
  pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  if(NOT ${name}_FOUND)
    set(bpt_FOUND FALSE)
    set(bpt_NOT_FOUND_MESSAGE "bpt is a static library and needs ${module}, which pkg-config does not find.")
    return()
  endif()
endforeach()
]])
  string(REPLACE MODULES "${modules}" bpt_dependencies "${bpt_dependencies}")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/bptConfig.cmake.in
  "@PACKAGE_INIT@\ninclude(CMakeFindDependencyMacro)\n@bpt_dependencies@\ninclude(\${CMAKE_CURRENT_LIST_DIR}/bptTargets.cmake)\ncheck_required_components(bpt)\n")
configure_package_config_file(${CMAKE_BINARY_DIR}/bptConfig.cmake.in ${CMAKE_BINARY_DIR}/bptConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/bptConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT bptTargets NAMESPACE bpt:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/bptConfig.cmake ${CMAKE_BINARY_DIR}/bptConfigVersion.cmake DESTINATION ${package_dir})

# pkg-config: paths are relative to bpt.pc, so that the prefix may be moved; absolute ones are kept as they are.
set(pc_requires "")
set(pc_libs "")
if(bpt_type STREQUAL "STATIC_LIBRARY")
  set(pc_requires "jansson libutf8proc libxxhash")
  set(pc_libs " -pthread -lm -ldl")
  if(BPT_HAS_SENTENCEPIECE)
    string(APPEND pc_libs " -lsentencepiece_train -lsentencepiece -lstdc++")
  endif()
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
cmake_path(APPEND pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/bpt.pc.in ${CMAKE_BINARY_DIR}/bpt.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bpt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
