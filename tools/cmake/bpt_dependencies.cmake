# The libraries, each because it is the well-kept one for its job (core/README.md has the table).
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(PkgConfig REQUIRED)

function(bpt_require name module package)
  pkg_check_modules(${name} IMPORTED_TARGET ${module})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${module} was not found. On Debian: sudo apt-get install ${package}. tools/scripts/setup installs all that is missing.")
  endif()
endfunction()
bpt_require(JANSSON jansson libjansson-dev)
bpt_require(UTF8PROC libutf8proc libutf8proc-dev)
bpt_require(XXHASH libxxhash libxxhash-dev)
bpt_require(OPENBLAS openblas libopenblas-openmp-dev) # its header; the library is opened at run time
find_path(BPT_OPENCL_HEADERS CL/cl.h)
mark_as_advanced(BPT_OPENCL_HEADERS)
if(NOT BPT_OPENCL_HEADERS)
  message(FATAL_ERROR "CL/cl.h was not found. On Debian: sudo apt-get install opencl-c-headers. tools/scripts/setup installs all that is missing.")
endif()

add_library(bpt_private_dependencies INTERFACE)
target_link_libraries(bpt_private_dependencies INTERFACE PkgConfig::JANSSON PkgConfig::UTF8PROC PkgConfig::XXHASH
  OpenMP::OpenMP_C Threads::Threads m ${CMAKE_DL_LIBS})

# Subwords (data/sentencepiece.cpp, the only C++); without the library, or a C++ compiler, --unit subword says what to install.
include(CheckLanguage)
check_language(CXX)
pkg_check_modules(SENTENCEPIECE IMPORTED_TARGET sentencepiece)
option(BPT_WITH_SENTENCEPIECE "Subwords, by SentencePiece" ON)
if(BPT_WITH_SENTENCEPIECE AND SENTENCEPIECE_FOUND AND CMAKE_CXX_COMPILER)
  set(BPT_HAS_SENTENCEPIECE ON)
  enable_language(CXX)
  set(CMAKE_CXX_STANDARD 17)
  target_link_libraries(bpt_private_dependencies INTERFACE PkgConfig::SENTENCEPIECE stdc++)
else()
  set(BPT_HAS_SENTENCEPIECE OFF)
  message(STATUS "SentencePiece was not found, so there will be no --unit subword. On Debian: sudo apt-get install libsentencepiece-dev g++")
endif()
