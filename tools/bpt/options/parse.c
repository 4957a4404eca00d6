// The command line: GNU long options and positional arguments, strictly (see options.h). Knows no command.
#include "tools/bpt/options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FLAG = 128 };

static bool is_flag(const char *argument) { return argument[0] == '-' && argument[1]; }

// "unknown option --layrs of bpt train; did you mean --layers?"
static bpt_status_t fail_unknown(const cli_options_t *o, const char *flag) {
    const char *word = !strncmp(flag, "--", 2) ? flag + 2 : flag;
    if (*word == '-' && strlen(word) == 2)
        return bpt_fail(BPT_ERR_USAGE, "unknown option %s: options of bpt are long, such as --help", flag);
    cli_suggestion_t nearest = {.word = word};
    char negated[MAX_FLAG];
    for (int i = 0; i < cli_option_count; ++i) {
        const cli_option_t *option = &cli_option_table[i];
        if (!cli_option_taken(option, o->command) || option->no_flag) continue;
        cli_suggest(&nearest, option->name);
        if (option->type == CLI_BOOL && !strncmp(word, "no-", 3)) {  // compare "no-caussal" with "no-causal"
            cli_suggestion_t positive = {.word = word + 3};
            cli_suggest(&positive, option->name);
            if (positive.distance < nearest.distance) {
                snprintf(negated, sizeof negated, "no-%s", option->name);
                nearest.best = negated, nearest.distance = positive.distance;
            }
        }
    }
    char hint[MAX_FLAG + 32];
    const char *suggestion = cli_suggest_text(&nearest, "--", hint, sizeof hint);
    if (*suggestion) return bpt_fail(BPT_ERR_USAGE, "unknown option %s%s", flag, suggestion);
    for (int i = 0; i < cli_option_count; ++i)
        if (!cli_option_table[i].no_flag && !strcmp(cli_option_table[i].name, word))
            return *o->command_name ? bpt_fail(BPT_ERR_USAGE, "bpt %s has no option %s", o->command_name, flag)
                                    : bpt_fail(BPT_ERR_USAGE, "option %s belongs behind the command", flag);
    return bpt_fail(BPT_ERR_USAGE, "unknown option %s; `bpt %s%s--help` lists them", flag, o->command_name, *o->command_name ? " " : "");
}

// Handles the flag argv[*index] and moves *index behind it and its value.
static bpt_status_t parse_flag(cli_options_t *o, int argc, char **argv, int *index) {
    const char *argument = argv[*index];
    if (!strcmp(argument, "-h")) argument = "--help";
    char flag[MAX_FLAG];
    const char *equals = strchr(argument, '=');
    const size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    if (length >= sizeof flag) return bpt_fail(BPT_ERR_USAGE, "unknown option %.40s...", argument);
    memcpy(flag, argument, length);
    flag[length] = 0;
    if (strncmp(flag, "--", 2)) return fail_unknown(o, flag);

    bool negated = false;
    const cli_option_t *option = cli_option_find(o->command, flag + 2);
    if (!option && !strncmp(flag, "--no-", 5)) {
        option = cli_option_find(o->command, flag + 5);
        negated = option != NULL;
        if (option && option->type != CLI_BOOL) option = NULL;
    }
    if (!option || option->no_flag) return fail_unknown(o, flag);

    if (option->type == CLI_BOOL) {
        if (equals) return bpt_fail(BPT_ERR_USAGE, "%s takes no value; write --%s or --no-%s", flag, option->name, option->name);
        ++*index;
        return cli_option_set(o, option, negated ? "no" : "yes", CLI_FROM_FLAG, flag);
    }
    const char *value = equals ? equals + 1 : *index + 1 < argc ? argv[*index + 1] : NULL;
    if (!value || (!equals && !strncmp(value, "--", 2)))
        return bpt_fail(BPT_ERR_USAGE, "%s needs a value%s%s%s", flag, value ? "; a value that begins with -- is written " : "",
                        value ? flag : "", value ? "=VALUE" : "");
    if ((option->type == CLI_TEXT || option->type == CLI_TEXTS) && !*value && !option->empty)
        return bpt_fail(BPT_ERR_USAGE, "%s needs a value, not an empty text; leave it out for the default", flag);
    *index += equals ? 1 : 2;
    BPT_TRY(cli_option_set(o, option, value, CLI_FROM_FLAG, flag));
    const bool several = option->several && !equals && (o->n_arguments || option->commands & o->command);
    while (several && *index < argc && !is_flag(argv[*index])) BPT_TRY(cli_option_set(o, option, argv[(*index)++], CLI_FROM_FLAG, flag));
    return BPT_OK;
}

bpt_status_t cli_options_parse_globals(cli_options_t *o, int argc, char **argv, int *index) {
    for (*index = 1; *index < argc && is_flag(argv[*index]);) {
        if (!strcmp(argv[*index], "--")) return bpt_fail(BPT_ERR_USAGE, "a command must come before --");
        BPT_TRY(parse_flag(o, argc, argv, index));
    }
    return BPT_OK;
}

bpt_status_t cli_options_parse(cli_options_t *o, int first, int last, char **argv) {
    bool flags_end = false;
    for (int i = first; i < last;) {
        if (!flags_end && !strcmp(argv[i], "--")) {
            flags_end = true;
            ++i;
        } else if (!flags_end && is_flag(argv[i])) {
            BPT_TRY(parse_flag(o, last, argv, &i));
        } else {
            if (o->n_arguments == CLI_MAX_ARGUMENTS) return bpt_fail(BPT_ERR_USAGE, "more than %d arguments", CLI_MAX_ARGUMENTS);
            o->arguments[o->n_arguments++] = argv[i++];
        }
    }
    return BPT_OK;
}

bpt_status_t cli_parse_list(const char *text, const char *where, int64_t min, int64_t max, int64_t *out, int capacity, int *count) {
    *count = 0;
    for (const char *p = text;;) {
        char *end = NULL;
        errno = 0;
        const long long value = *p >= '0' && *p <= '9' ? strtoll(p, &end, 10) : 0;
        if (!end || (*end && *end != ','))
            return bpt_fail(BPT_ERR_USAGE, "%s needs whole numbers separated by commas, not '%s'", where, text);
        if (errno || value < min || value > max)
            return bpt_fail(BPT_ERR_USAGE, "%s must be between %lld and %lld, not %.*s", where, (long long)min, (long long)max,
                            (int)(end - p), p);
        if (*count == capacity) return bpt_fail(BPT_ERR_USAGE, "%s takes at most %d numbers", where, capacity);
        out[(*count)++] = value;
        if (!*end) return BPT_OK;
        p = end + 1;
    }
}
