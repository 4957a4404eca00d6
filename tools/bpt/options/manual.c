// The manual page (see manual.h).
#include "tools/bpt/options/manual.h"

#include <stdio.h>

#include "bpt/env.h"
#include "tools/bpt/options/command.h"

// ---- Manual page
// Text with roff's special characters made harmless.
static void put_roff(const char *text) {
    bool line_start = true;
    for (; *text; ++text) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

static void put_section(const char *macro, const char *text) {
    printf("%s ", macro);
    put_roff(text);
    putchar('\n');
}

static void put_option(const cli_option_t *option) {
    char help[1024];
    fputs(".TP\n.B ", stdout);
    put_roff(option->type == CLI_BOOL && option->key ? "--[no-]" : "--");
    put_roff(option->name);
    if (option->type != CLI_BOOL) {
        fputs(" \\fI", stdout);
        for (int i = 0; option->choices && option->choices[i]; ++i) printf("%s%s", i ? "|" : "", option->choices[i]);
        if (!option->choices) put_roff(option->metavar);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    cli_option_help(option, help, sizeof help);
    put_roff(help);
    const char *fallback = option->shown ? option->shown : option->type == CLI_BOOL ? "" : option->fallback;
    if (*fallback) {
        fputs(" [", stdout);
        put_roff(fallback);
        putchar(']');
    }
    putchar('\n');
}

static void put_options(unsigned command, bool global) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t option = cli_option_for(&cli_option_table[i], command);
        if (cli_option_taken(&cli_option_table[i], command) && !option.no_flag && (option.group == CLI_GROUP_GLOBAL) == global)
            put_option(&option);
    }
}

static void put_command(const cli_command_t *command) {
    char heading[128];
    snprintf(heading, sizeof heading, "bpt %s%s%s", command->name, *command->arguments ? " " : "", command->arguments);
    put_section(".SS", heading);
    put_roff(*command->description ? command->description : command->purpose);
    putchar('\n');
    put_options(command->bit, false);
    fputs(".PP\n.EX\n", stdout);
    put_roff(command->examples);
    fputs(".EE\n", stdout);
}

// What is not ours. docs/environment.md explains these and those of bpt/env.def.
static const struct {
    const char *name, *effect;
} other_variables[] = {
    {"OMP_NUM_THREADS", "threads of the cpu backend without --threads"},
    {"OCL_ICD_VENDORS, VK_DRIVER_FILES", "the loaders' own: which drivers there are; bpt sets them where it leaves out a bad one"},
    {"NO_COLOR", "no colours, also on a terminal"},
};

static void put_environment(void) {
    puts(".SH ENVIRONMENT");
    for (const bpt_env_variable_t *v = bpt_env_variables; v->name; ++v) {
        put_section(".TP\n.B", v->name);
        put_roff(v->effect);
        for (const bpt_env_word_t *w = bpt_env_disable_words; v->kind == BPT_ENV_WORDS && w->word; ++w) {
            fputs(w == bpt_env_disable_words ? ": " : "; ", stdout);
            put_roff(w->word);
            fputs(" (", stdout);
            put_roff(w->what);
            putchar(')');
        }
        putchar('\n');
    }
    for (size_t i = 0; i < BPT_COUNT(other_variables); ++i) {
        put_section(".TP\n.B", other_variables[i].name);
        put_roff(other_variables[i].effect);
        putchar('\n');
    }
}

void cli_print_man_page(void) {
    printf(".TH BPT 1 \"\" \"bpt %s\" \"User Commands\"\n.SH NAME\nbpt \\- train and run BP\\-Transformers\n", BPT_VERSION_STRING);
    puts(".SH SYNOPSIS\n.B bpt\n[\\fIglobal options\\fR] \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION");
    puts("Trains and runs BP\\-Transformers and other models with sparse graph attention, on CPUs and GPUs.\nDefaults are in square "
         "brackets.");
    puts(".SH COMMANDS");
    for (int i = 0; cli_commands[i]; ++i) put_command(cli_commands[i]);
    puts(".SH GLOBAL OPTIONS\nAccepted before and after the command.");
    put_options(CLI_GLOBALS, true);
    puts(".SH PRESETS");
    for (const cli_preset_t *preset = cli_presets; preset->name; ++preset) {
        put_section(".TP\n.B", preset->name);
        put_roff(preset->about);
        putchar('\n');
    }
    puts(".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 3 the GPU was lost, 130 after Ctrl\\-C.");
    put_environment();
}
