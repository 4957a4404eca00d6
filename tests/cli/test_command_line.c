// The program as a whole: help, version, global options, output that cannot be written, wrong usage of commands.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/env.h"
#include "support/process.h"

static void help_lists_every_command_and_every_command_explains_itself(void **state) {
    (void)state;
    test_process_t p = test_run_line("--help");
    assert_int_equal(p.exit_status, 0);
    assert_string_equal(p.err, "");
    const char *list = strstr(p.out, "Commands:\n");
    assert_non_null(list);
    int count = 0;
    for (const char *line = strchr(list, '\n') + 1; !strncmp(line, "  ", 2); line = strchr(line, '\n') + 1, ++count) {
        char command[64];
        snprintf(command, sizeof command, "%.*s --help", (int)strcspn(line + 2, " "), line + 2);
        test_process_t q = test_run_line(command);
        assert_int_equal(q.exit_status, 0);
        assert_string_equal(q.err, "");
        assert_non_null(strstr(q.out, "Usage: bpt "));
        assert_non_null(strstr(q.out, "--backend"));
        assert_non_null(strstr(q.out, "Examples:\n  bpt "));
        test_process_free(&q);
    }
    assert_true(count >= 3);
    test_process_free(&p);
}

static void version_is_the_library_version(void **state) {
    (void)state;
    test_process_t p = test_run_line("--version");
    assert_int_equal(p.exit_status, 0);
    assert_memory_equal(p.out, "bpt 0.", 6);
    test_process_free(&p);
}

static void global_options_mean_the_same_before_and_after_the_command(void **state) {
    (void)state;
    test_process_t a = test_run_line("--backend ref devices --json"), b = test_run_line("devices --json --backend=ref");
    assert_int_equal(a.exit_status, 0);
    assert_string_equal(a.err, "");
    assert_string_equal(a.out, b.out);
    json_t *list = json_loads(a.out, 0, NULL);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "backend")), "ref");
    json_decref(list);
    test_process_free(&a), test_process_free(&b);
}

static void devices_names_every_backend_and_why_one_cannot_be_used(void **state) {
    (void)state;
    test_process_t p = test_run_line("devices --json");
    assert_int_equal(p.exit_status, 0);
    json_t *list = json_loads(p.out, 0, NULL), *backend;
    assert_int_equal(json_array_size(list), 5);
    size_t i;
    json_array_foreach(list, i, backend) {
        const bool has_device = json_array_size(json_object_get(backend, "devices")) > 0;
        const bool has_reason = *json_string_value(json_object_get(backend, "reason")) != 0;
        assert_true(has_device || has_reason);
    }
    json_decref(list);
    test_process_free(&p);
}

static void wrong_usage_is_one_sentence_and_exit_2(void **state) {
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"", "no command"},
        {"trian", "unknown command 'trian'"},
        {"device", "did you mean devices?"},
        {"--k 4 devices", "--k"},
        {"--sed 4 devices", "did you mean --seed?"},
        {"devices --jsn", "did you mean --json?"},
        {"devices --no-jsn", "did you mean --no-json?"},
        {"devices extra", "unexpected argument 'extra'"},
        {"devices --json=yes", "--json takes no value"},
        {"devices --threads", "--threads needs a value"},
        {"devices --threads --json", "--threads needs a value"},
        {"devices --threads two", "--threads needs a whole number, not 'two'"},
        {"devices --threads 2x", "--threads needs a whole number, not '2x'"},
        {"devices --threads 1e3", "--threads needs a whole number, not '1e3'"},
        {"devices --threads 0x10", "--threads needs a whole number, not '0x10'"},
        {"devices --threads ' 2'", "--threads needs a whole number, not ' 2'"},
        {"devices --threads ''", "--threads needs a whole number, not ''"},
        {"devices --threads -1", "--threads must be at least 0 and at most 4096, not -1"},
        {"devices --threads 5000", "--threads must be at least 0 and at most 4096"},
        {"devices --seed 99999999999999999999", "--seed must be at least 0 and at most 9"},
        {"devices --seed nan", "--seed needs a whole number, not 'nan'"},
        {"devices --backend cdua", "did you mean cuda?"},
        {"devices --backend", "--backend needs a value"},
        {"devices --device ''", "--device needs a value, not an empty text"},
        {"train --vectors= --data x", "--vectors needs a value, not an empty text"},
        {"devices --precision f64", "--precision must be f32, bf16 or f16, not 'f64'"},
        {"devices -j", "options of bpt are long"},
        {"devices -- --json", "unexpected argument '--json'"},
        {"devices ---json", "unknown option"},
        {"presets --out x", "no option --out"},
        {"help trian", "unknown command 'trian'"},
        {"help a b", "unexpected argument 'b'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = test_run_line(cases[i].line);
        const char *newline = strchr(p.err, '\n');
        if (p.exit_status != 2 || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) ||
            !strstr(p.err, cases[i].says))
            fail_msg("bpt %s: exit %d, stdout '%s', stderr '%s', wanted '%s'", cases[i].line, p.exit_status, p.out, p.err, cases[i].says);
        test_process_free(&p);
    }
}

static void output_that_cannot_be_written_is_a_failure(void **state) {
    (void)state;
    static const char *const shells[] = {"\"$BPT_PROGRAM\" --help >/dev/full 2>/dev/null", "\"$BPT_PROGRAM\" --help >&- 2>/dev/null"};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; ++i) {
        const int status = system(shells[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

// As other filters: no message, and the status of a program that SIGPIPE ended. The pipe's reader has gone before the program writes, or
// goes after the first bytes of more than a pipe holds.
static void a_reader_who_has_seen_enough_is_no_failure(void **state) {
    (void)state;
    static const char *const commands[] = {"--help", "help --man", "graph --n 20000 --k 4", "presets --json"};
    static const char *const readers[] = {"true", "head -c 10 >/dev/null"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i)
        for (int r = 0; r < 2; ++r) {
            char line[1024];
            if (r == 1 && i != 2) continue;  // it may be done before its reader is
            snprintf(line, sizeof line, "{ { %s \"$BPT_PROGRAM\" %s; echo $? >&3; } 2>'%s' | %s; } 3>&1 | grep -qx 141",
                     r ? "" : "sleep 0.3;", commands[i], test_path("errors"), readers[r]);
            if (system(line)) fail_msg("%s", line);
            size_t length;
            char *errors = test_read_file(test_path("errors"), &length);
            assert_string_equal(errors, "");
            free(errors);
        }
}

static void the_manual_page_and_the_page_of_variables_name_the_same(void **state) {
    (void)state;
    char path[600];
    size_t length;
    int count = 0;
    snprintf(path, sizeof path, "%s/docs/environment.md", getenv("BPT_SOURCE_DIR"));
    char *page = test_read_file(path, &length);
    assert_non_null(page);
    test_process_t man = test_run_line("help --man");
    const char *at = strstr(man.out, ".SH ENVIRONMENT");
    assert_non_null(at);
    while ((at = strstr(at, "\n.B BPT_"))) {
        char name[64];
        at += strlen("\n.B ");
        snprintf(name, sizeof name, "`%.*s", (int)strcspn(at, "\n"), at);
        if (!strstr(page, name)) fail_msg("docs/environment.md does not explain %s", name + 1);
        ++count;
    }
    assert_true(count > 5);
    for (const bpt_env_word_t *w = bpt_env_disable_words; w->word; ++w) {
        char word[64];
        snprintf(word, sizeof word, "`%s`", w->word);
        if (!strstr(page, word)) fail_msg("docs/environment.md does not explain BPT_DISABLE=%s", w->word);
    }
    test_process_free(&man);
    free(page);
}

static void the_manual_page_and_the_completion_know_every_command(void **state) {
    (void)state;
    static const char *const commands[] = {"train",  "eval",  "generate", "classify", "graph", "devices",
                                           "doctor", "bench", "plot",     "export",   "import"};
    test_process_t man = test_run_line("help --man"), completion = test_run_line("help --completion");
    assert_memory_equal(man.out, ".TH BPT 1", 9);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        char heading[64], words[64];
        snprintf(heading, sizeof heading, "\n.SS bpt %s", commands[i]);
        snprintf(words, sizeof words, "        %s) words=\" --", commands[i]);
        assert_non_null(strstr(man.out, heading));
        assert_non_null(strstr(completion.out, words));
    }
    test_process_free(&man), test_process_free(&completion);
    if (system("bash -c true 2>/dev/null")) return;
    assert_int_equal(
        system("bash -c 'source <(\"$BPT_PROGRAM\" help --completion); COMP_WORDS=(bpt train --rule \"\"); COMP_CWORD=3; _bpt; "
               "test \"${COMPREPLY[*]}\" = \"paper reference\"'"),
        0);
}

// A shell that is not installed is left out.
static bool has_shell(const char *name) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", name);
    return system(command) == 0;
}

static void zsh_and_fish_complete_commands_options_and_values(void **state) {
    (void)state;
    test_process_t zsh = test_run_line("help --completion --shell zsh"), fish = test_run_line("help --completion --shell fish");
    assert_memory_equal(zsh.out, "#compdef bpt\n", 13);
    assert_non_null(strstr(zsh.out, "'train:train a model'"));
    assert_non_null(strstr(fish.out, " -a train -d 'train a model'\n"));
    test_process_free(&zsh), test_process_free(&fish);
    if (has_shell("fish"))
        assert_int_equal(system("fish --no-config -c '\"$BPT_PROGRAM\" help --completion --shell fish | source; "
                                "test (complete -C \"bpt train --rule \" | string split -f 1 \\t | string join ,) = paper,reference; and "
                                "test (complete -C \"bpt gen\" | string split -f 1 \\t) = generate; and "
                                "test (complete -C \"bpt generate --top-k\" | string split -f 1 \\t) = --top-k'"),
                         0);
    if (has_shell("zsh"))  // what _bpt hands to zsh's own functions
        assert_int_equal(system("zsh -f -c 'compdef() { }; _arguments() { print -rl -- \"$@\" }; _describe() { print -rl -- $commands }\n"
                                "source <(\"$BPT_PROGRAM\" help --completion --shell zsh)\n"
                                "words=(bpt train \"\"); CURRENT=3; _bpt | grep -q \"^--rule\\[.*:(paper reference)$\" || exit 1\n"
                                "words=(bpt --threads 1 eval \"\"); CURRENT=5; _bpt | grep -q \"^--per-class\\[\" || exit 1\n"
                                "words=(bpt \"\"); CURRENT=2; state=command _bpt | grep -q \"^eval:evaluate\"'"),
                         0);
}

static void errors_have_no_colour_off_a_terminal(void **state) {
    (void)state;
    test_process_t p = test_run_line("trian");
    assert_null(strchr(p.err, '\033'));
    test_process_free(&p);
}

static void a_variable_that_means_nothing_is_an_error(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        int status;
        const char *said;
    } cases[] = {
        {"BPT_LIMITS", "colour=3", 2, "BPT_LIMITS: unknown limit 'colour'; known are local"},
        {"BPT_LIMITS", "local=much", 2, "'local=much' needs a whole number"},
        {"BPT_LIMITS", "local=0", 2, "'local=0' is not possible"},
        {"BPT_DISABLE", "bf16", 2, "BPT_DISABLE: unknown feature 'bf16'; known are f16, matrix, subgroup, unified"},
        {"BPT_SELFTEST", "never", 2, "BPT_SELFTEST is \"never\"; set it to 0 or 1"},
        {"BPT_DRIVER_SECONDS", "long", 2, "BPT_DRIVER_SECONDS is \"long\"; set it to a number of seconds, 1 to 3600"},
        {"BPT_CACHE_MIB", "-1", 2, "BPT_CACHE_MIB is \"-1\"; set it to a number of MiB"},
        {"BPT_PROBE", "yes", 2, "BPT_PROBE is \"yes\"; set it to 0 or 1"},
        {"BPT_CPU_ISA", "sse9", 1, "BPT_CPU_ISA=sse9 is not an instruction set of this build"},
        {"BPT_ONEDNN_LIBRARY", "/nonexistent/libdnnl.so", 1, "BPT_ONEDNN_LIBRARY=/nonexistent/libdnnl.so: oneDNN was not found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *before = getenv(cases[i].name);
        char kept[512] = "";
        if (before) snprintf(kept, sizeof kept, "%s", before);
        setenv(cases[i].name, cases[i].value, 1);
        test_process_t p = test_run_line("bench gemm --tokens 64 --n 64 --d-model 16 --d-ff 16 --heads 2");
        if (before)
            setenv(cases[i].name, kept, 1);
        else
            unsetenv(cases[i].name);
        if (p.exit_status != cases[i].status || !strstr(p.err, cases[i].said))
            fail_msg("%s=%s: exit %d: %s", cases[i].name, cases[i].value, p.exit_status, p.err);
        test_process_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_lists_every_command_and_every_command_explains_itself),
        cmocka_unit_test(version_is_the_library_version),
        cmocka_unit_test(global_options_mean_the_same_before_and_after_the_command),
        cmocka_unit_test(devices_names_every_backend_and_why_one_cannot_be_used),
        cmocka_unit_test(wrong_usage_is_one_sentence_and_exit_2),
        cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(a_reader_who_has_seen_enough_is_no_failure),
        cmocka_unit_test(the_manual_page_and_the_page_of_variables_name_the_same),
        cmocka_unit_test(the_manual_page_and_the_completion_know_every_command),
        cmocka_unit_test(zsh_and_fish_complete_commands_options_and_values),
        cmocka_unit_test(errors_have_no_colour_off_a_terminal),
        cmocka_unit_test(a_variable_that_means_nothing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
