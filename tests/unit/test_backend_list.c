// The list of backends, and what was compiled for another version of the boundary is refused before it is used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/backend.h"
#include "bpt/program.h"

static void every_backend_is_found_by_its_name_and_has_the_version_of_the_header(void **state) {
    (void)state;
    int count = 0;
    for (; bpt_backends[count]; ++count) {
        assert_ptr_equal(bpt_backend_find(bpt_backends[count]->name), bpt_backends[count]);
        assert_int_equal(bpt_backend_check(bpt_backends[count], BPT_BACKEND_VERSION), BPT_OK);
    }
    assert_true(count >= 3);
    assert_null(bpt_backend_find("abacus"));
}

static void another_version_of_the_boundary_is_refused(void **state) {
    (void)state;
    bpt_backend_t backend = *bpt_backend_find("ref");
    bpt_device_t *device;
    bpt_workspace_t *workspace;
    char text[80];
    assert_int_equal(backend.open(0, NULL, &device), BPT_OK);
    backend.version = BPT_BACKEND_VERSION + 1;
    assert_int_equal(bpt_backend_check(&backend, BPT_BACKEND_VERSION), BPT_ERR_UNSUPPORTED);
    snprintf(text, sizeof text, "a backend was compiled for version %d", BPT_BACKEND_VERSION + 1);
    assert_non_null(strstr(bpt_error_message(), text));
    assert_int_equal(bpt_backend_check(device->backend, BPT_BACKEND_VERSION + 1), BPT_ERR_UNSUPPORTED);
    snprintf(text, sizeof text, "the program was compiled for version %d", BPT_BACKEND_VERSION + 1);
    assert_non_null(strstr(bpt_error_message(), text));
    const bpt_backend_t *mine = device->backend;
    device->backend = &backend;
    assert_int_equal(bpt_workspace_create(device, &workspace), BPT_ERR_UNSUPPORTED);
    device->backend = mine;
    mine->close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_is_found_by_its_name_and_has_the_version_of_the_header),
        cmocka_unit_test(another_version_of_the_boundary_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
