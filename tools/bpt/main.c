// The program `bpt`: finds the command, parses its options, runs it, reports its error once and turns it into an exit status:
// 0 success, 1 failure, 2 wrong usage, 3 a GPU was lost, 130 after Ctrl-C. Knows what commands are, not what they do.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/log.h"
#include "tools/bpt/program.h"

enum { EXIT_WRONG_USAGE = 2, EXIT_DEVICE_LOST = 3, EXIT_INTERRUPTED = 130 };

int cli_columns(int fd, int fallback) {
    struct winsize size;
    return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col > 20 ? size.ws_col : fallback;
}

bpt_status_t cli_flush_output(void) {
    errno = 0;
    const bool lost_before = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !lost_before) return BPT_OK;
    if (errno == EPIPE) return bpt_fail(BPT_ERR_IO, "cannot write to standard output: its reader has gone");
    return bpt_fail(BPT_ERR_IO, "cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}

bpt_status_t cli_print_json(const json_t *value, int indent) {
    char *text = NULL;
    BPT_TRY(bpt_json_format(value, indent, &text));
    printf("%s\n", text);
    bpt_free(text);
    return BPT_OK;
}

static int report(bpt_status_t status) {
    if (status == BPT_OK) return EXIT_SUCCESS;
    const bool coloured = bpt_log_colour(STDERR_FILENO);
    const char *text = *bpt_error_message() ? bpt_error_message() : bpt_status_name(status);
    if (status == BPT_ERR_INTERRUPTED) {
        fprintf(stderr, "bpt: %s\n", text);
        return EXIT_INTERRUPTED;
    }
    fprintf(stderr, "bpt: %serror:%s %s\n", coloured ? "\033[31m" : "", coloured ? "\033[0m" : "", text);
    return status == BPT_ERR_USAGE ? EXIT_WRONG_USAGE : status == BPT_ERR_DEVICE_LOST ? EXIT_DEVICE_LOST : EXIT_FAILURE;
}

// A descriptor 0, 1 or 2 that is closed would be given to the next file opened, and output would go into that file.
static void occupy_standard_streams(void) {
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

// Whatever is written gets the folders above it, before any work: a run directory by bpt_run_create, a file here.
static bpt_status_t make_folders(const cli_options_t *o) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (!option->writes || !(option->commands & o->command)) continue;
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
    if (!cli_signals_install(command->polls)) return bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
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
    occupy_standard_streams();
    bpt_status_t status = BPT_OK;
    if (!cli_signals_install(false)) status = bpt_fail(BPT_ERR_IO, "cannot handle signals: %s", strerror(errno));
    if (status == BPT_OK) status = run(argc, argv);
    if (status == BPT_OK) status = cli_flush_output();
    return report(status);
}
