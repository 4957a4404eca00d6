// The list of commands, in the order in which --help shows them, and those that only talk about the program itself.
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/options/manual.h"
#include "tools/bpt/output.h"

extern const cli_command_t cli_command_train, cli_command_bench, cli_command_eval, cli_command_generate, cli_command_classify,
    cli_command_tag, cli_command_translate, cli_command_bleu, cli_command_average, cli_command_plot, cli_command_export, cli_command_import,
    cli_command_devices, cli_command_doctor, cli_command_graph, cli_command_tune, cli_command_stop, cli_command_info, cli_command_embed;

const cli_command_t *cli_command_find(const char *name) {
    for (int i = 0; cli_commands[i]; ++i)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}

bpt_status_t cli_command_unknown(const char *name) {
    cli_suggestion_t nearest = {.word = name};
    char hint[64];
    for (int i = 0; cli_commands[i]; ++i) cli_suggest(&nearest, cli_commands[i]->name);
    const char *text = cli_suggest_text(&nearest, "", hint, sizeof hint);
    return bpt_fail(BPT_ERR_USAGE, "unknown command '%.60s'%s", name, *text ? text : "; `bpt --help` lists them");
}

// ---- help
static bpt_status_t run_help(cli_options_t *o) {
    if (o->use.man) cli_print_man_page();
    if (o->use.completion) cli_print_completion(o->use.shell);
    if (o->use.man || o->use.completion) return BPT_OK;
    if (!o->n_arguments) {
        cli_help_program();
        return BPT_OK;
    }
    const cli_command_t *command = cli_command_find(o->arguments[0]);
    if (!command) return cli_command_unknown(o->arguments[0]);
    cli_help_command(command);
    return BPT_OK;
}

static const cli_command_t command_help = {
    .bit = CLI_HELP,
    .name = "help",
    .arguments = "[COMMAND]",
    .purpose = "explain a command",
    .description = "",
    .examples = "  bpt help train\n  bpt help --man | man -l -\n  source <(bpt help --completion)\n  bpt help --completion --shell fish | source\n",
    .max_arguments = 1,
    .run = run_help,
};

// ---- presets
static bpt_status_t add_preset(json_t *list, const cli_preset_t *preset) {
    json_t *object = json_object(), *settings = json_object();
    if (json_array_append_new(list, object) || json_object_set_new(object, "name", json_string(preset->name)) ||
        json_object_set_new(object, "description", json_string(preset->about)) || json_object_set_new(object, "settings", settings))
        return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the presets");
    return cli_preset_to_json(preset, settings);
}

static bpt_status_t print_presets_json(void) {
    json_t *list = json_array();
    bpt_status_t status = BPT_OK;
    for (const cli_preset_t *preset = cli_presets; preset->name && status == BPT_OK; ++preset) status = add_preset(list, preset);
    if (status == BPT_OK) status = cli_print_json(list, 0);
    json_decref(list);
    return status;
}

static bpt_status_t run_presets(cli_options_t *o) {
    if (o->use.json) return print_presets_json();
    cli_help_presets();
    return BPT_OK;
}

static const cli_command_t command_presets = {
    .bit = CLI_PRESETS,
    .name = "presets",
    .arguments = "",
    .purpose = "list the settings of the papers",
    .description =
        "Each is a set of options for `bpt train --preset NAME`; options given beside it win. With --json: a list of objects with name, "
        "description and settings, which are keys of a config file.",
    .examples =
        "  bpt presets\n  bpt train --preset ptb-6 --print-config\n  bpt presets --json | jq '.[] | select(.name == \"ptb-6\").settings'\n",
    .run = run_presets,
};

// clang-format off
const cli_command_t *const cli_commands[] = {
    &cli_command_train,
    &cli_command_stop,
    &cli_command_info,
    &cli_command_eval,
    &cli_command_generate,
    &cli_command_classify,
    &cli_command_tag, &cli_command_embed,
    &cli_command_translate,
    &cli_command_bleu,
    &cli_command_plot,
    &cli_command_graph,
    &cli_command_bench,
    &cli_command_average,
    &cli_command_export,
    &cli_command_import,
    &cli_command_devices,
    &cli_command_doctor,
    &cli_command_tune,
    &command_presets,
    &command_help,
    NULL,
};
// clang-format on
