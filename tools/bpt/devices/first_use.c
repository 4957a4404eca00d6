// The first use of a device (see first_use.h).
#include "tools/bpt/devices/first_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "bpt/alloc.h"
#include "bpt/log.h"
#include "tools/bpt/devices/verdict.h"

enum { FIRST_USE_SECONDS = 300 };  // for the slowest compilers; most take a second or two

typedef enum { TEST_NEVER, TEST_FIRST, TEST_ALWAYS } when_t;

typedef struct {
    const bpt_backend_t *backend;
    int index;
    bpt_dtype_t precision;
    int32_t threads;
    cli_selftest_shape_t shape;
} task_t;

static void work(const void *input, void *result) {
    const task_t *task = input;
    cli_selftest(task->backend, task->index, task->precision, task->threads, &task->shape, result);
}

// Without a cache nothing can be remembered, and a test at every start is only for those who ask for it.
static when_t mode(void) {
    const char *asked = getenv("BPT_SELFTEST");
    char *folder = NULL;
    if (asked && !strcmp(asked, "0")) return TEST_NEVER;
    if (asked && !strcmp(asked, "1")) return TEST_ALWAYS;
    const bool cache = bpt_cache_folder(&folder) == BPT_OK && folder;
    bpt_free(folder);
    return cache ? TEST_FIRST : TEST_NEVER;
}

bpt_status_t cli_first_use_prepare(cli_first_use_t *first, const cli_options_t *o, const bpt_backend_t *backend) {
    *first = (cli_first_use_t){.needed = false};
    if (!backend->gpu || mode() == TEST_NEVER || o->run.dry_run) return BPT_OK;  // a dry run computes nothing
    BPT_TRY(bpt_alloc(1, sizeof *first->result, &first->result));
    first->child = (cli_child_t){.work = work,
                                 .input_bytes = sizeof(task_t),
                                 .result = first->result,
                                 .result_bytes = sizeof *first->result,
                                 .seconds = FIRST_USE_SECONDS,
                                 .verbose = o->global.verbose};
    const bpt_status_t status = cli_child_start(&first->child, &first->running);
    first->needed = status == BPT_OK;
    return status;
}

static bpt_status_t refuse(const bpt_backend_t *backend, const bpt_device_info_t *info, const char *date, const char *problem) {
    return bpt_fail(BPT_ERR_UNAVAILABLE,
                    "%s through %s failed the self-test%s%s: %.300s. Take another device (`bpt devices`; --backend cpu always works), or "
                    "another version of its driver, and then run `bpt doctor --backend %s`; BPT_SELFTEST=0 uses it all the same",
                    info->name, backend->name, *date ? " on " : "", date, problem, backend->name);
}

// A device without memory to spare says nothing about its driver; the command will say it better.
static bool is_about_memory(const cli_selftest_t *t) {
    for (int i = 0; i < t->count; ++i)
        if (*t->result[i].detail) return t->result[i].status == BPT_ERR_NO_MEMORY;
    return false;
}

// Of the model that the command is about; commands that know it later have a usual one.
static cli_selftest_shape_t shape_of(const cli_options_t *o) {
    enum { MOST = 1024 };  // the reference computes too
    const int32_t d = o->model.d_model, heads = o->model.heads;
    return d > 0 && d <= MOST && heads > 0 && d % heads == 0 ? (cli_selftest_shape_t){d, heads} : (cli_selftest_shape_t){128, 2};
}

static bpt_status_t test(cli_first_use_t *first, const cli_options_t *o, const bpt_backend_t *backend, int index,
                         const bpt_device_info_t *info) {
    const task_t task = {
        .backend = backend, .index = index, .precision = o->train.precision, .threads = (int32_t)o->global.threads, .shape = shape_of(o)};
    bool done;
    char why[128], problem[sizeof first->result->problem];
    bpt_info("checking %s (first use) ...", info->name);
    cli_child_send(&first->child, &first->running, &task);
    first->needed = false;
    BPT_TRY(cli_child_finish(&first->child, &first->running, &done, why, sizeof why));
    cli_selftest_problem(first->result, done ? "" : why, problem, sizeof problem);
    if (done && (*first->result->problem || is_about_memory(first->result))) return BPT_OK;  // opening it will say why
    if (*problem) return refuse(backend, info, "", problem);                                 // not remembered: it may pass another time
    cli_verdict_remember(backend->name, info, o->train.precision, "");
    return BPT_OK;
}

static bool has_precision(const bpt_device_info_t *info, bpt_dtype_t precision) {
    return precision == BPT_F32 || (precision == BPT_BF16 ? info->bf16 : info->f16);
}

bpt_status_t cli_first_use_check(cli_first_use_t *first, const cli_options_t *o, const bpt_backend_t *backend, int index,
                                 const bpt_device_info_t *info) {
    cli_verdict_t verdict;
    const when_t how = mode();
    if (!backend->gpu || !has_precision(info, o->train.precision)) return BPT_OK;
    if (how == TEST_ALWAYS && first->needed) return test(first, o, backend, index, info);
    if (!cli_verdict_recall(backend->name, info, o->train.precision, &verdict))
        return first->needed ? test(first, o, backend, index, info) : BPT_OK;
    if (!*verdict.problem) return BPT_OK;
    if (how == TEST_FIRST) return refuse(backend, info, verdict.date, verdict.problem);
    bpt_warn("do not trust the results: on %s %s through %s failed the self-test (%s)", verdict.date, info->name, backend->name,
             verdict.problem);
    return BPT_OK;
}

void cli_first_use_end(cli_first_use_t *first) {
    if (first->needed) cli_child_end(&first->child, &first->running);
    bpt_free(first->result);
    *first = (cli_first_use_t){.needed = false};
}
