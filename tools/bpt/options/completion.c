// Completion for shells (see manual.h): of commands, options, and of the values of options that have a list of them.
#include <stdio.h>
#include <string.h>

#include "tools/bpt/options/command.h"
#include "tools/bpt/options/manual.h"

// Whether the table has no entry of this name before.
static bool is_first(int option) {
    int i = 0;
    while (strcmp(cli_option_table[i].name, cli_option_table[option].name)) ++i;
    return i == option;
}

// The first sentence or part of a help text, with a backslash before each of these characters; '\'' cannot be in a word of single quotes.
static void put_help(const char *text, const char *escaped) {
    for (; *text && *text != ';' && strncmp(text, ". ", 2); ++text) {
        if (*text == '\'' || *text == '\n') continue;
        if (strchr(escaped, *text)) putchar('\\');
        putchar(*text);
    }
}

// Calls `put` for each flag of a command.
static void each_flag(unsigned command, void (*put)(const cli_option_t *option, const char *prefix)) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t option = cli_option_for(&cli_option_table[i], command);
        if (!cli_option_taken(&cli_option_table[i], command) || option.no_flag) continue;
        put(&option, "");
        if (option.type == CLI_BOOL && option.key) put(&option, "no-");
    }
}

static void put_preset_names(void) {
    for (const cli_preset_t *preset = cli_presets; preset->name; ++preset) printf("%s%s", preset == cli_presets ? "" : " ", preset->name);
}

// ---- bash

static void put_word(const cli_option_t *option, const char *prefix) { printf(" --%s%s", prefix, option->name); }
static void put_names(unsigned command) { each_flag(command, put_word); }

// Values of the options that have a list of them; the first entry of a name decides.
static void put_bash_choices(void) {
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (!option->choices || !is_first(i)) continue;
        printf("        --%s) words=\"", option->name);
        for (int c = 0; option->choices[c]; ++c) printf("%s%s", c ? " " : "", option->choices[c]);
        puts("\" ;;");
    }
    fputs("        --preset) words=\"", stdout);
    put_preset_names();
    puts("\" ;;");
}

static void put_bash(void) {
    puts("# bash completion of bpt; made by `bpt help --completion`\n_bpt() {\n    local word=${COMP_WORDS[COMP_CWORD]} "
         "before=${COMP_WORDS[COMP_CWORD-1]} "
         "command= words= i");
    fputs("    for ((i = 1; i < COMP_CWORD; ++i)); do case ${COMP_WORDS[i]} in", stdout);
    for (int i = 0; cli_commands[i]; ++i) printf("%s%s", i ? "|" : " ", cli_commands[i]->name);
    puts(") command=${COMP_WORDS[i]}; break ;; esac; done\n    case $before in");
    put_bash_choices();
    puts("    esac\n    if [[ -z $words && $word == -* ]]; then case $command in");
    for (int i = 0; cli_commands[i]; ++i) {
        printf("        %s) words=\"", cli_commands[i]->name);
        put_names(cli_commands[i]->bit);
        puts("\" ;;");
    }
    fputs("        *) words=\"", stdout);
    put_names(CLI_GLOBALS);
    fputs("\" ;;\n    esac; elif [[ -z $words && -z $command ]]; then words=\"", stdout);
    for (int i = 0; cli_commands[i]; ++i) printf("%s%s", i ? " " : "", cli_commands[i]->name);
    puts("\"; fi\n    if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); else COMPREPLY=($(compgen -f -- "
         "\"$word\")); fi\n}\n"
         "complete -o filenames -F _bpt bpt");
}

// ---- zsh

static void put_zsh_flag(const cli_option_t *option, const char *prefix) {
    printf(" \\\n        '--%s%s[", prefix, option->name);
    put_help(option->help, "[]:\\");
    putchar(']');
    if (option->type != CLI_BOOL) {
        printf(":%s:", option->metavar ? option->metavar : "value");
        const bool preset = !strcmp(option->name, "preset");
        fputs(option->choices || preset ? "(" : "_files", stdout);
        for (int c = 0; option->choices && option->choices[c]; ++c) printf("%s%s", c ? " " : "", option->choices[c]);
        if (preset) put_preset_names();
        if (option->choices || preset) putchar(')');
    }
    putchar('\'');
}

static void put_zsh(void) {
    puts("#compdef bpt\n# zsh completion of bpt; made by `bpt help --completion --shell zsh`\n_bpt() {\n  local command= i\n  local -a "
         "commands=(");
    for (int i = 0; cli_commands[i]; ++i) {
        printf("    '%s:", cli_commands[i]->name);
        put_help(cli_commands[i]->purpose, ":\\");
        puts("'");
    }
    fputs("  )\n  for ((i = 2; i < CURRENT; ++i)); do\n    case $words[i] in", stdout);
    for (int i = 0; cli_commands[i]; ++i) printf("%s%s", i ? "|" : " ", cli_commands[i]->name);
    puts(") command=$words[i]; break ;; esac\n  done\n  case $command in");
    for (int i = 0; cli_commands[i]; ++i) {
        printf("    %s) _arguments -S '1:command:' '*:file:_files'", cli_commands[i]->name);
        each_flag(cli_commands[i]->bit, put_zsh_flag);
        puts(" ;;");
    }
    fputs("    *) _arguments -S '1:command:->command'", stdout);
    each_flag(CLI_GLOBALS, put_zsh_flag);
    puts("\n       [[ $state == command ]] && _describe command commands ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _bpt ]]; then _bpt \"$@\"; else compdef _bpt bpt; fi");
}

// ---- fish

static const char *fish_command;  // whose flags are written; NULL: those of all

static void put_fish_flag(const cli_option_t *option, const char *prefix) {
    const bool preset = !strcmp(option->name, "preset"), listed = option->choices || preset;
    fputs("complete -c bpt", stdout);
    if (fish_command) printf(" -n '__fish_seen_subcommand_from %s'", fish_command);
    printf(" -l %s%s", prefix, option->name);
    if (option->type != CLI_BOOL) fputs(listed ? " -x -a '" : " -r", stdout);
    for (int c = 0; option->choices && option->choices[c]; ++c) printf("%s%s", c ? " " : "", option->choices[c]);
    if (preset) put_preset_names();
    fputs(listed ? "' -d '" : " -d '", stdout);
    put_help(option->help, "\\");
    puts("'");
}

static void put_fish(void) {
    fputs("# fish completion of bpt; made by `bpt help --completion --shell fish`\nset -l commands", stdout);
    for (int i = 0; cli_commands[i]; ++i) printf(" %s", cli_commands[i]->name);
    puts("\ncomplete -c bpt -n \"not __fish_seen_subcommand_from $commands\" -f");
    for (int i = 0; cli_commands[i]; ++i) {
        printf("complete -c bpt -n \"not __fish_seen_subcommand_from $commands\" -a %s -d '", cli_commands[i]->name);
        put_help(cli_commands[i]->purpose, "\\");
        puts("'");
    }
    for (int i = 0; cli_commands[i]; ++i) {
        fish_command = cli_commands[i]->name;
        each_flag(cli_commands[i]->bit, put_fish_flag);
    }
}

// ---- The list

const char *const cli_shell_names[] = {"bash", "zsh", "fish", NULL};

void cli_print_completion(int shell) {
    static void (*const put[])(void) = {put_bash, put_zsh, put_fish};
    put[shell]();
}
