# The libraries, each because it is the well-kept one for its job (core/README.md has the table).
find_package(Threads REQUIRED)
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
  Threads::Threads m ${CMAKE_DL_LIBS})

# Subwords (data/vocab/sentencepiece.cpp, the only C++); without the library, or a C++ compiler, --unit subword says what to install.
option(BPT_WITH_SENTENCEPIECE "Subwords, by SentencePiece where it is found" ON)
set(BPT_HAS_SENTENCEPIECE OFF)
if(BPT_WITH_SENTENCEPIECE)
  include(CheckLanguage)
  check_language(CXX)
  # Not by pkg-config: its file asks for protobuf-lite.pc, which Debian 13 installs with another package.
  find_path(BPT_SENTENCEPIECE_INCLUDE sentencepiece_trainer.h)
  find_library(BPT_SENTENCEPIECE sentencepiece)
  find_library(BPT_SENTENCEPIECE_TRAIN sentencepiece_train)
endif()
if(BPT_SENTENCEPIECE_INCLUDE AND BPT_SENTENCEPIECE AND BPT_SENTENCEPIECE_TRAIN AND CMAKE_CXX_COMPILER AND BPT_WITH_SENTENCEPIECE)
  set(BPT_HAS_SENTENCEPIECE ON)
  enable_language(CXX)
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  target_include_directories(bpt_private_dependencies INTERFACE $<BUILD_INTERFACE:${BPT_SENTENCEPIECE_INCLUDE}>)
  target_link_libraries(bpt_private_dependencies INTERFACE
    $<BUILD_INTERFACE:${BPT_SENTENCEPIECE_TRAIN}> $<BUILD_INTERFACE:${BPT_SENTENCEPIECE}>
    $<INSTALL_INTERFACE:sentencepiece_train> $<INSTALL_INTERFACE:sentencepiece> stdc++)
  # The library does not tell its version; the file beside it does.
  get_filename_component(folder ${BPT_SENTENCEPIECE} DIRECTORY)
  set(described "${folder}/pkgconfig/sentencepiece.pc")
  set(BPT_SENTENCEPIECE_VERSION "")
  if(EXISTS ${described})
    file(STRINGS ${described} version REGEX "^Version:")
    string(REGEX REPLACE "^Version:[ \t]*" "" BPT_SENTENCEPIECE_VERSION "${version}")
  endif()
elseif(BPT_WITH_SENTENCEPIECE)
  message(STATUS "There will be no --unit subword: SentencePiece or a C++ compiler was not found. On Debian: sudo apt-get install libsentencepiece-dev g++")
endif()

# Ranks on MPI: a module beside the program, which is opened for --team mpi alone.
option(BPT_WITH_MPI "Training on several machines, by MPI where it is found" ON)
set(BPT_HAS_MPI OFF)
if(BPT_WITH_MPI)
  find_package(MPI QUIET COMPONENTS C)
  set(BPT_HAS_MPI ${MPI_C_FOUND})
  if(NOT MPI_C_FOUND)
    message(STATUS "There will be no --team mpi: MPI was not found. On Debian: sudo apt-get install libopenmpi-dev")
  endif()
  # The standard ABI of MPI 5 (MPICH 5 has it): a second module, for whichever MPI with this ABI is there when it is opened.
  find_program(BPT_MPICC_ABI mpicc_abi)
  cmake_path(GET BPT_MPICC_ABI PARENT_PATH mpi_abi_programs)
  find_path(BPT_MPI_ABI_INCLUDE mpi_abi.h HINTS ${mpi_abi_programs}/../include ${MPI_C_INCLUDE_DIRS})
  find_library(BPT_MPI_ABI mpi_abi HINTS ${mpi_abi_programs}/../lib)
  mark_as_advanced(BPT_MPICC_ABI BPT_MPI_ABI_INCLUDE BPT_MPI_ABI)
endif()
