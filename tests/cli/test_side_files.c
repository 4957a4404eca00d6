// Files that commands write beside their output: what there is when something else fails is there in both.
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

#include "support/process.h"

#define ON "--backend ref --quiet"

static char lm[512], text[512];

static int train(void **state) {
    (void)state;
    static char bytes[3001];
    for (int i = 0; i < 3000; ++i) bytes[i] = (char)('a' + i % 7 + (i / 50) % 3);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    test_succeed("train --data %s --out %s --layers 1 --d-model 16 --heads 2 --context 32 --batch-tokens 128 --steps 2 --warmup 1 " ON,
                 text, lm);
    return 0;
}

// A disk that is full for one of the files takes neither the result nor the other files.
static void a_result_is_told_though_a_file_beside_it_cannot_be_written(void **state) {
    (void)state;
    char line[2048], gradient[512];
    snprintf(gradient, sizeof gradient, "%s", test_path("gradient.safetensors"));
    test_process_t whole = test_run_to(0, "eval %s --data %s " ON, lm, text);
    snprintf(line, sizeof line, "eval %s --data %s --nll-out /dev/full --grad-out %s " ON, lm, text, gradient);
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 1);
    if (!strstr(p.err, "/dev/full")) fail_msg("%s", p.err);
    const char *end = strstr(whole.out, "scored");  // what follows has the time that it took
    assert_non_null(end);
    if (strncmp(p.out, whole.out, (size_t)(end - whole.out))) fail_msg("'%s', not '%s'", p.out, whole.out);
    assert_int_equal(access(gradient, F_OK), 0);
    test_process_free(&p), test_process_free(&whole);
}

static size_t bytes_of(const char *path) {
    size_t length = 0;
    char *bytes = test_read_file(path, &length);
    free(bytes);
    return length;
}

static pid_t start_generating(const char *out, const char *logits) {
    char line[2048];
    snprintf(line, sizeof line, "exec \"$BPT_PROGRAM\" generate %s --prompt abc --max-tokens 100000 --logits-out %s " ON " >%s", lm, logits,
             out);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void a_stopped_text_has_the_logits_of_its_tokens(void **state) {
    (void)state;
    char out[512], logits[512];
    int status;
    snprintf(out, sizeof out, "%s", test_path("out.txt"));
    snprintf(logits, sizeof logits, "%s", test_path("logits.json"));
    const pid_t pid = start_generating(out, logits);
    const time_t end = time(NULL) + 60;
    while (bytes_of(out) < 3 && time(NULL) < end) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    kill(pid, SIGINT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 130);
    json_t *rows = json_load_file(logits, 0, NULL);
    assert_true(json_array_size(rows) >= 3);
    assert_int_equal(json_array_size(rows), bytes_of(out));  // a byte is a token
    json_decref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_told_though_a_file_beside_it_cannot_be_written),
        cmocka_unit_test(a_stopped_text_has_the_logits_of_its_tokens),
    };
    return cmocka_run_group_tests(tests, train, NULL);
}
