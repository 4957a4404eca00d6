// The conformance run (see conformance.h).
#include "support/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/cover.h"

enum { MAX_BACKENDS = 8 };

// A backend under test: its device, and a second opening of it with one thread.
typedef struct {
    const bpt_backend_t *backend;
    bpt_device_t *device, *single;
    char reason[1024];  // why it is not tested, "" when it is
    int cases, skipped;
    double worst;
    char worst_case[192];
} subject_t;

static subject_t subjects[MAX_BACKENDS];
static int n_subjects;

typedef struct {
    char name[256];
    subject_t *subject;
    const test_family_t *family;
    size_t index;
    const test_suite_t *suite;
} item_t;

bool test_selected(const char *name) {
    const char *wanted = getenv("BPT_CASE");
    char texts[1024], *rest = NULL;
    if (!wanted) return true;
    snprintf(texts, sizeof texts, "%s", wanted);
    for (char *text = strtok_r(texts, ",", &rest); text; text = strtok_r(NULL, ",", &rest))
        if (strstr(name, text)) return true;
    return false;
}

// ---- A line in place of names: BPT_CASE='matmul a=f16[64,96] b=f16[96,128]', on all backends, or 'cpu/matmul ..' on one

static bpt_op_line_t wanted_line;
static char wanted_backend[16];  // "": all

// 1: BPT_CASE is a line, 0: it is names, -1: it is meant to be a line and is none.
static int read_wanted_line(void) {
    const char *wanted = getenv("BPT_CASE");
    const char *slash = wanted ? strchr(wanted, '/') : NULL;
    if (slash && slash < wanted + sizeof wanted_backend && bpt_line_is_meant(slash + 1)) {
        snprintf(wanted_backend, sizeof wanted_backend, "%.*s", (int)(slash - wanted), wanted);
        wanted = slash + 1;
    }
    if (!wanted || !bpt_line_is_meant(wanted)) return 0;
    if (bpt_line_parse(wanted, &wanted_line) == BPT_OK) return 1;
    print_error("BPT_CASE: %s\n", bpt_error_message());
    return -1;
}

static size_t one_case(void) { return 1; }
static void make_wanted(size_t index, test_case_t *c) {
    (void)index;
    test_case_of_line(c, &wanted_line);
}
static const test_family_t wanted_family = {"line", one_case, make_wanted, NULL};

static bool is_wanted(const char *backend, const test_family_t *family, const char *name) {
    return family == &wanted_family ? !*wanted_backend || !strcmp(backend, wanted_backend) : test_selected(name);
}

// BPT_CASE_EVERY=n: the n-th part of the cases, spread over the tables. "cover" is no number: all.
static bool is_sampled(size_t number) {
    const char *every = getenv("BPT_CASE_EVERY");
    const long n = every ? atol(every) : 1;
    return n <= 1 || number % (size_t)n == 0;
}

// ---- Devices ---------------------------------------------------------------------------------------------------------

static void open_subject(subject_t *s) {
    bpt_device_info_t infos[8];
    int count = 0;
    if (s->backend->enumerate(infos, (int)BPT_COUNT(infos), &count) != BPT_OK) {
        snprintf(s->reason, sizeof s->reason, "%s", bpt_error_message());
        return;
    }
    snprintf(s->reason, sizeof s->reason, "no device");
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos) && !s->device; ++i) {
        const bpt_device_options_t single = {.threads = 1};
        if (!infos[i].usable)
            snprintf(s->reason, sizeof s->reason, "%s", infos[i].reason);
        else if (s->backend->open(i, NULL, &s->device) != BPT_OK || s->backend->open(i, &single, &s->single) != BPT_OK)
            snprintf(s->reason, sizeof s->reason, "%s", bpt_error_message());
        else
            s->reason[0] = 0;
    }
}

static void open_subjects(void) {
    for (int i = 0; bpt_backends[i] && n_subjects < MAX_BACKENDS; ++i) {
        subject_t *s = &subjects[n_subjects++];
        s->backend = bpt_backends[i];
        open_subject(s);
        if (s->reason[0])
            print_message("%s: not tested (%s)\n", s->backend->name, s->reason);
        else
            print_message("%s: %s, %s\n", s->backend->name, s->device->info.name, s->device->info.driver);
    }
}

static void report_and_close(void) {
    for (int i = 0; i < n_subjects; ++i) {
        subject_t *s = &subjects[i];
        if (s->device) {
            print_message("%s on %s: %d cases passed, %d skipped for want of a number type, of room or of the op", s->backend->name,
                          s->device->info.name, s->cases, s->skipped);
            print_message("; worst error %.2f of what is allowed (%s)\n", s->worst, s->worst_case);
            s->backend->close(s->device);
        }
        if (s->single) s->backend->close(s->single);
    }
}

// ---- One case --------------------------------------------------------------------------------------------------------

static bool uses_dtype(const bpt_op_call_t *call, bpt_dtype_t dtype) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (call->in[i].present && call->in[i].dtype == dtype) return true;
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (call->out[i].present && call->out[i].dtype == dtype) return true;
    return false;
}

static bool lacks_type(const bpt_device_info_t *info, const bpt_op_call_t *call) {
    return (!info->bf16 && uses_dtype(call, BPT_BF16)) || (!info->f16 && uses_dtype(call, BPT_F16));
}

// A device may decline numbers that it says it lacks and, where its limits are faked, an operand that does not fit; nothing else.
static void check_refusal(const subject_t *s, const bpt_op_call_t *call) {
    if (lacks_type(&s->device->info, call)) return;
    if (call->op == BPT_OP_MATMUL && call->attrs.matmul.packed_b && !s->device->info.packed) return;
    if (getenv("BPT_LIMITS") && strstr(bpt_error_message(), "the device binds at most")) return;
    fail_msg("%s does not support this case: %s", s->backend->name, bpt_error_message());
}

static void run_again(const char *what, bpt_device_t *device, const test_case_t *c, test_placement_t placement, const test_data_t *first,
                      bool exact) {
    test_data_t again;
    test_data_create(c, &again);
    if (test_execute(device, c, placement, 1, &again) != BPT_OK) fail_msg("%s: %s", what, bpt_error_message());
    if (exact)
        test_same_bits(what, c, &again, first);
    else
        test_compare(what, c, &again, first);
    test_data_destroy(&again);
}

static bool finished;  // the case that runs has come to its end, or was skipped

// The op that failed, for a bug report, `bpt bench op` and BPT_CASE.
static void tell_line(const item_t *item) {
    test_case_t c;
    bpt_strbuf_t text = {.data = NULL};
    item->family->make(item->index, &c);
    const bpt_op_line_t line = test_line_of_case(&c);
    if (bpt_line_print(&line, &text) == BPT_OK)
        print_error("the op as a line, with values of its own: BPT_CASE='%s/%s'\n", item->subject->backend->name, text.data);
    bpt_strbuf_free(&text);
}

// A line for a shell that runs the case again: what the environment says of bpt, the case, this program.
static int tell_how_to_repeat(void **state) {
    const item_t *item = *state;
    char program[4096] = "";
    if (finished || readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 0;
    print_error("run this case again:");
    for (char **variable = environ; *variable; ++variable) {
        static const char *const others[] = {"BPT_CASE", "BPT_PROGRAM=", "BPT_SOURCE_DIR=", "BPT_REQUIRE_BACKENDS="};
        bool ours = !strncmp(*variable, "BPT_", 4);
        for (size_t i = 0; i < BPT_COUNT(others); ++i) ours = ours && strncmp(*variable, others[i], strlen(others[i]));
        if (ours) print_error(" %.*s'%s'", (int)strcspn(*variable, "=") + 1, *variable, strchr(*variable, '=') + 1);
    }
    print_error(" BPT_CASE='%s' %s\n", item->family == &wanted_family ? getenv("BPT_CASE") : item->name, program);
    tell_line(item);
    return 0;
}

static void run_case(void **state) {
    const item_t *item = *state;
    subject_t *s = item->subject;
    finished = false;
    test_case_t c;
    test_data_t want, got;
    item->family->make(item->index, &c);
    test_data_create(&c, &want);
    test_data_create(&c, &got);
    if (test_execute(s->device, &c, TEST_ALIGNED, 3, &got) == BPT_ERR_UNSUPPORTED) {
        check_refusal(s, &c.call);
        test_data_destroy(&want), test_data_destroy(&got);
        s->skipped++;
        finished = true;
        skip();
    }
    test_must_execute(test_ref_device(), &c, &want);
    const double error = test_compare("against ref", &c, &got, &want);
    run_again("a second run", s->device, &c, TEST_ALIGNED, &got, true);
    run_again("with one thread", s->single, &c, TEST_ALIGNED, &got, true);
    run_again("unaligned operands", s->device, &c, TEST_UNALIGNED, &want, false);
    if (item->suite->extra) item->suite->extra(s->device, &c, &got);
    test_data_destroy(&want), test_data_destroy(&got);
    s->cases++;
    if (error >= s->worst) {
        s->worst = error;
        snprintf(s->worst_case, sizeof s->worst_case, "%s", c.name);
    }
    finished = true;
}

// ---- The list of tests -----------------------------------------------------------------------------------------------

static void backend_is_usable(void **state) {
    const char *name = *state;
    for (int i = 0; i < n_subjects; ++i)
        if (!strcmp(subjects[i].backend->name, name)) {
            if (subjects[i].reason[0]) fail_msg("backend %s is required, but: %s", name, subjects[i].reason);
            return;
        }
    fail_msg("backend %s is required, but not compiled in", name);
}

typedef struct {
    struct CMUnitTest *tests;
    size_t count, capacity;
} test_list_t;

static void append(test_list_t *list, const char *name, CMUnitTestFunction function, void *state) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        list->tests = realloc(list->tests, list->capacity * sizeof *list->tests);
        if (!list->tests) abort();
    }
    list->tests[list->count++] = (struct CMUnitTest){.name = name, .test_func = function, .initial_state = state};
    if (function == run_case) list->tests[list->count - 1].teardown_func = tell_how_to_repeat;
}

static void append_required(test_list_t *list, char *names) {
    static char titles[MAX_BACKENDS][64];
    char *rest = NULL;
    int n = 0;
    for (char *name = strtok_r(names, ",", &rest); name && n < MAX_BACKENDS; name = strtok_r(NULL, ",", &rest), ++n) {
        snprintf(titles[n], sizeof titles[n], "%s/is_usable", name);
        append(list, titles[n], backend_is_usable, name);
    }
}

// A GPU in software takes a part of the cases unless some are asked for: each costs a compilation or a slow run.
static bool is_slow(const subject_t *s) {
    const char *every = getenv("BPT_CASE_EVERY");
    return s->device && !strcmp(s->device->info.type, "software") && (every ? !strcmp(every, "cover") : !getenv("BPT_CASE"));
}

static void append_cases(test_list_t *list, const test_suite_t *suite) {
    size_t number = 0;
    for (int i = 0; i < n_subjects; ++i) {
        test_cover_t cover = {.seen = NULL}, declined = {.seen = NULL};  // what is declined shows nothing
        for (int f = 0; suite->families[f] && !subjects[i].reason[0]; ++f)
            for (size_t index = 0; index < suite->families[f]->count(); ++index) {
                test_case_t c;
                item_t item = {.subject = &subjects[i], .family = suite->families[f], .index = index, .suite = suite};
                suite->families[f]->make(index, &c);
                snprintf(item.name, sizeof item.name, "%s/%s", subjects[i].backend->name, c.name);
                if (!is_wanted(subjects[i].backend->name, item.family, item.name) || !is_sampled(number++)) continue;
                if (is_slow(item.subject) && !test_cover_adds(lacks_type(&item.subject->device->info, &c.call) ? &declined : &cover, &c))
                    continue;
                item_t *kept = malloc(sizeof *kept);
                if (!kept) abort();
                *kept = item;
                append(list, kept->name, run_case, kept);
            }
        test_cover_free(&cover);
        test_cover_free(&declined);
    }
}

int test_conformance_main(const test_suite_t *suite) {
    test_list_t list = {0};
    char required[256];
    const int by_line = read_wanted_line();
    static const test_family_t *const only_line[] = {&wanted_family, NULL};
    const test_suite_t of_line = {.name = suite->name, .families = only_line};  // its values are not those that further checks know
    if (by_line < 0) return 1;
    if (by_line > 0) suite = &of_line;
    snprintf(required, sizeof required, "%s", getenv("BPT_REQUIRE_BACKENDS") ? getenv("BPT_REQUIRE_BACKENDS") : "");
    open_subjects();
    append_required(&list, required);
    append_cases(&list, suite);
    if (!list.count && n_subjects) print_error("no case is named like BPT_CASE=%s\n", getenv("BPT_CASE"));
    const int failed = list.count ? _cmocka_run_group_tests(suite->name, list.tests, list.count, NULL, NULL) : 1;
    report_and_close();
    for (size_t i = 0; i < list.count; ++i)
        if (list.tests[i].test_func == run_case) free(list.tests[i].initial_state);
    free(list.tests);
    return failed;
}
