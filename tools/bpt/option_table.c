// The option table: every option of every command, in the order in which --help shows them.
#include "models/config_names.h"
#include "tools/bpt/options.h"

#define AT(member) .offset = offsetof(cli_options_t, member), .size = sizeof(((cli_options_t *)0)->member)
#define BOOL(name_, member) .name = name_, .type = CLI_BOOL, AT(member)
#define INT(name_, member, min_, max_) .name = name_, .type = CLI_INT, AT(member), .min = min_, .max = max_, .metavar = "N"
#define REAL(name_, member, min_, max_) .name = name_, .type = CLI_REAL, AT(member), .min = min_, .max = max_, .metavar = "X"
#define TEXT(name_, member, metavar_) .name = name_, .type = CLI_TEXT, AT(member), .metavar = metavar_
#define CHOICE(name_, member, choices_) .name = name_, .type = CLI_CHOICE, AT(member), .choices = choices_
#define LIST(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

// Where models are used: their shape comes from the run.
#define USE (CLI_EVAL | CLI_GENERATE | CLI_CLASSIFY)
#define MAX_COUNT 9007199254740992.0  // 2^53: exact as a double and in JSON
#define MAX_INT32 2147483647.0

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

const cli_option_t cli_option_table[] = {
    // ---- train: task and run
    {CHOICE("task", model.task, bpt_task_names), .fallback = "lm", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN, .key = true,
     .help = "what to learn: a language model or a text classifier"},
    {CHOICE("model", model.model, bpt_model_names), .fallback = "bpt", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN | CLI_BENCH,
     .key = true, .help = "BP-Transformer, SegTree-Transformer or a plain Transformer"},
    {TEXT("data", data.path, "PATH"), .fallback = "", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN, .key = true,
     .help = "directory with train, valid and test files, or one file that is split 90/5/5"},
    {TEXT("preset", run.preset, "NAME"), .fallback = "", .group = CLI_GROUP_TASK, .commands = CLI_TRAIN, .key = true,
     .help = "start from the settings of a paper (list below); other options override it"},

    {TEXT("out", run.out, "RUN"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .help = "run directory to write"},
    {BOOL("resume", run.resume), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "go on with the run in --out; only lengths, cadences, --threads, --backend and --device may change"},
    {TEXT("init", run.init, "RUN"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN, .key = true,
     .help = "start from the weights of another run of the same shape"},
    {TEXT("config", run.config, "FILE"), .fallback = "", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "read options from a JSON file (keys are option names with _ for -); flags win over it"},
    {BOOL("print-config", run.print_config), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "print the resolved configuration as JSON and exit"},
    {BOOL("dry-run", run.dry_run), .fallback = "no", .group = CLI_GROUP_RUN, .commands = CLI_TRAIN,
     .help = "print parameters, memory plan and number of steps, and exit"},

    // ---- data
    {CHOICE("unit", data.unit, LIST("byte", "char", "word", "ids")), .fallback = "byte", .shown = "byte for lm, word for classify",
     .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "what a token is: byte, code point, blank-separated word, or number"},
    {BOOL("lower", data.lower), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "fold upper case to lower case"},
    {BOOL("subtrees", data.subtrees), .fallback = "no", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "classify, labelled brackets: every phrase of a training tree is an example"},
    {TEXT("vectors", data.vectors, "FILE"), .fallback = "", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "word vectors (GloVe or word2vec text) for the embedding; words without one get zeros"},
    {CHOICE("vocab-scope", data.vocab_scope, LIST("train", "all")), .fallback = "train", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .help = "which files the vocabulary comes from"},
    {INT("context", data.context, 1, 67108864), .fallback = "512", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "lm: leaves of a training window (n inputs, n targets)"},
    {INT("stride", data.stride, 0, 67108864), .fallback = "0", .shown = "the context", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN,
     .key = true, .help = "lm: how far the training window moves"},
    {INT("max-length", data.max_length, 0, 67108864), .fallback = "0", .shown = "0, no limit", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true, .help = "classify: refuse texts of more than N tokens; 0 takes all"},
    {INT("batch-tokens", data.batch_tokens, 1, MAX_COUNT), .fallback = "8192", .group = CLI_GROUP_DATA, .commands = CLI_TRAIN, .key = true,
     .help = "real leaves of one micro-batch"},
    {INT("batch-examples", data.batch_examples, 0, MAX_COUNT), .fallback = "0", .shown = "0, no limit", .group = CLI_GROUP_DATA,
     .commands = CLI_TRAIN, .key = true, .help = "classify: largest number of examples of one optimiser step"},

    // ---- model
    {INT("layers", model.layers, 1, 1024), .fallback = "4", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .help = "number of layers"},
    {INT("d-model", model.d_model, 1, 65536), .fallback = "256", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .help = "width of the model"},
    {INT("d-embed", model.d_embed, 0, 65536), .fallback = "0", .shown = "width of the vectors, else d-model", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN, .key = true, .help = "width of the token embedding"},
    {INT("d-ff", model.d_ff, 0, 1048576), .fallback = "0", .shown = "4 x d-model", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN,
     .key = true, .help = "width of the feed-forward layer"},
    {INT("heads", model.heads, 1, 1024), .fallback = "4", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .help = "attention heads"},
    {INT("k", model.k, 1, 65536), .fallback = "4", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .help = "bpt: context nodes per level and side"},
    {BOOL("causal", model.causal), .fallback = "no", .shown = "yes for lm, no for classify", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN, .key = true, .help = "read to the left only"},
    {CHOICE("rule", model.reference_rule, bpt_rule_names), .fallback = "paper", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN,
     .key = true, .help = "bpt: contextual edges of the paper's text or of the released code"},
    {INT("rel-levels", model.rel_levels, 0, 65536), .fallback = "0", .shown = "by the longest training input", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN, .key = true, .help = "levels with relative positions of their own (transformer: largest distance)"},
    {CHOICE("attention", model.attention, bpt_attention_names), .fallback = "dense", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN | CLI_GRAPH, .key = true, .help = "transformer: every token, or those within --window"},
    {INT("window", model.window, 1, 67108864), .fallback = "128", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN | CLI_GRAPH, .key = true,
     .help = "transformer: largest distance of window attention"},
    {CHOICE("positions", model.positions, bpt_positions_names), .fallback = "relative", .shown = "absolute for transformer",
     .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true, .help = "how positions enter the model"},
    {INT("max-positions", model.max_positions, 0, 67108864), .fallback = "0", .shown = "by the contexts", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN, .key = true, .help = "rows of the absolute position table: the longest input ever"},
    {BOOL("tied", model.tied), .fallback = "no", .shown = "yes for lm where d-embed is d-model", .group = CLI_GROUP_MODEL,
     .commands = CLI_TRAIN, .key = true, .help = "the output layer shares the embedding's matrix"},
    {INT("vocab", model.vocab, 0, 4294967295.0), .fallback = "0", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .no_flag = true, .help = "number of tokens, found from the data"},
    {INT("classes", model.classes, 0, 4294967295.0), .fallback = "0", .group = CLI_GROUP_MODEL, .commands = CLI_TRAIN, .key = true,
     .no_flag = true, .help = "number of labels, found from the data"},

    // ---- regularisation
    {REAL("dropout-input", model.dropout_input, 0, 1), .open_max = true, .fallback = "0.1", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .help = "dropout of the embeddings"},
    {REAL("dropout-hidden", model.dropout_hidden, 0, 1), .open_max = true, .fallback = "0.1", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .help = "dropout inside and after the layers' two halves"},
    {REAL("dropout-attention", model.dropout_attention, 0, 1), .open_max = true, .fallback = "0.1", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .help = "dropout of the attention weights"},
    {REAL("dropout-head", model.dropout_head, 0, 1), .open_max = true, .fallback = "0.1", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN,
     .key = true, .help = "dropout in front of the output layer"},
    {REAL("weight-decay", train.weight_decay, 0, 1e3), .fallback = "0", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .help = "L2 on weights, not on biases and LayerNorm (adamw: decoupled)"},
    {BOOL("freeze-embed", train.freeze_embed), .fallback = "no", .shown = "yes with --vectors", .group = CLI_GROUP_REGULAR,
     .commands = CLI_TRAIN, .key = true, .help = "do not train the embedding"},
    {BOOL("freeze-rel", train.freeze_rel), .fallback = "no", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .help = "do not train relative positions (as the released classifiers do by accident)"},
    {BOOL("deep-supervision", train.deep_supervision), .fallback = "no", .group = CLI_GROUP_REGULAR, .commands = CLI_TRAIN, .key = true,
     .help = "lm: average the losses of the upper layers, fewer every epoch"},

    // ---- optimiser
    {CHOICE("optimizer", train.optimizer, bpt_optimizer_names), .fallback = "adam", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "optimisation method"},
    {REAL("lr", train.lr, 0, 1e6), .fallback = "0.001", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "peak learning rate"},
    {CHOICE("schedule", train.schedule, bpt_schedule_names), .fallback = "cosine", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "how the learning rate changes"},
    {INT("warmup", train.warmup, 0, MAX_COUNT), .fallback = "100", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "steps of linear warm-up"},
    {REAL("lr-decay", train.lr_decay, 0, 1), .open_min = true, .fallback = "0.5", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "exponential: factor per epoch; plateau: factor at an evaluation without progress"},
    {REAL("lr-factor", train.lr_factor, 0, 1e6), .open_min = true, .fallback = "1", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "noam: lr = factor / sqrt(d) * min(step^-1/2, step * warmup^-3/2)"},
    {REAL("beta1", train.beta1, 0, 1), .open_max = true, .fallback = "0.9", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "decay of Adam's first moment"},
    {REAL("beta2", train.beta2, 0, 1), .open_max = true, .fallback = "0.98", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN,
     .key = true, .help = "decay of Adam's second moment"},
    {REAL("eps", train.eps, 0, 1), .open_min = true, .fallback = "1e-8", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "Adam's epsilon"},
    {REAL("clip", train.clip, 0, 1e6), .fallback = "0.25", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "largest norm of the gradient, 0 = no clipping"},
    {INT("accumulate", train.accumulate, 1, 1000000), .fallback = "1", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "micro-batches of one optimiser step"},
    {BOOL("recompute", train.recompute), .fallback = "no", .group = CLI_GROUP_OPTIMISER, .commands = CLI_TRAIN, .key = true,
     .help = "recompute a layer's activations in the backward pass: less memory, a third more work"},

    // ---- length, evaluation, checkpoints
    {INT("steps", train.steps, 0, MAX_COUNT), .fallback = "0", .shown = "by --epochs", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN,
     .key = true, .resumable = true, .help = "optimiser steps: the horizon of the schedule"},
    {REAL("epochs", train.epochs, 0, 1e9), .fallback = "0", .shown = "1 without --steps", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN,
     .key = true, .help = "passes over the training data, when --steps is not given"},
    {INT("stop-at", train.stop_at, 0, MAX_COUNT), .fallback = "0", .shown = "0, at the end", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .resumable = true, .help = "stop after this step; the schedule keeps its horizon"},
    {INT("eval-every", train.eval_every, 0, MAX_COUNT), .fallback = "0", .shown = "0, after every epoch", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .resumable = true, .help = "steps between evaluations on the validation data"},
    {INT("save-every", train.save_every, 0, MAX_COUNT), .fallback = "0", .shown = "0, with every evaluation", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .resumable = true, .help = "steps between checkpoints"},
    {INT("log-every", train.log_every, 1, MAX_COUNT), .fallback = "10", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true,
     .resumable = true, .help = "steps between lines of metrics.jsonl"},
    {INT("keep", train.keep, 0, 1000000), .fallback = "2", .group = CLI_GROUP_LENGTH, .commands = CLI_TRAIN, .key = true, .resumable = true,
     .help = "older checkpoints to keep besides `latest` and `best`"},
    {CHOICE("protocol", data.protocol, LIST("chunks", "half", "released")), .fallback = "chunks", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .help = "lm evaluation: disjoint chunks, second halves of overlapping windows, or as released"},
    {INT("eval-context", data.eval_context, 0, 67108864), .fallback = "0", .shown = "the training context", .group = CLI_GROUP_LENGTH,
     .commands = CLI_TRAIN, .key = true, .help = "lm: leaves of an evaluation window"},

    // ---- eval, generate, classify
    {TEXT("data", data.path, "PATH"), .fallback = "", .shown = "the data of the run", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "a file, or a directory with train, valid and test files"},
    {CHOICE("split", data.part, LIST("train", "valid", "test")), .fallback = "test", .shown = "test; a file named by --data is used whole",
     .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL, .help = "which part of the data"},
    {CHOICE("unit", data.unit, LIST("byte", "char", "word", "ids")), .fallback = "byte", .shown = "as trained", .group = CLI_GROUP_COMMAND,
     .commands = USE, .help = "what a token is; ids: every line is a sequence of token numbers"},
    {CHOICE("protocol", data.protocol, LIST("chunks", "half", "released")), .fallback = "chunks", .shown = "as trained",
     .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL, .help = "lm: disjoint chunks, second halves of overlapping windows, or as released"},
    {INT("eval-context", data.eval_context, 0, 67108864), .fallback = "0", .shown = "as trained", .group = CLI_GROUP_COMMAND,
     .commands = CLI_EVAL, .help = "lm: leaves of a window"},
    {INT("batch-tokens", data.batch_tokens, 1, MAX_COUNT), .fallback = "8192", .group = CLI_GROUP_COMMAND,
     .commands = CLI_EVAL | CLI_CLASSIFY, .help = "leaves of one batch"},
    {TEXT("checkpoint", use.checkpoint, "N|latest|best"), .fallback = "", .shown = "best, else latest", .group = CLI_GROUP_COMMAND,
     .commands = USE | CLI_EXPORT, .help = "which checkpoint of the run"},
    {TEXT("nll-out", use.nll, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "write a JSON list: the negative log-likelihood of every scored token or example"},
    {TEXT("grad-out", use.grad, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_EVAL,
     .help = "write the gradient of the mean loss as safetensors"},

    // ---- graph
    {CHOICE("model", model.model, bpt_model_names), .fallback = "bpt", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "whose attention graph"},
    {INT("n", tool.n, 1, 67108864), .fallback = "16", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH, .help = "leaves"},
    {INT("k", model.k, 1, 65536), .fallback = "4", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "bpt: context nodes per level and side"},
    {BOOL("causal", model.causal), .fallback = "no", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH, .help = "left side only"},
    {CHOICE("rule", model.reference_rule, bpt_rule_names), .fallback = "paper", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "bpt: contextual edges of the paper's text or of the released code"},
    {INT("rel-levels", model.rel_levels, 0, 65536), .fallback = "0", .shown = "by --n", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "levels with rows of their own in the table of relative positions"},
    {CHOICE("format", tool.graph_format, LIST("csv", "text", "svg")), .fallback = "csv", .group = CLI_GROUP_COMMAND, .commands = CLI_GRAPH,
     .help = "edge list, readable ranges, or a picture of the adjacency matrix"},

    // ---- plot
    {TEXT("out", use.file, "FILE"), .fallback = "", .shown = "standard output, as SVG", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "file to write: .svg, or .png through rsvg-convert"},
    {INT("width", tool.width, 320, 8192), .fallback = "960", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "width of the picture"},
    {INT("height", tool.height, 240, 8192), .fallback = "720", .group = CLI_GROUP_COMMAND, .commands = CLI_PLOT,
     .help = "height of the picture"},

    // ---- export, import
    {TEXT("out", use.file, "FILE"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_EXPORT,
     .help = "safetensors file to write"},
    {TEXT("out", use.file, "RUN"), .fallback = "", .group = CLI_GROUP_COMMAND, .commands = CLI_IMPORT, .help = "run directory to make"},

    {BOOL("json", use.json), .fallback = "no", .group = CLI_GROUP_COMMAND,
     .commands = CLI_DEVICES | CLI_EVAL | CLI_CLASSIFY | CLI_BENCH | CLI_PRESETS, .help = "machine-readable output"},

    // ---- global
    {TEXT("backend", global.backend, "NAME"), .choices = LIST("auto", "cpu", "opencl", "vulkan", "cuda", "ref"), .fallback = "auto",
     .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .key = true, .resumable = true, .help = "a promise: this backend or an error"},
    {TEXT("device", global.device, "N|NAME"), .fallback = "", .shown = "the first usable one", .group = CLI_GROUP_GLOBAL,
     .commands = CLI_ALL, .key = true, .resumable = true, .help = "device of the backend, see `bpt devices`"},
    {CHOICE("precision", train.precision, bpt_precision_names), .fallback = "f32", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .help = "storage of activations and operands of products"},
    {INT("seed", train.seed, 0, MAX_COUNT), .fallback = "1", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .key = true,
     .help = "everything random is a function of it"},
    {INT("threads", global.threads, 0, 4096), .fallback = "0", .shown = "0, all cores", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .key = true, .resumable = true, .help = "threads of the cpu backend"},
    {BOOL("quiet", global.quiet), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .help = "no progress and no remarks on stderr"},
    {BOOL("verbose", global.verbose), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .help = "more remarks on stderr"},
    {BOOL("help", global.help), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL, .help = "print help and exit"},
    {BOOL("version", global.version), .fallback = "no", .group = CLI_GROUP_GLOBAL, .commands = CLI_ALL,
     .help = "print the version and exit"},
};

const int cli_option_count = BPT_COUNT(cli_option_table);
_Static_assert(BPT_COUNT(cli_option_table) <= CLI_MAX_OPTIONS, "raise CLI_MAX_OPTIONS");
