// In programs under AddressSanitizer (tools/cmake/bpt_flags.cmake) a library stays loaded. Drivers keep memory in variables of their own:
// when Vulkan's loader unloads them, LeakSanitizer finds no pointer to it (Mesa 22.3's lavapipe: 128 bytes each time it is loaded), and a
// suppression would have no effect, as a library that is gone has no name in the report.
#include <dlfcn.h>

__attribute__((visibility("default"))) int dlclose(void *library) {  // found before that of the C library, by all libraries
    (void)library;
    return 0;
}
