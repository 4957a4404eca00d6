// Commands as filters: what a producer writes is answered at once, line by line, before it writes more; through a pipe, a FIFO and a
// terminal. Line N of the output belongs to line N of the input.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"

#define ON "--backend cpu --threads 1 --quiet"
enum { PATIENCE_MS = 60000 };  // of a test that fails

static char lm[512], words[512], classifier[512];

#define run(...)                                         \
    do {                                                 \
        test_process_t p_ = test_run_to(0, __VA_ARGS__); \
        test_process_free(&p_);                          \
    } while (0)

static int train_models(void **state) {
    (void)state;
    static char bytes[3001], lines[8192];
    char text[512], examples[512];
    for (int i = 0; i < 3000; ++i) bytes[i] = (char)('a' + i % 7 + (i / 50) % 3);
    size_t used = 0;
    for (int i = 0; i < 120; ++i)
        used +=
            (size_t)snprintf(lines + used, sizeof lines - used, i % 2 ? "bad\tawful dull film %d\n" : "good\tfine warm play %d\n", i % 10);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", lines));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(words, sizeof words, "%s", test_path("words"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    static const char *const shape = "--layers 1 --d-model 16 --heads 2 --warmup 2 --lr 0.01 " ON;
    run("train --data %s --out %s --context 32 --batch-tokens 128 --steps 30 %s", text, lm, shape);
    run("train --unit word --data %s --out %s --context 32 --batch-tokens 128 --steps 3 %s", examples, words, shape);
    run("train --task classify --data %s --out %s --batch-examples 16 --steps 40 %s", examples, classifier, shape);
    return 0;
}

// ---- A program that is spoken with
typedef struct {
    pid_t pid;
    int to, from;
    char text[8192];  // what it said and nobody has looked at
    size_t length;
} talk_t;

static void become(const char *line, int in, int out) {
    char shell[2048];
    snprintf(shell, sizeof shell, "exec \"$BPT_PROGRAM\" %s", line);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0) _exit(126);
    for (int fd = 3; fd < 64; ++fd) close(fd);
    execl("/bin/sh", "sh", "-c", shell, (char *)NULL);
    _exit(127);
}

static talk_t talk_through_pipe(const char *line) {
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    talk_t t = {.pid = fork(), .to = to[1], .from = from[0]};
    assert_true(t.pid >= 0);
    if (!t.pid) become(line, to[0], from[1]);
    close(to[0]), close(from[1]);
    return t;
}

// The program's input is a terminal; its output is a pipe. `errors`: whether what it says on stderr goes to the terminal too.
static talk_t talk_through_terminal(const char *line, bool errors) {
    int from[2], master;
    assert_int_equal(pipe(from), 0);
    talk_t t = {.pid = forkpty(&master, NULL, NULL, NULL), .from = from[0]};
    assert_true(t.pid >= 0);
    if (!t.pid) {
        if (!errors) dup2(open("/dev/null", O_WRONLY), 2);
        become(line, 0, from[1]);
    }
    close(from[1]);
    t.to = master;
    return t;
}

static void say(const talk_t *t, const char *text) { assert_int_equal(write(t->to, text, strlen(text)), strlen(text)); }

// Reads until `wanted` lines are there, and takes them off.
static void expect_lines(talk_t *t, int wanted, char *out, size_t bytes) {
    for (;;) {
        const char *end = t->text;
        int lines = 0;
        for (; lines < wanted && (end = memchr(end, '\n', t->length - (size_t)(end - t->text))); ++lines) ++end;
        if (lines == wanted) {
            const size_t taken = (size_t)(end - t->text);
            assert_true(taken < bytes);
            memcpy(out, t->text, taken);
            out[taken] = 0;
            memmove(t->text, end, t->length - taken);
            t->length -= taken;
            return;
        }
        struct pollfd ready = {.fd = t->from, .events = POLLIN};
        if (poll(&ready, 1, PATIENCE_MS) != 1) fail_msg("%d lines came and no more: '%.*s'", lines, (int)t->length, t->text);
        const ssize_t got = read(t->from, t->text + t->length, sizeof t->text - t->length);
        if (got <= 0) fail_msg("the program ended after '%.*s'", (int)t->length, t->text);
        t->length += (size_t)got;
    }
}

static void wait_for(int fd, const char *what) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_MS) != 1) fail_msg("%s did not come", what);
}

static int count_prompts(const char *text, size_t length) {
    int prompts = 0;
    for (size_t i = 1; i < length; ++i) prompts += text[i - 1] == '>' && text[i] == ' ';
    return prompts;
}

// Until the terminal shows a prompt. A key that comes while no line is being read may mean something else.
static void expect_prompt(const talk_t *t, int *prompts) {
    char text[4096];
    size_t length = 0;
    while (length < 2 || memcmp(text + length - 2, "> ", 2)) {
        wait_for(t->to, "a prompt");
        const ssize_t got = read(t->to, text + length, sizeof text - length);
        assert_true(got > 0);
        length += (size_t)got;
    }
    *prompts += count_prompts(text, length);
}

// Prompts among what a terminal still shows when its program has ended.
static int prompts_left(const talk_t *t) {
    char text[4096];
    size_t length = 0;
    for (ssize_t got; length < sizeof text && (got = read(t->to, text + length, sizeof text - length)) > 0;) length += (size_t)got;
    return count_prompts(text, length);
}

static void expect_end(const talk_t *t) {
    char rest;
    wait_for(t->from, "the end");
    assert_int_equal(read(t->from, &rest, 1), 0);
}

// The exit status after the end of its input; there must be no more output than was looked at.
static int end_talk(talk_t *t) {
    int status;
    close(t->to);
    wait_for(t->from, "the end");
    const ssize_t got = read(t->from, t->text, sizeof t->text);
    if (got != 0 || t->length) fail_msg("unexpected: '%.*s'", (int)(got > 0 ? got : (ssize_t)t->length), t->text);
    close(t->from);
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *command(const char *format, const char *run) {
    static char line[1024];
    snprintf(line, sizeof line, format, run);
    return line;
}

// ---- classify
static void expect_label(talk_t *t, const char *label) {
    char line[1024];
    expect_lines(t, 1, line, sizeof line);
    if (strncmp(line, label, strlen(label)) || line[strlen(label)] != '\t') fail_msg("'%s' in place of %s", line, label);
}

static void every_line_of_a_pipe_is_answered_before_the_next_one(void **state) {
    (void)state;
    talk_t t = talk_through_pipe(command("classify %s " ON, classifier));
    char line[64];
    say(&t, "awful dull film 3\n");
    expect_label(&t, "bad");
    say(&t, "fine warm ");  // a line in two pieces
    say(&t, "play 2\n");
    expect_label(&t, "good");
    say(&t, "\n");
    expect_lines(&t, 1, line, sizeof line);
    assert_string_equal(line, "\n");
    say(&t, "awful film\nfine play\n  \nawful");  // the last one has no line end
    expect_label(&t, "bad");
    expect_label(&t, "good");
    expect_lines(&t, 1, line, sizeof line);
    assert_string_equal(line, "\n");
    close(t.to);
    t.to = -1;
    expect_label(&t, "bad");
    assert_int_equal(end_talk(&t), 0);
}

static void a_fifo_and_a_terminal_are_answered_at_once_too(void **state) {
    (void)state;
    char fifo[600], line[1200];
    snprintf(fifo, sizeof fifo, "%s", test_path("lines.fifo"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(line, sizeof line, "classify %s %s " ON, classifier, fifo);
    talk_t t = talk_through_pipe(line);
    close(t.to);
    t.to = open(fifo, O_WRONLY);
    assert_true(t.to >= 0);
    say(&t, "awful dull film 3\n");
    expect_label(&t, "bad");
    say(&t, "fine play\n");
    expect_label(&t, "good");
    assert_int_equal(end_talk(&t), 0);

    t = talk_through_terminal(command("classify %s " ON, classifier), false);
    say(&t, "awful dull film 3\n");
    expect_label(&t, "bad");
    say(&t, "fine play\n");
    expect_label(&t, "good");
    say(&t, "\004");  // Ctrl-D
    expect_end(&t);
    assert_int_equal(end_talk(&t), 0);
}

// Line N out is line N in, whatever the batches: a file of many lines, every seventh blank, against each line alone.
static void lines_keep_their_places(void **state) {
    (void)state;
    static char many[65536];
    size_t used = 0;
    enum { LINES = 700 };
    for (int i = 0; i < LINES; ++i)
        used += (size_t)snprintf(many + used, sizeof many - used, "%s\n", i % 7 == 3 ? "" : i % 2 ? "awful dull film" : "fine warm play");
    char line[1200];
    snprintf(line, sizeof line, "classify %s %s --json --with-input --batch-tokens 64 " ON, classifier, test_file("many.txt", many));
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 0);
    char *rest = NULL, *one = strtok_r(p.out, "\n", &rest);
    for (int i = 0; i < LINES; ++i, one = strtok_r(NULL, "\n", &rest)) {
        assert_non_null(one);
        if (i % 7 == 3)
            assert_string_equal(one, "{\"label\": null, \"text\": \"\"}");
        else
            assert_true(strstr(one, i % 2 ? "{\"label\": \"bad\"" : "{\"label\": \"good\"") == one &&
                        strstr(one, i % 2 ? "\"text\": \"awful dull film\"}" : "\"text\": \"fine warm play\"}"));
    }
    assert_null(one);
    test_process_free(&p);
}

static void a_bad_line_comes_after_the_answers_to_those_before(void **state) {
    (void)state;
    const struct {
        const char *options, *text, *says, *out;
    } cases[] = {
        {"", "fine play\n\nawful\xFF film\nfine\n", "bad-line.txt: line 3, byte 16: not valid UTF-8", "good"},
        {"--unit ids", "2 3\n\n4 999\n5\n", "bad-line.txt: line 3: token 999 is outside the vocabulary", ""},
        {"", "fine play\n\ngood\ta\tb\n", "bad-line.txt: line 3: more than one tab", "good"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[1200];
        snprintf(line, sizeof line, "classify %s %s %s " ON, classifier, test_file("bad-line.txt", cases[i].text), cases[i].options);
        test_process_t p = test_run_line(line);
        int lines = 0;
        for (const char *c = p.out; *c; ++c) lines += *c == '\n';
        if (p.exit_status != 1 || !strstr(p.err, cases[i].says) || lines != 2 || strncmp(p.out, cases[i].out, strlen(cases[i].out)))
            fail_msg("case %zu: exit %d, '%s', '%s'", i, p.exit_status, p.out, p.err);
        test_process_free(&p);
    }
}

// ---- generate
static char *generated(const char *format, ...) BPT_PRINTF(1, 2);
static char *generated(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    const int used = snprintf(line, sizeof line, "generate %s " ON " --temperature 0 ", lm);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    free(p.err);
    return p.out;
}

static void expect_answer(talk_t *t, const char *prompt) {
    char line[1024], want[1024], *alone = generated("--prompt %s --max-tokens 20", prompt);
    expect_lines(t, 1, line, sizeof line);
    snprintf(want, sizeof want, "{\"prompt\": \"%s\", \"text\": \"%s\"}\n", prompt, alone);
    assert_string_equal(line, want);
    free(alone);
}

static void prompts_are_answered_as_they_come(void **state) {
    (void)state;
    talk_t t = talk_through_pipe(command("generate %s --prompts - --batch 3 --max-tokens 20 --temperature 0 " ON, lm));
    char line[1024];
    say(&t, "abc\n");
    expect_answer(&t, "abc");
    say(&t, "\n");
    expect_lines(&t, 1, line, sizeof line);
    assert_string_equal(line, "{\"prompt\": \"\", \"text\": null}\n");
    say(&t, "abcdefgabcdefgabcdefg\nb\n\nc\nde\nef\n");
    static const char *const prompts[] = {"abcdefgabcdefgabcdefg", "b", "", "c", "de", "ef"};
    for (int i = 0; i < 6; ++i)
        if (*prompts[i])
            expect_answer(&t, prompts[i]);
        else
            expect_lines(&t, 1, line, sizeof line);
    assert_int_equal(end_talk(&t), 0);
}

static void a_bad_prompt_comes_after_the_answers_to_those_before(void **state) {
    (void)state;
    char line[1200];
    snprintf(line, sizeof line, "generate %s --prompts %s --unit ids --max-tokens 4 " ON, lm,
             test_file("bad-prompts.txt", "97 98\n\n1 300\n97\n"));
    test_process_t p = test_run_line(line);
    int lines = 0;
    for (const char *c = p.out; *c; ++c) lines += *c == '\n';
    if (p.exit_status != 1 || lines != 2 || !strstr(p.err, "bad-prompts.txt: line 3: token 300 is outside the vocabulary"))
        fail_msg("exit %d, '%s', '%s'", p.exit_status, p.out, p.err);
    test_process_free(&p);
}

static void a_stop_text_ends_before_itself(void **state) {
    (void)state;
    char *all = generated("--prompt abc --max-tokens 60");
    for (int from = 0; from < 40; from += 13)
        for (int length = 1; length <= 5; length += 2) {
            char stop[16] = "", line[1200], want[1200];
            memcpy(stop, all + from, (size_t)length);
            const int before = (int)(strstr(all, stop) - all);
            char *one = generated("--prompt abc --max-tokens 60 --stop ZZ --stop %s", stop);
            if (strncmp(one, all, (size_t)before) || one[before]) fail_msg("stop '%s': '%s' of '%s'", stop, one, all);
            free(one);
            snprintf(line, sizeof line, "generate %s --prompts %s --temperature 0 --max-tokens 60 --stop %s " ON, lm,
                     test_file("prompt.txt", "abc\n"), stop);
            snprintf(want, sizeof want, "{\"prompt\": \"abc\", \"text\": \"%.*s\"}\n", before, all);
            test_process_t p = test_run_line(line);
            assert_string_equal(p.out, want);
            test_process_free(&p);
        }
    // What may begin a stop text is held back, and printed when the text ends without it.
    char almost[16] = "";
    memcpy(almost, all + 57, 3);
    char *one = generated("--prompt abc --max-tokens 60 --stop %sZ", almost);
    assert_string_equal(one, all);
    free(one);
    free(all);
}

static void unknown_words_of_a_prompt_are_remarked_on(void **state) {
    (void)state;
    char line[1200];
    snprintf(line, sizeof line, "generate %s --prompt 'fine quux play <unk> zork' --max-tokens 2 --backend cpu", words);
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 0);
    if (!strstr(p.err, "--prompt: line 1: not in the vocabulary, read as <unk>: 'quux', 'zork'\n")) fail_msg("'%s'", p.err);
    test_process_free(&p);
    // A byte order mark is no part of the first word.
    snprintf(line, sizeof line, "generate %s --prompts %s --max-tokens 2 --backend cpu", words,
             test_file("marked.txt", "\xEF\xBB\xBF"
                                     "fine play\nquux\n"));
    p = test_run_line(line);
    assert_int_equal(p.exit_status, 0);
    if (!strstr(p.err, "marked.txt: line 2: not in the vocabulary, read as <unk>: 'quux'\n") || strstr(p.err, "line 1"))
        fail_msg("'%s'", p.err);
    test_process_free(&p);
}

// A training whose log nobody reads any more goes on and saves; a text that nobody reads any more ends.
static void a_closed_pipe_ends_a_text_but_no_training(void **state) {
    (void)state;
    char line[2048], run_path[600], latest[700];
    snprintf(run_path, sizeof run_path, "%s", test_path("unread"));
    snprintf(line, sizeof line,
             "{ { \"$BPT_PROGRAM\" train --data %s --out %s --layers 1 --d-model 16 --heads 2 --context 32 --batch-tokens 128 --steps 30 "
             "--log-every 1 --backend cpu 2>&1; echo $? >&3; } | true; } 3>&1 | grep -qx 0",
             test_path("text.txt"), run_path);
    if (system(line)) fail_msg("%s", line);
    snprintf(latest, sizeof latest, "%s/checkpoints/step-30/model.safetensors", run_path);
    assert_int_equal(access(latest, R_OK), 0);
    snprintf(line, sizeof line,
             "{ { \"$BPT_PROGRAM\" generate %s --max-tokens 60000000 " ON
             " 2>&1; echo $? >&3; } | head -c 10 | wc -c >&3; } 3>&1 | tr '\\n' ' ' | grep -q '10 141\\|141 10'",
             lm);
    if (system(line)) fail_msg("%s", line);
}

// ---- generate --interactive

// Each answer is what --prompt gives for the whole text so far, as it stands on the screen.
static void a_conversation_goes_on_from_its_text(void **state) {
    (void)state;
    char text[4096] = "", line[4096];
    talk_t t = talk_through_pipe(command("generate %s --interactive --max-tokens 12 --temperature 0 " ON, lm));
    static const char *const typed[] = {"abc", "bcd", "", "abcdefg"};
    for (int i = 0; i < 4; ++i) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i && *typed[i] ? "\n" : "", typed[i]);
        say(&t, typed[i]);
        say(&t, "\n");
        char *want = generated("--max-tokens 12 '--prompt=%s'", text);
        expect_lines(&t, 1, line, sizeof line);
        if (strncmp(line, want, strlen(want)) || strcmp(line + strlen(want), "\n"))
            fail_msg("after '%s': '%s', not '%s'", text, line, want);
        strcat(text, want);
        free(want);
    }
    say(&t, "/reset\nabc\n");
    char *want = generated("--max-tokens 12 --prompt abc");
    expect_lines(&t, 1, line, sizeof line);
    assert_memory_equal(line, want, strlen(want));
    free(want);
    say(&t, "/quit\n");
    assert_int_equal(end_talk(&t), 0);
}

// A stop text is no part of what the next line goes on from.
static void a_stop_text_is_forgotten_in_a_conversation(void **state) {
    (void)state;
    char line[4096], text[4096], stop[4] = "", *all = generated("--prompt abc --max-tokens 40");
    memcpy(stop, all + 20, 3);
    const int before = (int)(strstr(all, stop) - all);
    snprintf(line, sizeof line, "generate %s --interactive --max-tokens 40 --temperature 0 --stop %s " ON, lm, stop);
    talk_t t = talk_through_pipe(line);
    say(&t, "abc\n");
    expect_lines(&t, 1, line, sizeof line);
    assert_int_equal(strlen(line), before + 1);
    assert_memory_equal(line, all, before);
    snprintf(text, sizeof text, "abc%.*s\ngfe", before, all);
    char *want = generated("'--prompt=%s' --max-tokens 40 --stop %s", text, stop);
    say(&t, "gfe\n");
    expect_lines(&t, 1, line, sizeof line);
    assert_int_equal(strlen(line), strlen(want) + 1);
    assert_memory_equal(line, want, strlen(want));
    assert_int_equal(end_talk(&t), 0);
    free(all), free(want);
}

// 32 tokens are full after 10 typed and 22 chosen ones; with the next one the last 16 are what the model sees.
static void a_full_context_forgets_its_older_half(void **state) {
    (void)state;
    char line[4096], text[4096];
    talk_t t = talk_through_pipe(command("generate %s --interactive --context 32 --max-tokens 30 --temperature 0 " ON, lm));
    say(&t, "abcdefgabc\n");
    expect_lines(&t, 1, line, sizeof line);
    char *first = generated("--prompt abcdefgabc --max-tokens 23");
    snprintf(text, sizeof text, "abcdefgabc%s", first);
    char *then = generated("'--prompt=%s' --max-tokens 7", text + strlen(text) - 16);
    snprintf(text, sizeof text, "%s%s\n", first, then);
    assert_string_equal(line, text);
    free(first), free(then);
    say(&t, "abcdefgabcdefgabcdefg\n");  // a line of more than half
    close(t.to);
    t.to = -1;
    assert_int_equal(end_talk(&t), 1);
}

// A line has one prompt: a second one, shown while nothing is read, would invite keys that are then lost.
static void ctrl_c_ends_the_answer_and_ctrl_d_the_conversation(void **state) {
    (void)state;
    // "": the first that is installed. A library that is missing is passed over.
    static const char *const libraries[] = {"none", "", "libreadline.so.8", "libedit.so.2"};
    for (int i = 0; i < 4; ++i) {
        void *library = i > 1 ? dlopen(libraries[i], RTLD_LAZY) : NULL;
        if (i > 1 && !library) continue;
        if (library) dlclose(library);
        int prompts = 0;
        char line[4096];
        setenv("BPT_READLINE_LIBRARY", libraries[i], 1);
        talk_t t =
            talk_through_terminal(command("generate %s --interactive --max-tokens 100000000 --temperature 0 --stop Z " ON, lm), true);
        expect_prompt(&t, &prompts);
        say(&t, "abc\n");
        for (int bytes = 0; bytes < 200;) {  // an answer without end
            wait_for(t.from, "an answer");
            const ssize_t got = read(t.from, line, sizeof line);
            assert_true(got > 0);
            bytes += (int)got;
        }
        say(&t, "\003");
        for (ssize_t got = 1; line[got - 1] != '\n';) {  // what was left of the answer
            wait_for(t.from, "the end of the answer");
            got = read(t.from, line, sizeof line);
            assert_true(got > 0);
        }
        expect_prompt(&t, &prompts);
        say(&t, "/reset\n");
        expect_prompt(&t, &prompts);
        say(&t, "\004");
        expect_end(&t);
        assert_int_equal(prompts + prompts_left(&t), 3);
        assert_int_equal(end_talk(&t), 0);
    }
    unsetenv("BPT_READLINE_LIBRARY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_a_pipe_is_answered_before_the_next_one),
        cmocka_unit_test(a_fifo_and_a_terminal_are_answered_at_once_too),
        cmocka_unit_test(lines_keep_their_places),
        cmocka_unit_test(a_bad_line_comes_after_the_answers_to_those_before),
        cmocka_unit_test(prompts_are_answered_as_they_come),
        cmocka_unit_test(a_bad_prompt_comes_after_the_answers_to_those_before),
        cmocka_unit_test(a_stop_text_ends_before_itself),
        cmocka_unit_test(unknown_words_of_a_prompt_are_remarked_on),
        cmocka_unit_test(a_closed_pipe_ends_a_text_but_no_training),
        cmocka_unit_test(a_conversation_goes_on_from_its_text),
        cmocka_unit_test(a_stop_text_is_forgotten_in_a_conversation),
        cmocka_unit_test(a_full_context_forgets_its_older_half),
        cmocka_unit_test(ctrl_c_ends_the_answer_and_ctrl_d_the_conversation),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
