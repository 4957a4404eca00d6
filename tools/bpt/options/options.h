// The options of the program. One table (option_table.c, with the keys of models/config/config_keys.def) drives the command line, `--help`,
// config files, the resolved config.json, presets, the "did you mean" suggestions and which option fits which model: an option is one
// entry. Knows the configuration structs of models/config/config.h and the choices of data/; knows no command.
#ifndef BPT_TOOLS_OPTIONS_H
#define BPT_TOOLS_OPTIONS_H

#include "bpt/intervals_writer.h"
#include "bpt/json.h"
#include "bpt/strbuf.h"
#include "data/batches/lm.h"
#include "data/examples/cut.h"
#include "data/examples/split.h"
#include "data/vocab/vectors.h"
#include "models/config/config_keys.h"

// ---- What options fill besides bpt_model_config_t and bpt_train_config_t ------------------------------------------------
typedef enum { CLI_SCOPE_TRAIN, CLI_SCOPE_ALL } cli_scope_t;

// The values of an option that may be given several times, in order.
typedef struct {
    char **item;
    size_t count, capacity;
} cli_texts_t;

// Whether the nodes of trees begin with their labels, or all with one symbol.
typedef enum { CLI_TREE_LABELS_CONSTANT, CLI_TREE_LABELS_STATE } cli_tree_labels_t;

// Whether function tags are a part of labels that are predicted. CLI_FUNCTIONS_KNOWN: as in the labels that a model knows.
typedef enum { CLI_FUNCTIONS_KNOWN, CLI_FUNCTIONS_KEEP, CLI_FUNCTIONS_CUT } cli_functions_t;

typedef struct {
    cli_texts_t paths;    // files and folders
    cli_texts_t vectors;  // files of word vectors, side by side
    bpt_unknown_vectors_t unknown_vectors;
    bpt_unit_t unit;
    cli_scope_t vocab_scope;
    int64_t least_count;  // of a word that the vocabulary has
    double word_dropout;  // rate of data/batches/word_dropout.h
    bpt_protocol_t protocol;
    bpt_cut_kind_t cut;
    int part;  // BPT_TRAIN, BPT_VALID or BPT_TEST
    bool lower, subtrees, strip_punctuation;
    bool header, skip_empty;                    // of files of examples
    int format;                                 // likewise: 0 as usual, else 1 + bpt_format_id_t
    char *source, *target;                      // endings of the files of a translator, "": one file
    char *class_weights, *class_weight_values;  // "balanced" or a file, "": none; what they are
    int64_t context_tokens;                     // of a document
    int64_t bleu_sample;                        // lines
    char *label_column, *text_column, *where;   // of examples in columns (data/examples/examples.h), as they were given
    char *label_field, *text_field;             // of examples with fields
    int64_t subwords;                           // tokens of the SentencePiece model
    char *subword_model;                        // a file, "": it is trained
    char *sentencepiece;                        // version that made the tokens, "": none or not known
    bpt_subword_kind_t subword_kind;
    int tag_scheme;   // bpt_tag_scheme_t
    int data_scheme;  // of the tags before they were converted; BPT_SCHEME_KEEP: they were not, or it is not known
    int trees;        // bpt_trees_t
    cli_tree_labels_t tree_labels;
    cli_functions_t function_tags;
    int64_t truncate;
    int64_t n, sum, examples;               // Masked Summation (data/batches/arrays.h)
    int64_t context, stride, eval_context;  // 0 = as options_resolve says
    int64_t batch_tokens, batch_examples, max_length;
} cli_data_options_t;

typedef struct {
    char *out, *config, *preset, *init;
    char *products;  // what computes the products of matrices of the run
    bool resume, dry_run, print_config, match_vocabulary;
    int team;  // team.h
    bool shard_optimizer, split_sequence;
} cli_run_options_t;

typedef struct {
    char *backend, *device;
    int64_t threads;
    double submit_ms, max_mem_mib;
    int device_turn;  // no option: without --device, the number among the devices of one type (team.h)
    bool quiet, verbose, help, version;
} cli_global_options_t;

typedef struct {
    char *nll, *right, *grad, *predictions, *logits, *prompt, *prompts, *file;  // files and texts that a command writes or reads
    char *checkpoint;                                                           // "", a step, "latest" or "best"
    char *shifts;                                                               // eval: "0,1,2"
    int64_t placeholders;                                                       // and which of them it is at
    cli_texts_t stop, references, with;                                         // with: runs that answer together with the first argument
    int64_t longest, max_tokens, min_tokens, no_repeat, top_k, batch, repeat_window, n_best;
    int pool;                             // embed: bpt_embedding_t
    bool per_token;                       // likewise
    int64_t beam, average, max_length_b;  // translate
    double length_penalty, max_length_a;
    char *scores;
    char *trees_file;
    int tag_scheme;  // bpt_tag_scheme_t
    int weights;     // bpt_weights_form_t
    int shell;       // number of a name of cli_shell_names
    double temperature, top_p, min_p, repeat_penalty;
    bool echo, interactive, json, per_class, calibration, fit_temperature, calibrated, with_input, man, completion, allow_non_finite,
        no_unk;
} cli_use_options_t;

typedef struct {
    int64_t n, width, height, repeat, seconds;
    bpt_intervals_format_t format;
    char *lengths, *ks, *beams, *ranks;
    double bandwidth, latency;  // of bench cluster: GB/s, microseconds
    char *tree;                 // graph: in brackets
    int trees;                  // bench: bpt_trees_t - BPT_TREES_BALANCED
    char *from, *x, *y, *by;    // plot
    bool log_x, log_y, zoom, confusion;
    bool reset;
    bool compile, renew, admit;  // doctor
    char *ledger;                // likewise
    char *kernels;               // likewise, with --compile or --ledger
    bool ops;                    // bench train
    char *trace;                 // likewise
    int tokenizer;               // bleu: bpt_bleu_tokenizer_t
    bool lowercase, paired;
    char *metrics;
    int64_t samples;  // of a test
    int64_t last;     // average
} cli_tool_options_t;

// What --data names, and the first of it, "": nothing.
static inline bpt_paths_t cli_data_paths(const cli_data_options_t *d) {
    return (bpt_paths_t){(const char *const *)d->paths.item, d->paths.count};
}
static inline const char *cli_data_path(const cli_data_options_t *d) { return d->paths.count ? d->paths.item[0] : ""; }

// ---- The table --------------------------------------------------------------------------------------------------------
typedef enum { CLI_BOOL, CLI_INT, CLI_REAL, CLI_TEXT, CLI_TEXTS, CLI_CHOICE } cli_type_t;

typedef enum {
    CLI_TRAIN = 1 << 0,
    CLI_EVAL = 1 << 1,
    CLI_GENERATE = 1 << 2,
    CLI_CLASSIFY = 1 << 3,
    CLI_GRAPH = 1 << 4,
    CLI_BENCH = 1 << 5,
    CLI_PLOT = 1 << 6,
    CLI_EXPORT = 1 << 7,
    CLI_IMPORT = 1 << 8,
    CLI_DEVICES = 1 << 9,
    CLI_DOCTOR = 1 << 10,
    CLI_PRESETS = 1 << 11,
    CLI_HELP = 1 << 12,
    CLI_TUNE = 1 << 13,
    CLI_TAG = 1 << 14,
    CLI_BLEU = 1 << 15,
    CLI_AVERAGE = 1 << 16,
    CLI_TRANSLATE = 1 << 17,
    CLI_STOP = 1 << 18,
    CLI_GLOBALS = 1 << 19,  // in front of the command
    CLI_INFO = 1 << 20,
    CLI_EMBED = 1 << 21,
    CLI_ALL = (1 << 22) - 1,
} cli_command_bit_t;

typedef enum {
    CLI_GROUP_TASK,
    CLI_GROUP_RUN,
    CLI_GROUP_DATA,
    CLI_GROUP_MODEL,
    CLI_GROUP_REGULAR,
    CLI_GROUP_OPTIMISER,
    CLI_GROUP_LENGTH,
    CLI_GROUP_COMMAND,
    CLI_GROUP_GLOBAL,
    CLI_GROUP_COUNT
} cli_group_t;

typedef struct {
    const char *name;  // "d-model": the flag is --d-model, the key of a config file d_model
    cli_type_t type;
    size_t offset, size;                    // of the field in cli_options_t
    const char *fallback;                   // the default, read by the same parser as a flag's value
    const char *before;                     // the value of runs that were made before there was the option; NULL: the fallback
    const char *shown;                      // what --help prints as the default when it depends on something, else NULL
    double min, max;                        // CLI_INT, CLI_REAL: inclusive range
    bool open_min, open_max;                // CLI_REAL: the bound itself is not allowed
    const char *const *choices;             // CLI_CHOICE: the names of the values 0, 1, ..; CLI_TEXT: the allowed texts; ends with NULL
    const char *metavar;                    // in --help, for CLI_INT, CLI_REAL, CLI_TEXT and CLI_TEXTS
    const char *help;                       // one line
    int (*list)(char *text, size_t bytes);  // what stands behind `help`, from a table; as snprintf. NULL: nothing
    cli_group_t group;
    unsigned commands;  // cli_command_bit_t; beside them those of cli_option_variants

    // When the option has a meaning, beside being named like a key that only some kinds of models have; as in bpt_config_key_t.
    bool (*task)(const bpt_task_spec_t *task);
    const char *when;     // "schedule=exponential|plateau", "schedule!=noam": the value of another option
    const char *instead;  // the option to give where `when` does not hold
    bool firm;            // refused without a meaning, wherever its value comes from; others where a person gives them: as flags

    bool open;                   // CLI_INT: 0 is allowed below min, for what follows from other options or from the data
    bool key;                    // belongs into a config file and config.json
    bool file;                   // goes with a model file that leaves its run: how examples are read, and which of them were for training
    const char *needs, *unless;  // of a key in files (models/config/config_keys.h), as the next
    bool early;
    bool no_flag;    // only a key (found out from the data, kept in config.json)
    bool resumable;  // a resumed run may change it
    bool once;       // a resumed run does not inherit it
    bool empty;      // CLI_TEXT: an empty text may be given; of others it is the value of a shell variable that was never set
    bool writes;     // CLI_TEXT: a file that the command writes
    bool several;    // CLI_TEXTS: all that follows up to the next option is a value, of its own commands at once, of those of
                     // cli_option_variants once these have their first argument; in files one text is itself, not a list
} cli_option_t;

extern const cli_option_t cli_option_table[];
extern const int cli_option_count;
// What --help says of an option, cut where there is no room.
void cli_option_help(const cli_option_t *option, char *text, size_t bytes);

// An option that further commands take, or that is another one for some of its commands: what is different there, NULL where it is the
// same.
typedef struct {
    const char *name;   // of the first option of the table that is called so
    unsigned commands;  // cli_command_bit_t
    const char *fallback, *shown, *help;
} cli_variant_t;
extern const cli_variant_t cli_option_variants[];  // ends with a NULL name

extern const char *const cli_group_titles[CLI_GROUP_COUNT];

typedef enum { CLI_TEAM_NONE, CLI_TEAM_MPI } cli_team_t;  // --team
extern const char *const cli_team_names[];
extern const char *const cli_format_names[];  // --format: "auto", and those of data/examples/formats.h

enum { CLI_MAX_OPTIONS = 256, CLI_MAX_ARGUMENTS = 64 };

// Later sources win, whatever the order in which values arrive.
typedef enum { CLI_FROM_DEFAULT, CLI_FROM_RUN, CLI_FROM_PRESET, CLI_FROM_FILE, CLI_FROM_FLAG } cli_source_t;

typedef struct {
    bpt_model_config_t model;
    bpt_train_config_t train;
    cli_data_options_t data;
    cli_run_options_t run;
    cli_global_options_t global;
    cli_use_options_t use;
    cli_tool_options_t tool;
    unsigned command;  // whose options these are, one cli_command_bit_t
    const char *command_name;
    const char *arguments[CLI_MAX_ARGUMENTS];  // positional, borrowed from argv
    int n_arguments;
    uint8_t source[CLI_MAX_OPTIONS];
} cli_options_t;

// ---- Setting and reading -----------------------------------------------------------------------------------------------
// All options at their defaults for `command`.
bpt_status_t cli_options_init(cli_options_t *o, unsigned command, const char *command_name) BPT_MUST_USE;
void cli_options_destroy(cli_options_t *o);

// Its key in config files: "d_model".
enum { CLI_KEY_BYTES = 64 };
void cli_option_key(const cli_option_t *option, char key[CLI_KEY_BYTES]);
// Whether a command takes the option.
bool cli_option_taken(const cli_option_t *option, unsigned command);
// The option with the default and the help that it has for a command.
cli_option_t cli_option_for(const cli_option_t *option, unsigned command);
// The option `name` ("d-model") as `command` knows it, NULL if there is none.
const cli_option_t *cli_option_find(unsigned command, const char *name);
// Where the value of an option comes from; `name` must exist for o's command.
cli_source_t cli_option_source(const cli_options_t *o, const char *name);
// Parses and checks `text`, and stores it unless a stronger source has set the option already. `where` names the option in
// messages ("--lr", "key \"lr\"").
bpt_status_t cli_option_set(cli_options_t *o, const cli_option_t *option, const char *text, cli_source_t source,
                            const char *where) BPT_MUST_USE;
// The value as text that cli_option_set reads back to the same bits; of several texts a list for people.
bpt_status_t cli_option_text(const cli_options_t *o, const cli_option_t *option, bpt_strbuf_t *out) BPT_MUST_USE;
// Whether an option has the same value in both.
bpt_status_t cli_option_same(const cli_options_t *a, const cli_options_t *b, const cli_option_t *option, bool *same) BPT_MUST_USE;
// Stores the value that `from` has, unless a stronger source has set the option already.
bpt_status_t cli_option_copy(cli_options_t *o, const cli_options_t *from, const cli_option_t *option, cli_source_t source) BPT_MUST_USE;

// Parses the arguments in front of the command (global options only) and returns its position in *index (argc if none).
bpt_status_t cli_options_parse_globals(cli_options_t *o, int argc, char **argv, int *index) BPT_MUST_USE;
// Parses flags and positional arguments argv[first] .. argv[last - 1].
bpt_status_t cli_options_parse(cli_options_t *o, int first, int last, char **argv) BPT_MUST_USE;

// "8192" or "512,8192": up to `capacity` whole numbers between min and max. `where` names the option in messages.
bpt_status_t cli_parse_list(const char *text, const char *where, int64_t min, int64_t max, int64_t *out, int capacity,
                            int *count) BPT_MUST_USE;

// ---- Config files (options_json.c) --------------------------------------------------------------------------------------
// Applies the keys of a JSON file that holds one object. Strict: an unknown key is an error with a suggestion; otherwise it is a run's
// config.json, held against its own checksum (models/train/run_config.h), where an unknown key is of a newer version: an error, or in a
// file without a checksum a warning.
bpt_status_t cli_options_from_file(cli_options_t *o, const char *path, cli_source_t source, bool strict) BPT_MUST_USE;
// How a model reads text and is evaluated, as JSON text: the keys unit, lower, eval_context and protocol. Checkpoints list a checksum of it
// where a version wrote them that knew no checksum of all options. *out is freed with bpt_free.
bpt_status_t cli_options_reading(const cli_options_t *o, char **out) BPT_MUST_USE;
// The options that go with a model file, as keys of `object`; and those of JSON text out of the file `path`, where a key that is none of
// them is of a newer version: BPT_ERR_INPUT, as for values that are out of range.
bpt_status_t cli_options_to_file(const cli_options_t *o, json_t *object) BPT_MUST_USE;
bpt_status_t cli_options_of_file(cli_options_t *o, const char *text, const char *path) BPT_MUST_USE;
// Holds a model's configuration, JSON text out of the file `path`, against the ranges of `train`'s options; keys that are no options are
// left to who reads it. BPT_ERR_INPUT.
bpt_status_t cli_options_check_model(const char *text, const char *path) BPT_MUST_USE;
// Sets the key of one option to its value, as a number, a boolean or a text.
bpt_status_t cli_option_to_json(const cli_options_t *o, const cli_option_t *option, json_t *object) BPT_MUST_USE;
// The resolved configuration: every key that the command knows, defaults included. *out is released with json_decref.
bpt_status_t cli_options_to_json(const cli_options_t *o, json_t **out) BPT_MUST_USE;
// Takes over the values of the run whose config.json is at `path`, and checks that no option given here changes what a
// resumed run has to keep.
bpt_status_t cli_options_resume(cli_options_t *o, const char *path) BPT_MUST_USE;
// Takes over values, keys as in config.json, from the model that a new run starts from; an option that says otherwise is BPT_ERR_USAGE.
bpt_status_t cli_options_adopt(cli_options_t *o, const json_t *values, const char *from) BPT_MUST_USE;

// ---- Resolving (resolve.c) ------------------------------------------------------------------------------------------------
// Applies --preset and --config in their order of precedence: defaults < preset < config file < flags.
bpt_status_t cli_options_layer(cli_options_t *o) BPT_MUST_USE;
// Fills in what follows from other options (context -> stride, task -> causal ..) and checks the combinations of `train`.
bpt_status_t cli_options_resolve(cli_options_t *o) BPT_MUST_USE;
// --stride is for windows of text, and for the blocks of a model whose attention goes by blocks.
void cli_options_fill_stride(cli_options_t *o);
// Refuses options that have no meaning for the model, the task, the schedule .. that the other options chose (fitting_options.c).
bpt_status_t cli_options_check_fit(const cli_options_t *o) BPT_MUST_USE;

// ---- Presets (presets.c) -------------------------------------------------------------------------------------------------
typedef struct {
    const char *name, *about, *values;  // values: "key=value key=value ..", in the order of application
} cli_preset_t;
extern const cli_preset_t cli_presets[];  // ends with a NULL name
bpt_status_t cli_preset_apply(cli_options_t *o, const char *name) BPT_MUST_USE;
bpt_status_t cli_preset_take(cli_options_t *o, const cli_preset_t *preset) BPT_MUST_USE;  // one of the list or of one's own
// Its settings as keys of a config file.
bpt_status_t cli_preset_to_json(const cli_preset_t *preset, json_t *object) BPT_MUST_USE;

// ---- Suggestions (suggest.c) ----------------------------------------------------------------------------------------------
// Collects the candidate that is nearest to a misspelt word.
typedef struct {
    const char *word, *best;
    int distance;
} cli_suggestion_t;
void cli_suggest(cli_suggestion_t *s, const char *candidate);
// "; did you mean --best?" or "" when nothing is near enough. `prefix` is "--" or "".
const char *cli_suggest_text(const cli_suggestion_t *s, const char *prefix, char *buffer, size_t bytes);

#endif
