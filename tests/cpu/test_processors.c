// How many threads a machine gets whose processors have several speeds, in made-up folders like Linux's /sys/devices/system/cpu, and
// which numbers OMP_NUM_THREADS may have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "backends/host/processors.h"
#include "support/check.h"
#include "support/scratch.h"

enum { MOST = 16 };

// Processors of these speeds; "-" has no file, "x" a file without a number. Returns the threads for those of `allowed` ("" = all).
static int threads_of(const char *speeds, const char *allowed) {
    static int trees;
    char folder[600], speed[16];
    int numbers[MOST], count = 0, places = 0;
    snprintf(folder, sizeof folder, "%s", test_path("tree%d", trees++));
    test_make_folder(folder);
    int used;
    for (const char *rest = speeds; sscanf(rest, "%15s%n", speed, &used) == 1; rest += used, ++count) {
        char path[700];
        snprintf(path, sizeof path, "%s/cpu%d", folder, count);
        test_make_folder(path);
        numbers[count] = count;
        snprintf(path, sizeof path, "%s/cpu%d/cpu_capacity", folder, count);
        if (strcmp(speed, "-") != 0) test_write_file(path, speed, strlen(speed));
    }
    for (const char *a = allowed; *a; ++a) numbers[places++] = *a - '0';
    return bpt_processors_worth(folder, numbers, places ? places : count);
}

static void threads_are_those_of_the_fast_processors(void **state) {
    (void)state;
    assert_int_equal(threads_of("446 446 446 446 1024 1024 1024 1024", ""), 4);  // four little ones would hold up four big ones
    assert_int_equal(threads_of("336 336 336 336 871 871 871 1024", ""), 4);     // three kinds
    assert_int_equal(threads_of("1024 1024 400 400 400 400 400 400", ""), 8);    // eight at 400 are more than two at 1024
    assert_int_equal(threads_of("1024 512", ""), 1);                             // two at 512 are no more than one at 1024
    assert_int_equal(threads_of("1024 1024 1024", ""), 3);
}

static void only_processors_that_the_process_may_use_count(void **state) {
    (void)state;
    assert_int_equal(threads_of("446 446 446 446 1024 1024 1024 1024", "0123"), 4);
    assert_int_equal(threads_of("446 446 446 446 1024 1024 1024 1024", "01237"), 5);  // five at 446 are more than one at 1024
    assert_int_equal(threads_of("446 446 446 446 1024 1024 1024 1024", "0167"), 2);
}

static void without_all_speeds_every_processor_counts(void **state) {
    (void)state;
    assert_int_equal(threads_of("- - - -", ""), 4);
    assert_int_equal(threads_of("1024 - 100 100", ""), 4);
    assert_int_equal(threads_of("1024 x 100 100", ""), 4);
    assert_int_equal(threads_of("1024 0 100 100", ""), 4);
}

static void the_variable_decides_and_must_be_a_number(void **state) {
    (void)state;
    int threads = 0;
    const char *const wrong[] = {"x", "0", "-1", "5000", "4x", "99999999999999999999", " "};
    setenv("OMP_NUM_THREADS", "7", 1);
    assert_ok(bpt_threads_by_default(&threads));
    assert_int_equal(threads, 7);
    setenv("OMP_NUM_THREADS", "5,2", 1);
    assert_ok(bpt_threads_by_default(&threads));
    assert_int_equal(threads, 5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        setenv("OMP_NUM_THREADS", wrong[i], 1);
        assert_fails(bpt_threads_by_default(&threads), BPT_ERR_USAGE, "OMP_NUM_THREADS");
    }
    unsetenv("OMP_NUM_THREADS");
    assert_ok(bpt_threads_by_default(&threads));
    assert_in_range(threads, 1, bpt_processors());
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_those_of_the_fast_processors),
        cmocka_unit_test(only_processors_that_the_process_may_use_count),
        cmocka_unit_test(without_all_speeds_every_processor_counts),
        cmocka_unit_test(the_variable_decides_and_must_be_a_number),
    };
    return cmocka_run_group_tests_name("processors", tests, NULL, NULL);
}
