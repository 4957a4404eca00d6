// Options that would be without effect on what the other options chose: those of one kind of model given to another, of one task, of one
// schedule. What an option is for stands in its entry of the table, and in the `keys` of the kinds of models.
#include <stdio.h>

#include "models/config/config_names.h"
#include "models/kinds/kind.h"
#include "tools/bpt/options/options.h"

enum { LIST_BYTES = 256, NAME_BYTES = 48 };

// "a", "a and b", "a, b and c"
static void add_name(char list[LIST_BYTES], const char *name, bool last) {
    const size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s%s", !used ? "" : last ? " and " : ", ", name);
}

// The names of the values 0 .. count - 1 of a choice that fit.
static void name_those(char list[LIST_BYTES], const char *const *names, const bool *fits) {
    int last = 0;
    for (int i = 0; names[i]; ++i)
        if (fits[i]) last = i;
    *list = 0;
    for (int i = 0; names[i]; ++i)
        if (fits[i]) add_name(list, names[i], i == last);
}

// "--k is for --model bpt, and this is --model segtree"; a trained model's task and kind are no options of the command.
static bpt_status_t fail_fit(const cli_options_t *o, const cli_option_t *option, const char *chooser, const char *list,
                             const char *chosen) {
    const char *dashes = cli_option_find(o->command, chooser) ? "--" : "";
    return bpt_fail(BPT_ERR_USAGE, "--%s is for %s%s %s, and this is %s%s %s", option->name, dashes, chooser, list, dashes, chooser,
                    chosen);
}

static bpt_status_t check_kind(const cli_options_t *o, const cli_option_t *option) {
    bool fits[BPT_N_KINDS], any = false;
    char list[LIST_BYTES], key[CLI_KEY_BYTES];
    cli_option_key(option, key);
    for (int kind = 0; kind < BPT_N_KINDS; ++kind) any |= fits[kind] = bpt_kind_has_key(bpt_kinds[kind], key);
    if (!any || fits[o->model.model]) return BPT_OK;  // no kind names the key: it is for all
    name_those(list, bpt_model_names, fits);
    return fail_fit(o, option, "model", list, bpt_model_names[o->model.model]);
}

static bpt_status_t check_task(const cli_options_t *o, const cli_option_t *option) {
    bool fits[BPT_N_TASKS];
    char list[LIST_BYTES];
    if (!option->task || option->task(bpt_task_of(&o->model))) return BPT_OK;
    for (int task = 0; task < BPT_N_TASKS; ++task) fits[task] = option->task(bpt_tasks[task]);
    name_those(list, bpt_task_names, fits);
    return fail_fit(o, option, "task", list, bpt_task_names[o->model.task]);
}

// Takes the next of "a|b|c" off *values, into `name`.
static bool next_value(const char **values, char name[NAME_BYTES]) {
    const size_t length = strcspn(*values, "|");
    if (!length) return false;
    snprintf(name, NAME_BYTES, "%.*s", (int)length, *values);
    *values += length + strspn(*values + length, "|");
    return true;
}

static bool among(const char *values, const char *value) {
    char name[NAME_BYTES];
    while (next_value(&values, name))
        if (!strcmp(name, value)) return true;
    return false;
}

static bpt_status_t fail_when(const cli_option_t *option, const cli_option_t *chooser, const char *values, bool except,
                              const char *chosen) {
    char name[NAME_BYTES], list[LIST_BYTES] = "", instead[64] = "";
    while (next_value(&values, name)) add_name(list, name, !*values);
    if (option->instead) snprintf(instead, sizeof instead, "; give --%s", option->instead);
    if (except) return bpt_fail(BPT_ERR_USAGE, "--%s is without effect with --%s %s%s", option->name, chooser->name, chosen, instead);
    return bpt_fail(BPT_ERR_USAGE, "--%s is for --%s %s, and this is --%s %s%s", option->name, chooser->name, list, chooser->name, chosen,
                    instead);
}

// The options that choose are CLI_CHOICE of `train`; for another command they have the value of their field.
static bpt_status_t check_when(const cli_options_t *o, const cli_option_t *option) {
    char name[NAME_BYTES];
    if (!option->when) return BPT_OK;
    const char *values = strchr(option->when, '=') + 1;
    const bool except = values[-2] == '!';
    snprintf(name, sizeof name, "%.*s", (int)(values - option->when - (except ? 2 : 1)), option->when);
    const cli_option_t *chooser = cli_option_find(CLI_TRAIN, name);
    bpt_strbuf_t chosen = {0};
    bpt_status_t status = cli_option_text(o, chooser, &chosen);
    if (status == BPT_OK && among(values, chosen.data) == except) status = fail_when(option, chooser, values, except, chosen.data);
    bpt_strbuf_free(&chosen);
    return status;
}

static bpt_status_t is_at_default(const cli_options_t *o, const cli_option_t *option, bool *yes) {
    bpt_strbuf_t text = {0};
    const bpt_status_t status = cli_option_text(o, option, &text);
    *yes = !strcmp(text.data ? text.data : "", option->fallback);
    bpt_strbuf_free(&text);
    return status;
}

static bpt_status_t check_option(const cli_options_t *o, const cli_option_t *option) {
    bool unset = false;
    if (option->firm) BPT_TRY(is_at_default(o, option, &unset));
    if (!option->firm) unset = o->source[option - cli_option_table] != CLI_FROM_FLAG;
    if (unset) return BPT_OK;
    BPT_TRY(check_kind(o, option));
    BPT_TRY(check_task(o, option));
    return check_when(o, option);
}

bpt_status_t cli_options_check_fit(const cli_options_t *o) {
    for (int i = 0; i < cli_option_count; ++i)
        if (cli_option_taken(&cli_option_table[i], o->command)) BPT_TRY(check_option(o, &cli_option_table[i]));
    return BPT_OK;
}
