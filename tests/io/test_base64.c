// Base64: the examples of RFC 4648, all bytes there and back, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/base64.h"
#include "support/check.h"

static void examples_of_the_rfc(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *text, *bytes;
        size_t n;
        assert_ok(bpt_base64_encode(cases[i][0], strlen(cases[i][0]), &text));
        assert_string_equal(text, cases[i][1]);
        assert_ok(bpt_base64_decode(text, &bytes, &n));
        assert_int_equal(n, strlen(cases[i][0]));
        assert_memory_equal(bytes, cases[i][0], n);
        bpt_free(text);
        bpt_free(bytes);
    }
}

static void all_bytes_come_back(void **state) {
    (void)state;
    uint8_t in[3 * 256];
    for (int i = 0; i < 3 * 256; ++i) in[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t n = sizeof in - 5; n <= sizeof in; ++n) {
        char *text, *bytes;
        size_t m;
        assert_ok(bpt_base64_encode(in, n, &text));
        assert_ok(bpt_base64_decode(text, &bytes, &m));
        assert_int_equal(m, n);
        assert_memory_equal(bytes, in, n);
        bpt_free(text);
        bpt_free(bytes);
    }
}

static void what_is_none_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"Zg=",  "Z",    "Zg==Zg==", "Z===", "====", "Zm9v\nZm9",
                                      "Zm 9", "Zm9-", "Zm9vYh==", "Zm9=", "=m9v", "Zg=v"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char *bytes;
        size_t n;
        assert_fails(bpt_base64_decode(bad[i], &bytes, &n), BPT_ERR_INPUT, "no base64");
    }
    assert_int_equal(bpt_alloc_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_rfc),
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
