// Which packages messages name on which system, and that docs/platforms.md has the table that they are taken from. BPT_RENEW_PAGES=1 writes
// the table into the page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/platforms.h"
#include "support/scratch.h"

#define BEGIN "<!-- made of core/include/bpt/platforms.def -->\n"
#define END "<!-- end -->\n"

// ---- Systems ---------------------------------------------------------------------------------------------------------

// The system of a process with this /etc/os-release.
static int system_of(const char *text) {
    const char *path = test_path("os-release");
    assert_int_equal(bpt_file_write(path, text, strlen(text)), BPT_OK);
    setenv("BPT_OS_RELEASE", path, 1);
    return bpt_system_here();
}

static void expect_system(const char *text, const char *name) {
    const int i = system_of(text);
    if (!name && i >= 0) fail_msg("%s is taken for %s", text, bpt_systems[i].name);
    if (name && (i < 0 || strcmp(bpt_systems[i].name, name)))
        fail_msg("%s is taken for %s", text, i < 0 ? "no system" : bpt_systems[i].name);
}

static void systems_are_known(void **state) {
    (void)state;
    expect_system("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n", "Debian 12");
    expect_system("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\nID=debian\n", "Debian 13");
    expect_system("PRETTY_NAME=\"Debian GNU/Linux forky/sid\"\nID=debian\n", "Debian 13");  // the newest
    expect_system("VERSION_ID=\"11\"\nID=debian\n", NULL);
    expect_system("VERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n", "Ubuntu");
    expect_system("VERSION_ID=\"22\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "Ubuntu");
    expect_system("ID=fedora\nVERSION_ID=43\n", "Fedora");
    expect_system("NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n", "Arch");
    expect_system("ID=\"endeavouros\"\nID_LIKE=\"arch\"\n", "Arch");
    expect_system("ID=slackware\nVERSION_ID=15.0\n", NULL);
    expect_system("", NULL);
    setenv("BPT_OS_RELEASE", "/nonexistent", 1);
    assert_int_equal(bpt_system_here(), -1);
}

// ---- Remedies --------------------------------------------------------------------------------------------------------

// A process finds its system once.
static void expect_remedy(const char *system, bpt_need_t need, const char *part, const char *never) {
    int status = -1;
    char text[64];
    snprintf(text, sizeof text, "%s\n", system);
    const pid_t child = fork();
    if (child == 0) {
        (void)system_of(text);
        const char *remedy = bpt_platform_remedy(need);
        const bool right = strstr(remedy, part) && (!never || !strstr(remedy, never));
        if (!right) print_error("%s: %s\n", system, remedy);
        _exit(right ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    if (status) fail_msg("%s has no '%s', or '%s'", system, part, never ? never : "");
}

#define DEBIAN_12 "ID=debian\nVERSION_ID=12"
#define DEBIAN_13 "ID=debian\nVERSION_ID=13"

static void packages_are_those_of_the_system(void **state) {
    (void)state;
    expect_remedy(DEBIAN_12, BPT_NEED_OPENCL, "on Debian 12 install intel-opencl-icd (Intel GPUs), ", "iris");
    expect_remedy(DEBIAN_13, BPT_NEED_OPENCL, "mesa-opencl-icd with RUSTICL_ENABLE=iris (Intel GPUs)", "intel-opencl-icd");
    expect_remedy(DEBIAN_13, BPT_NEED_OPENCL, " or pocl-opencl-icd (processors)", NULL);
    expect_remedy("ID=fedora", BPT_NEED_OPENCL, "intel-compute-runtime (Intel GPUs)", "icd");
    expect_remedy("ID=arch", BPT_NEED_VULKAN_LOADER, "on Arch install vulkan-icd-loader", "(");
    expect_remedy(DEBIAN_12, BPT_NEED_NVRTC, "NVIDIA's repository", NULL);
    expect_remedy(DEBIAN_12, BPT_NEED_OCLOC, "install intel-opencl-icd", NULL);
    expect_remedy(DEBIAN_13, BPT_NEED_OCLOC, "Debian 13 has no package of it", "install");
    expect_remedy("ID=arch", BPT_NEED_DRM_SHIM, "Debian 13: mesa-drm-shim", "Arch");  // what is not known here
    expect_remedy("ID=slackware", BPT_NEED_OPENCL, "install it: Debian 13: mesa-opencl-icd with RUSTICL_ENABLE=iris, ", "Debian 12");
    expect_remedy("ID=slackware", BPT_NEED_OPENCL, "; Arch: intel-compute-runtime, ", NULL);
}

static void every_need_has_a_remedy_on_every_system(void **state) {
    static const char *const releases[BPT_SYSTEMS] = {DEBIAN_12, DEBIAN_13, "ID=ubuntu", "ID=fedora", "ID=arch"};
    (void)state;
    for (int i = 0; i < BPT_SYSTEMS; ++i)
        for (int need = 0; need <= BPT_NEED_ONEDNN; ++need) expect_remedy(releases[i], (bpt_need_t)need, "", "()");
}

// ---- The page --------------------------------------------------------------------------------------------------------

static void put_table(FILE *out) {
    fputs(BEGIN, out);
    for (int i = 0; i < BPT_SYSTEMS; ++i) {
        fprintf(out, "\n## %s\n\nTried: %s.\n\n| for | packages |\n|---|---|\n", bpt_systems[i].name, bpt_systems[i].tried);
        for (const bpt_packages_t *p = bpt_packages; p->what; ++p) {
            const char *packages = p->packages[i];
            fprintf(out, "| %s%s | %s |\n",
                    p->need == BPT_NEED_OPENCL   ? "OpenCL: "
                    : p->need == BPT_NEED_VULKAN ? "Vulkan: "
                                                 : "",
                    p->what,
                    !strcmp(packages, "-") ? "none"
                    : *packages            ? packages
                                           : "?");
        }
    }
    fputs("\n" END, out);
}

static void the_page_has_the_table(void **state) {
    (void)state;
    char *page, *table = NULL, path[1024];
    size_t length, bytes;
    FILE *out = open_memstream(&table, &bytes);
    assert_non_null(out);
    put_table(out);
    fclose(out);
    snprintf(path, sizeof path, "%s/docs/platforms.md", getenv("BPT_SOURCE_DIR"));
    assert_int_equal(bpt_file_read(path, 1 << 20, &page, &length), BPT_OK);
    char *begin = strstr(page, BEGIN), *end = strstr(page, END);
    assert_true(begin && end && begin < end);
    end += strlen(END);
    const bool same = (size_t)(end - begin) == bytes && !memcmp(begin, table, bytes);
    if (!same && getenv("BPT_RENEW_PAGES")) {
        out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "%.*s%s%s", (int)(begin - page), page, table, end);
        assert_int_equal(fclose(out), 0);
    } else if (!same) {
        fail_msg("%s has another table than core/include/bpt/platforms.def; BPT_RENEW_PAGES=1 and this test write it", path);
    }
    bpt_free(page);
    free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_are_known),
        cmocka_unit_test(packages_are_those_of_the_system),
        cmocka_unit_test(every_need_has_a_remedy_on_every_system),
        cmocka_unit_test(the_page_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
