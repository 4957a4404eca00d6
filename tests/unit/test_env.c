// Environment variables: what may stand in them, whole words, names of earlier versions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/env.h"
#include "support/scratch.h"
#include "support/support.h"

static void a_word_disables_itself_and_nothing_that_it_is_a_part_of(void **state) {
    (void)state;
    setenv("BPT_DISABLE", ",matrix,,cuda-graph", 1);
    assert_true(bpt_env_disabled("matrix") && bpt_env_disabled("cuda-graph"));
    assert_false(bpt_env_disabled("f16") || bpt_env_disabled("cache"));
    assert_int_equal(bpt_env_check(), BPT_OK);
    static const char *const wrong[] = {"bf16", "f1", "cuda", "f16;cache", "f16 "};
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        setenv("BPT_DISABLE", wrong[i], 1);
        for (const bpt_env_word_t *w = bpt_env_disable_words; w->word; ++w) assert_false(bpt_env_disabled(w->word));
        assert_int_equal(bpt_env_check(), BPT_ERR_USAGE);
        for (const bpt_env_word_t *w = bpt_env_disable_words; w->word; ++w) assert_non_null(strstr(bpt_error_message(), w->word));
    }
    unsetenv("BPT_DISABLE");
}

static void numbers_are_whole_and_within_their_range(void **state) {
    (void)state;
    uint64_t number = 0;
    unsetenv("BPT_DRIVER_SECONDS");
    assert_int_equal(bpt_env_number("BPT_DRIVER_SECONDS", 20, &number), BPT_OK);
    assert_int_equal(number, 20);
    setenv("BPT_DRIVER_SECONDS", "3600", 1);
    assert_int_equal(bpt_env_number("BPT_DRIVER_SECONDS", 20, &number), BPT_OK);
    assert_int_equal(number, 3600);
    static const char *const wrong[] = {"0", "3601", "-1", "+1", " 1", "1s", "99999999999999999999", "many"};
    for (size_t i = 0; i < BPT_COUNT(wrong); ++i) {
        setenv("BPT_DRIVER_SECONDS", wrong[i], 1);
        assert_int_equal(bpt_env_number("BPT_DRIVER_SECONDS", 20, &number), BPT_ERR_USAGE);
        assert_int_equal(bpt_env_check(), BPT_ERR_USAGE);
    }
    setenv("BPT_DRIVER_SECONDS", "", 1);  // as if it were not set
    assert_int_equal(bpt_env_check(), BPT_OK);
    unsetenv("BPT_DRIVER_SECONDS");
}

static void switches_are_0_or_1(void **state) {
    (void)state;
    int count = 0;
    for (const bpt_env_variable_t *v = bpt_env_variables; v->name; ++v) {
        if (v->kind != BPT_ENV_SWITCH) continue;
        setenv(v->name, "1", 1);
        assert_int_equal(bpt_env_check(), BPT_OK);
        setenv(v->name, "on", 1);
        assert_int_equal(bpt_env_check(), BPT_ERR_USAGE);
        assert_non_null(strstr(bpt_error_message(), v->name));
        unsetenv(v->name);
        ++count;
    }
    assert_true(count >= 3);
}

static void names_of_earlier_versions_mean_the_same_and_are_told_once(void **state) {
    (void)state;
    setenv("BPT_CACHE", "1", 1);
    assert_false(bpt_env_disabled("cache"));
    setenv("BPT_CACHE", "0", 1);
    assert_true(bpt_env_disabled("cache"));
    assert_false(bpt_env_disabled("quirks"));
    setenv("BPT_ONEDNN", "old", 1);
    assert_string_equal(bpt_env_text("BPT_ONEDNN_LIBRARY"), "old");
    setenv("BPT_ONEDNN_LIBRARY", "new", 1);
    assert_string_equal(bpt_env_text("BPT_ONEDNN_LIBRARY"), "new");

    const char *path = test_path("stderr");
    size_t length;
    const int before = dup(STDERR_FILENO);
    assert_non_null(freopen(path, "w", stderr));
    for (int i = 0; i < 2; ++i) assert_int_equal(bpt_env_check(), BPT_OK);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    char *text = test_read_file(path, &length);
    assert_non_null(text);
    const char *first = strstr(text, "BPT_CACHE is a name of an earlier version");
    assert_non_null(first);
    assert_non_null(strstr(first, "use BPT_DISABLE=cache"));
    assert_non_null(strstr(text, "use BPT_ONEDNN_LIBRARY\n"));
    assert_null(strstr(first + 1, "BPT_CACHE is a name"));
    free(text);

    setenv("BPT_CACHE", "off", 1);
    assert_int_equal(bpt_env_check(), BPT_ERR_USAGE);
    unsetenv("BPT_CACHE");
    unsetenv("BPT_ONEDNN");
    unsetenv("BPT_ONEDNN_LIBRARY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_disables_itself_and_nothing_that_it_is_a_part_of),
        cmocka_unit_test(numbers_are_whole_and_within_their_range),
        cmocka_unit_test(switches_are_0_or_1),
        cmocka_unit_test(names_of_earlier_versions_mean_the_same_and_are_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
