// The program `bpt`: finds the command, parses its options, runs it, reports its error once and turns it into an exit status:
// 0 success, 1 failure, 2 wrong usage, 3 a GPU was lost, 130 after Ctrl-C; SIGPIPE ends it where nobody reads its output any more. Knows
// what commands are, not what they do.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/names.h"
#include "tools/bpt/commands/team.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/platform/system.h"
#include "tools/bpt/signals.h"

enum { EXIT_WRONG_USAGE = 2, EXIT_DEVICE_LOST = 3, EXIT_INTERRUPTED = 130 };

// ---- Exits that nobody asked for
// A driver that calls exit(0) in this process would end it as a success, with nothing done. Handlers run from the last to the first, so
// this one, which is registered before any driver is loaded, has the last word.

static pid_t started;  // children answer for themselves
static volatile sig_atomic_t finished;

static void refuse_exit(void) {
    static const char text[] =
        "\nbpt: error: something in this process, most likely a driver, or an MPI with the launcher of another one, ended it before the work was done; `bpt devices` "
        "asks every driver by itself, --backend cpu needs none\n";
    if (finished || getpid() != started) return;
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(EXIT_FAILURE);
}

static bool guard_exit(void) {
    started = getpid();
    return !atexit(refuse_exit);
}

static int exit_status_of(bpt_status_t status) {
    switch (status) {
    case BPT_OK: return EXIT_SUCCESS;
    case BPT_ERR_USAGE: return EXIT_WRONG_USAGE;
    case BPT_ERR_DEVICE_LOST: return EXIT_DEVICE_LOST;
    case BPT_ERR_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return EXIT_FAILURE;
    }
}

static void report(bpt_status_t status) {
    if (status == BPT_OK || cli_team_is_silent()) return;
    if (status == BPT_ERR_IO && cli_reader_has_gone()) cli_system_end_without_reader();  // without a word
    const bool coloured = bpt_log_colour(STDERR_FILENO);
    char text[4096];
    bpt_message_show(*bpt_error_message() ? bpt_error_message() : bpt_status_name(status), text, sizeof text);
    if (status == BPT_ERR_INTERRUPTED) {
        fprintf(stderr, "bpt: %s\n", text);
        return;
    }
    fprintf(stderr, "bpt: %serror:%s %s\n", coloured ? "\033[31m" : "", coloured ? "\033[0m" : "", text);
}

// Whatever is written gets the folders above it, before any work: a run directory by bpt_run_create, a file here.
static bpt_status_t make_folders(const cli_options_t *o) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (!option->writes || !cli_option_taken(option, o->command)) continue;
        BPT_TRY(bpt_parents_create(*(char *const *)((const char *)o + option->offset)));
    }
    return BPT_OK;
}

static bpt_status_t run_command(const cli_command_t *command, cli_options_t *o) {
    if (o->global.help) {
        cli_help_command(command);
        return BPT_OK;
    }
    if (o->n_arguments < command->min_arguments) return bpt_fail(BPT_ERR_USAGE, "bpt %s needs %s", command->name, command->arguments);
    if (o->n_arguments > command->max_arguments)
        return bpt_fail(BPT_ERR_USAGE, "bpt %s: unexpected argument '%s'", command->name, o->arguments[command->max_arguments]);
    bpt_log_set_level(o->global.quiet ? BPT_LOG_WARN : o->global.verbose ? BPT_LOG_DEBUG : BPT_LOG_INFO);
    BPT_TRY(make_folders(o));
    return command->run(o);
}

// What comes before the command; *index is the command's position, 0 when --help or --version already said it all.
static bpt_status_t find_command(int argc, char **argv, int *index) {
    cli_options_t globals;
    bpt_status_t status = cli_options_init(&globals, CLI_GLOBALS, "");
    if (status == BPT_OK) status = cli_options_parse_globals(&globals, argc, argv, index);
    const bool help = globals.global.help, version = globals.global.version;
    cli_options_destroy(&globals);
    if (status != BPT_OK) return status;
    if (help)
        cli_help_program();
    else if (version)
        printf("bpt %s\n", BPT_VERSION_STRING);
    else if (*index == argc)
        return bpt_fail(BPT_ERR_USAGE, "no command; `bpt --help` lists them");
    else
        return BPT_OK;
    *index = 0;
    return BPT_OK;
}

static bpt_status_t run(int argc, char **argv) {
    int index;
    BPT_TRY(find_command(argc, argv, &index));
    if (!index) return BPT_OK;
    const cli_command_t *command = cli_command_find(argv[index]);
    if (!command) return cli_command_unknown(argv[index]);
    cli_options_t o;
    bpt_status_t status = cli_options_init(&o, command->bit, command->name);
    if (status == BPT_OK) status = cli_options_parse(&o, 1, index, argv);
    if (status == BPT_OK) status = cli_options_parse(&o, index + 1, argc, argv);
    if (status == BPT_OK && o.global.version)
        printf("bpt %s\n", BPT_VERSION_STRING);
    else if (status == BPT_OK)
        status = run_command(command, &o);
    cli_options_destroy(&o);
    return status;
}

int main(int argc, char **argv) {
    cli_system_prepare_streams();
    bpt_status_t status = BPT_OK;
    if (!guard_exit() || !cli_signals_install()) status = bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
    if (status == BPT_OK) status = run(argc, argv);
    if (status == BPT_OK) status = cli_flush_output();
    finished = 1;
    report(status);
    cli_team_end(exit_status_of(status));
    return exit_status_of(status);
}
