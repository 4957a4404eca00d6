# Toolchain: Windows on x86-64 from any Debian machine, by mingw-w64 (gcc-mingw-w64-x86-64-posix, g++-mingw-w64-x86-64-posix).
# tools/scripts/windows builds the libraries that it takes from BPT_WINDOWS_LIBRARIES (a folder), and all the rest.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BPT_WINDOWS_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH ${BPT_WINDOWS_LIBRARIES} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${BPT_WINDOWS_LIBRARIES}/lib/pkgconfig)
# What is linked is inside: a user needs no library of the compiler's. stdio as C has it (%zu, %lld), exact to the last digit.
# Windows aligns stacks to 16 bytes, and GCC spills vectors of 32 and 64 as if it knew better (gcc.gnu.org/PR54412): the assembler writes
# moves that need no alignment. Tables for unwinding have no room for the registers of AVX-512.
set(flags "-D__USE_MINGW_ANSI_STDIO=1 -D_FILE_OFFSET_BITS=64 -D_WIN32_WINNT=0x0A00 -fno-asynchronous-unwind-tables -Wa,-muse-unaligned-vector-move")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "-D__USE_MINGW_ANSI_STDIO=1 -D_FILE_OFFSET_BITS=64 -D_WIN32_WINNT=0x0A00 -Wa,-muse-unaligned-vector-move")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static -static-libgcc")
find_program(wine wine)
if(wine)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${wine})
endif()
