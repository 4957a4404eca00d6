// Several processes that train together through the program: ranks that do not fit together do not begin, and where one dies, cannot
// write or is silent, no other waits for it and nothing but time is lost. BPT_ALL_TEAMS=1: twenty ranks killed.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/file.h"
#include "support/check.h"
#include "support/team.h"

enum { DEADLINE_SECONDS = 120 };

// ---- What cannot begin

static void ranks_that_do_not_fit_together_are_refused(void **state) {
    (void)state;
    char ok[1500], line[4000];
    snprintf(ok, sizeof ok, "train %s --backend cpu --team mpi --steps 5 --out %s", team_options(0), test_path("refused"));
    snprintf(line, sizeof line, "%s --accumulate 2", ok);
    team_refused(2, "a step has 2 micro-batches and there are 3 ranks", 3, line);
    snprintf(line, sizeof line, "%s : %s --lr 0.01", ok, ok);
    team_refused(2, "has other options; give all ranks the same ones", 1, line);
    snprintf(line, sizeof line, "%s : %s --data %s", ok, ok,
             test_file("train-more.txt", "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz "));
    team_refused(2, "has read other training data", 1, line);
    snprintf(line, sizeof line, "%s --unit char : %s --unit char --data %s", ok, ok,
             test_file("train-letters.txt", "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc"));
    team_refused(2, "has other options, or other training data in --data; give all ranks the same ones", 1, line);
    snprintf(line, sizeof line, "%s : %s --data %s", ok, ok, test_path("data/nowhere"));
    team_refused(1, "rank 1 (", 1, line);
    snprintf(line, sizeof line, "%s : train %s --backend cpu --device 7 --team mpi --steps 5 --out %s", ok, team_options(0),
             test_path("refused"));
    team_refused(1, "has no such device", 1, line);
    snprintf(line, sizeof line, "%s --heads 3", ok);
    team_refused(2, "bpt: error: ", 2, line);
    snprintf(line, sizeof line, "%s --split-sequence --context 40 --k 2", ok);
    team_refused(2, "a token reads spans of up to 8 tokens, and a rank would own 20 tokens, which is no multiple of that", 2, line);
    snprintf(line, sizeof line, "%s --split-sequence --context 32", ok);
    team_refused(2, "sequences of 32 tokens cannot be shared evenly by 3 ranks", 3, line);
    snprintf(line, sizeof line, "%s --split-sequence --model transformer", ok);
    team_refused(2, "model transformer cannot share sequences among ranks", 2, line);
    snprintf(line, sizeof line, "train %s --backend cpu --team mpi --split-sequence --steps 5 --out %s", team_options(1),
             test_path("refused"));
    team_refused(2, "task classify cannot share sequences among ranks", 2, line);
    test_refused(2, "there is no team", "train %s --split-sequence --out %s", team_options(0), test_path("refused"));
    test_refused(2, "there is no team", "train %s --shard-optimizer --out %s", team_options(0), test_path("refused"));
    setenv("BPT_MPI_LIBRARY", "/nowhere/libbpt_mpi.so", 1);
    test_refused(1, "/nowhere/libbpt_mpi.so cannot be opened", "train %s --team mpi --out %s", team_options(0), test_path("refused"));
    setenv("BPT_MPI_LIBRARY", "libm.so.6", 1);
    test_refused(1, "is no module of bpt", "train %s --team mpi --out %s", team_options(0), test_path("refused"));
    test_process_t doctor = test_run_line("doctor --backend ref");
    assert_non_null(strstr(doctor.out, "no --team mpi: libm.so.6 is no module of bpt"));
    test_process_free(&doctor);
    unsetenv("BPT_MPI_LIBRARY");
    doctor = test_run_line("doctor --backend ref");
    assert_non_null(strstr(doctor.out, "several processes can train together (--team mpi)"));
    test_process_free(&doctor);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    static const char foreign[] = "srun has started 2 processes (SLURM_STEP_NUM_TASKS=2), and MPI, which is ";
    test_refused(1, foreign, "train %s --team mpi --out %s", team_options(0), test_path("refused"));
    test_refused(1, foreign, "bench train --team mpi --backend cpu --threads 1");
    unsetenv("SLURM_STEP_NUM_TASKS");
    assert_ok(bpt_folder_create(test_path("foreign")));
    test_write_file(test_path("foreign/file"), "x", 1);
    snprintf(line, sizeof line, "train %s --backend cpu --team mpi --steps 5 --out %s", team_options(0), test_path("foreign"));
    team_refused(2, "rank 0 (", 2, line);
}

// ---- What ends in the middle

static pid_t start_team(int ranks, const char *run, const char *more) {
    char line[3000];
    snprintf(line, sizeof line,
             "exec \"%s\" -n %d \"%s\" train %s --backend cpu --team mpi --steps 100000 --save-every 10 --out %s %s >/dev/null 2>%s",
             team_mpirun_path, ranks, team_program, team_options(0), run, more, test_path("messages"));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void wait_for_checkpoint(const char *name) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    while (!bpt_folder_exists(test_path("%s/latest", name))) {
        if (time(NULL) > end) fail_msg("no checkpoint after %d s", DEADLINE_SECONDS);
        team_nap();
    }
}

static int wait_for_end(pid_t pid) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    int status;
    while (!waitpid(pid, &status, WNOHANG)) {
        if (time(NULL) > end) {
            kill(pid, SIGKILL);
            fail_msg("the team had not ended after %d s", DEADLINE_SECONDS);
        }
        team_nap();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Whichever rank is killed, all end, and others go on from the last checkpoint to the bits of a run that nobody killed: four ranks and one
// add the four micro-batches in the same order.
static void a_killed_rank_ends_the_team_and_costs_only_the_steps_since_the_checkpoint(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("killed"));
    static const int ranks[] = {4, 4, 1, 4};
    for (int i = 0; i < (team_takes_all() ? 20 : 4); ++i) {
        const pid_t pid = start_team(ranks[i % 4], run, i ? "--resume" : "");
        const int victim = (i + 1) % ranks[i % 4];
        pid_t rank = 0;
        if (!i) wait_for_checkpoint("killed");
        for (const time_t end = time(NULL) + DEADLINE_SECONDS; !rank && time(NULL) < end; team_nap()) rank = team_process(run, victim);
        assert_true(rank > 0);
        for (int k = 0; k < 10 + 57 * i % 307; ++k) team_nap();  // some moment
        kill(rank, SIGKILL);
        assert_int_not_equal(wait_for_end(pid), 0);
        assert_int_equal(team_process(run, 0), 0);
    }
    json_t *checkpoint = json_load_file(test_path("killed/latest/state.json"), 0, NULL);
    const json_int_t step = json_integer_value(json_object_get(checkpoint, "step"));
    assert_true(step >= 10);
    json_decref(checkpoint);
    team_succeed(4, "train --resume --team mpi --quiet --stop-at %d --out %s", (int)step + 7, run);
    char more[100];
    snprintf(more, sizeof more, "--steps 100000 --save-every 10 --stop-at %d", (int)step + 7);
    team_train_alone(0, "cpu", "alone", more);
    team_same_bits("killed", "alone", "model.safetensors");
    team_same_bits("killed", "alone", "optimizer.safetensors");
    team_remove("killed"), team_remove("alone");
}

static pid_t process_of(const char *run, int rank) {
    pid_t process = 0;
    for (const time_t end = time(NULL) + DEADLINE_SECONDS; !process && time(NULL) < end; team_nap()) process = team_process(run, rank);
    assert_true(process > 0);
    return process;
}

static void expect_one_save(void) {
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    const char *said = messages ? strstr(messages, "the state is saved") : NULL;
    if (!said || strstr(said + 1, "the state is saved")) fail_msg("rank 0 alone saves: %s", messages ? messages : "");
    free(messages);
}

// The team has ended by itself after one step, saved by rank 0, from where one process comes to the bits of a run that nobody stopped (four
// ranks and one add the four micro-batches in the same order).
static void expect_saved_end(pid_t team, const char *name) {
    assert_int_not_equal(wait_for_end(team), 0);
    expect_one_save();
    assert_false(bpt_file_exists(test_path("%s/stop", name)));
    json_t *checkpoint = json_load_file(test_path("%s/latest/state.json", name), 0, NULL);
    const int step = (int)json_integer_value(json_object_get(checkpoint, "step"));
    json_decref(checkpoint);
    test_succeed("train --resume --quiet --stop-at %d --out %s", step + 3, test_path("%s", name));
    char more[100];
    snprintf(more, sizeof more, "--steps 100000 --save-every 10 --stop-at %d", step + 3);
    team_train_alone(0, "cpu", "alone", more);
    team_same_bits(name, "alone", "model.safetensors");
    team_remove("alone"), team_remove(name);
}

// No launcher takes part in it: neither passes a signal on nor ends ranks that are slow to obey.
static void bpt_stop_ends_all_ranks_after_the_same_step(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("asked"));
    const pid_t pid = start_team(4, run, "");
    wait_for_checkpoint("asked");
    test_succeed("stop %s", run);
    expect_saved_end(pid, "asked");
}

static void sigusr1_to_any_rank_ends_all_after_the_same_step(void **state) {
    (void)state;
    for (int rank = 0; rank < 4; rank += 3) {
        char run[600];
        snprintf(run, sizeof run, "%s", test_path("one"));
        const pid_t pid = start_team(4, run, "");
        wait_for_checkpoint("one");
        kill(process_of(run, rank), SIGUSR1);
        expect_saved_end(pid, "one");
    }
}

static void a_signal_to_all_saves_once(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("stopped"));
    const pid_t pid = start_team(2, run, "--shard-optimizer");
    wait_for_checkpoint("stopped");
    for (int rank = 0; rank < 2; ++rank) {  // as SLURM does; mpirun from Open MPI 5 on ends ranks in place of passing it on
        const pid_t process = team_process(run, rank);
        assert_true(process > 0);
        kill(process, SIGTERM);
    }
    assert_int_not_equal(wait_for_end(pid), 0);
    expect_one_save();
    test_succeed("eval %s --checkpoint latest --quiet --json", run);
    team_remove("stopped");
}

// Open MPI from 5 on makes files for shared memory that are larger than the limit of the test below.
static bool mpi_needs_large_files(void) {
    int version = 0;
    test_process_t p = team_mpirun("--version");
    const bool said = sscanf(p.out, "mpirun (Open MPI) %d", &version) == 1;
    test_process_free(&p);
    return said && version >= 5;
}

// The writer cannot write: it says so, and the others do not wait.
static void a_full_disk_at_rank_0_ends_the_team(void **state) {
    (void)state;
    if (mpi_needs_large_files()) skip();
    char line[4000], first[2000], other[1600];
    snprintf(other, sizeof other, "\"%s\" train %s --backend cpu --team mpi --steps 100000 --save-every 10 --out %s", team_program,
             team_options(0), test_path("full"));
    snprintf(first, sizeof first, "ulimit -f 8; exec %s", other);
    snprintf(line, sizeof line, "exec \"%s\" -n 2 sh %s 2>%s", team_mpirun_path, team_script(first, other), test_path("messages"));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    assert_int_not_equal(wait_for_end(pid), 0);
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    if (!messages || !strstr(messages, "bpt: error: rank 0 (")) fail_msg("%s", messages ? messages : "nothing said");
    free(messages);
}

// A rank that does not answer any more is noticed by those who wait.
static void a_rank_that_is_silent_is_given_up(void **state) {
    (void)state;
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("silent"));
    setenv("BPT_MPI_SECONDS", "10", 1);
    const pid_t pid = start_team(2, run, "");
    wait_for_checkpoint("silent");
    const pid_t rank = team_process(run, 1);
    assert_true(rank > 0);
    kill(rank, SIGSTOP);
    assert_int_not_equal(wait_for_end(pid), 0);
    unsetenv("BPT_MPI_SECONDS");
    size_t length;
    char *messages = test_read_file(test_path("messages"), &length);
    if (!messages || !strstr(messages, "the other ranks have not answered for 10 seconds"))
        fail_msg("%s", messages ? messages : "nothing said");
    free(messages);
    team_remove("silent");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_do_not_fit_together_are_refused),
        cmocka_unit_test(a_killed_rank_ends_the_team_and_costs_only_the_steps_since_the_checkpoint),
        cmocka_unit_test(bpt_stop_ends_all_ranks_after_the_same_step),
        cmocka_unit_test(sigusr1_to_any_rank_ends_all_after_the_same_step),
        cmocka_unit_test(a_signal_to_all_saves_once),
        cmocka_unit_test(a_full_disk_at_rank_0_ends_the_team),
        cmocka_unit_test(a_rank_that_is_silent_is_given_up),
    };
    return team_can_start() ? cmocka_run_group_tests(tests, team_set_up, team_tear_down) : team_say_missing();
}
