// The preprocessor of kernels' texts: what it makes of macros and conditions, and what makes no difference.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/gpu/preprocess.h"
#include "bpt/alloc.h"

static void expect(const char *text, const char *options, const char *wanted) {
    char *out;
    if (bpt_gpu_preprocess(text, options, &out) != BPT_OK) fail_msg("%s", bpt_error_message());
    assert_string_equal(out, wanted);
    bpt_free(out);
}

static void macros_are_expanded(void **state) {
    (void)state;
    expect("#define A B + 1\n#define B 2\nA", "", "2 + 1");
    expect("#define F(x, y) x - y\nF(F(1, 2), (3, 4))", "", "1 - 2 - ( 3 , 4 )");
    expect("#define F(x) load(DT_##x, x##_base)\n#define q other\nF(q)", "-DDT_q=2u", "load ( 2u , q_base )");
    expect("#define LIST(M) M(0, a) M(1, b)\n#define ONE(n, x) int x;\nLIST(ONE)", "", "int a ; int b ;");
    expect("#define F(x) x\n#define G F\nG(1) F F\n(2)", "", "1 F 2");
    expect("#define F (x)\nF", "", "( x )");
    expect("#define f(x) f(x + 1)\nf(f(1))", "", "f ( f ( 1 + 1 ) + 1 )");  // a macro is not expanded in itself
    expect("#define A B\n#define B A\nA B", "", "A B");
    expect("#define E\nE a E\n#undef E\nE", "", "a E");
    expect("WG wG", "-cl-std=CL1.2 -DWG=64u -O2", "64u wG");
}

static void conditions_choose(void **state) {
    (void)state;
    expect("#if W == 1\na\n#elif W >= 8 && !defined(X)\nb\n#else\nc\n#endif\nd", "-DW=1u", "a d");
    expect("#if W == 1\na\n#elif W >= 8 && !defined(X)\nb\n#else\nc\n#endif\nd", "-DW=8u", "b d");
    expect("#if W == 1\na\n#elif W >= 8 && !defined(X)\nb\n#else\nc\n#endif\nd", "-DW=8u -DX=1", "c d");
    expect("#ifdef A\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "", "c");
    expect("#ifndef A\n#define A 1\n#endif\n#if (A + 2) * 3 == 9 || B\nyes\n#endif", "", "yes");
}

static void layout_and_comments_say_nothing(void **state) {
    (void)state;
    const char *plain = "int a = b ; return \"x  // y\" ;";
    expect("int a = b; return \"x  // y\";", "", plain);
    expect("#line 7 \"file\"\nint /* of a */ a\n  =b; // that is all\n#define UNUSED 1\nreturn \\\n\"x  // y\";", "", plain);
    expect("#pragma unroll\nfor", "", "# pragma unroll for");
}

static void nonsense_is_refused(void **state) {
    (void)state;
    char *out;
    const char *const texts[] = {"#if 1\na", "#endif", "#else", "#define F(x) x\nF(1", "#if 1 +\n#endif", "#if (1\n#endif"};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        assert_int_equal(bpt_gpu_preprocess(texts[i], "", &out), BPT_ERR_INPUT);
        bpt_error_clear();
    }
    assert_int_equal(bpt_alloc_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(macros_are_expanded), cmocka_unit_test(conditions_choose),
                                       cmocka_unit_test(layout_and_comments_say_nothing), cmocka_unit_test(nonsense_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
