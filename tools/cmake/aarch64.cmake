# Toolchain: aarch64 Linux from any Debian machine. Its libraries come from multiarch:
#   sudo dpkg --add-architecture arm64 && sudo apt-get update
#   sudo apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libopenblas-openmp-dev:arm64 libjansson-dev:arm64 libutf8proc-dev:arm64 \
#     libxxhash-dev:arm64 libsentencepiece-dev:arm64 libcmocka-dev:arm64 qemu-user
#   cmake -S . -B build/aarch64 -G Ninja --toolchain tools/cmake/aarch64.cmake && cmake --build build/aarch64 && ctest --test-dir build/aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(BPT_AARCH64_CXX aarch64-linux-gnu-g++) # for subwords; never this machine's own
set(CMAKE_CXX_COMPILER ${BPT_AARCH64_CXX})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
find_program(qemu NAMES qemu-aarch64 qemu-aarch64-static)
if(qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu})
endif()
