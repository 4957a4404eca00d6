// The ledger of kernels (backends/gpu/kernels.ledger): the texts of today's kernels are those that it was made of, and what compilers say
// of them is what it says. Compilers that are not here, or are others, are left out. Also what the program says of a ledger that differs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/kernel.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/process.h"

static char repository[1024];

static int set_up(void **state) {
    (void)state;
    snprintf(repository, sizeof repository, "%s/backends/gpu/kernels.ledger", getenv("BPT_SOURCE_DIR"));
    return 0;
}

static void expect_same(const char *more) {
    char line[1400];
    snprintf(line, sizeof line, "doctor --ledger %s%s", repository, more);
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("%s%s", p.out, p.err);
    print_message("%s", p.out);
    test_process_free(&p);
}

static void texts_are_those_of_the_ledger(void **state) {
    (void)state;
    expect_same("");
}

static void figures_are_those_of_the_ledger(void **state) {
    (void)state;
    const char *all = getenv("BPT_ALL_FAMILIES");
    expect_same(all && !strcmp(all, "1") ? " --compile" : " --compile --backend vulkan --precision f32");
}

// What no GPU of the ledger is given by its models: kernels for devices in software, and for libraries and drivers that a device that only
// compiles has not.
static bool is_for_others(const bpt_gpu_kernel_info_t *kernel) {
    static const char *const names[] = {"mask_bits", "pack", "matmul_wide", "attention_tile", "attention_tile_dq", "attention_dkv"};
    bool found = kernel->needs == BPT_GPU_NEEDS_FRAGMENTS || kernel->needs == BPT_GPU_NEEDS_TEXELS;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) found = found || !strcmp(names[i], kernel->name);
    return found;
}

static void every_kernel_is_in_the_ledger(void **state) {
    (void)state;
    char *text, line[128];
    size_t length;
    int missing = 0;
    assert_int_equal(bpt_file_read(repository, 64 << 20, &text, &length), BPT_OK);
    for (int i = 0; i < BPT_GPU_KERNEL_COUNT; ++i) {
        const bpt_gpu_kernel_info_t *kernel = &bpt_gpu_kernels[i];
        snprintf(line, sizeof line, "\n%s\t", kernel->name);
        const bool listed = strstr(text, line) != NULL;
        if (listed == is_for_others(kernel)) {
            print_error("%s is %s the ledger: the models of tools/bpt/devices/workloads.c %s\n", kernel->name, listed ? "in" : "not in",
                        listed ? "ask for it now: take it off the list of this test" : "do not ask for it");
            ++missing;
        }
    }
    bpt_free(text);
    assert_int_equal(missing, 0);
}

// ---- A ledger that differs

// The repository's ledger in the scratch folder, with the first line that begins with `line` and has ` target ` in it replaced; NULL:
// removed.
static const char *damaged(const char *kernel, const char *target, int field, const char *value) {
    char *text, *out, name[64];
    size_t length, used = 0;
    bool found = false;
    assert_int_equal(bpt_file_read(repository, 64 << 20, &text, &length), BPT_OK);
    assert_int_equal(bpt_alloc(length + 256, 1, &out), BPT_OK);
    snprintf(name, sizeof name, "\t%s\t", target);
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n") + 1;
        next[-1] = '\0';
        const bool here = !found && !strncmp(line, kernel, strlen(kernel)) && line[strlen(kernel)] == '\t' && strstr(line, name);
        found = found || here;
        if (here && !value) continue;
        char *at = line;
        for (int i = 0; here && i < field; ++i) at = strchr(at, '\t') + 1;
        if (here)
            used += (size_t)sprintf(out + used, "%.*s%s%s\n", (int)(at - line), line, value, at + strcspn(at, "\t"));
        else
            used += (size_t)sprintf(out + used, "%s\n", line);
    }
    assert_true(found);
    const char *path = test_file("kernels.ledger", out);
    bpt_free(text);
    bpt_free(out);
    return path;
}

static void expect_told(const char *path, const char *more, const char *words) {
    char line[1400];
    snprintf(line, sizeof line, "doctor --ledger %s --device sm_80%s", path, more);
    test_process_t p = test_run_line(line);
    if (p.exit_status != 1 || !strstr(p.out, words)) fail_msg("status %d, no '%s' in: %s%s", p.exit_status, words, p.out, p.err);
    if (!strstr(p.err, "--renew")) fail_msg("no remedy: %s", p.err);
    test_process_free(&p);
}

// The kernels of CUDA can be listed without NVRTC, but not without the backend.
static void need_cuda(void) {
#ifndef BPT_WITH_CUDA
    skip();
#endif
}

static void a_changed_text_is_named(void **state) {
    (void)state;
    need_cuda();
    expect_told(damaged("copy", "sm_80", 3, "0123456789abcdef"), "", "copy, sm_80: its text changed: group 256");
}

static void a_new_variant_is_named(void **state) {
    (void)state;
    need_cuda();
    expect_told(damaged("fill", "sm_80", 0, NULL), "", "fill, sm_80: is not in the ledger: group 256");
}

static void a_variant_that_is_gone_is_named(void **state) {
    (void)state;
    need_cuda();
    expect_told(damaged("accumulate", "sm_80", 1, "group 32"), "", "accumulate, sm_80: is no longer used: group 32");
}

static void a_new_breach_of_a_limit_is_named(void **state) {
    (void)state;
    need_cuda();
    expect_told(damaged("gather", "navi21", 5, "16"), "", "gather, navi21: 16 spilled; the limit is 0");
    expect_told(damaged("adam", "navi21", 7, "40000"), "", "adam, navi21: 40000 bytes of local memory; the limit is 32768");
}

// Without the compiler what did not change keeps its figures, and what did has none. What is no ledger is refused.
static void renewing_takes_what_is_known(void **state) {
    (void)state;
    char *before, *after;
    size_t n_before, n_after;
    need_cuda();
    const char *path = damaged("copy", "sm_80", 1, "group 32");
    setenv("BPT_NVRTC_LIBRARY", "/none/libnvrtc.so", 1);
    test_succeed("doctor --ledger %s --renew --device sm_80", path);
    unsetenv("BPT_NVRTC_LIBRARY");
    assert_int_equal(bpt_file_read(repository, 64 << 20, &before, &n_before), BPT_OK);
    assert_int_equal(bpt_file_read(path, 64 << 20, &after, &n_after), BPT_OK);
    const char *line = strstr(after, "copy\tgroup 256\tsm_80\t"), *there = strstr(before, "copy\tgroup 256\tsm_80\t");
    assert_true(line && there);
    assert_memory_equal(before, after, (size_t)(there - before));  // up to the line that was damaged, all is as it was
    assert_int_equal(line - after, there - before);
    line += strcspn(line, "\n"), there += strcspn(there, "\n");
    assert_string_equal(line, there);  // and behind it
    bpt_free(before);
    bpt_free(after);
    test_refused(1, "line 1 is no line of a ledger", "doctor --ledger %s", test_file("no.ledger", "nothing\n"));
    test_refused(2, "--ledger", "doctor --renew");
    test_refused(2, "no GPU of the ledger is called 'sm80'; there are polaris10, ", "doctor --ledger %s --renew --device sm80", repository);
}

// ---- Renewing in parts, by a compiler that compiles nothing
static const char *path_of_parts;

// A ledger that is not there yet, and the compiler.
static int set_up_parts(void **state) {
    static char path[1024];
    (void)state;
    if (!getenv("BPT_FAKE_OCLOC")) return 0;
    snprintf(path, sizeof path, "%s", test_path("parts.ledger"));
    path_of_parts = path;
    setenv("BPT_OCLOC_LIBRARY", getenv("BPT_FAKE_OCLOC"), 1);
    setenv("FAKE_OCLOC_LOG", test_path("programs"), 1);
    setenv("FAKE_OCLOC_LEDGER", path, 1);
    return 0;
}

static int tear_down_parts(void **state) {
    static const char *const variables[] = {"BPT_OCLOC_LIBRARY", "FAKE_OCLOC_LOG", "FAKE_OCLOC_LEDGER", "FAKE_OCLOC_LAST", "FAKE_OCLOC_VERSION"};
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) unsetenv(variables[i]);
    if (path_of_parts) remove(path_of_parts), remove(test_path("programs"));
    return 0;
}

static int lines_with(const char *path, const char *words) {
    size_t length;
    char *text = test_read_file(path, &length);
    int count = 0;
    for (const char *at = text; at && (at = strstr(at, words)); ++at) ++count;
    free(text);
    return count;
}

static int kernels_in(const char *path) { return lines_with(path, "\tskl\t") - 1; }  // but the line of the target

static void renew_parts(const char *kernels) {
    test_succeed("doctor --ledger %s --renew --device skl --threads 1 --kernels %s", path_of_parts, kernels);
}

static void a_killed_renewal_keeps_what_was_compiled(void **state) {
    enum { COMPILED = 7 };  // FAKE_OCLOC_LAST
    (void)state;
    if (!path_of_parts) skip();
    setenv("FAKE_OCLOC_LAST", "7", 1);
    test_process_t p = test_run_to(128 + 9, "doctor --ledger %s --renew --device skl --threads 1", path_of_parts);
    test_process_free(&p);
    unsetenv("FAKE_OCLOC_LAST");
    assert_int_equal(kernels_in(path_of_parts), COMPILED);
    assert_int_equal(lines_with(path_of_parts, "\t128\t0\t-\t64\t0\t16\t-\n"), COMPILED);
    assert_int_equal(lines_with(path_of_parts, "target\tskl\tocloc 1\n"), 1);
    test_succeed("doctor --ledger %s --renew --device skl --threads 1", path_of_parts);
    assert_int_equal(kernels_in(path_of_parts), kernels_in(repository));
    assert_int_equal(lines_with(path_of_parts, "?"), 0);
    // what was there was not compiled again
    assert_int_equal(lines_with(getenv("FAKE_OCLOC_LOG"), "program\n"), kernels_in(path_of_parts));
}

static void a_renewal_of_some_kernels_leaves_the_others(void **state) {
    (void)state;
    if (!path_of_parts) skip();
    renew_parts("tree_values");  // and tree_values_grad
    renew_parts("copy");
    assert_int_equal(lines_with(path_of_parts, "\ncopy\t"), 1);
    assert_int_equal(lines_with(path_of_parts, "\ntree_values\t"), 1);
    assert_int_equal(lines_with(path_of_parts, "\ntree_values_grad\t"), 1);
    assert_int_equal(kernels_in(path_of_parts), 3);
    test_succeed("doctor --ledger %s --device skl --kernels copy", path_of_parts);  // all others are "not in the ledger"
    test_refused(2, "no kernel's name begins with 'attraction'", "doctor --ledger %s --renew --kernels attraction", path_of_parts);
    // What another version says of some kernels does not go beside what this one said of others; all of a target may be renewed.
    size_t length;
    char *before = test_read_file(path_of_parts, &length);
    setenv("FAKE_OCLOC_VERSION", "2", 1);
    test_refused(1, "has what ocloc 1 said of skl, and here is ocloc 2; renew it without --kernels",
                 "doctor --ledger %s --renew --device skl --kernels copy", path_of_parts);
    char *after = test_read_file(path_of_parts, &length);
    assert_string_equal(before, after);
    test_succeed("doctor --ledger %s --renew --device skl", path_of_parts);
    assert_int_equal(lines_with(path_of_parts, "target\tskl\tocloc 2\n"), 1);
    assert_int_equal(lines_with(path_of_parts, "?"), 0);
    free(before);
    free(after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_is_in_the_ledger),    cmocka_unit_test(texts_are_those_of_the_ledger),
        cmocka_unit_test(figures_are_those_of_the_ledger),  cmocka_unit_test(a_changed_text_is_named),
        cmocka_unit_test(a_new_variant_is_named),           cmocka_unit_test(a_variant_that_is_gone_is_named),
        cmocka_unit_test(a_new_breach_of_a_limit_is_named), cmocka_unit_test(renewing_takes_what_is_known),
        cmocka_unit_test_setup_teardown(a_killed_renewal_keeps_what_was_compiled, set_up_parts, tear_down_parts),
        cmocka_unit_test_setup_teardown(a_renewal_of_some_kernels_leaves_the_others, set_up_parts, tear_down_parts),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
