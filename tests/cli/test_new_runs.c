// `bpt import` and `bpt average` that fail, or are killed at any moment, do not stand in the way of their own repetition; folders of others
// are left alone.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"
#include "support/run_files.h"

#define ON "--backend ref --quiet"

static char run[512], model[512], out[512];
static const char *lines[2];  // the commands

static int train_models(void **state) {
    (void)state;
    static char import[2048], average[2048];
    char line[2048];
    snprintf(line, sizeof line, "mkdir -p %s", test_path("pairs"));
    assert_int_equal(system(line), 0);
    static const char *const parts[] = {"train", "valid", "test"}, *const languages[] = {"en", "de"};
    for (int i = 0; i < 6; ++i) {
        snprintf(line, sizeof line, "pairs/%s.%s", parts[i / 2], languages[i % 2]);
        test_file(line, i % 2 ? "das ist gut\nes war so\nja\ndas war es\n" : "this is good\nit was so\nyes\nthat was it\n");
    }
    snprintf(run, sizeof run, "%s", test_path("run"));
    snprintf(model, sizeof model, "%s", test_path("model.safetensors"));
    snprintf(out, sizeof out, "%s", test_path("out"));
    // A translator has all the files that a run can have but labels and subwords.
    test_succeed("train --task translate --model bpt --source en --target de --data %s --layers 1 --d-model 8 --heads 2 --batch-examples 2 "
                 "--steps 4 --save-every 2 --keep 5 --out %s " ON,
                 test_path("pairs"), run);
    test_succeed("export %s --out %s --quiet", run, model);
    snprintf(import, sizeof import, "import %s --out %s --quiet", model, out);
    snprintf(average, sizeof average, "average %s --last 2 --out %s --quiet", run, out);
    lines[0] = import, lines[1] = average;
    return 0;
}

static void clear(void) {
    char line[2048];
    snprintf(line, sizeof line, "rm -rf %s", out);
    assert_int_equal(system(line), 0);
}

static void expect_use(void) { test_succeed("eval %s --source en --target de --data %s " ON, out, test_path("pairs")); }

// With room for so many bytes in a file, as on a full disk.
static int run_with_room(const char *line, rlim_t bytes) {
    struct rlimit old, limited;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limited = (struct rlimit){bytes, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
    test_process_t p = test_run_line(line);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    const int status = p.exit_status;
    test_process_free(&p);
    return status;
}

static void what_fails_for_want_of_room_leaves_nothing(void **state) {
    (void)state;
    static const rlim_t room[] = {0, 20, 300, 1000, 3000};
    for (int c = 0; c < 2; ++c)
        for (size_t i = 0; i < sizeof room / sizeof room[0]; ++i) {
            clear();
            if (!run_with_room(lines[c], room[i])) fail_msg("%s: there is room in %lld bytes", lines[c], (long long)room[i]);
            assert_int_not_equal(access(out, F_OK), 0);
            test_succeed("%s", lines[c]);
            expect_use();
        }
}

// A folder that was there, empty, stays, and is as good as before.
static void a_folder_of_the_users_stays(void **state) {
    (void)state;
    char line[2048];
    for (int c = 0; c < 2; ++c) {
        clear();
        snprintf(line, sizeof line, "mkdir %s", out);
        assert_int_equal(system(line), 0);
        assert_int_not_equal(run_with_room(lines[c], 1000), 0);
        snprintf(line, sizeof line, "test -z \"$(ls %s)\"", out);
        assert_int_equal(system(line), 0);
        test_succeed("%s", lines[c]);
        expect_use();
        clear();
        snprintf(line, sizeof line, "mkdir %s && echo mine > %s/config.json && echo mine > %s/notes.txt", out, out, out);
        assert_int_equal(system(line), 0);
        test_refused(2, "is not empty and not a run (it holds \"notes.txt\")", "%s", lines[c]);
        snprintf(line, sizeof line, "test \"$(cat %s/config.json %s/notes.txt | uniq)\" = mine", out, out);
        assert_int_equal(system(line), 0);
    }
}

static void a_run_that_is_there_is_not_replaced(void **state) {
    (void)state;
    for (int c = 0; c < 2; ++c) {
        clear();
        test_succeed("%s", lines[c]);
        test_refused(2, "already holds a run, and bpt ", "%s", lines[c]);
        expect_use();
        // A checkpoint that no link names may be a training that was copied without its links.
        assert_int_equal(unlink(test_in_run(out, "latest")), 0);
        test_refused(2, "or delete this one, which has no `latest`", "%s", lines[c]);
    }
}

// Killed after a while that grows until the command comes to its end.
static void a_killed_command_is_repeated(void **state) {
    (void)state;
    static const int signals[] = {SIGKILL, SIGTERM};
    for (int c = 0; c < 2; ++c)
        for (int s = 0; s < 2; ++s) {
            clear();
            for (long wait = 200000, finished = 0, tries = 0; !finished && tries < 40; wait += 500000, ++tries) {
                char program[1024], line[4096];
                snprintf(program, sizeof program, "%s", getenv("BPT_PROGRAM"));
                snprintf(line, sizeof line, "exec %s %s 2> /dev/null", program, lines[c]);
                const pid_t child = fork();
                if (!child) _exit(execl("/bin/sh", "sh", "-c", line, (char *)NULL));
                nanosleep(&(struct timespec){0, wait}, NULL);
                kill(child, signals[s]);
                int status;
                assert_int_equal(waitpid(child, &status, 0), child);
                finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
                if (finished) break;
                test_process_t p = test_run_line(lines[c]);
                if (p.exit_status && access(test_in_run(out, "latest/state.json"), F_OK))
                    fail_msg("after a kill at %ld ns: %s", wait, p.err);
                test_process_free(&p);
                clear();
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_for_want_of_room_leaves_nothing),
        cmocka_unit_test(a_folder_of_the_users_stays),
        cmocka_unit_test(a_run_that_is_there_is_not_replaced),
        cmocka_unit_test(a_killed_command_is_repeated),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
