// A driver for the loaders of Vulkan and OpenCL that does no good when it is asked. Compiled once per kind, FAKE_ICD:
//   0 aborts, 1 crashes, 2 calls exit(0), 3 never answers
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void misbehave(void) {
    if (FAKE_ICD == 0) abort();
    if (FAKE_ICD == 1) {
        signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would turn it into an exit
        raise(SIGSEGV);
    }
    if (FAKE_ICD == 2) exit(0);
    for (;;) pause();
}

// What the Vulkan loader calls first, and what ocl-icd and the OpenCL loader of Khronos look up first.
EXPORT int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version);
EXPORT int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version) {
    (void)version;
    misbehave();
    return -1;
}

EXPORT void *vk_icdGetInstanceProcAddr(void *instance, const char *name);
EXPORT void *vk_icdGetInstanceProcAddr(void *instance, const char *name) {
    (void)instance, (void)name;
    misbehave();
    return NULL;
}

EXPORT void *clGetExtensionFunctionAddress(const char *name);
EXPORT void *clGetExtensionFunctionAddress(const char *name) {
    (void)name;
    misbehave();
    return NULL;
}

EXPORT int clIcdGetPlatformIDsKHR(unsigned capacity, void *platforms, unsigned *count);
EXPORT int clIcdGetPlatformIDsKHR(unsigned capacity, void *platforms, unsigned *count) {
    (void)capacity, (void)platforms, (void)count;
    misbehave();
    return -1;
}
