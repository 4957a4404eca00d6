// --help, from the option table and the command table. Knows no command in particular.
#include <stdio.h>
#include <unistd.h>

#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"

enum { LEFT_COLUMNS = 30, MIN_WIDTH = 60, MAX_WIDTH = 110 };

static int page_width(void) {
    const int width = cli_columns(STDOUT_FILENO, 100);
    return width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width;
}

// Prints `text` from column `column` on, broken at blanks; further lines begin at `indent`.
static void print_wrapped(const char *text, int column, int indent, int width) {
    bool first = true;
    while (*text) {
        const int length = (int)strcspn(text, " \n");
        if (!first && column + 1 + length > width) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            ++column;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        first = false;
        if (*text == '\n') {
            printf("\n%*s", indent, "");
            column = indent;
            first = true;
            ++text;
        }
        text += strspn(text, " ");
    }
    putchar('\n');
}

static int append(char *buffer, int used, int bytes, const char *text) {
    const int length = snprintf(buffer + used, (size_t)(bytes - used), "%s", text);
    return used + length < bytes ? used + length : bytes - 1;
}

static void flag_text(const cli_option_t *option, char *buffer, int bytes) {
    int used = append(buffer, 0, bytes, option->type == CLI_BOOL && option->key ? "--[no-]" : "--");
    used = append(buffer, used, bytes, option->name);
    if (option->type == CLI_BOOL) return;
    used = append(buffer, used, bytes, " ");
    if (!option->choices) {
        append(buffer, used, bytes, option->metavar);
        return;
    }
    for (int i = 0; option->choices[i]; ++i) {
        if (i) used = append(buffer, used, bytes, "|");
        used = append(buffer, used, bytes, option->choices[i]);
    }
}

static void print_option(const cli_option_t *option, int width) {
    char flag[128], text[1024];
    flag_text(option, flag, sizeof flag);
    cli_option_help(option, text, sizeof text);
    const char *fallback = option->shown                                                 ? option->shown
                           : option->type == CLI_BOOL && !strcmp(option->fallback, "no") ? ""
                                                                                         : option->fallback;
    if (*fallback) snprintf(text + strlen(text), sizeof text - strlen(text), " [%s]", fallback);
    int column = printf("  %s", flag);
    if (column + 2 > LEFT_COLUMNS) putchar('\n'), column = 0;
    printf("%*s", LEFT_COLUMNS - column, "");
    print_wrapped(text, LEFT_COLUMNS, LEFT_COLUMNS, width);
}

// Only train has so many options that they need groups of their own.
static cli_group_t group_of(const cli_option_t *option, unsigned command) {
    return command == CLI_TRAIN || option->group == CLI_GROUP_GLOBAL ? option->group : CLI_GROUP_COMMAND;
}

static void print_group(unsigned command, cli_group_t group, int width) {
    bool any = false;
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t option = cli_option_for(&cli_option_table[i], command);
        if (!cli_option_taken(&cli_option_table[i], command) || option.no_flag || group_of(&option, command) != group) continue;
        if (!any) printf("\n%s:\n", cli_group_titles[group]);
        any = true;
        print_option(&option, width);
    }
}

static const char *const default_note = "\nDefaults are in square brackets.\n";

void cli_help_presets(void) {
    for (const cli_preset_t *preset = cli_presets; preset->name; ++preset) printf("  %-18s %s\n", preset->name, preset->about);
}

void cli_help_command(const cli_command_t *command) {
    const int width = page_width();
    printf("Usage: bpt %s%s%s [options]\n\n", command->name, *command->arguments ? " " : "", command->arguments);
    char first = command->purpose[0];
    if (first >= 'a' && first <= 'z') first = (char)(first - 'a' + 'A');
    printf("%c%s.\n", first, command->purpose + 1);
    if (*command->description) {
        putchar('\n');
        print_wrapped(command->description, 0, 0, width);
    }
    for (int group = 0; group < CLI_GROUP_COUNT; ++group) print_group(command->bit, (cli_group_t)group, width);
    fputs(default_note, stdout);
    if (command->bit == CLI_TRAIN) {
        printf("\nPresets:\n");
        cli_help_presets();
    }
    printf("\nExamples:\n%s", command->examples);
}

void cli_help_program(void) {
    const int width = page_width();
    printf("Usage: bpt [global options] COMMAND [options]\n\n");
    print_wrapped("Trains and runs BP-Transformers and other models with sparse graph attention, on GPUs and on the CPU.", 0, 0, width);
    printf("\nCommands:\n");
    for (int i = 0; cli_commands[i]; ++i) printf("  %-12s %s\n", cli_commands[i]->name, cli_commands[i]->purpose);
    print_group(CLI_GLOBALS, CLI_GROUP_GLOBAL, width);
    fputs(default_note, stdout);
    printf("\n`bpt COMMAND --help` explains a command.\nExit status: 0 success, 1 failure, 2 wrong usage, 3 a GPU was lost, 130 after "
           "Ctrl-C.\n");
}
