// Run directories: who may open them, links that never dangle, pruning, and checkpoints written by a process that is killed.
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "models/train/run_dir.h"
#include "models/train/run_state.h"
#include "support/check.h"
#include "support/scratch.h"

// ---- a trainer in miniature: weights whose every element is the step

enum { WEIGHTS = 20000 };

static bpt_status_t write_model(const char *path, int64_t step) {
    static float weights[WEIGHTS];
    for (int i = 0; i < WEIGHTS; ++i) weights[i] = (float)step;
    bpt_safetensors_writer_t *w;
    BPT_TRY(bpt_safetensors_writer_create(path, &w));
    bpt_status_t status = bpt_safetensors_writer_declare(w, "w", BPT_ST_F32, 1, (int64_t[]){WEIGHTS});
    if (status == BPT_OK) status = bpt_safetensors_writer_data(w, weights, sizeof weights);
    if (status == BPT_OK) status = bpt_safetensors_writer_finish(w);
    bpt_safetensors_writer_destroy(w);
    return status;
}

static bpt_status_t save(bpt_run_t *run, int64_t step, bool is_best, int64_t keep) {
    const char *folder;
    char path[4096];
    bpt_run_state_t state;
    bpt_run_state_init(&state, 1);
    state.step = step;
    BPT_TRY(bpt_run_checkpoint_begin(run, step, &folder));
    snprintf(path, sizeof path, "%s/" BPT_MODEL_FILE, folder);
    bpt_status_t status = write_model(path, step);
    if (status == BPT_OK) status = bpt_run_state_write(folder, &state);
    if (status == BPT_OK) return bpt_run_checkpoint_commit(run, is_best, keep);
    bpt_run_checkpoint_abandon(run);
    return status;
}

static void check_checkpoint(const char *folder, int64_t step) {
    char path[4096];
    snprintf(path, sizeof path, "%s/" BPT_MODEL_FILE, folder);
    bpt_safetensors_t *f;
    bpt_run_state_t state;
    static float weights[WEIGHTS];
    assert_ok(bpt_safetensors_open(path, &f));
    assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "w"), 0, WEIGHTS, weights));
    for (int i = 0; i < WEIGHTS; ++i) assert_true(weights[i] == (float)step);
    bpt_safetensors_close(f);
    assert_ok(bpt_run_state_read(folder, &state));
    assert_int_equal(state.step, step);
}

static bpt_status_t start(const char *path, bpt_run_t **run) {
    BPT_TRY(bpt_run_create(path, run));
    return bpt_file_write(bpt_run_config_path(*run), "{}\n", 3);
}

// Step that `which` leads to after everything about it was read, -1 if there is no such checkpoint.
static int64_t check_link(const bpt_run_t *run, const char *which) {
    char *folder;
    if (bpt_run_checkpoint_find(run, which, &folder) != BPT_OK) return -1;
    const int64_t step = strtoll(strrchr(folder, '-') + 1, NULL, 10);
    check_checkpoint(folder, step);
    bpt_free(folder);
    return step;
}

static void assert_steps(const bpt_run_t *run, const char *wanted) {
    int64_t *steps;
    size_t count;
    char got[256] = "";
    assert_ok(bpt_run_checkpoint_list(run, &steps, &count));
    for (size_t i = 0, used = 0; i < count; ++i)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%d", i ? " " : "", (int)steps[i]);
    bpt_free(steps);
    assert_string_equal(got, wanted);
}

// ---- checkpoints

static void checkpoints_are_found_by_link_and_by_step(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    bpt_run_t *run;
    char *folder;
    assert_ok(start(test_path("found/"), &run));
    assert_fails(bpt_run_checkpoint_find(run, NULL, &folder), BPT_ERR_INPUT, "has no checkpoint \"latest\"; it has no checkpoint at all");
    assert_ok(save(run, 5, false, 10));
    assert_int_equal(check_link(run, NULL), 5);
    assert_ok(save(run, 10, true, 10));
    assert_ok(save(run, 15, false, 10));
    bpt_run_close(run);
    assert_ok(bpt_run_open(test_path("found"), &run));
    assert_int_equal(check_link(run, NULL), 10);
    assert_int_equal(check_link(run, "best"), 10);
    assert_int_equal(check_link(run, "latest"), 15);
    assert_int_equal(check_link(run, "5"), 5);
    assert_fails(bpt_run_checkpoint_find(run, "7", &folder), BPT_ERR_INPUT, "has no checkpoint \"7\"; it has checkpoints 5, 10, 15");
    assert_fails(bpt_run_checkpoint_find(run, "../..", &folder), BPT_ERR_USAGE, "give best, latest or a step number");
    assert_fails(bpt_run_checkpoint_begin(run, 20, (const char **)&folder), BPT_ERR_INTERNAL, "reading only");
    char target[64] = "";
    assert_true(readlink(test_path("found/latest"), target, sizeof target) > 0);
    assert_string_equal(target, "checkpoints/step-15");
    bpt_run_close(run);
    assert_int_equal(bpt_alloc_live(), live);
}

static void pruning_spares_what_a_link_names(void **state) {
    (void)state;
    bpt_run_t *run;
    assert_ok(start(test_path("prune"), &run));
    assert_ok(save(run, 1, false, 2));
    assert_ok(save(run, 2, true, 2));
    assert_ok(save(run, 3, false, 2));
    assert_steps(run, "1 2 3");
    for (int step = 4; step <= 9; ++step) assert_ok(save(run, step, false, 2));
    assert_steps(run, "2 7 8 9");
    assert_ok(save(run, 10, false, 0));
    assert_steps(run, "2 10");
    assert_ok(save(run, 11, true, 0));
    assert_steps(run, "11");
    assert_int_equal(check_link(run, "best"), 11);
    bpt_run_close(run);
}

static void a_checkpoint_of_the_same_step_is_replaced(void **state) {
    (void)state;
    bpt_run_t *run;
    const char *folder;
    assert_ok(start(test_path("again"), &run));
    assert_ok(save(run, 3, true, 5));
    assert_ok(bpt_file_write(test_path("again/checkpoints/step-3/old"), "x", 1));
    assert_ok(save(run, 3, true, 5));
    assert_int_equal(check_link(run, "best"), 3);
    assert_false(bpt_file_exists(test_path("again/checkpoints/step-3/old")));
    assert_ok(bpt_run_checkpoint_begin(run, 4, &folder));  // begun, never committed
    bpt_run_close(run);
    assert_ok(bpt_run_resume(test_path("again"), &run));
    assert_steps(run, "3");
    assert_false(bpt_folder_exists(test_path("again/checkpoints/.tmp-step-4")));
    bpt_run_close(run);
}

// ---- opening

static void a_run_is_not_overwritten(void **state) {
    (void)state;
    bpt_run_t *run, *other;
    assert_ok(start(test_path("run"), &run));
    assert_fails(bpt_run_create(test_path("run"), &other), BPT_ERR_IO, "in use by process");
    assert_ok(save(run, 1, false, 1));
    assert_fails(bpt_run_create(test_path("run"), &other), BPT_ERR_IO, "in use by process");
    assert_fails(bpt_run_resume(test_path("run"), &other), BPT_ERR_IO, "in use by process");
    assert_ok(bpt_run_open(test_path("run"), &other));  // a reader needs no lock
    bpt_run_close(other);
    bpt_run_close(run);
    assert_fails(bpt_run_create(test_path("run"), &other), BPT_ERR_USAGE, "already holds a run; choose another folder");
    assert_ok(bpt_run_resume(test_path("run"), &run));
    bpt_run_close(run);
}

static void a_copy_with_folders_for_links_is_not_overwritten(void **state) {
    (void)state;
    bpt_run_t *run;
    assert_int_equal(mkdir(test_path("copied"), 0700) | mkdir(test_path("copied/best"), 0700), 0);
    test_write_file(test_path("copied/config.json"), "{}", 2);
    test_write_file(test_path("copied/best/model.safetensors"), "x", 1);
    assert_fails(bpt_run_create(test_path("copied"), &run), BPT_ERR_USAGE, "already holds a run");
    assert_true(bpt_file_exists(test_path("copied/best/model.safetensors")));
}

static void what_is_no_run_is_refused(void **state) {
    (void)state;
    bpt_run_t *run;
    test_write_file(test_path("plain"), "x", 1);
    assert_int_equal(mkdir(test_path("foreign"), 0700) | mkdir(test_path("empty"), 0700), 0);
    test_write_file(test_path("foreign/thesis.tex"), "x", 1);
    assert_fails(bpt_run_create(test_path("plain"), &run), BPT_ERR_IO, "a part of the path is a file");
    assert_fails(bpt_run_create(test_path("plain/run"), &run), BPT_ERR_IO, "a part of the path is a file");
    assert_fails(bpt_run_create(test_path("foreign"), &run), BPT_ERR_USAGE, "not a run (it holds \"thesis.tex\")");
    assert_false(bpt_file_exists(test_path("foreign/.lock")));
    assert_fails(bpt_run_create("/proc/bpt", &run), BPT_ERR_IO, "/proc/bpt");
    assert_fails(bpt_run_resume(test_path("absent"), &run), BPT_ERR_INPUT, "is not a run: there is no such folder");
    assert_fails(bpt_run_open(test_path("plain"), &run), BPT_ERR_INPUT, "is a file, not a run; bpt import makes");
    assert_fails(bpt_run_open(test_path("empty"), &run), BPT_ERR_INPUT, "has no config.json");
    assert_ok(start(test_path("empty"), &run));  // an empty folder is fine
    bpt_run_keep_folder(run);
    bpt_run_close(run);
    assert_fails(bpt_run_resume(test_path("empty"), &run), BPT_ERR_INPUT,
                 "has no checkpoint to go on from; start it again without --resume");
    test_write_file(test_path("empty/labels.txt"), "x", 1);
    assert_ok(bpt_run_create(test_path("new/deep/run"), &run));  // with the folders above it
    bpt_run_close(run);
    assert_ok(bpt_run_create(test_path("empty"), &run));  // killed before its first checkpoint: nothing to lose
    assert_false(bpt_file_exists(bpt_run_config_path(run)));
    assert_false(bpt_file_exists(bpt_run_labels_path(run)));
    bpt_run_close(run);
}

// Whatever stops the writer of a first checkpoint: it is there with its links, or there is no run and the command can be repeated.
static void a_first_checkpoint_is_there_with_its_links(void **state) {
    (void)state;
    static const char *const links[] = {"first/best", "first/latest"};
    bpt_run_t *run;
    char *folder;
    for (int i = 0; i < 2; ++i) {
        assert_ok(start(test_path("first"), &run));
        assert_int_equal(mkdir(test_path(links[i]), 0700), 0);
        char inside[64];
        snprintf(inside, sizeof inside, "%s/x", links[i]);
        test_write_file(test_path(inside), "x", 1);  // no link can take its place
        assert_int_not_equal(save(run, 5, true, 1), BPT_OK);
        assert_steps(run, "");
        assert_int_equal(unlink(test_path(inside)) | rmdir(test_path(links[i])), 0);
        bpt_run_close(run);
    }
    // As a kill in front of the last rename leaves it.
    assert_ok(start(test_path("first"), &run));
    bpt_run_keep_folder(run);
    for (int i = 0; i < 2; ++i) assert_ok(bpt_link_swap(test_path(links[i]), "checkpoints/step-10"));
    bpt_run_close(run);
    assert_ok(bpt_run_open(test_path("first"), &run));
    assert_fails(bpt_run_checkpoint_find(run, NULL, &folder), BPT_ERR_INPUT, "has no checkpoint \"latest\"; it has no checkpoint at all");
    bpt_run_close(run);
    assert_fails(bpt_run_resume(test_path("first"), &run), BPT_ERR_INPUT, "start it again without --resume");
    assert_ok(start(test_path("first"), &run));
    assert_ok(save(run, 5, false, 5));
    assert_ok(save(run, 10, false, 5));
    assert_int_equal(check_link(run, NULL), 10);
    assert_int_equal(check_link(run, "best"), -1);  // the step is that of the older link, the checkpoint is not
    bpt_run_close(run);
}

static void links_to_other_runs_are_refused(void **state) {
    (void)state;
    bpt_run_t *run, *other;
    char *folder;
    assert_ok(start(test_path("own"), &run));
    assert_ok(start(test_path("foreign-run"), &other));
    for (int step = 1; step <= 2; ++step) assert_ok(save(run, step, step == 1, 9));
    assert_ok(save(other, 2, true, 9));
    bpt_run_close(other);
    const char *const targets[] = {"../foreign-run/checkpoints/step-2", "..", "config.json", "best", "/dev/zero", "checkpoints", "step-1"};
    for (size_t i = 0; i < BPT_COUNT(targets); ++i) {
        for (int latest = 0; latest <= 1; ++latest) {
            const char *which = latest ? "latest" : "best";
            char link[4096];
            snprintf(link, sizeof link, "%s/%s", test_path("own"), which);
            assert_ok(bpt_link_swap(link, targets[i]));
            assert_fails(bpt_run_checkpoint_find(run, which, &folder), BPT_ERR_INPUT, "leads to no checkpoint of this run");
            if (!latest) assert_fails(bpt_run_checkpoint_find(run, NULL, &folder), BPT_ERR_INPUT, "own/best leads to no checkpoint");
            assert_ok(bpt_link_swap(link, latest ? "./checkpoints/../checkpoints/step-2" : test_path("own/checkpoints/step-1")));
            assert_int_equal(check_link(run, which), latest ? 2 : 1);  // written in another way, but sound
        }
    }
    bpt_run_close(run);
    assert_ok(bpt_link_swap(test_path("own/best"), "../foreign-run/checkpoints/step-2"));
    assert_fails(bpt_run_resume(test_path("own"), &run), BPT_ERR_INPUT, "own/best must be a link to a checkpoint of this run");
}

// The reason is that of the folder that cannot be made, not that of the clean-up behind it; nothing is left over.
static void a_run_that_cannot_be_made_says_why(void **state) {
    (void)state;
    enum { LENGTH = PATH_MAX - sizeof "/checkpoints" + 1 };  // room for /.lock, but not for that
    char path[PATH_MAX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s", test_path("narrow"));
    const size_t folder = (size_t)(strrchr(name, '/') - name);
    memset(path, '/', LENGTH);  // any number of slashes is one
    memcpy(path, name, folder);
    strcpy(path + LENGTH - strlen("narrow"), "narrow");
    bpt_run_t *run;
    assert_fails(bpt_run_create(path, &run), BPT_ERR_IO, "File name too long");
    assert_false(bpt_folder_exists(name));
}

static void links_that_lead_nowhere_are_mended(void **state) {
    (void)state;
    bpt_run_t *run;
    assert_ok(start(test_path("mend"), &run));
    for (int step = 1; step <= 3; ++step) assert_ok(save(run, step, step == 2, 9));
    bpt_run_close(run);
    assert_int_equal(unlink(test_path("mend/latest")), 0);
    assert_ok(bpt_path_remove(test_path("mend/checkpoints/step-2")));
    assert_ok(bpt_run_open(test_path("mend"), &run));  // a reader mends nothing, and takes no other checkpoint for the best
    char *folder;
    assert_fails(bpt_run_checkpoint_find(run, NULL, &folder), BPT_ERR_INPUT,
                 "mend/best leads to no checkpoint of this run, which has checkpoints 1, 3");
    assert_fails(bpt_run_checkpoint_find(run, "best", &folder), BPT_ERR_INPUT, "mend/best leads to no checkpoint");
    assert_int_equal(check_link(run, "3"), 3);
    bpt_run_close(run);
    assert_ok(bpt_folder_create(test_path("mend/checkpoints/.tmp-step-9")));
    test_write_file(test_path("mend/.tmp-1-1"), "x", 1);
    assert_ok(bpt_run_resume(test_path("mend"), &run));
    assert_int_equal(check_link(run, "latest"), 3);
    assert_int_equal(check_link(run, NULL), 3);
    assert_false(bpt_file_exists(test_path("mend/.tmp-1-1")));
    assert_false(bpt_folder_exists(test_path("mend/checkpoints/.tmp-step-9")));
    bpt_run_close(run);
    assert_int_equal(unlink(test_path("mend/latest")) | mkdir(test_path("mend/latest"), 0700), 0);  // copied by content
    assert_fails(bpt_run_resume(test_path("mend"), &run), BPT_ERR_INPUT, "mend/latest must be a link to a checkpoint");
}

// ---- trouble while writing

static void a_failing_write_leaves_the_old_checkpoint(void **state) {
    (void)state;
    bpt_run_t *run;
    struct rlimit old, small;
    assert_ok(start(test_path("limit"), &run));
    assert_ok(save(run, 1, true, 3));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = sizeof(float) * WEIGHTS / 2, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const bpt_status_t status = save(run, 2, true, 3);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), "model.safetensors: File too large"));
    assert_steps(run, "1");
    assert_int_equal(check_link(run, "latest"), 1);
    assert_int_equal(check_link(run, "best"), 1);
    assert_false(bpt_folder_exists(test_path("limit/checkpoints/.tmp-step-2")));
    assert_ok(save(run, 2, false, 3));
    assert_fails(bpt_run_require_space(run, UINT64_MAX), BPT_ERR_IO, "the next checkpoint needs");
    assert_ok(bpt_run_require_space(run, 1000));
    bpt_run_close(run);
}

static void write_until_killed(const char *path, bool resume) {
    bpt_run_t *run;
    int64_t step = 0;
    if ((resume ? bpt_run_resume(path, &run) : start(path, &run)) != BPT_OK) _exit(1);
    if (resume) {
        char *folder;
        bpt_run_state_t state;
        if (bpt_run_checkpoint_find(run, "latest", &folder) != BPT_OK || bpt_run_state_read(folder, &state) != BPT_OK) _exit(2);
        step = state.step;
    }
    for (;;)
        if (++step, save(run, step, step % 3 == 0, step % 2) != BPT_OK) _exit(3);
}

static void every_file_is_readable_after_kill_9(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("killed"));
    int64_t last = 0, last_best = -1;
    uint32_t random = 12345;
    int with_leftovers = 0;
    // At least 25 kills, more on a slow disk, until they hit what they are meant to hit.
    for (int round = 0; round < 25 || (round < 500 && (last <= 5 || with_leftovers == 0)); ++round) {
        const pid_t child = fork();
        if (child == 0) write_until_killed(path, last > 0);
        // The first children live until they have written something; the others die at any moment, even while resuming.
        do {
            random = random * 1664525 + 1013904223;
            // On a busy machine a child gets little done in its time: the later it is, the longer it may live.
            nanosleep(&(struct timespec){.tv_nsec = (1000000 + (long)(random >> 8) % 30000000) * (1 + round / 25)}, NULL);
        } while (last == 0 && !bpt_folder_exists(test_path("killed/latest")) && waitpid(child, NULL, WNOHANG) == 0);
        kill(child, SIGKILL);
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        bpt_run_t *run;
        assert_ok(bpt_run_open(path, &run));
        int64_t *steps;
        size_t count;
        assert_ok(bpt_run_checkpoint_list(run, &steps, &count));
        assert_true(count > 0);
        for (size_t i = 0; i < count; ++i) {
            char folder[4200];
            snprintf(folder, sizeof folder, "%s/checkpoints/step-%d", path, (int)steps[i]);
            check_checkpoint(folder, steps[i]);
        }
        const int64_t latest = check_link(run, "latest"), best = check_link(run, "best");
        assert_true(latest >= last && latest >= 1);
        // `best` is swapped first, so it may be one checkpoint ahead of `latest`, never behind what was published.
        assert_true(best >= last_best && best <= latest + 1 && best >= latest - 3);
        last = latest;
        last_best = best;
        struct stat info;
        assert_true(lstat(test_path("killed/best"), &info) != 0 || bpt_folder_exists(test_path("killed/best")));
        char **names;
        size_t n_names;
        assert_ok(bpt_folder_list(test_path("killed/checkpoints"), &names, &n_names));
        for (size_t i = 0; i < n_names; ++i) with_leftovers += names[i][0] == '.';
        bpt_names_free(names, n_names);
        bpt_free(steps);
        bpt_run_close(run);
    }
    print_message("%d checkpoints written, %d half-written folders met\n", (int)last, with_leftovers);
    assert_true(last > 5);
    assert_true(with_leftovers > 0);  // or the kills proved nothing
}

static void failing_allocations_break_no_run(void **state) {
    (void)state;
    bpt_run_t *run;
    assert_ok(start(test_path("memory"), &run));
    assert_ok(save(run, 1, true, 1));
    bpt_run_close(run);
    const size_t live = bpt_alloc_live();
    bpt_status_t status = BPT_ERR_NO_MEMORY;
    for (size_t nth = 1; status != BPT_OK && nth < 1000; nth += nth / 16 + 1) {
        bpt_alloc_fail_after(nth);
        status = bpt_run_resume(test_path("memory"), &run);
        if (status == BPT_OK) {
            status = save(run, 2, true, 1);
            bpt_alloc_fail_after(0);
            bpt_run_close(run);
        }
        bpt_alloc_fail_after(0);
        assert_int_equal(bpt_alloc_live(), live);
        bpt_run_t *reader;
        assert_ok(bpt_run_open(test_path("memory"), &reader));
        assert_true(check_link(reader, "best") >= 1 && check_link(reader, "latest") >= 1);
        bpt_run_close(reader);
    }
    assert_ok(status);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_are_found_by_link_and_by_step),
        cmocka_unit_test(pruning_spares_what_a_link_names),
        cmocka_unit_test(a_checkpoint_of_the_same_step_is_replaced),
        cmocka_unit_test(a_run_is_not_overwritten),
        cmocka_unit_test(a_copy_with_folders_for_links_is_not_overwritten),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(a_first_checkpoint_is_there_with_its_links),
        cmocka_unit_test(links_to_other_runs_are_refused),
        cmocka_unit_test(a_run_that_cannot_be_made_says_why),
        cmocka_unit_test(links_that_lead_nowhere_are_mended),
        cmocka_unit_test(a_failing_write_leaves_the_old_checkpoint),
        cmocka_unit_test(every_file_is_readable_after_kill_9),
        cmocka_unit_test(failing_allocations_break_no_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
