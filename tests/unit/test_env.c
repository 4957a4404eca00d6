// Environment variables: what may stand in them, whole words.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_disables_itself_and_nothing_that_it_is_a_part_of),
        cmocka_unit_test(numbers_are_whole_and_within_their_range),
        cmocka_unit_test(switches_are_0_or_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
