// Rules for products of matrices: their texts, which one applies, and the file of a tuned one, damaged or not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/scratch.h"

static bpt_device_info_t processor = {.name = "two cores", .driver = "1.0", .type = "software"};
static bpt_device_info_t gpu = {.name = "a GPU", .driver = "1.0", .type = "discrete"};
static bpt_device_info_t units = {.name = "a GPU with units", .driver = "1.0", .type = "integrated"};
static bpt_gpu_info_t units_info = {
    .max_group_size = 256, .max_local_bytes = 16384, .fragments = {.rows = 16, .columns = 16, .depth = 16, .subgroup = 32}};
static const double gflops[BPT_PRODUCT_FORMS] = {1.5, 2, 3};

static bpt_device_info_t with(bpt_device_info_t info, bpt_gpu_info_t detail) {
    bpt_gpu_info_set(&info, &detail);
    return info;
}

static int set_up(void **state) {
    (void)state;
    processor = with(processor, (bpt_gpu_info_t){.max_group_size = 1024, .max_local_bytes = 32768});
    gpu = with(gpu, (bpt_gpu_info_t){.max_group_size = 128, .max_local_bytes = 16384});
    units = with(units, units_info);
    setenv("BPT_CONFIG_DIR", test_path("config/deep"), 1);
    return 0;
}

// ---- Texts -----------------------------------------------------------------------------------------------------------

static void a_text_comes_back(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"tiles", "tiles:64,64,16,8,8"},
        {"0,0,0", "tiles:64,64,16,8,8"},
        {"8,2,8", "wide:8,2,8"},
        {"8,2,8,4", "wide:8,2,8"},
        {"wide:8,2,1,16", "wide:8,2,1,16"},
        {"tiles:128,64,16,8,8", "tiles:128,64,16,8,8"},
        {"library", "library"},
        {"library-tf32/library/library", "library-tf32/library/library"},
        {"wide:16,4,8/library/tiles", "wide:16,4,8/library/tiles:64,64,16,8,8"},
        {"library/library/library", "library"},
        {"tiles+matrix", "tiles:64,64,16,8,8+matrix:2,2,2,2,32"},
        {"8,2,8/tiles/tiles+matrix:4,4,2,2,16/tiles/matrix",
         "wide:8,2,8/tiles:64,64,16,8,8/tiles:64,64,16,8,8+matrix:4,4,2,2,16/tiles:64,64,16,8,8/matrix:2,2,2,2,32"},
        {"tiles+tiles", "tiles:64,64,16,8,8"}};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        bpt_gpu_tuning_t tuning, again;
        char text[BPT_TUNING_TEXT];
        if (!bpt_gpu_tuning_parse(texts[i][0], &tuning)) fail_msg("%s", texts[i][0]);
        bpt_gpu_tuning_text(&tuning, text);
        assert_string_equal(text, texts[i][1]);
        assert_true(bpt_gpu_tuning_parse(text, &again));
        assert_memory_equal(&tuning, &again, sizeof tuning);
    }
}

static void wrong_texts_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "fast",
                                        "8,2",
                                        "8,2,8,1",
                                        "8,2,8,32",
                                        "8,2,8,16,1",
                                        "7,2,8",
                                        "8,9,8",
                                        "8,2,7",
                                        "wide:0,2,8",
                                        "68,2,8",
                                        "tiles:64,64,16",
                                        "tiles:64,64,4,8,8",
                                        "tiles:48,64,16,8,8",
                                        "tiles:512,64,16,8,8",
                                        "library/tiles",
                                        "tiles/tiles/tiles/tiles",
                                        "tiles//tiles",
                                        "-4,1,1",
                                        "matrix",
                                        "tiles/matrix/tiles",
                                        "tiles+",
                                        "tiles+matrix:2,2,2,2",
                                        "tiles+matrix:3,2,2,2,32",
                                        "tiles+matrix:16,2,2,2,32",
                                        "tiles+matrix:2,2,2,2,4",
                                        "tiles+matrix+matrix"};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        bpt_gpu_tuning_t tuning;
        if (bpt_gpu_tuning_parse(texts[i], &tuning)) fail_msg("'%s' was taken", texts[i]);
    }
}

static void expect_candidates(const char *const *candidates, const char *before, bool some) {
    assert_int_equal(candidates[0] != NULL, some);
    for (int c = 0; candidates[c]; ++c) {
        bpt_gpu_tuning_t tuning;
        char given[2 * BPT_TUNING_TEXT], text[BPT_TUNING_TEXT];
        snprintf(given, sizeof given, "%s%s", before, candidates[c]);
        assert_true(bpt_gpu_tuning_parse(given, &tuning));
        bpt_gpu_tuning_text(&tuning, text);
        assert_string_equal(text, given);
        for (int other = 0; other < c; ++other) assert_string_not_equal(candidates[other], candidates[c]);
    }
}

static void every_candidate_is_a_rule_of_its_own(void **state) {
    (void)state;
    const bpt_device_info_t vectors = with(processor, (bpt_gpu_info_t){.vector_lanes = 16});
    const bpt_device_info_t *infos[] = {&processor, &gpu, &units, &vectors};
    for (int i = 0; i < 4; ++i) {
        expect_candidates(bpt_gpu_tuning_candidates(infos[i]), "", true);
        expect_candidates(bpt_gpu_tuning_half_candidates(infos[i]), "wide:8,2,8+", i == 2);
    }
}

// ---- Which applies ---------------------------------------------------------------------------------------------------

static void expect_rule(const bpt_device_info_t *info, const char *wanted, const char *text, const char *origin, const char *note) {
    bpt_gpu_rule_t rule;
    char got[BPT_TUNING_TEXT];
    if (bpt_gpu_rule("test", info, wanted, &rule) != BPT_OK) fail_msg("%s", bpt_error_message());
    bpt_gpu_tuning_text(&rule.tuning, got);
    assert_string_equal(got, text);
    assert_string_equal(rule.origin, origin);
    if (*note ? !strstr(rule.note, note) : *rule.note) fail_msg("'%s' was said, not '%s'", rule.note, note);
}

static void write_rule(const bpt_device_info_t *info, const char *text) {
    bpt_gpu_tuning_t tuning;
    assert_true(bpt_gpu_tuning_parse(text, &tuning));
    assert_int_equal(bpt_gpu_tuning_prepare("test", info), BPT_OK);
    if (bpt_gpu_tuning_write("test", info, &tuning, gflops) != BPT_OK) fail_msg("%s", bpt_error_message());
}

static void what_is_asked_for_goes_before_the_file_before_what_is_shipped(void **state) {
    (void)state;
    bpt_device_info_t newer = processor;
    strcpy(newer.driver, "1.1");
    expect_rule(&processor, NULL, "wide:8,2,8", "shipped", "");
    expect_rule(&gpu, NULL, "tiles:64,64,16,8,8", "shipped", "");
    bpt_device_info_t vectors = with(processor, (bpt_gpu_info_t){.vector_lanes = 8});
    expect_rule(&vectors, NULL, "wide:4,2,1,8", "shipped", "");
    vectors = with(processor, (bpt_gpu_info_t){.vector_lanes = 16});
    expect_rule(&vectors, NULL, "wide:8,2,1,16", "shipped", "");
    bpt_device_info_t rasterizer = {.name = "llvmpipe (LLVM 15.0.6, 256 bits)", .driver = "1.0", .type = "software"};
    rasterizer = with(rasterizer, (bpt_gpu_info_t){.subgroup_size = 8});
    expect_rule(&rasterizer, NULL, "wide:16,4,8", "shipped", "");
    rasterizer = with(rasterizer, (bpt_gpu_info_t){.subgroup_size = 16});
    expect_rule(&rasterizer, NULL, "wide:32,2,16", "shipped", "");
    bpt_device_info_t nvidia = {.name = "a GPU", .driver = "1.0", .type = "discrete"};
    nvidia = with(nvidia, (bpt_gpu_info_t){.library = true});
    expect_rule(&nvidia, NULL, "library", "shipped", "");
    expect_rule(&units, NULL, "tiles:64,64,16,8,8+matrix:2,2,2,2,32", "shipped", "");
    static const struct {
        uint32_t least_subgroup, group;
        const char *rule;
    } classes[] = {{8, 256, "tiles:64,64,16,4,4"},   {8, 128, "tiles:64,64,16,8,8"},   {16, 1024, "tiles:64,64,16,8,8"},
                   {32, 1024, "tiles:64,64,16,8,8"}, {64, 1024, "tiles:64,64,16,8,4"}, {64, 128, "tiles:64,64,16,8,8"}};
    for (size_t i = 0; i < BPT_COUNT(classes); ++i) {
        const bpt_gpu_info_t of = {.least_subgroup = classes[i].least_subgroup, .max_group_size = classes[i].group};
        const bpt_device_info_t device = with(gpu, of);
        expect_rule(&device, NULL, classes[i].rule, "shipped", "");
    }
    write_rule(&processor, "wide:16,2,8/library/tiles");
    expect_rule(&processor, NULL, "wide:16,2,8/library/tiles:64,64,16,8,8", "tuned", "");
    expect_rule(&gpu, NULL, "tiles:64,64,16,8,8", "shipped", "");
    expect_rule(&newer, NULL, "wide:8,2,8", "shipped", "");  // it was measured with another driver
    setenv("BPT_TUNING", "8,4,8", 1);
    expect_rule(&processor, NULL, "wide:8,4,8", "BPT_TUNING", "");
    expect_rule(&processor, "library", "library", "asked for", "");
    unsetenv("BPT_TUNING");
}

static void a_wrong_variable_is_wrong_usage(void **state) {
    (void)state;
    static const char *const texts[] = {"fast", "wide:8,2,256", "wide:8,2,1,16"};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        bpt_gpu_rule_t rule;
        setenv("BPT_TUNING", texts[i], 1);
        assert_int_equal(bpt_gpu_rule("test", &gpu, NULL, &rule), BPT_ERR_USAGE);
        assert_non_null(strstr(bpt_error_message(), texts[i]));
    }
    unsetenv("BPT_TUNING");
}

// Units for products of matrices are the shipped rule where they are, fit and belong to a GPU; asked for, they must be there and fit.
static void units_are_used_where_they_fit(void **state) {
    (void)state;
    bpt_device_info_t software = units;
    bpt_gpu_info_t little = units_info, few = units_info, deeper = units_info;
    strcpy(software.type, "software");
    little.max_local_bytes = 14335;  // two tiles of 64 x 32 halves with a vector between the lines, and a fragment per subgroup
    few.max_group_size = 64;
    deeper.fragments.depth = 64;
    const bpt_device_info_t small = with(units, little), narrow = with(units, few), deep = with(units, deeper);
    expect_rule(&software, NULL, "wide:8,2,8", "shipped", "");
    expect_rule(&software, "tiles+matrix", "tiles:64,64,16,8,8+matrix:2,2,2,2,32", "asked for", "");
    const struct {
        const bpt_device_info_t *info;
        const char *why;
    } faults[] = {{&gpu, "units for products"},
                  {&small, "14336 bytes of local memory"},
                  {&narrow, "work-groups of 128"},
                  {&deep, "a multiple of 64"}};
    for (size_t i = 0; i < BPT_COUNT(faults); ++i) {
        bpt_gpu_rule_t rule;
        expect_rule(faults[i].info, NULL, "tiles:64,64,16,8,8", "shipped", "");
        assert_int_equal(bpt_gpu_rule("test", faults[i].info, "tiles+matrix", &rule), BPT_ERR_USAGE);
        if (!strstr(bpt_error_message(), faults[i].why)) fail_msg("%s", bpt_error_message());
    }
}

// ---- The file --------------------------------------------------------------------------------------------------------

static void whatever_is_wrong_with_the_file_the_shipped_rule_applies(void **state) {
    (void)state;
    static const char *const contents[][2] = {
        {"", "line 1"},
        {"{\"products\": \"wide:8", "line 1"},
        {"[1, 2]", "it holds no JSON object"},
        {"{}", "another device or driver"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\"}", "\"products\" is ''"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": \"fastest\"}", "\"products\" is 'fastest'"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": 7}", "products"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": \"wide:8,2,2048\"}", "\"products\" is 'wide:8,2,2048'"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": \"tiles:256,256,64,16,16\"}", "131072 bytes of local memory"},
    };
    write_rule(&processor, "wide:16,2,8");
    char *path, name[700];
    assert_int_equal(bpt_gpu_tuning_path("test", &processor, &path), BPT_OK);
    snprintf(name, sizeof name, "%s", path);
    bpt_free(path);
    for (size_t i = 0; i < BPT_COUNT(contents); ++i) {
        test_write_file(name, contents[i][0], strlen(contents[i][0]));
        expect_rule(&processor, NULL, "wide:8,2,8", "shipped", contents[i][1]);
    }
    write_rule(&processor, "wide:16,2,8");  // and can be replaced
    expect_rule(&processor, NULL, "wide:16,2,8", "tuned", "");
    assert_int_equal(bpt_path_remove(name), BPT_OK);
}

static void without_a_folder_nothing_is_tuned(void **state) {
    (void)state;
    test_write_file(test_path("no-folder"), "", 0);
    setenv("BPT_CONFIG_DIR", test_path("no-folder/config"), 1);
    expect_rule(&processor, NULL, "wide:8,2,8", "shipped", "");
    assert_int_equal(bpt_gpu_tuning_prepare("test", &processor), BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), "no-folder"));
    setenv("BPT_CONFIG_DIR", test_path("config/deep"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_comes_back),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(every_candidate_is_a_rule_of_its_own),
        cmocka_unit_test(what_is_asked_for_goes_before_the_file_before_what_is_shipped),
        cmocka_unit_test(a_wrong_variable_is_wrong_usage),
        cmocka_unit_test(units_are_used_where_they_fit),
        cmocka_unit_test(whatever_is_wrong_with_the_file_the_shipped_rule_applies),
        cmocka_unit_test(without_a_folder_nothing_is_tuned),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
