// GPU backends where something is missing: training through them ends at once with exit status 1 and one sentence that holds the remedy,
// and `bpt devices` gives the same reason without failing.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/gpu_fault.h"

static bool built_in(const char *backend) {
    char line[64];
    snprintf(line, sizeof line, "devices --backend %s", backend);
    test_process_t p = test_run_line(line);
    const bool found = !strstr(p.out, "built without it");
    test_process_free(&p);
    return found;
}

// Messages name the packages of this version of Debian.
static void use_system(const char *version) {
    char text[64];
    snprintf(text, sizeof text, "ID=debian\nVERSION_ID=%s\n", version);
    setenv("BPT_OS_RELEASE", test_file("os-release", text), 1);
}

// With the variable set: the error of training and the reason in the list of devices hold the remedy. Nothing is left behind.
static void expect_refusal(const char *backend, const char *variable, const char *value, const char *remedy) {
    char line[64];
    const char *run = test_path("run");
    if (!built_in(backend)) skip();
    setenv(variable, value, 1);
    test_process_t p = test_train_tiny(backend, run, "");
    snprintf(line, sizeof line, "devices --backend %s", backend);
    test_process_t list = test_run_line(line);
    unsetenv(variable);
    expect_error(&p, 1, backend, remedy);
    assert_false(bpt_folder_exists(run));
    if (list.exit_status || !strstr(list.out, "not usable") || !strstr(list.out, remedy)) fail_msg("bpt devices: %s%s", list.out, list.err);
    test_process_free(&list);
}

static void opencl_without_a_loader(void **state) {
    (void)state;
    expect_refusal("opencl", "BPT_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so.1", "on Debian 13 install ocl-icd-libopencl1, and a driver");
}

static void opencl_without_a_driver(void **state) {
    (void)state;
    char empty[600];
    snprintf(empty, sizeof empty, "%s", test_path("no-vendors"));
    assert_int_equal(mkdir(empty, 0700), 0);
    expect_refusal("opencl", "OCL_ICD_VENDORS", empty, "on Debian 13 install mesa-opencl-icd with RUSTICL_ENABLE=iris (Intel GPUs), ");
    use_system("12");
    expect_refusal("opencl", "OCL_ICD_VENDORS", empty, "on Debian 12 install intel-opencl-icd (Intel GPUs), ");
    use_system("13");
}

// Mesa's OpenCL is installed, but has been told of no driver: nothing else need be installed.
static void opencl_with_rusticl_alone(void **state) {
    (void)state;
    char vendors[600], file[700];
    snprintf(vendors, sizeof vendors, "%s", test_path("vendors"));
    snprintf(file, sizeof file, "%s/rusticl.icd", vendors);
    assert_int_equal(mkdir(vendors, 0700), 0);
    assert_int_equal(bpt_file_write(file, "libRusticlOpenCL.so.0\n", 22), BPT_OK);  // a version that is not there, so it lists nothing
    expect_refusal("opencl", "OCL_ICD_VENDORS", vendors, "Mesa's rusticl is installed and lists ");
    setenv("RUSTICL_ENABLE", "radeonsi", 1);
    expect_refusal("opencl", "OCL_ICD_VENDORS", vendors, "pocl-opencl-icd (processors)");
    unsetenv("RUSTICL_ENABLE");
}

static void opencl_with_an_old_driver(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    expect_refusal("opencl", "SHIM_VERSION", "OpenCL 1.1 old", "OpenCL 1.2 is needed: update the driver");
    test_shim_drop();
}

// A number of two digits is no smaller than one of one.
static void opencl_with_a_driver_of_a_later_standard(void **state) {
    (void)state;
    static const char *const versions[][2] = {
        {"OpenCL 3.1 later", "opencl-3.1"}, {"OpenCL 4.0 ", "opencl-4.0"}, {"OpenCL 10.2 x", "opencl-10.2"}};
    if (!test_shim_use("opencl")) skip();
    for (size_t i = 0; i < BPT_COUNT(versions); ++i) {
        setenv("SHIM_VERSION", versions[i][0], 1);
        test_process_t p = test_run_line("devices --backend opencl");
        unsetenv("SHIM_VERSION");
        if (p.exit_status || strstr(p.out, "not usable") || !strstr(p.out, versions[i][1]))
            fail_msg("%s: %s%s", versions[i][0], p.out, p.err);
        test_process_free(&p);
    }
    test_shim_drop();
}

static void cuda_without_a_driver(void **state) {
    (void)state;
    expect_refusal("cuda", "BPT_CUDA_LIBRARY", "/nonexistent/libcuda.so.1",
                   "for an NVIDIA GPU on Debian 13 install nvidia-driver of non-free");
}

static void vulkan_without_a_loader(void **state) {
    (void)state;
    expect_refusal("vulkan", "BPT_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", "on Debian 13 install libvulkan1");
}

static void vulkan_without_a_driver(void **state) {
    (void)state;
    expect_refusal("vulkan", "VK_DRIVER_FILES", "/nonexistent/icd.json",
                   "on Debian 13 install mesa-vulkan-drivers (AMD, Intel, processors)");
    expect_refusal("vulkan", "VK_ICD_FILENAMES", "/nonexistent/icd.json",
                   "on Debian 13 install mesa-vulkan-drivers (AMD, Intel, processors)");
}

static void vulkan_with_an_old_driver(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    expect_refusal("vulkan", "SHIM_OLD", "1", "offers Vulkan 1.1, bpt needs 1.2: update the driver");
    test_shim_drop();
}

static void a_library_that_is_no_loader(void **state) {
    (void)state;
    expect_refusal("opencl", "BPT_OPENCL_LIBRARY", "libm.so.6", "too old");
    expect_refusal("vulkan", "BPT_VULKAN_LIBRARY", "libm.so.6", "older than Vulkan 1.2");
}

// A library that wants another one, which is not there.
static void an_opencl_loader_that_lacks_a_library_says_which(void **state) {
    (void)state;
    char line[900];
    snprintf(line, sizeof line,
             "cd %s && echo 'int needed;' | cc -shared -fPIC -x c - -o libbpt_needed.so && echo 'int loader;' | cc -shared -fPIC -x c - "
             "-Wl,--no-as-needed -L. -lbpt_needed -o libloader.so && rm libbpt_needed.so",
             test_scratch_dir());
    if (system(line)) skip();  // no compiler here
    expect_refusal("opencl", "BPT_OPENCL_LIBRARY", test_path("libloader.so"), "libbpt_needed.so");
    expect_refusal("opencl", "BPT_OPENCL_LIBRARY", test_path("libloader.so"), "is there, but not all that it needs");
}

static void other_backends_do_not_care(void **state) {
    (void)state;
    setenv("BPT_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so.1", 1);
    setenv("BPT_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", 1);
    test_process_t p = test_train_tiny("cpu", test_path("cpu-run"), "");
    if (p.exit_status) fail_msg("%s", p.err);
    test_process_free(&p);
    test_shim_drop();
}

// ---- A device file that may not be opened ----------------------------------------------------------------------------

enum { NOT_POSSIBLE = 77 };

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) _exit(NOT_POSSIBLE);
}

// A view of the machine in which there is /dev/dri/renderD128, and this process is a user that may not open it.
static void forbid_a_gpu(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "1000 %u 1", (unsigned)getuid());
    snprintf(groups, sizeof groups, "1000 %u 1", (unsigned)getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) _exit(NOT_POSSIBLE);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", users);
    write_text("/proc/self/gid_map", groups);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) _exit(NOT_POSSIBLE);
    const char *aside = test_path("null");
    write_text(aside, "");
    if (mount("/dev/null", aside, NULL, MS_BIND, NULL) || mount("none", "/dev", "tmpfs", 0, NULL)) _exit(NOT_POSSIBLE);
    write_text("/dev/null", "");
    if (mount(aside, "/dev/null", NULL, MS_BIND, NULL) || mkdir("/dev/dri", 0755)) _exit(NOT_POSSIBLE);
    write_text("/dev/dri/renderD128", "");
    if (chmod("/dev/dri/renderD128", 0060)) _exit(NOT_POSSIBLE);  // its owner, this user, has no say
    const char *group = test_path("group");
    write_text(group, "root:x:0:\nrender:x:7:\ngpu-users:x:1000:\n");
    if (mount(group, "/etc/group", NULL, MS_BIND, NULL)) _exit(NOT_POSSIBLE);
}

static bool names_the_group(const char *command, int exit_status) {
    test_process_t p = test_run_line(command);
    const bool named = p.exit_status == exit_status && (strstr(p.out, "/dev/dri/renderD128") || strstr(p.err, "/dev/dri/renderD128")) &&
                       (strstr(p.out, "usermod -aG gpu-users") || strstr(p.err, "usermod -aG gpu-users"));
    if (!named) print_error("%s: %d\n%s%s", command, p.exit_status, p.out, p.err);
    test_process_free(&p);
    return named;
}

static void a_gpu_without_permission_names_the_group(void **state) {
    (void)state;
    const bool vulkan = built_in("vulkan");
    const pid_t child = fork();
    if (child == 0) {
        forbid_a_gpu();
        bool ok = names_the_group("devices --backend opencl", 0) && (!vulkan || names_the_group("devices --backend vulkan", 0));
        ok = ok && names_the_group("doctor --backend ref", 0);
        setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
        setenv("VK_DRIVER_FILES", "/nonexistent", 1);
        setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
        ok = ok && names_the_group("bench gemm --backend opencl", 1) && (!vulkan || names_the_group("bench gemm --backend vulkan", 1));
        _exit(!ok);
    }
    int status = 1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_POSSIBLE) skip();  // no user namespaces here
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int set_up(void **state) {
    (void)state;
    use_system("13");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opencl_without_a_loader),
        cmocka_unit_test(opencl_without_a_driver),
        cmocka_unit_test(opencl_with_rusticl_alone),
        cmocka_unit_test(opencl_with_an_old_driver),
        cmocka_unit_test(opencl_with_a_driver_of_a_later_standard),
        cmocka_unit_test(cuda_without_a_driver),
        cmocka_unit_test(vulkan_without_a_loader),
        cmocka_unit_test(vulkan_without_a_driver),
        cmocka_unit_test(vulkan_with_an_old_driver),
        cmocka_unit_test(a_library_that_is_no_loader),
        cmocka_unit_test(an_opencl_loader_that_lacks_a_library_says_which),
        cmocka_unit_test(other_backends_do_not_care),
        cmocka_unit_test(a_gpu_without_permission_names_the_group),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
