// GCC's OpenMP (openmp.h).
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/openmp.h"

test_openmp_t test_openmp(void) {
    test_openmp_t found = {.library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!found.library) skip();
    *(void **)&found.get_max_threads = dlsym(found.library, "omp_get_max_threads");
    *(void **)&found.set_num_threads = dlsym(found.library, "omp_set_num_threads");
    assert_non_null(found.get_max_threads);
    assert_non_null(found.set_num_threads);
    return found;
}
