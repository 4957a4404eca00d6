// `bpt doctor`: what works on this machine, and how to mend what does not. Drivers are touched in child processes only.
#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/compile.h"
#include "backends/gpu/info.h"
#include "backends/gpu/nodes.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/file.h"
#include "bpt/machine.h"
#include "bpt/paths.h"
#include "bpt/platforms.h"
#include "bpt/ranks.h"
#include "tools/bpt/devices/child.h"
#include "tools/bpt/devices/compile_check.h"
#include "tools/bpt/devices/compiled.h"
#include "tools/bpt/devices/device.h"
#include "tools/bpt/devices/ledger_check.h"
#include "tools/bpt/devices/probe.h"
#include "tools/bpt/devices/selftest.h"
#include "tools/bpt/devices/verdict.h"
#include "tools/bpt/options/command.h"

enum { SELFTEST_SECONDS = 600 };  // a driver that compiles every kernel for the first time takes minutes

typedef struct {
    const cli_options_t *o;
    cli_selftest_t selftest;
    int tested, failed;
} checkup_t;

// ---- The machine
static void check_machine(void) {
    const char *threads = getenv("OMP_NUM_THREADS");
    const int system = bpt_system_here();
    printf("machine\n  %d cores online, %.1f GiB of memory\n", bpt_machine_processors(), (double)bpt_machine_memory_bytes() / (1 << 30));
    printf("  packages: as on %s (docs/platforms.md)\n", system < 0 ? "none of the known systems" : bpt_systems[system].name);
    if (threads && *threads) printf("  OMP_NUM_THREADS=%s decides the number of threads; unset it to use all fast cores\n", threads);
    if (bpt_ranks_find_mpi() == BPT_OK)
        printf("  several processes can train together (--team mpi)\n");
    else
        printf("  no --team mpi: %s\n", bpt_error_message());
}

// A GPU's device node that this user may not open is the usual reason for "no device".
static void check_render_nodes(void) {
    enum { MOST = 16 };
    bpt_device_info_t forbidden[MOST];
    char **nodes;
    size_t n_nodes;
    int count = 0;
    if (!bpt_gpu_node_files) return;
    if (bpt_paths_matching(bpt_gpu_node_files, &nodes, &n_nodes) != BPT_OK) return bpt_error_clear();
    if (!n_nodes) printf("  no GPU device nodes (%s); in a container pass them with --device /dev/dri\n", bpt_gpu_node_files);
    for (size_t i = 0; i < n_nodes; ++i)
        if (bpt_gpu_node_opens(nodes[i])) printf("  %s can be used\n", nodes[i]);
    bpt_names_free(nodes, n_nodes);
    bpt_gpu_list_forbidden(forbidden, MOST, &count);
    for (int i = 0; i < count && i < MOST; ++i) printf("  %s: %s\n", forbidden[i].name, forbidden[i].reason);
}

// ---- Backends
// Drivers that have yet to be told something, and have no device because of that.
static void print_unset(const bpt_backend_t *backend, const cli_probe_t *probe) {
    const char *unset = backend->loader && backend->loader->unset ? backend->loader->unset() : NULL;
    if (unset && !*probe->reason) printf("  %s\n", unset);
}

typedef struct {
    const bpt_backend_t *backend;
    const cli_drivers_t *drivers;
    int index;
    bpt_dtype_t precision;
    int32_t threads;
} task_t;

static void selftest(const void *input, void *result) {
    const task_t *task = input;
    cli_drivers_use(task->backend, task->drivers);
    cli_selftest(task->backend, task->index, task->precision, task->threads, NULL, result);
}

static void print_selftest(const cli_selftest_t *t) {
    double worst = 0;
    for (int i = 0; i < t->count; ++i) {
        if (*t->result[i].detail)
            printf("     FAILED %s: %s\n", t->result[i].name, t->result[i].detail);
        else if (t->result[i].deviation > worst)
            worst = t->result[i].deviation;
    }
    printf("     self-test: %d of %d cases agree with the reference (largest deviation %.1e)\n", t->count - t->failed, t->count, worst);
}

static void print_verdict(const char *backend, const bpt_device_info_t *info, bpt_dtype_t precision) {
    cli_verdict_t verdict;
    if (!cli_verdict_recall(backend, info, precision, &verdict)) return;
    printf("     on %s, with this driver: %s%s\n", verdict.date, *verdict.problem ? "FAILED " : "the self-test passed", verdict.problem);
}

static bpt_status_t test_device(checkup_t *c, const bpt_backend_t *backend, int index, const cli_probe_t *probe) {
    const bpt_device_info_t *info = &probe->device[index];
    const task_t task = {.backend = backend,
                         .drivers = &probe->drivers,
                         .index = index,
                         .precision = c->o->train.precision,
                         .threads = (int32_t)c->o->global.threads};
    const cli_child_t child = {.work = selftest,
                               .input = &task,
                               .result = &c->selftest,
                               .result_bytes = sizeof c->selftest,
                               .seconds = SELFTEST_SECONDS,
                               .verbose = c->o->global.verbose};
    bool done;
    char why[128], problem[sizeof c->selftest.problem];
    print_verdict(backend->name, info, task.precision);
    BPT_TRY(cli_child_run(&child, &done, why, sizeof why));
    ++c->tested;
    cli_selftest_problem(&c->selftest, done ? "" : why, problem, sizeof problem);
    cli_verdict_remember(backend->name, info, task.precision, problem);
    if (!done || *c->selftest.problem) {
        ++c->failed;
        printf("     FAILED: %s\n", problem);
        return BPT_OK;
    }
    c->failed += c->selftest.failed > 0;
    print_selftest(&c->selftest);
    return BPT_OK;
}

static bpt_status_t check_backend(void *user, const char *name, const bpt_backend_t *backend, const cli_probe_t *probe) {
    checkup_t *c = user;
    if (!backend) {
        printf("\n%s: %s\n", name, probe->reason);
        return BPT_OK;
    }
    printf("\n%s: %s\n", name, backend->description);
    if (backend->lacks) printf("  %s\n", backend->lacks);
    cli_probe_print_left_out(&probe->drivers);
    if (*probe->reason)
        printf("  not usable: %s\n", probe->reason);
    else if (!probe->count)
        printf("  no device\n");
    print_unset(backend, probe);
    if (*probe->library && c->o->global.verbose) printf("  library of products: %s\n", probe->library);
    for (int i = 0; i < probe->count; ++i) {
        const bpt_device_info_t *d = &probe->device[i];
        if (*c->o->global.device && !cli_device_fits(d, i, c->o->global.device)) continue;
        printf("  %d  %s (%s, %s)\n", i, d->name, d->type, d->driver);
        const bpt_gpu_info_t gpu = bpt_gpu_info(d);
        if (!d->usable)
            printf("     not usable: %s\n", d->reason);
        else if (*gpu.rule && c->o->global.verbose)
            printf("     products %s (%s)\n", gpu.rule, gpu.rule_origin);
        if (d->usable) BPT_TRY(test_device(c, backend, i, probe));
    }
    return BPT_OK;
}

static bpt_status_t check_all(checkup_t *c) {
    check_machine();
    check_render_nodes();
    BPT_TRY(cli_each_backend(c->o, check_backend, c));
    if (!c->tested) return bpt_fail(BPT_ERR_UNAVAILABLE, "no device could be tested; the lines above say why");
    if (c->failed)
        return bpt_fail(BPT_ERR_INTERNAL, "%d of %d devices failed the self-test; do not trust their results", c->failed, c->tested);
    printf("\nDevices tested: %d. Each computes what the reference computes.\n", c->tested);
    return BPT_OK;
}

static bpt_status_t check_kernels(const char *name) {
    for (int k = 0; k < BPT_GPU_KERNEL_COUNT; ++k)
        if (cli_kernel_is_one_of(bpt_gpu_kernels[k].name, name)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "doctor: no kernel's name begins with '%s', which --kernels says; `bpt doctor --compile` lists them", name);
}

static bpt_status_t run_doctor(cli_options_t *o) {
    BPT_TRY(bpt_env_check());
    if (*o->tool.ledger && o->use.json) return bpt_fail(BPT_ERR_USAGE, "doctor: --json is for the table of --compile, without --ledger");
    if (*o->tool.kernels && !o->tool.compile && !*o->tool.ledger)
        return bpt_fail(BPT_ERR_USAGE, "doctor: --kernels is for the table of --compile and the file of --ledger");
    BPT_TRY(check_kernels(o->tool.kernels));
    if (*o->tool.ledger) return cli_ledger_check(o);
    if (o->tool.renew || o->tool.admit) return bpt_fail(BPT_ERR_USAGE, "doctor: --renew and --admit are for the file of --ledger");
    if (o->tool.compile) return cli_compile_check(o);
    if (o->use.json) return bpt_fail(BPT_ERR_USAGE, "doctor: --json is for the table of --compile");
    checkup_t *c;
    BPT_TRY(bpt_alloc(1, sizeof *c, &c));
    c->o = o;
    const bpt_status_t status = check_all(c);
    bpt_free(c);
    return status;
}

const cli_command_t cli_command_doctor = {
    .bit = CLI_DOCTOR,
    .name = "doctor",
    .arguments = "",
    .purpose = "test every device and say how to fix what is missing",
    .description =
        "Runs every op, and one training step of a small model of each kind, on each usable device and compares the "
        "results with those of the reference backend. It names each op whose result is wrong. The result is remembered "
        "until the driver or bpt changes. A device that failed is refused from then on; with BPT_SELFTEST=0 bpt only "
        "warns. Drivers are queried one by one, and a bad one is named by its file. --backend and --device restrict the "
        "test to one backend or device; --precision tests another precision. The exit status is 1 when a device fails.\n\n"
        "With --compile nothing runs. The device's compiler compiles every kernel that models of each kind and the decoder would use on "
        "it, and a table shows what each takes: registers, spilled registers, local and scratch memory, work-items side by side, "
        "as far as the driver tells. Above it stand the class of the device and the blueprints that it has for each kernel: the "
        "sizes that it takes, and those that `bpt tune` would measure. The device need not be here: --backend cuda --device sm_90 compiles "
        "by NVRTC, --backend opencl --device dg2-g10 by Intel's ocloc. Mesa's RADV has devices without hardware up to Mesa 25 "
        "(RADV_FORCE_FAMILY=NAVI21); "
        "mesa-drm-shim pretends GPUs with every Mesa (LD_PRELOAD=libamdgpu_noop_drm_shim.so AMDGPU_GPU_ID=navi21). "
        "--threads is the number of processes. The exit status is 1 when a kernel does not compile.\n\n"
        "With --ledger the kernels are compared with a file that --renew writes, and each that changed is named: its text, and with "
        "--compile what the compilers of the file's GPUs say of it. --renew writes the file as it goes: what was compiled is kept when the command "
        "is ended, and the next one goes on from there. With --kernels and --device a slow compiler can be asked in parts.",
    .examples = "  bpt doctor\n  bpt doctor --backend cpu --precision bf16\n  bpt doctor --compile --backend vulkan --json\n"
                "  bpt doctor --compile --backend cuda --device sm_90 --kernels attention_warp\n"
                "  bpt doctor --ledger backends/gpu/kernels.ledger --renew\n"
                "  bpt doctor --ledger backends/gpu/kernels.ledger --renew --device dg2-g10 --kernels attention\n",
    .run = run_doctor,
};
