#include "support/team.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/file.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

char team_program[600], team_mpirun_path[600];

bool team_takes_all(void) {
    const char *all = getenv("BPT_ALL_TEAMS");
    return all && *all == '1';
}

// ---- Running

static bool find_mpirun(void) {
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t bytes = strcspn(path, ":");
        snprintf(team_mpirun_path, sizeof team_mpirun_path, "%.*s/mpirun", (int)bytes, path);
        if (!access(team_mpirun_path, X_OK)) return true;
        path += bytes + (path[bytes] == ':');
    }
    return false;
}

static bool module_is_there(void) {
    char path[700];
    const char *slash = strrchr(team_program, '/');
    snprintf(path, sizeof path, "%.*s/libbpt_mpi.so", slash ? (int)(slash - team_program) : 1, slash ? team_program : ".");
    return bpt_file_exists(path);
}

// A script that rank 0 runs as `first`, the others as `others`. (mpirun's own way, programs between colons, crashes in Open MPI 5.0.7.)
const char *team_script(const char *first, const char *others) {
    static char text[8000];
    snprintf(text, sizeof text, "if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ]; then %s; else exec %s; fi\n", first, others);
    return test_file("by_rank.sh", text);
}

test_process_t team_mpirun(const char *line) {
    setenv("BPT_PROGRAM", team_mpirun_path, 1);
    const test_process_t p = test_run_line(line);
    setenv("BPT_PROGRAM", team_program, 1);
    return p;
}

// As `bpt ARGUMENTS`, by so many processes; " : " begins the arguments of a further one.
test_process_t team_run(int ranks, const char *arguments) {
    char line[6000], first[3500], other[3500];
    const char *colon = strstr(arguments, " : ");
    snprintf(line, sizeof line, "-n %d %s %s", ranks, team_program, arguments);
    if (colon) {
        assert_int_equal(ranks, 1);
        snprintf(first, sizeof first, "exec %s %.*s", team_program, (int)(colon - arguments), arguments);
        snprintf(other, sizeof other, "%s %s", team_program, colon + 3);
        snprintf(line, sizeof line, "-n 2 sh %s", team_script(first, other));
    }
    return team_mpirun(line);
}

void team_succeed(int ranks, const char *format, ...) {
    char arguments[3000];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    test_process_t p = team_run(ranks, arguments);
    if (p.exit_status) fail_msg("%d ranks of bpt %s: exit %d: %s", ranks, arguments, p.exit_status, p.err);
    test_process_free(&p);
}

// ---- Data and models: one of each task

static void write_part(const char *name, const char *part, const char *text) {
    test_write_file(test_path("data/%s/%s", name, part), text, strlen(text));
}

int team_set_up(void **state) {
    (void)state;
    static const char *const names[] = {"lm", "labels", "tags", "pairs", "sides"};
    static const char *const parts[] = {"train", "valid", "test"};
    static char text[40000], labels[40000], tags[40000], pairs[40000], sides[2][40000];
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);  // up to Open MPI 4
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);  // from 5 on
    setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 1);
    // Of its own: the one that all teams of a user share is removed by a team that ends while another one makes its folder there.
    setenv("OMPI_MCA_orte_tmpdir_base", test_path("mpi"), 1);
    setenv("PRTE_MCA_prte_tmpdir_base", test_path("mpi"), 1);
    assert_ok(bpt_folder_create(test_path("mpi")));
    assert_ok(bpt_folder_create(test_path("data")));
    for (size_t i = 0; i < BPT_COUNT(names); ++i) assert_ok(bpt_folder_create(test_path("data/%s", names[i])));
    for (int part = 0; part < 3; ++part) {
        size_t l = 0, t = 0, p = 0, s[2] = {0};
        const int count = part ? 20 : 160;
        for (int i = 0; i < 100 * count; ++i) text[i] = (char)('a' + (i * 5 + i / 13 + part) % 26);
        text[100 * count] = 0;
        for (int i = 0; i < count; ++i) {
            const int a = (i * 5 + part) % 8, b = (i * 3 + i / 7) % 8, length = 1 + i % 5;
            l += (size_t)snprintf(labels + l, sizeof labels - l, "%s\tw%d w%d\n", a > 3 ? "high" : "low", a, b);
            p += (size_t)snprintf(pairs + p, sizeof pairs - p, "%s\tw%d w%d\tw%d\n", a == b ? "same" : "other", a, i % 8, b);
            for (int k = 0; k < length; ++k)
                t += (size_t)snprintf(tags + t, sizeof tags - t, "w%d %s\n", (a + k) % 8, (a + k) % 8 < 4 ? "O" : "B-X");
            t += (size_t)snprintf(tags + t, sizeof tags - t, "\n");
            for (int side = 0; side < 2; ++side) {
                for (int k = 0; k < length; ++k)
                    s[side] += (size_t)snprintf(sides[side] + s[side], sizeof sides[side] - s[side], "%s%d%s", side ? "v" : "w",
                                                (a + k) % 8, k + 1 < length ? " " : "\n");
            }
        }
        char name[32];
        snprintf(name, sizeof name, "%s.txt", parts[part]);
        write_part("lm", name, text);
        write_part("tags", name, tags);
        snprintf(name, sizeof name, "%s.tsv", parts[part]);
        write_part("labels", name, labels);
        write_part("pairs", name, pairs);
        snprintf(name, sizeof name, "%s.en", parts[part]);
        write_part("sides", name, sides[0]);
        snprintf(name, sizeof name, "%s.de", parts[part]);
        write_part("sides", name, sides[1]);
    }
    return 0;
}

#define EXAMPLES TEAM_SHAPE "--batch-examples 24 --batch-tokens 64 "

const team_task_t team_tasks[TEAM_TASKS] = {
    {"lm", "--task lm --data %s/lm --context 32 --batch-tokens 64 --accumulate 4 " TEAM_SHAPE},
    {"classify", "--task classify --data %s/labels --dropout-hidden 0.2 " EXAMPLES},
    {"tag", "--task tag --model star --data %s/tags " EXAMPLES},
    {"pair", "--task pair --data %s/pairs " EXAMPLES},
    {"regress", "--task regress --model star --data summation --n 12 --sum 2 --d-input 3 --examples 60 " EXAMPLES},
    {"translate", "--task translate --model transformer --data %s/sides --source en --target de " EXAMPLES},
};

const char *team_options(size_t task) {
    static char options[1200];
    const char *place = strstr(team_tasks[task].options, "%s");
    snprintf(options, sizeof options, "%.*s%s%s", place ? (int)(place - team_tasks[task].options) : (int)strlen(team_tasks[task].options),
             team_tasks[task].options, place ? test_path("data") : "", place ? place + 2 : "");
    return options;
}

// ---- Comparing runs

// The loss of the last line of the metrics, that of the evaluation at the end.
double team_last_loss(const char *run) {
    size_t length;
    char *text = test_read_file(test_path("%s/metrics.jsonl", run), &length);
    assert_non_null(text);
    char *line = text + length - 1;
    while (line > text && line[-1] != '\n') --line;
    json_t *object = json_loads(line, 0, NULL);
    const double loss = json_number_value(json_object_get(object, "loss"));
    assert_true(loss > 0);
    json_decref(object);
    free(text);
    return loss;
}

void team_same_loss(const char *run, const char *other, double tolerance, const char *what) {
    const double a = team_last_loss(run), b = team_last_loss(other);
    if (!(fabs(a - b) <= tolerance * b)) fail_msg("%s: loss %.9f of %s, %.9f of %s", what, a, run, b, other);
}

void team_same_bits(const char *run, const char *other, const char *file) {
    size_t x_bytes, y_bytes;
    char *x = test_read_file(test_path("%s/latest/%s", run, file), &x_bytes);
    char *y = test_read_file(test_path("%s/latest/%s", other, file), &y_bytes);
    assert_true(x && y && x_bytes == y_bytes);
    if (memcmp(x, y, x_bytes)) fail_msg("%s of %s and %s differ", file, run, other);
    free(x), free(y);
}

void team_remove(const char *name) { assert_ok(bpt_path_remove(test_path("%s", name))); }

// ---- Training, in place of what a test that failed has left

void team_train_alone(size_t task, const char *backend, const char *name, const char *more) {
    team_remove(name);
    test_succeed("train %s --backend %s --out %s %s", team_options(task), backend, test_path("%s", name), more);
}

void team_train(int ranks, size_t task, const char *backend, const char *name, const char *more) {
    team_remove(name);
    team_succeed(ranks, "train %s --backend %s --team mpi --out %s %s", team_options(task), backend, test_path("%s", name), more);
}

// ---- Processes

void team_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

// The process of the `nth` rank of a run, found by its arguments; 0: there is none.
pid_t team_process(const char *run, int nth) {
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    pid_t found = 0;
    for (struct dirent *entry; (entry = readdir(processes)) && !found;) {
        char path[300], arguments[4096] = "";
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", entry->d_name);
        FILE *file = strspn(entry->d_name, "0123456789") == strlen(entry->d_name) ? fopen(path, "r") : NULL;
        if (!file) continue;
        const size_t bytes = fread(arguments, 1, sizeof arguments - 1, file);
        fclose(file);
        if (strcmp(arguments, team_program) || !bytes) continue;
        for (size_t i = 0; i < bytes; ++i)
            if (!arguments[i]) arguments[i] = ' ';
        if (strstr(arguments, run) && nth-- == 0) found = (pid_t)atoi(entry->d_name);
    }
    closedir(processes);
    return found;
}

// A test that failed may have left ranks behind, which would go on for ever.
int team_tear_down(void **state) {
    (void)state;
    for (pid_t rank; (rank = team_process(test_scratch_dir(), 0)) > 0; team_nap()) kill(rank, SIGKILL);
    return 0;
}

// ---- Refusals

void team_refused(int status, const char *part, int ranks, const char *arguments) {
    test_process_t p = team_run(ranks, arguments);
    if (p.exit_status != status || !strstr(p.err, part))
        fail_msg("%d ranks of bpt %s: exit %d, wanted %d and '%s': %s", ranks, arguments, p.exit_status, status, part, p.err);
    const char *first = strstr(p.err, "bpt: error:");
    if (!first || strstr(first + 1, "bpt: error:")) fail_msg("one rank is to say it: %s", p.err);
    test_process_free(&p);
    assert_false(bpt_folder_exists(test_path("refused")));
}

// ---- A program of such tests

static void mpi_is_there(void **state) {
    (void)state;
    const char *required = getenv("BPT_REQUIRE_MPI");
    if (required && !strcmp(required, "1")) fail_msg("bpt was built without MPI, or there is no mpirun");
    skip();
}

bool team_can_start(void) {
    snprintf(team_program, sizeof team_program, "%s", getenv("BPT_PROGRAM") ? getenv("BPT_PROGRAM") : "");
    return find_mpirun() && module_is_there();
}

int team_say_missing(void) {
    const struct CMUnitTest missing[] = {cmocka_unit_test(mpi_is_there)};
    return cmocka_run_group_tests(missing, NULL, NULL);
}
