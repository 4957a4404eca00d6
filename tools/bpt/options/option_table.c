// The option table: every option of every command, in the order in which --help shows them. Options that are keys of a model's
// configuration come from models/config/config_keys.def.
#include <stdio.h>

#include "data/batches/word_dropout.h"
#include "data/examples/cut.h"
#include "data/examples/examples.h"
#include "data/score/bleu_tokens.h"
#include "models/config/config_keys.h"
#include "models/config/config_names.h"
#include "models/kinds/kind.h"
#include "models/run/embedding.h"
#include "tools/bpt/options/manual.h"
#include "tools/bpt/options/options.h"

#define AT(member) .offset = offsetof(cli_options_t, member), .size = sizeof(((cli_options_t *)0)->member)
#define BOOL(name_, member) .name = name_, .type = CLI_BOOL, AT(member)
#define INT(name_, member, min_, max_) .name = name_, .type = CLI_INT, AT(member), .min = min_, .max = max_, .metavar = "N"
#define REAL(name_, member, min_, max_) .name = name_, .type = CLI_REAL, AT(member), .min = min_, .max = max_, .metavar = "X"
#define TEXT(name_, member, metavar_) .name = name_, .type = CLI_TEXT, AT(member), .metavar = metavar_
#define TEXTS(name_, member, metavar_) .name = name_, .type = CLI_TEXTS, AT(member), .metavar = metavar_
#define CHOICE(name_, member, choices_) .name = name_, .type = CLI_CHOICE, AT(member), .choices = choices_
#define LIST(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

// A key of a model's configuration (models/config/config_keys.def) as an option of `train`; NONE where the keys of another group are taken.
#define BPT_KEY(group, place, presence, ...) KEYS_##group(group, place, __VA_ARGS__)
#define KEY(group_, place, key_, name_, type_, field, ...) \
    {.name = name_,                                        \
     .type = CLI_##type_,                                  \
     AT(model.field),                                      \
     .metavar = METAVAR_##type_,                           \
     .group = GROUP_##group_,                              \
     .commands = CLI_TRAIN,                                \
     .key = true,                                          \
     __VA_ARGS__},
#define NONE(...)
#define KEYS_TASK NONE
#define KEYS_SHAPE NONE
#define KEYS_OUTPUT NONE
#define KEYS_SHARED NONE
#define KEYS_DROPOUT NONE
#define GROUP_TASK CLI_GROUP_TASK
#define GROUP_SHAPE CLI_GROUP_MODEL
#define GROUP_OUTPUT CLI_GROUP_MODEL
#define GROUP_DROPOUT CLI_GROUP_REGULAR
#define METAVAR_BOOL NULL
#define METAVAR_CHOICE NULL
#define METAVAR_INT "N"
#define METAVAR_REAL "X"

// Where models are used: their shape comes from the run.
#define ANSWERS (CLI_EVAL | CLI_GENERATE | CLI_CLASSIFY | CLI_TAG | CLI_TRANSLATE)
#define USE (ANSWERS | CLI_EMBED)
#define MAX_COUNT 9007199254740992.0  // 2^53: exact as a double and in JSON
#define MAX_INT32 2147483647.0

const char *const cli_team_names[] = {"none", "mpi", NULL};
#define BPT_FORMAT(id, name, what) #name,
const char *const cli_format_names[] = {"auto",
#include "data/readers/formats.def"
                                        NULL};
#undef BPT_FORMAT
const char *const cli_group_titles[CLI_GROUP_COUNT] = {
    [CLI_GROUP_TASK] = "Task",
    [CLI_GROUP_RUN] = "Run",
    [CLI_GROUP_DATA] = "Data",
    [CLI_GROUP_MODEL] = "Model",
    [CLI_GROUP_REGULAR] = "Regularisation",
    [CLI_GROUP_OPTIMISER] = "Optimiser and schedule",
    [CLI_GROUP_LENGTH] = "Length, evaluation and checkpoints",
    [CLI_GROUP_COMMAND] = "Options",
    [CLI_GROUP_GLOBAL] = "Global options (before or after the command)",
};

static bool reads_windows(const bpt_task_spec_t *task) { return task->reads == BPT_READS_WINDOWS; }
static bool has_phrases(const bpt_task_spec_t *task) { return task->labelled && !task->per_token && bpt_task_texts(task) == 1; }
static bool has_tags(const bpt_task_spec_t *task) { return task->labelled && task->per_token; }
static bool has_classes(const bpt_task_spec_t *task) { return task->labelled; }
static bool has_values(const bpt_task_spec_t *task) { return task->values; }
static bool reads_examples(const bpt_task_spec_t *task) { return task->reads == BPT_READS_EXAMPLES; }
static bool has_sides(const bpt_task_spec_t *task) { return bpt_task_sides(task) == 2; }
static bool has_one_side(const bpt_task_spec_t *task) { return !has_sides(task); }
static bool has_columns(const bpt_task_spec_t *task) { return reads_examples(task) && !has_sides(task); }
static bool has_lines(const bpt_task_spec_t *task) { return reads_examples(task) && !task->per_token; }  // an example is one
static bool has_trees(const bpt_task_spec_t *task) { return has_lines(task) || has_sides(task); }
static bool has_deep_supervision(const bpt_task_spec_t *task) { return task->deep_supervision; }

// Also those that this build lacks, which are refused by name.
static const char *const backend_names[] = {
    "auto",
#define BPT_BACKEND(name) #name,
#define BPT_BACKEND_LEFT_OUT(name) #name,
#include "backends/backends.def"
    NULL,
};

// What --resume may change, as its help says it.
static int list_resumable(char *text, size_t bytes) {
    size_t used = 0;
    const cli_option_t *last = NULL;
    for (int i = 0; i <= cli_option_count; ++i) {  // one behind, so that the last one has "and" before it
        const cli_option_t *option = i < cli_option_count ? &cli_option_table[i] : NULL;
        if (option && (!option->resumable || option->no_flag)) continue;
        if (last && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s--%s", !used ? "" : option ? ", " : " and ", last->name);
        last = option;
    }
    return (int)used;
}

const cli_option_t cli_option_table[] = {
// ---- train: task and run
#undef KEYS_TASK
#define KEYS_TASK KEY
#include "models/config/config_keys.def"
#undef KEYS_TASK
#define KEYS_TASK NONE
    {TEXTS("data", data.paths, "PATH.."), .several = true, .fallback = "", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN, .key = true,
     .resumable = true,
     .help =
         "directory with train, valid and test files, or one file, which is split into 90% training, 5% validation and 5% "
         "test data (formats above), or - for one file from standard input; several files are read as one, in this order, and of several "
         "folders the parts, as are shards such as train-00.txt and train-01.txt in a folder; files whose names say train, valid, test "
         "are these parts; regress: also safetensors files, or `summation`, which "
         "makes the data of Masked Summation"},
    {TEXT("preset", run.preset, "NAME"), .fallback = "", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN, .key = true,
     .help = "start from the settings of a paper (list below); other options override it"},

    {TEXT("out", run.out, "RUN"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .help = "run directory to write"},
    {BOOL("resume", run.resume), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .list = list_resumable,
     .help = "continue the run in --out; of its options only these may change (of --data the path alone): "},
    {TEXT("init", run.init, "RUN|FILE"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .key = true,
     .help = "start from the weights of a run or of an exported file; the model's shape, the vocabulary and, without "
             "--task, the task are taken from it, all else is new"},
    {BOOL("match-vocabulary", run.match_vocabulary), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .key = true,
     .help = "with --init: take the vocabulary from the new data; words that both vocabularies have keep their embeddings, "
             "others get new ones"},
    {TEXT("config", run.config, "FILE"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "read options from a JSON file (keys are option names with _ instead of -); options on the command line override "
             "it"},
    {BOOL("print-config", run.print_config), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "print the configuration as JSON, as far as it is known without reading the data, and exit"},
    {CHOICE("team", run.team, cli_team_names), .fallback = "none", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN | CLI_BENCH,
     .help = "train on all processes that mpirun or srun has started, each on a device of its own, as one (mpi); the micro-batches of a "
             "step (--accumulate) are dealt out to them"},
    {BOOL("shard-optimizer", run.shard_optimizer), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN | CLI_BENCH,
     .help = "with --team: each process keeps a part of the optimizer's state, which takes 8 bytes a parameter, instead of all of it"},
    {BOOL("split-sequence", run.split_sequence), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN | CLI_BENCH,
     .help =
         "with --team: the processes share each sequence, for sequences that one device has no memory for: each computes a range of its "
         "tokens (language models of model bpt)"},
    {BOOL("dry-run", run.dry_run), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "print parameters, memory plan and number of steps, and exit"},

    // ---- data
    {CHOICE("unit", data.unit, bpt_unit_names), .fallback = "byte", .shown = "byte for lm, else word", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true,
     .help = "what a token is: a byte, a Unicode code point (char), a word between blanks, a piece of a word (subword), or a number "
             "(ids)"},
    {INT("subwords", data.subwords, 3, BPT_MAX_VOCAB), .open = true, .fallback = "0", .shown = "none", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true, .when = "unit=subword", .firm = true,
     .help = "train a SentencePiece model of N pieces on the training data"},
    {TEXT("subword-model", data.subword_model, "FILE"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .when = "unit=subword", .firm = true, .help = "use this SentencePiece model; it is copied to RUN/subword.model"},
    {CHOICE("subword-kind", data.subword_kind, bpt_subword_kind_names), .fallback = "bpe", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .when = "unit=subword", .firm = true, .help = "kind of the SentencePiece model that is trained"},
    {TEXT("sentencepiece", data.sentencepiece, "VERSION"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .no_flag = true, .help = "version of SentencePiece that made the tokens"},
    {BOOL("lower", data.lower), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .when = "unit=word|subword",
     .firm = true, .help = "convert upper case to lower case"},
    {BOOL("subtrees", data.subtrees), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .task = has_phrases,
     .firm = true, .help = "classify, for data of labelled trees in brackets: every phrase of a training tree is an example"},
    {TEXT("source", data.source, "EN"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN | CLI_EVAL, .key = true,
     .file = true, .task = has_sides, .firm = true, .help = "translate: the texts are in the files of --data whose names end in .EN"},
    {TEXT("target", data.target, "DE"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN | CLI_EVAL, .key = true,
     .file = true, .task = has_sides, .firm = true, .help = "translate: and their translations, line by line, in those that end in .DE"},
    {INT("context-tokens", data.context_tokens, 0, 67108864), .fallback = "0", .shown = "0, sentences alone", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL, .key = true, .file = true, .task = has_sides, .firm = true,
     .help =
         "translate documents, which empty lines end: a segment of at least half of N tokens of the source together with the one before"},
#define BPT_FORMAT(id, name, what) "\n" #name ": " what
    {CHOICE("format", data.format, cli_format_names), .fallback = "auto", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL | CLI_CLASSIFY | CLI_TAG | CLI_EMBED, .key = true, .file = true, .firm = true,
     .help =
         "how files are written; auto: files of examples as their names say, else in the usual format of the task; lm and translate: text"
#include "data/readers/formats.def"
    },
#undef BPT_FORMAT
    {TEXT("label-column", data.label_column, "N"), .fallback = "", .shown = "1; tag: the last", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL, .key = true, .file = true, .task = has_columns, .firm = true,
     .help = "column of the label, counted from 1: columns of examples are separated by tabs (--format csv: by commas), those of tags by "
             "tabs where the first line "
             "of a token has one, else by blanks; for CoNLL-U files upos or xpos"},
    {TEXT("text-column", data.text_column, "N[,M]"), .fallback = "", .shown = "2; pair: 2,3; tag: 1", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL, .key = true, .file = true, .task = has_columns, .firm = true,
     .help = "column of the text, or of both texts of a pair"},
    {TEXT("text-field", data.text_field, "NAME[,NAME]"), .fallback = "",
     .shown = "text or sentence; pair: sentence1,sentence2 or the like; tag: tokens or words", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL | CLI_CLASSIFY | CLI_TAG | CLI_EMBED, .key = true, .file = true, .task = has_one_side, .firm = true,
     .help =
         "--format jsonl, csv: field or column of the text, of both texts of a pair, or of the list of tokens; those of translations are "
         "named by --source and --target"},
    {TEXT("label-field", data.label_field, "NAME"), .fallback = "", .shown = "label, gold_label or score; tag: tags, ner_tags or labels",
     .group = CLI_GROUP_DATA, .commands = CLI_TRAIN | CLI_EVAL, .key = true, .file = true, .task = has_columns, .firm = true,
     .help = "--format jsonl, csv: field or column of the label or number, or of the list of tags"},
    {TEXT("class-weights", data.class_weights, "balanced|FILE"), .fallback = "", .shown = "1 each", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .task = has_classes, .firm = true,
     .help = "what each class or tag counts in the loss: balanced, the rarer the more (examples / (classes * examples of the class)), or "
             "as a file of lines label<TAB>weight says"},
    {TEXT("class-weight-values", data.class_weight_values, "W,W,.."), .fallback = "", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN,
     .key = true, .no_flag = true, .help = "the weights of --class-weights, in the order of labels.txt"},
    {TEXT("where", data.where, "N=VALUE"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN | CLI_EVAL, .key = true,
     .file = true, .task = has_lines, .firm = true, .help = "read only the lines whose column N (between tabs, counted from 1) is VALUE"},
    {CHOICE("tag-scheme", data.tag_scheme, bpt_tag_scheme_names), .fallback = "keep", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .file = true, .task = has_tags, .when = "unit=word", .firm = true,
     .help = "tag: convert tags of spans (B-PER I-PER O, or without types B I O) to this scheme"},
    {CHOICE("data-scheme", data.data_scheme, bpt_tag_scheme_names), .fallback = "keep", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .file = true, .no_flag = true,
     .help = "scheme of the tags of the data before --tag-scheme; keep: they were not converted"},
    {CHOICE("trees", data.trees, bpt_trees_names), .fallback = "file", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL | CLI_CLASSIFY | CLI_TRANSLATE | CLI_EMBED, .key = true, .file = true, .task = has_trees,
     .when = "model=tree", .firm = true,
     .help = "tree: the tree over a text is that of the brackets in the file, or one is made: balanced, with all branches to the right, or "
             "flat "
             "(all words below one node)"},
    {CHOICE("tree-labels", data.tree_labels, LIST("constant", "state")), .fallback = "constant",
     .shown = "state where trees are read beside texts to translate", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .file = true, .task = has_trees, .when = "model=tree",
     .help =
         "tree: a node begins with its label (state), or all nodes with one symbol (constant), as they must where labels are predicted"},
    {BOOL("header", data.header), .fallback = "no", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN | CLI_EVAL | CLI_CLASSIFY | CLI_TAG | CLI_EMBED, .key = true, .file = true, .task = has_columns,
     .help = "the first line of each file names its columns and is left out"},
    {BOOL("skip-empty", data.skip_empty), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN | CLI_EVAL, .key = true,
     .file = true, .task = has_columns, .help = "leave out lines that have a label and no text, or half a pair"},
    {CHOICE("cut", data.cut, bpt_cut_names), .fallback = "shuffled", .before = "in-order", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .file = true, .task = has_columns,
     .help =
         "how one file of examples is cut into 90 % for training and 5 % each for validation and test: shuffled by --seed, with a share "
         "of each class in each part, or in the order of the file"},
    {CHOICE("function-tags", data.function_tags, LIST("auto", "keep", "cut")), .fallback = "keep", .before = "auto",
     .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .file = true, .task = has_phrases, .when = "model=tree",
     .help = "tree: what follows on the first - or = is a part of a label in brackets (keep), as in very-good, or no part of it (cut), so "
             "that NP-SBJ=2 is NP"},
    {BOOL("strip-punctuation", data.strip_punctuation), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .file = true, .when = "unit=word|subword", .task = has_columns, .firm = true,
     .help = "leave out tokens that are nothing but punctuation (of texts; tags keep theirs)"},
    {INT("truncate", data.truncate, 0, 67108864), .fallback = "0", .shown = "0, all", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .file = true, .task = reads_examples, .firm = true, .help = "read only the first N tokens of a text"},
    {INT("n", data.n, 1, 67108864), .fallback = "200", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .file = true,
     .task = has_values, .help = "regress, --data summation: vectors in an example"},
    {INT("sum", data.sum, 1, 67108864), .fallback = "10", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .file = true,
     .task = has_values, .help = "regress, --data summation: how many of the vectors are marked and added"},
    {INT("examples", data.examples, 20, MAX_INT32), .fallback = "10000", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .file = true, .task = has_values, .help = "regress, --data summation: examples of each part that is made"},
    {TEXTS("vectors", data.vectors, "FILE"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .when = "unit=word", .firm = true,
     .help = "word vectors (GloVe or word2vec text) for the embedding; given several times, the vectors of a word stand side by side"},
    {CHOICE("unknown-vectors", data.unknown_vectors, bpt_unknown_vectors_names), .fallback = "zero", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true,
     .help = "what a word gets that a file of --vectors lacks: zeros, or random numbers that vary as much as those of the file"},
    {CHOICE("vocab-scope", data.vocab_scope, LIST("train", "all")), .fallback = "train", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .help = "take the vocabulary from the training data, or from all of the data"},
    {INT("least-count", data.least_count, 1, MAX_COUNT), .fallback = "1", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .when = "unit=word", .firm = true,
     .help = "words that the data of the vocabulary have fewer than N times become <unk>, as unknown words do"},
    {INT("context", data.context, 1, 67108864), .fallback = "512", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .task = reads_windows, .help = "lm: number of tokens in a training window (N inputs, N targets)"},
    {INT("stride", data.stride, 0, 67108864), .fallback = "0", .shown = "the context; sparse: 128", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true, .task = reads_windows,
     .help = "lm: how many tokens the training window moves from one example to the next; with --attention sparse: the number "
             "of tokens in a block of attention, and windows move by the context"},
    {INT("max-length", data.max_length, 0, 67108864), .fallback = "0", .shown = "0, no limit", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true, .task = reads_examples, .firm = true, .help = "refuse examples with a text of more than N tokens"},
    {INT("batch-tokens", data.batch_tokens, 1, MAX_COUNT), .fallback = "8192", .shown = "8192; lm, little text: 200 steps an epoch",
     .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .help = "number of tokens in one micro-batch, not counting padding"},
    {INT("batch-examples", data.batch_examples, 0, MAX_COUNT), .fallback = "0", .shown = "200 steps an epoch, at least 16, as many as fit",
     .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true, .task = reads_examples, .firm = true,
     .help = "largest number of examples in one optimiser step; not for lm"},

// ---- model
#undef KEYS_SHAPE
#define KEYS_SHAPE KEY
#include "models/config/config_keys.def"
#undef KEYS_SHAPE
#define KEYS_SHAPE NONE
    {TEXT("products", run.products, "RULE"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .key = true, .no_flag = true,
     .resumable = true, .help = "rule by which the GPU that ran last multiplied matrices"},
#undef KEYS_OUTPUT
#define KEYS_OUTPUT KEY
#include "models/config/config_keys.def"
#undef KEYS_OUTPUT
#define KEYS_OUTPUT NONE

// ---- regularisation
#undef KEYS_DROPOUT
#define KEYS_DROPOUT KEY
#include "models/config/config_keys.def"
#undef KEYS_DROPOUT
#define KEYS_DROPOUT NONE
    {REAL("word-dropout", data.word_dropout, 0, BPT_WORD_DROPOUT_MOST), .fallback = "0",
     .shown = "0.25; lm, translate, with --vectors or --init: 0", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .when = "unit=word", .firm = true,
     .help = "train for unknown words: a word that training reads C times is unknown with probability X / (X + C)"},
    {REAL("weight-decay", train.weight_decay, 0, 1e3), .fallback = "0", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .help = "L2 penalty on weights, not on biases and LayerNorm parameters (adamw, muon: decoupled)"},
    {BOOL("freeze-embed", train.freeze_embed), .fallback = "no", .shown = "yes with --vectors", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .help = "do not train the embedding"},
    {BOOL("freeze-rel", train.freeze_rel), .fallback = "no", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .when = "positions=relative",
     .help = "do not train the relative position embeddings (the authors' released classifiers do not, by accident)"},
    {BOOL("deep-supervision", train.deep_supervision), .fallback = "no", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .task = has_deep_supervision, .firm = true,
     .help = "lm: train on the mean of the losses of the upper layers; every epoch fewer layers count"},

    // ---- optimiser
    {CHOICE("optimizer", train.optimizer, bpt_optimizer_names), .fallback = "adam", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true,
     .help =
         "how gradients change the parameters: adam; adamw: weights decay by themselves; muon: the weight matrices of layers go by their "
         "momentum made orthogonal, all else by adamw, with the same learning rate"},
    {REAL("lr", train.lr, 0, 1e6), .fallback = "0.001", .shown = "0.001; few examples: 0.005", .group = CLI_GROUP_OPTIMISER,
     .commands = CLI_TRAIN, .key = true, .when = "schedule!=noam", .instead = "lr-factor", .help = "peak learning rate"},
    {CHOICE("schedule", train.schedule, bpt_schedule_names), .fallback = "cosine", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true,
     .help = "how the learning rate changes during training; after the warm-up inverse-sqrt is lr * sqrt(warmup / step), and "
             "warmup-stable-decay is constant and at the end falls to 0"},
    {INT("warmup", train.warmup, 0, MAX_COUNT), .fallback = "100", .shown = "100, at most a tenth of the steps",
     .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true, .help = "number of steps in which the learning rate rises linearly"},
    {REAL("lr-decay", train.lr_decay, 0, 1), .open_min = true, .fallback = "0.5", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .when = "schedule=exponential|plateau",
     .help = "exponential: factor applied every epoch; plateau: factor applied after an evaluation without progress"},
    {REAL("decay-share", train.decay_share, 0, 1), .open_min = true, .fallback = "0.2", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .when = "schedule=warmup-stable-decay",
     .help = "share of the steps, the last ones, in which the learning rate falls to 0"},
    {REAL("lr-factor", train.lr_factor, 0, 1e6), .open_min = true, .fallback = "1", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .when = "schedule=noam", .instead = "lr", .help = "noam: lr = factor / sqrt(d) * min(step^-1/2, step * warmup^-3/2)"},
    {REAL("beta1", train.beta1, 0, 1), .open_max = true, .fallback = "0.9", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "Adam's decay rate of the first moment"},
    {REAL("beta2", train.beta2, 0, 1), .open_max = true, .fallback = "0.98", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "Adam's decay rate of the second moment"},
    {REAL("eps", train.eps, 0, 1), .open_min = true, .fallback = "1e-8", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "Adam's epsilon"},
    {REAL("momentum", train.momentum, 0, 1), .open_max = true, .fallback = "0.95", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .when = "optimizer=muon", .help = "muon: share of the old momentum in the new one"},
    {REAL("clip", train.clip, 0, 1e6), .fallback = "0.25", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "clip the norm of the gradient to this value; 0: no clipping"},
    {INT("accumulate", train.accumulate, 1, 1000000), .fallback = "1", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "number of micro-batches that make up one optimiser step"},
    {BOOL("recompute", train.recompute), .fallback = "no", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "recompute a layer's activations in the backward pass: needs less memory and a third more work"},
    {BOOL("half-inputs", train.half_inputs), .fallback = "no", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "--recompute with --precision bf16 or f16: keep the inputs of layers in 16 bits, which rounds the states between layers "
             "while training; saves 2 bytes a number"},

    {TEXT("offload", train.offload, "FOLDER"), .fallback = "", .shown = "none", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .help = "--recompute: inputs of layers wait in a file in this folder, so that memory does not grow with the number of layers; the "
             "file has no name and goes with the process"},

    // ---- length, evaluation, checkpoints
    {INT("steps", train.steps, 0, MAX_COUNT), .fallback = "0", .shown = "by --epochs", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN,
     .key = true, .resumable = true, .help = "number of optimiser steps; the learning rate schedule ends there"},
    {REAL("epochs", train.epochs, 0, 1e9), .fallback = "0", .shown = "as many as make 1000 steps, at least 1", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .help = "passes over the training data, when --steps is not given"},
    {INT("stop-at", train.stop_at, 0, MAX_COUNT), .fallback = "0", .shown = "0, at the end", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .once = true, .resumable = true,
     .help = "stop after this step; the learning rate schedule does not change"},
    {INT("eval-every", train.eval_every, 0, MAX_COUNT), .fallback = "0", .shown = "after every epoch; about 20 times in more than 20",
     .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true, .resumable = true,
     .help = "steps between evaluations on the validation data"},
    {INT("save-every", train.save_every, 0, MAX_COUNT), .fallback = "0", .shown = "0, with every evaluation", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .resumable = true, .help = "steps between checkpoints"},
    {INT("log-every", train.log_every, 1, MAX_COUNT), .fallback = "10", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true,
     .resumable = true, .help = "steps between lines of metrics.jsonl"},
    {INT("patience", train.patience, 0, MAX_COUNT), .fallback = "0", .shown = "0, to the last step", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .resumable = true,
     .help = "end the training after so many evaluations one after the other that are no better than the best before (--best-by); `best` "
             "stays. The learning rate schedule does not change"},
    {REAL("duty", train.duty, 0.05, 1), .fallback = "1", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true, .resumable = true,
     .help = "share of the time in which the training computes: with 0.5 it rests after each step for as long as the step took, and a laptop "
             "stays cooler. The results are the same"},
    {CHOICE("best-by", train.best_by, bpt_best_by_names), .fallback = "loss", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true,
     .help = "the checkpoint that `best` names: the one with the lowest validation loss, or the best accuracy, f1 (of classifiers macro: "
             "the mean over "
             "classes; of taggers of spans), .. where the task has it; "
             "bleu of a translator is measured only if it is asked for here"},
    {INT("bleu-sample", data.bleu_sample, 1, MAX_COUNT), .fallback = "500", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true,
     .task = has_sides, .help = "translate, --best-by bleu: translate so many of the first lines of the validation part, greedily"},
    {INT("keep", train.keep, 0, 1000000), .fallback = "2", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true, .resumable = true,
     .help = "number of older checkpoints to keep besides `latest` and `best`"},
    {CHOICE("protocol", data.protocol, LIST("chunks", "half", "released")), .fallback = "chunks", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .file = true, .task = reads_windows,
     .help = "how a language model is scored: on disjoint windows (chunks), on the second halves of overlapping windows "
             "(half), or as the authors' released code does (released)"},
    {INT("eval-context", data.eval_context, 0, 67108864), .fallback = "0", .shown = "the training context", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .task = reads_windows, .help = "lm: number of tokens in an evaluation window"},

    // ---- eval, generate, classify
    {CHOICE("split", data.part, LIST("train", "valid", "test")), .fallback = "test", .shown = "test; a file named by --data is used whole",
     .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL, .help = "which part of the data to evaluate on"},
    {TEXT("checkpoint", use.checkpoint, "N|latest|best"), .fallback = "", .shown = "best, else latest", .group = CLI_GROUP_COMMAND,
     .commands = USE | CLI_EXPORT | CLI_INFO, .help = "which checkpoint of the run to use"},
    {TEXTS("with", use.with, "RUN"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = ANSWERS,
     .help = "answer together with this run, by the mean of the probabilities (of numbers: their mean); may be given several times. "
             "The runs need the same task, vocabulary and labels; their models may differ"},
    {TEXT("shift", use.shifts, "N,N,.."), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "put N placeholders without an embedding in front of every text; for several numbers, evaluate as often"},
    {BOOL("per-class", use.per_class), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "also print precision, recall and f1 of each class or tag, their means, and the confusion of classes"},
    {BOOL("calibration", use.calibration), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help =
         "also print whether probabilities are to be trusted: how many of the answers that were given with about each are right, and the "
         "expected calibration error"},
    {BOOL("fit-temperature", use.fit_temperature), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help =
         "find the temperature that makes the probabilities of labels fit the validation data (--split, --data: others), and write it to "
         "RUN/temperature.json for bpt classify --calibrated"},
    {BOOL("calibrated", use.calibrated), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_CLASSIFY,
     .help = "probabilities by the temperature that bpt eval --fit-temperature has found; the labels stay"},
    {TEXT("nll-out", use.nll, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "write a JSON list: the negative log-likelihood of every scored token or example"},
    {TEXT("right-out", use.right, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help =
         "classify, pair, tag: write a JSON list: 1 for each example that was answered rightly (of tags: with all of its tags), else 0; "
         "null where its label is not counted"},
    {TEXT("predictions-out", use.predictions, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .task = has_values, .firm = true,
     .help = "regress: write the numbers that are predicted, as a JSON list of one list for each example"},
    {TEXT("grad-out", use.grad, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "write the gradient of the mean loss as safetensors"},

    {TEXT("prompt", use.prompt, "TEXT"), .fallback = "", .empty = true, .shown = "a line end", .group = CLI_GROUP_COMMAND,
     .commands = CLI_GENERATE, .help = "text to continue (--unit ids: token numbers)"},
    {TEXT("prompts", use.prompts, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "continue every line of a file (-: standard input) as the lines come; prints a line of JSON for each, with prompt and text"},
    {BOOL("interactive", use.interactive), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "continue each line that you type; /help lists what else can be typed"},
    {INT("context", data.context, 0, 67108864), .fallback = "0", .shown = "4096, or the model's positions if they are fewer",
     .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "interactive: how many tokens of the conversation the model sees; when the limit is reached, the older half is "
             "dropped"},
    {INT("longest", use.longest, 0, 67108864), .fallback = "0", .shown = "16384 if each token reads all others, else 0: any",
     .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE | CLI_CLASSIFY | CLI_TAG | CLI_TRANSLATE | CLI_EMBED,
     .help = "refuse a line or prompt of more than N tokens; the time for a line grows with the square of its length where each token "
             "reads all others"},
    {INT("batch", use.batch, 1, 65536), .fallback = "16", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "number of prompts of the file that are decoded together; more are faster and take more memory"},
    {CHOICE("weights", use.weights, bpt_weights_names), .fallback = "f32", .group = CLI_GROUP_COMMAND,
     .commands = USE | CLI_EXPORT | CLI_BENCH,
     .help = "q8: matrices as numbers of 8 bits, each 32 neighbours of a row with a scale, which loses little. export writes them so, in "
             "a quarter of the size; other commands round the weights of any model to them. On the cpu, writing texts then reads a byte a "
             "weight, which is faster; GPUs compute with what the bytes stand for, at the speed and in the memory of f32"},
    {INT("max-tokens", use.max_tokens, 1, MAX_INT32), .fallback = "256", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "largest number of tokens to generate"},
    {INT("min-tokens", use.min_tokens, 0, MAX_INT32), .fallback = "0", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE | CLI_TRANSLATE,
     .help = "stop texts are looked for behind the first N tokens only"},
    {INT("no-repeat", use.no_repeat, 0, MAX_INT32), .fallback = "0", .shown = "0, they may", .group = CLI_GROUP_COMMAND,
     .commands = CLI_GENERATE | CLI_TRANSLATE,
     .help = "never choose a token by which N tokens side by side would come a second time, those of the prompt included"},
    {TEXTS("stop", use.stop, "TEXT"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "stop before this text, which is not printed; may be given several times"},
    {REAL("temperature", use.temperature, 0, 1e3), .fallback = "1", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "divide the logits by this: values below 1 make likely tokens likelier, values above 1 less likely; 0: always "
             "take the most likely token"},
    {INT("top-k", use.top_k, 0, MAX_INT32), .fallback = "0", .shown = "0, all", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "choose among the N most likely tokens only"},
    {REAL("top-p", use.top_p, 0, 1), .open_min = true, .fallback = "1", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "choose among the most likely tokens that together have this probability (nucleus sampling)"},
    {REAL("min-p", use.min_p, 0, 1), .fallback = "0", .shown = "0, all", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "choose among the tokens that have at least X times the probability of the most likely one"},
    {REAL("repeat-penalty", use.repeat_penalty, 0, 1e3), .open_min = true, .fallback = "1", .shown = "1, none", .group = CLI_GROUP_COMMAND,
     .commands = CLI_GENERATE,
     .help = "make tokens of the repeat window less likely: a positive logit is divided by X, a negative one multiplied"},
    {INT("repeat-window", use.repeat_window, 0, MAX_INT32), .fallback = "64", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "how many of the last tokens --repeat-penalty looks at, those of the prompt included; 0: all"},
    {BOOL("echo", use.echo), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE, .help = "print the prompt too"},
    {TEXT("logits-out", use.logits, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_GENERATE,
     .help = "write a JSON list with the logits that each token was chosen from, before any penalty"},
    {BOOL("with-input", use.with_input), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_CLASSIFY | CLI_TAG,
     .help = "with --json: also print the input line, as \"text\"; tag: and the list of its tokens, as \"tokens\""},
    {CHOICE("tag-scheme", use.tag_scheme, LIST("keep", "iob1", "iob2", "bioes", "bilou", "bmes", "data")), .fallback = "keep",
     .group = CLI_GROUP_COMMAND, .commands = CLI_TAG,
     .help = "convert tags of spans to this scheme; data: to that of the data, where the model was trained with another"},

    {CHOICE("pool", use.pool, bpt_embedding_names), .fallback = "text", .shown = "text, or mean where the model has no state of texts",
     .group = CLI_GROUP_COMMAND, .commands = CLI_EMBED,
     .help = "the vector of a text: what the model's head reads of it (text), the mean or the largest of its tokens' states (mean, max), "
             "that of its first or last token (first, last), of the root of its tree (root), of the relay node (relay)"},
    {BOOL("per-token", use.per_token), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_EMBED,
     .help = "the states of all tokens, with offsets: those of text i are rows offsets[i] .. offsets[i + 1] - 1; .safetensors only"},
    {TEXT("out", use.file, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EMBED,
     .help = "file to write: NAME.npy, or NAME.safetensors with the tensor embeddings"},
    {INT("beam", use.beam, 1, 1024), .fallback = "5", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "number of translations of a line that are followed at the same time; 1: always the most likely token"},
    {REAL("length-penalty", use.length_penalty, 0, 100), .fallback = "1", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "a translation of n tokens with log-probability p has the score p / n^X; 0 prefers short ones"},
    {REAL("max-length-a", use.max_length_a, 0, 1000), .fallback = "1.2", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "a translation has at most a times as many tokens as its line, plus b, and never more than 512"},
    {INT("max-length-b", use.max_length_b, 0, 512), .fallback = "10", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "see --max-length-a"},
    {INT("n-best", use.n_best, 0, 1024), .fallback = "0", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "print the N best translations of each line that the search has found, at most --beam of them, with their scores: lines of "
             "NUMBER<TAB>SCORE<TAB>TEXT, where NUMBER is that of the line, from 1; 0: only the best, without its score"},
    {BOOL("no-unk", use.no_unk), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "never write the sign for an unknown token"},
    {INT("average", use.average, 1, 1000000), .fallback = "1", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "use the mean of the weights of the N checkpoints with the highest steps, see `bpt average`; 1: one checkpoint"},
    {TEXT("trees-file", use.trees_file, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .shown = "the text's name and .ptb",
     .help = "tree: the trees over the lines of the text, in brackets: tree N for line N, over as many lines as it needs"},
    {TEXT("scores-out", use.scores, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_TRANSLATE,
     .help = "write the score of each translation, one a line; an empty line for an empty one; also of the lines "
             "before one that cannot be translated"},

    // ---- graph
    {INT("n", tool.n, 1, 67108864), .fallback = "16", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "number of leaves (tokens)"},
    {TEXT("tree", tool.tree, "TREE"), .fallback = "", .shown = "a balanced one of n words", .group = CLI_GROUP_COMMAND,
     .commands = CLI_GRAPH, .when = "model=tree", .help = "tree: the tree, in brackets: '(S (NP a b) c)'"},
    {CHOICE("format", tool.format, LIST("csv", "text", "svg")), .fallback = "csv", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "edge list, readable ranges, or a picture of the adjacency matrix"},

    // ---- bench
    {TEXT("n", tool.lengths, "N,N.."), .fallback = "8192", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "sequence lengths to measure"},
    {TEXT("k", tool.ks, "K,K.."), .fallback = "4", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "bpt: nodes that a token attends to on each level and on each side; several values may be given"},
    {TEXT("beam", tool.beams, "K,K.."), .fallback = "1,5", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "translate: translations of a text that are followed at the same time; several values may be given"},
    {CHOICE("trees", tool.trees, &bpt_trees_names[BPT_TREES_BALANCED]), .fallback = "balanced", .group = CLI_GROUP_COMMAND,
     .commands = CLI_BENCH, .when = "model=tree",
     .help = "tree: the tree over each sequence is balanced, a chain with all branches to the right, or flat (all tokens below one node)"},
    {INT("tokens", tool.n, 1, 67108864), .fallback = "8192", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "number of tokens (leaves) in a batch; a batch has at least one sequence"},
    {TEXT("ranks", tool.ranks, "N,N.."), .fallback = "1,2,4,8,16,64,256,1024", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "cluster: numbers of devices, each on a connection of its own"},
    {REAL("bandwidth", tool.bandwidth, 1e-3, 1e5), .fallback = "12.5", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "cluster: what a connection carries in each direction, in GB a second (12.5 is 100 Gbit/s)"},
    {REAL("latency", tool.latency, 0, 1e6), .fallback = "5", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "cluster: what a message takes besides, in microseconds"},
    {INT("repeat", tool.repeat, 1, 1000), .fallback = "5", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "number of timed runs, after one untimed run; medians are printed"},
    {TEXT("trace", tool.trace, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH, .shown = "none",
     .help = "train: write when the device is at which op and kernel of a step, as JSON for Perfetto or chrome://tracing"},
    {BOOL("ops", tool.ops), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_BENCH,
     .help = "train: the ops of the step as lines for `bpt bench op`, how often each occurs, and its time"},

    // ---- tune
    {INT("seconds", tool.seconds, 1, 86400), .fallback = "60", .group = CLI_GROUP_COMMAND, .commands = CLI_TUNE,
     .help = "longest time to spend on measurements, in seconds"},
    {BOOL("reset", tool.reset), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_TUNE,
     .help = "delete what was recorded for the device, so that the built-in rule applies again"},

    // ---- plot
    {TEXT("out", use.file, "FILE"), .fallback = "", .writes = true, .shown = "standard output, as SVG", .group = CLI_GROUP_COMMAND,
     .commands = CLI_PLOT, .help = "file to write: .svg, or .png (needs rsvg-convert)"},
    {TEXT("x", tool.x, "KEY"), .fallback = "", .shown = "step; with --from: n", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "what the x axis shows: step, epoch, tokens or seconds; with --from a key of its lines"},
    {TEXT("y", tool.y, "KEY"), .fallback = "", .shown = "loss and throughput; with --from: tokens_per_s", .group = CLI_GROUP_COMMAND,
     .commands = CLI_PLOT, .help = "what the y axis shows: loss, or a metric of evaluations such as f1; with --from a key of its lines"},
    {TEXT("from", tool.from, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "draw lines of JSON (bpt bench --json, bpt eval --json; - reads standard input) in place of runs"},
    {TEXT("by", tool.by, "KEY,KEY.."), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "with --from: a curve for each value of these keys"},
    {BOOL("confusion", tool.confusion), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "with --from: draw which label was given in place of which, of the first line that bpt eval --json wrote"},
    {BOOL("log-x", tool.log_x), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT, .help = "x axis in powers of ten"},
    {BOOL("log-y", tool.log_y), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT, .help = "y axis in powers of ten"},
    {BOOL("zoom", tool.zoom), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "with --from: the y axis begins at the smallest value instead of at 0"},
    {INT("width", tool.width, 320, 8192), .fallback = "960", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "width of the picture in pixels"},
    {INT("height", tool.height, 240, 8192), .fallback = "720", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "height of the picture in pixels"},

    // ---- export, import
    {TEXT("out", use.file, "FILE"), .fallback = "", .writes = true, .group = CLI_GROUP_COMMAND, .commands = CLI_EXPORT,
     .help = "safetensors file to write; with --format hf the folder"},
    {CHOICE("format", tool.format, LIST("safetensors", "hf")), .fallback = "safetensors", .group = CLI_GROUP_COMMAND,
     .commands = CLI_EXPORT,
     .help = "what is written: one file, or a folder that Hugging Face's transformers loads (AutoModelForCausalLM and its like)"},
    {TEXT("out", use.file, "RUN"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_IMPORT, .help = "run directory to create"},
    {BOOL("allow-non-finite", use.allow_non_finite), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_IMPORT,
     .help = "accept weights that are infinite or not a number"},

    // ---- bleu
    {TEXTS("ref", use.references, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "reference translations, one segment a line; may be given several times"},
    {TEXT("metrics", tool.metrics, "LIST"), .fallback = "bleu", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "what is computed, separated by commas: bleu, chrf (chrF2), ter"},
    {CHOICE("tokenize", tool.tokenizer, bpt_bleu_tokenizer_names), .fallback = "13a", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help =
         "bleu: how words are found: at blanks only (none, for text that is tokenised), by the rules of WMT (13a), at all punctuation and "
         "symbols of Unicode (intl), every character (char), or Chinese characters and the rules of WMT (zh)"},
    {BOOL("lowercase", tool.lowercase), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "compare in lower case; ter always does"},
    {INT("width", tool.width, 0, 17), .fallback = "1", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "number of decimals of the score"},
    {BOOL("paired-bs", tool.paired), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "test whether each system differs from the first one by more than chance, by paired bootstrap resampling"},
    {INT("paired-bs-n", tool.samples, 1, 1000000), .fallback = "1000", .group = CLI_GROUP_COMMAND, .commands = CLI_BLEU,
     .help = "number of its samples; --seed draws others"},

    // ---- average
    {TEXT("out", use.file, "RUN"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_AVERAGE, .help = "run directory to create"},
    {INT("last", tool.last, 1, 1000000), .open = true, .fallback = "0", .shown = "none, it must be given", .group = CLI_GROUP_COMMAND,
     .commands = CLI_AVERAGE, .help = "number of checkpoints, those with the highest steps"},

    // ---- help
    {BOOL("man", use.man), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_HELP, .help = "print the manual page (roff)"},
    {BOOL("completion", use.completion), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_HELP,
     .help = "print the completion script of a shell"},
    {CHOICE("shell", use.shell, cli_shell_names), .fallback = "bash", .group = CLI_GROUP_COMMAND, .commands = CLI_HELP,
     .help = "whose completion script --completion prints"},

    {BOOL("json", use.json), .fallback = "no", .group = CLI_GROUP_COMMAND,
     .commands =
         CLI_DEVICES | CLI_EVAL | CLI_CLASSIFY | CLI_TAG | CLI_TRANSLATE | CLI_BLEU | CLI_BENCH | CLI_PRESETS | CLI_DOCTOR | CLI_INFO,
     .help = "machine-readable output"},
    {BOOL("compile", tool.compile), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_DOCTOR,
     .help = "compile every kernel and say what it takes of the device; nothing runs. --device may name a GPU that is not here"},

    {TEXT("kernels", tool.kernels, "NAME"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_DOCTOR,
     .help = "with --compile or --ledger: only kernels whose name begins so"},
    {TEXT("ledger", tool.ledger, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_DOCTOR,
     .help = "compare the kernels with this file, the ledger of the repository, and say what changed; with --compile also what compilers "
             "say of them. --device names one of its GPUs"},
    {BOOL("renew", tool.renew), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_DOCTOR,
     .help = "write the ledger, as kernels are compiled; only those that changed are"},
    {BOOL("admit", tool.admit), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_DOCTOR,
     .help = "with --renew: kernels may break the limits of registers and local memory as they do now; the ledger lists them"},

    // ---- global
    {TEXT("backend", global.backend, "NAME"), .choices = backend_names, .fallback = "auto", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .resumable = true,
     .help =
         "which backend computes; it is an error if it cannot be used. auto: the first of them that has a usable discrete GPU, else the "
         "cpu"},
    {TEXT("device", global.device, "N|NAME|PCI"), .fallback = "", .shown = "the first usable one", .group = CLI_GROUP_GLOBAL,
     .commands = CLI_ALL, .key = true, .resumable = true,
     .help = "device of the backend: its number, its place on the PCI bus or a part of its name, see `bpt devices`"},
    {CHOICE("precision", train.precision, bpt_precision_names), .fallback = "f32", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .help = "number type of stored activations and of the operands of matrix products; sums are always f32"},
    {INT("seed", train.seed, 0, MAX_COUNT), .fallback = "1", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .key = true, .file = true,
     .help = "seed of all random numbers: initial weights, order of the data, dropout, sampling"},
    {INT("threads", global.threads, 0, 4096), .fallback = "0", .shown = "0, all fast cores", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .resumable = true, .help = "number of threads of the cpu backend"},
    {REAL("submit-ms", global.submit_ms, 0, 10000), .fallback = "0", .shown = "0, by kind of device", .group = CLI_GROUP_GLOBAL,
     .commands = CLI_ALL, .key = true, .resumable = true,
     .help = "longest piece of work to give a GPU at once, in milliseconds; lower it where the driver resets the device because it takes "
             "too long"},
    {REAL("max-mem", global.max_mem_mib, 0, 1e9), .fallback = "0", .shown = "0, all", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .resumable = true, .help = "how much memory of the GPU may be used, in MiB"},
    {BOOL("quiet", global.quiet), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .help = "print no progress and no notes on stderr"},
    {BOOL("verbose", global.verbose), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .help = "print more notes on stderr"},
    {BOOL("help", global.help), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .help = "print help and exit"},
    {BOOL("version", global.version), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .help = "print the version and exit"},
};

const int cli_option_count = BPT_COUNT(cli_option_table);
_Static_assert(BPT_COUNT(cli_option_table) <= CLI_MAX_OPTIONS, "raise CLI_MAX_OPTIONS");

// Further commands that take an option of the table, and what is different there.
const cli_variant_t cli_option_variants[] = {
    {"data", CLI_EVAL, .shown = "the data of the run",
     .help = "files, - for standard input, or directories with train, valid and test files"},
    {"unit", USE, .shown = "as trained", .help = "what a token is; ids: every line of the input is a sequence of token numbers"},
    {"text-column", CLI_TAG | CLI_EMBED, .shown = "as trained", .help = "--format conll: column of the token"},
    {"batch-tokens", CLI_EVAL | CLI_CLASSIFY | CLI_TAG | CLI_EMBED, .fallback = "8192", .help = "number of tokens in one batch"},
    {"format", CLI_TRANSLATE,
     .help =
         "how the file is written; text: a text a line; jsonl: an object a line, csv: cells between commas, of which the field --source "
         "is the text; auto: as its name says, else text"},
    {"source", CLI_TRANSLATE, .shown = "as trained", .help = "--format jsonl, csv: field or column of the text"},
    {"protocol", CLI_EVAL, .shown = "as trained"},
    {"eval-context", CLI_EVAL, .shown = "as trained"},
    {"model", CLI_BENCH},
    {"preset", CLI_BENCH,
     .help = "train --ops: the ops of a step of this preset (`bpt presets`), with --tokens tokens; it is compiled and does not run"},
    {"model", CLI_GRAPH, .help = "model whose attention graph is shown"},
    {"k", CLI_GRAPH},
    {"causal", CLI_GRAPH, .fallback = "no"},
    {"rule", CLI_GRAPH},
    {"span-self", CLI_GRAPH},
    {"ring", CLI_GRAPH},
    {"radical", CLI_GRAPH},
    {"subtree-mask", CLI_GRAPH},
    {"rel-levels", CLI_GRAPH, .shown = "by --n", .help = "number of tree levels that have relative position embeddings of their own"},
    {"attention", CLI_GRAPH},
    {"window", CLI_GRAPH},
    {"stride", CLI_GRAPH, .fallback = "0", .shown = "128", .help = "transformer: number of leaves (tokens) in a block of sparse attention"},
    {"tail", CLI_GRAPH},
    {"layers", CLI_BENCH, .fallback = "6"},
    {"d-model", CLI_BENCH, .fallback = "512"},
    {"d-ff", CLI_BENCH, .fallback = "2048"},
    {"heads", CLI_BENCH, .fallback = "8"},
    {"norm", CLI_BENCH},
    {"ffn", CLI_BENCH},
    {"optimizer", CLI_BENCH},
    {"head-dim", CLI_BENCH},
    {"ring", CLI_BENCH},
    {"radical", CLI_BENCH},
    {"up-norm", CLI_BENCH},
    {"hier-embed", CLI_BENCH},
    {"vertical-max", CLI_BENCH},
    {"horizontal-max", CLI_BENCH},
    {"subtree-mask", CLI_BENCH},
    {"recompute", CLI_BENCH},
    {"half-inputs", CLI_BENCH},
    {"offload", CLI_BENCH},
    {"accumulate", CLI_BENCH, .help = "cluster: micro-batches of each device in a step"},
    {"n-best", CLI_TAG,
     .help = "print the N best sequences of tags of each sentence with their log-probabilities: a line `# tags N LOG-PROBABILITY` before "
             "each; 0: only the best"},
    {"min-tokens", CLI_TRANSLATE, .help = "a translation does not end before it has N tokens, unless --max-length-a and -b end it"},
    {"no-repeat", CLI_TRANSLATE, .help = "a translation never has N tokens side by side twice; where it has nothing left it ends"},
    {"batch", CLI_TRANSLATE, .help = "number of lines that are translated together; more are faster and take more memory"},
    {"batch", CLI_BENCH, .fallback = "1", .help = "decode, translate: number of texts that are decoded together"},
    {"seed", CLI_BLEU, .fallback = "12345", .help = "seed of the samples of --paired-bs, drawn as NumPy and sacreBLEU draw them"},
    {"dry-run", CLI_TUNE, .help = "measure and print the results, but record nothing"},
    {NULL, 0},
};
