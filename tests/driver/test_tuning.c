// Rules for products of matrices: their texts, which one applies, and the file of a tuned one, damaged or not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/kernel.h"
#include "backends/gpu/tuning.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/line.h"
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
        {"tiles+tiles", "tiles:64,64,16,8,8"},
        {"tiles;none", "tiles:64,64,16,8,8;none"},
        {"warps:4,64;rows:8,64,4,4,64,1", "rows:8,64,4,4,64,1;warps:4,64"},
        {"library+matrix;warps", "library+matrix:2,2,2,2,32;warps:4,128"}};
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
                                        "tiles+matrix+matrix",
                                        "tiles+none",
                                        "tiles/warps/tiles",
                                        "tiles;tiles",
                                        "warps;warps:4,64",
                                        "warps;tiles",
                                        "tiles;",
                                        "rows",
                                        "rows:16,64,4,4,64",
                                        "rows:16,64,32,4,64,1",
                                        "rows:16,64,4,4,63,1",
                                        "warps:4,32",
                                        "warps:3,64"};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        bpt_gpu_tuning_t tuning;
        if (bpt_gpu_tuning_parse(texts[i], &tuning)) fail_msg("'%s' was taken", texts[i]);
    }
}

// They are ways for one problem, which all fit the device.
static void expect_candidates(const bpt_device_info_t *info, bpt_problem_t problem) {
    bpt_blueprint_t candidate[BPT_MOST_CANDIDATES];
    const bpt_gpu_info_t detail = bpt_gpu_info(info);
    const bpt_blueprint_t taken = bpt_select(info, problem);
    const int count = bpt_select_candidates(info, problem, candidate);
    assert_in_range(count, 1, BPT_MOST_CANDIDATES - 1);
    assert_true(bpt_blueprint_same(&candidate[0], &taken));
    for (int c = 0; c < count; ++c) {
        bpt_blueprint_t again;
        char text[BPT_BLUEPRINT_TEXT], why[128];
        bpt_blueprint_text(&candidate[c], text, sizeof text);
        assert_true(bpt_blueprint_parse(text, &again));
        assert_true(bpt_blueprint_same(&candidate[c], &again));
        bpt_blueprint_lacks(&candidate[c], &detail, why, sizeof why);
        assert_string_equal(why, "");
        for (int other = 0; other < c; ++other) assert_false(bpt_blueprint_same(&candidate[other], &candidate[c]));
    }
}

static void every_candidate_is_a_rule_of_its_own(void **state) {
    (void)state;
    const bpt_device_info_t vectors = with(processor, (bpt_gpu_info_t){.vector_lanes = 16});
    const bpt_device_info_t *infos[] = {&processor, &gpu, &units, &vectors};
    for (int i = 0; i < 4; ++i)
        for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) expect_candidates(infos[i], (bpt_problem_t)p);
}

// ---- Classes
static bpt_device_info_t named(const char *name, const char *driver, const char *features, uint32_t least_subgroup, bool matrix) {
    bpt_device_info_t info = {.type = "discrete"};
    snprintf(info.name, sizeof info.name, "%s", name);
    snprintf(info.driver, sizeof info.driver, "%s", driver);
    snprintf(info.features, sizeof info.features, "%s", features);
    return with(info, (bpt_gpu_info_t){.least_subgroup = least_subgroup,
                                       .max_group_size = 1024,
                                       .max_local_bytes = 65536,
                                       .fragments = {matrix ? 16u : 0, 16, 16, 32}});
}

static void a_device_belongs_to_the_nearest_class(void **state) {
    (void)state;
    static const struct {
        const char *name, *driver, *features;
        uint32_t least_subgroup;
        bool matrix;
        const char *class, *products;
    } devices[] = {
        {"AMD Radeon RX 6800 (RADV NAVI21)", "radv Mesa 22.3.6", "", 32, false, "rdna2", "tiles:64,64,16,8,8"},
        {"Null hardware (RADV POLARIS10)", "radv Mesa 22.3.6", "", 64, false, "gcn", "tiles:64,64,16,8,4"},
        {"AMD Radeon RX 580 Series", "AMD proprietary driver", "", 64, false, "gcn", "tiles:64,64,16,8,4"},
        {"AMD Radeon RX 5700 XT", "AMD proprietary driver", "", 32, false, "rdna", "tiles:64,64,16,8,8"},
        {"AMD Radeon 780M Graphics (RADV PHOENIX)", "radv", "", 32, true, "rdna3", "tiles:64,64,16,8,8"},
        {"Radeon 8060S Graphics (RADV STRIX_HALO)", "radv", "", 32, true, "rdna3.5", "tiles:64,64,16,8,8"},
        {"gfx1036", "AMD Accelerated Parallel Processing", "", 0, false, "rdna2", "tiles:64,64,16,8,8"},
        {"gfx90c", "AMD Accelerated Parallel Processing", "", 0, false, "vega", "tiles:64,64,16,8,4"},
        {"gfx1251", "AMD Accelerated Parallel Processing", "", 0, false, "rdna4", "tiles:64,64,16,8,8"},  // later than all that are known
        {"AMD Radeon Graphics", "AMD", "", 64, false, "vega", "tiles:64,64,16,8,4"},                      // no word that is known
        {"AMD Radeon Graphics", "AMD", "", 32, true, "rdna4", "tiles:64,64,16,8,8"},
        {"skl", "Intel ocloc", "", 8, false, "gen9", "tiles:64,64,16,4,4"},
        {"dg2-g10", "Intel ocloc", "", 8, false, "xe-hpg", "tiles:64,64,16,4,4"},
        {"Intel(R) Iris(R) Xe Graphics (TGL GT2)", "Intel open-source Mesa driver", "", 8, false, "xe", "tiles:64,64,16,4,4"},
        {"Intel(R) UHD Graphics 620", "Intel(R) OpenCL Graphics", "", 8, false, "gen9", "tiles:64,64,16,4,4"},
        {"Intel(R) Arc(TM) B580 Graphics", "Intel(R) OpenCL Graphics", "", 16, false, "xe2", "tiles:64,64,16,8,8"},
        {"Intel(R) Arc(TM) B390 Graphics", "Intel(R) OpenCL Graphics", "", 16, false, "xe3", "tiles:64,64,16,8,8"},
        {"pvc", "Intel ocloc", "", 16, false, "xe-hpc", "tiles:64,64,16,8,8"},
        {"Intel(R) Graphics", "Intel open-source Mesa driver", "", 8, false, "xe-lpg-plus", "tiles:64,64,16,4,4"},
        {"NVIDIA H100", "CUDA 13.0, NVRTC 13.0", "sm_90", 0, false, "hopper", "tiles:64,64,16,8,8"},
        {"sm_86", "NVRTC 13.0", "", 0, false, "ampere", "tiles:64,64,16,8,8"},
        {"NVIDIA GeForce RTX 4070", "NVIDIA 570", "vulkan-1.4", 32, true, "ada", "tiles:64,64,16,8,8"},
        {"NVIDIA Graphics Device", "NVIDIA 610", "vulkan-1.4", 32, true, "blackwell", "tiles:64,64,16,8,8"},
        {"Mali-G78", "ARM", "", 16, false, "gpu", "tiles:64,64,16,8,8"},
        {"Adreno (TM) 740", "Qualcomm", "", 64, false, "wave64", "tiles:64,64,16,8,4"},
    };
    for (size_t i = 0; i < BPT_COUNT(devices); ++i) {
        const bpt_device_info_t info =
            named(devices[i].name, devices[i].driver, devices[i].features, devices[i].least_subgroup, devices[i].matrix);
        const bpt_blueprint_t b = bpt_select(&info, BPT_PROBLEM_PRODUCT);
        char text[BPT_BLUEPRINT_TEXT];
        bpt_blueprint_text(&b, text, sizeof text);
        if (strcmp(bpt_gpu_class_name(bpt_gpu_class(&info)), devices[i].class) || strcmp(text, devices[i].products))
            fail_msg("%s is %s with %s", devices[i].name, bpt_gpu_class_name(bpt_gpu_class(&info)), text);
    }
}

static void a_class_says_what_it_is_like(void **state) {
    (void)state;
    const bpt_device_info_t info = named("gfx1151", "AMD", "", 32, true);
    char text[128];
    bpt_gpu_class_text(bpt_gpu_class(&info), text, sizeof text);
    assert_string_equal(text, "rdna3.5: rdna3/rdna2/rdna/gcn/wave64/gpu/any");
}

static void every_line_that_is_measured_is_an_op_call(void **state) {
    (void)state;
    int count = 0;
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p)
        for (const char *lines = bpt_problems[p].lines; *lines; ++count) {
            bpt_op_line_t line;
            char text[BPT_LINE_MOST_BYTES];
            const size_t length = strcspn(lines, "\n");
            snprintf(text, sizeof text, "%.*s", (int)length, lines);
            lines += length + (lines[length] == '\n');
            if (bpt_line_parse(text, &line) != BPT_OK) fail_msg("%s", bpt_error_message());
        }
    assert_true(count > 0);
}

static bool is_kernel(const char *name, size_t length) {
    for (int k = 0; k < BPT_GPU_KERNEL_COUNT; ++k)
        if (strlen(bpt_gpu_kernels[k].name) == length && !memcmp(bpt_gpu_kernels[k].name, name, length)) return true;
    return false;
}

static void every_problem_names_kernels(void **state) {
    (void)state;
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p)
        for (const char *name = bpt_problems[p].kernels; *name;) {
            const size_t length = strcspn(name, ",");
            if (!is_kernel(name, length)) fail_msg("%s: there is no kernel '%.*s'", bpt_problems[p].name, (int)length, name);
            name += length;
            name += strspn(name, ", ");
        }
}

static void attention_has_a_blueprint_of_its_own(void **state) {
    (void)state;
    bpt_device_info_t cuda = named("NVIDIA H100", "CUDA 13.0", "sm_90", 0, false);
    bpt_gpu_info_t detail = bpt_gpu_info(&cuda);
    bpt_gpu_rule_t rule;
    bpt_gpu_tuning_t all = {0};
    assert_int_equal(bpt_select(&cuda, BPT_PROBLEM_ATTENTION_WARPS).kind, BPT_BLUEPRINT_NONE);
    assert_int_equal(bpt_gpu_rule("test", &cuda, "warps:4,64", &rule), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "compute capability 8.0"));
    detail.mma = true;
    cuda = with(cuda, detail);
    assert_int_equal(bpt_select(&cuda, BPT_PROBLEM_ATTENTION_WARPS).kind, BPT_BLUEPRINT_WARPS);
    assert_int_equal(bpt_gpu_rule("test", &cuda, "warps:4,64", &rule), BPT_OK);
    assert_int_equal(rule.tuning.form[0].kind, BPT_BLUEPRINT_TILES);  // what is not said is shipped
    bpt_gpu_tuning_complete(&cuda, &all);
    for (int p = 0; p < BPT_PROBLEM_COUNT; ++p) assert_int_not_equal(all.other[p].kind, BPT_BLUEPRINT_UNSET);
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
                   {32, 1024, "tiles:64,64,16,8,8"}, {64, 1024, "tiles:64,64,16,8,4"}, {64, 64, "tiles:64,64,16,8,8"}};
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
        const char *why, *shipped;
    } faults[] = {{&gpu, "units for products", "tiles:64,64,16,8,8"},
                  {&small, "14336 bytes of local memory", "tiles:64,64,16,8,8+matrix:4,4,1,1,32"},
                  {&narrow, "work-groups of 128", "tiles:64,64,16,8,8+matrix:4,4,1,1,32"},
                  {&deep, "a multiple of 64", "tiles:64,64,16,8,8"}};
    for (size_t i = 0; i < BPT_COUNT(faults); ++i) {
        bpt_gpu_rule_t rule;
        expect_rule(faults[i].info, NULL, faults[i].shipped, "shipped", "");
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
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": \"library\", \"attention\": \"tiles\"}",
         "\"attention\" is 'tiles'"},
        {"{\"device\": \"two cores\", \"driver\": \"1.0\", \"products\": \"library\", \"attention\": \"warps\"}", "matrix units of CUDA"},
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
    write_rule(&processor, "wide:16,2,8;rows:16,1,8,16,64,8");
    expect_rule(&processor, NULL, "wide:16,2,8;rows:16,1,8,16,64,8", "tuned", "");
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
        cmocka_unit_test(a_device_belongs_to_the_nearest_class),
        cmocka_unit_test(a_class_says_what_it_is_like),
        cmocka_unit_test(every_line_that_is_measured_is_an_op_call),
        cmocka_unit_test(every_problem_names_kernels),
        cmocka_unit_test(attention_has_a_blueprint_of_its_own),
        cmocka_unit_test(what_is_asked_for_goes_before_the_file_before_what_is_shipped),
        cmocka_unit_test(a_wrong_variable_is_wrong_usage),
        cmocka_unit_test(units_are_used_where_they_fit),
        cmocka_unit_test(whatever_is_wrong_with_the_file_the_shipped_rule_applies),
        cmocka_unit_test(without_a_folder_nothing_is_tuned),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
