// What follows from other options: presets and config files in their order, values left open, combinations that cannot be.
// Knows no command but `train`, whose configuration this is.
#include <stdlib.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "models/config/config_json.h"
#include "models/config/config_keys.h"
#include "models/config/config_names.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"
#include "models/train/schedule.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/subwords.h"

// The rate of --word-dropout: that of Kiperwasser and Goldberg 2016.
#define DROPPED_WORDS 0.25

// A run goes on from any directory, so its paths must not depend on one. A path that leads nowhere stays: its reader reports it.
static bpt_status_t make_absolute(char **path) {
    if (!**path) return BPT_OK;
    char *absolute = realpath(*path, NULL);
    if (!absolute) return BPT_OK;
    char *copy;
    const bpt_status_t status = bpt_strdup(absolute, &copy);
    free(absolute);
    if (status != BPT_OK) return status;
    bpt_free(*path);
    *path = copy;
    return BPT_OK;
}

bpt_status_t cli_options_layer(cli_options_t *o) {
    if (*o->run.config) BPT_TRY(cli_options_from_file(o, o->run.config, CLI_FROM_FILE, true));
    if (*o->run.preset) BPT_TRY(cli_preset_apply(o, o->run.preset));
    for (size_t i = 0; i < o->data.paths.count; ++i) BPT_TRY(make_absolute(&o->data.paths.item[i]));
    for (size_t i = 0; i < o->data.vectors.count; ++i) BPT_TRY(make_absolute(&o->data.vectors.item[i]));
    if (strcmp(o->data.class_weights, "balanced")) BPT_TRY(make_absolute(&o->data.class_weights));
    BPT_TRY(make_absolute(&o->data.subword_model));
    return make_absolute(&o->run.init);
}

static bool open_choice(const cli_options_t *o, const char *name) { return cli_option_source(o, name) == CLI_FROM_DEFAULT; }

// Of --steps and --epochs the one that was said louder decides: a flag replaces both numbers of a preset. Equally loud, --steps
// is the length of training and --epochs that of deep supervision.
static void settle_length(cli_options_t *o) {
    const cli_source_t steps = cli_option_source(o, "steps"), epochs = cli_option_source(o, "epochs");
    if (steps > epochs && o->train.steps > 0) o->train.epochs = 0;
    if (epochs > steps && o->train.epochs > 0 && !o->run.resume) o->train.steps = 0;
}

void cli_options_fill_stride(cli_options_t *o) {
    const bpt_config_key_t *key = bpt_config_key_find("stride");
    const bool blocks = bpt_config_key_applies(key, &o->model);
    if (!o->data.stride) o->data.stride = blocks ? atoi(key->fallback) : o->data.context;
    o->model.stride = blocks ? (int32_t)o->data.stride : 0;
}

// Models whose targets are the text itself read all of its words, as published ones do. Beside word vectors there are words without one,
// from which a model learns of unknown words, and a trained model has learnt of them.
static bool drops_words(const cli_options_t *o) {
    return o->data.unit == BPT_UNIT_WORD && !bpt_task_of(&o->model)->predicts_text && !o->data.vectors.count && !*o->run.init;
}

static void fill_data(cli_options_t *o) {
    settle_length(o);
    if (open_choice(o, "unit")) o->data.unit = cli_reader_of(&o->model)->unit;
    if (open_choice(o, "word-dropout")) o->data.word_dropout = drops_words(o) ? DROPPED_WORDS : 0;
    cli_options_fill_stride(o);
    if (!o->data.eval_context) o->data.eval_context = o->data.context;
}

// Whether the embedding serves as the head as well.
static bool is_tied(const cli_options_t *o) {
    const bool sides = bpt_task_sides(bpt_task_of(&o->model)) > 1;
    return sides ? open_choice(o, "shared") || o->model.shared != BPT_SHARED_NONE : o->model.tied;
}

static bpt_status_t fill_model(cli_options_t *o) {
    bpt_model_config_t *m = &o->model;
    const bpt_task_spec_t *task = bpt_task_of(m);
    const cli_reader_t *reader = cli_reader_of(m);
    const bool vectors = o->data.vectors.count != 0;
    if (!m->d_ff) m->d_ff = bpt_model_default_d_ff(m);
    if (!m->dec_layers && bpt_task_sides(task) == 2) m->dec_layers = m->layers;
    if (!m->d_embed && !vectors) m->d_embed = m->d_model;  // with vectors: their width, when the file is read
    if (open_choice(o, "causal")) m->causal = task->causal;
    if (open_choice(o, "tied")) m->tied = task->may_tie && !vectors && m->d_embed == m->d_model;
    if (open_choice(o, "freeze-embed")) o->train.freeze_embed = vectors;
    if (open_choice(o, "positions")) m->positions = bpt_kind_of(m)->positions;
    // A matrix with the small initial values of a head would be drowned by positions.
    if (open_choice(o, "embed-scale"))
        m->embed_scale = m->positions == BPT_POSITIONS_SINUSOIDAL && !bpt_kind_of(m)->scaled_embedding && is_tied(o);
    if (open_choice(o, "d-mlp") && bpt_task_compares(task)) m->d_mlp = m->d_model;
    if (open_choice(o, "pool")) m->pool = bpt_kind_of(m)->pool;
    if (reader->fill_from_options) reader->fill_from_options(o);
    return bpt_model_config_fill_head_dim(m);
}

static bpt_status_t check_model(const cli_options_t *o) {
    bpt_model_config_t m = o->model;  // what only the data can tell is replaced by something possible
    if (!m.vocab) m.vocab = 1;
    if (!m.source_vocab) m.source_vocab = m.vocab;
    if (!m.classes) m.classes = 2;
    if (!m.d_embed) m.d_embed = m.d_model;
    if (!m.rel_levels) m.rel_levels = 1;
    if (!m.max_positions) m.max_positions = 1;
    return bpt_model_config_check(&m);
}

// Paths of files that exist are absolute by now, and lead through no link.
static bpt_status_t check_vectors(const cli_data_options_t *d) {
    for (size_t i = 0; i < d->vectors.count; ++i) {
        const char *path = d->vectors.item[i];
        if (strchr(path, ',') && !bpt_file_exists(path))
            return bpt_fail(BPT_ERR_USAGE, "--vectors: there is no file %s; give --vectors once for each file", path);
        for (size_t k = 0; k < i; ++k)
            if (!strcmp(path, d->vectors.item[k])) return bpt_fail(BPT_ERR_USAGE, "--vectors %s is given twice; leave one out", path);
    }
    if (d->unknown_vectors != BPT_UNKNOWN_ZERO && !d->vectors.count)
        return bpt_fail(BPT_ERR_USAGE, "--unknown-vectors %s is for words that --vectors FILE lacks, and there is no --vectors",
                        bpt_unknown_vectors_names[d->unknown_vectors]);
    return BPT_OK;
}

bpt_status_t cli_options_resolve(cli_options_t *o) {
    if (!o->data.paths.count && !o->run.print_config)
        return bpt_fail(BPT_ERR_USAGE, "bpt train needs --data PATH, a text file or a directory");
    if (!*o->run.out && !o->run.print_config && !o->run.dry_run)
        return bpt_fail(BPT_ERR_USAGE, "bpt train needs --out RUN, the directory to write");
    BPT_TRY(bpt_kind_check_task(bpt_kind_of(&o->model), bpt_task_of(&o->model)));
    fill_data(o);
    BPT_TRY(fill_model(o));
    BPT_TRY(cli_options_check_fit(o));
    BPT_TRY(cli_subwords_check(o));
    BPT_TRY(cli_reader_of(&o->model)->check_data(&o->data, &o->model));
    BPT_TRY(cli_reader_of(&o->model)->check(o));
    BPT_TRY(check_model(o));
    BPT_TRY(check_vectors(&o->data));
    if (o->train.freeze_embed && !o->data.vectors.count && !*o->run.init && !o->run.print_config)
        return bpt_fail(BPT_ERR_USAGE,
                        "a frozen embedding needs --vectors FILE (GloVe text) or --init RUN; --no-freeze-embed trains it%s%s",
                        *o->run.preset ? " against preset " : "", o->run.preset);
    if (bpt_schedule_needs_warmup(o->train.schedule) && !o->train.warmup)
        return bpt_fail(BPT_ERR_USAGE, "--schedule %s needs --warmup of at least 1", bpt_schedule_names[o->train.schedule]);
    if (o->train.stop_at && o->train.steps && o->train.stop_at > o->train.steps)
        return bpt_fail(BPT_ERR_USAGE, "--stop-at %lld is behind the end of training at --steps %lld", (long long)o->train.stop_at,
                        (long long)o->train.steps);
    return BPT_OK;
}
