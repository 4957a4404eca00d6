// Training data from the options (see corpus.h).
#include "tools/bpt/corpus/corpus.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/prefetch.h"
#include "data/examples/examples_arrays.h"
#include "data/examples/fingerprint.h"
#include "models/config/config_json.h"
#include "tools/bpt/corpus/class_weights.h"
#include "tools/bpt/corpus/defaults.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/corpus/subwords.h"
#include "tools/bpt/corpus/unknown_words.h"
#include "tools/bpt/corpus/word_vectors.h"

// Counts words and collects labels, of which `corpus` takes what it does not have from a run already.
static bpt_status_t scan(const cli_options_t *o, const bpt_split_t *split, bool make_vocab, bool make_labels, int64_t id_limit,
                         cli_corpus_t *corpus) {
    if (make_vocab) BPT_TRY(bpt_vocab_create(o->data.unit, o->data.lower, &corpus->vocab));
    if (make_vocab) bpt_vocab_limit_ids(corpus->vocab, id_limit);
    if (make_vocab) bpt_vocab_want_count(corpus->vocab, o->data.least_count);
    if (make_vocab && bpt_task_of(&o->model)->masks) BPT_TRY(bpt_vocab_want_mask(corpus->vocab));
    if (make_vocab) BPT_TRY(cli_subwords_prepare(o, corpus->vocab));
    const cli_reader_t *reader = cli_reader_of(&o->model);
    const bool two = make_vocab && reader->has_two_vocabularies && reader->has_two_vocabularies(o);
    if (two) BPT_TRY(bpt_vocab_create(o->data.unit, o->data.lower, &corpus->source_vocab));
    if (two) bpt_vocab_limit_ids(corpus->source_vocab, id_limit);
    if (two) bpt_vocab_want_count(corpus->source_vocab, o->data.least_count);
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bool counts = make_vocab && (part == BPT_TRAIN || o->data.vocab_scope == CLI_SCOPE_ALL);
        const unsigned what = (counts ? CLI_SCAN_WORDS : 0) | (make_labels && part == BPT_TRAIN ? CLI_SCAN_LABELS : 0);
        if (split->part[part].bytes && what) BPT_TRY(reader->scan(o, part, what, corpus));
    }
    if (make_labels) bpt_labels_freeze(&corpus->labels);
    if (two) BPT_TRY(bpt_vocab_freeze(corpus->source_vocab));
    return make_vocab ? bpt_vocab_freeze(corpus->vocab) : BPT_OK;
}

static bpt_status_t encode(const cli_options_t *o, const bpt_split_t *split, cli_corpus_t *corpus) {
    for (int part = 0; part < BPT_PARTS; ++part)
        if (split->part[part].bytes) BPT_TRY(cli_reader_of(&o->model)->encode(o, &split->part[part], part, corpus));
    return BPT_OK;
}

// Of ids as many as the largest says; translations are what a translator writes. Vectors have none.
static int64_t vocab_size(const cli_corpus_t *corpus) {
    const int64_t size = bpt_vocab_size(corpus->vocab);
    if (corpus->examples[BPT_TRAIN].vectors.has) return 0;
    return size ? size : cli_corpus_largest_id(corpus, !corpus->source_vocab, true) + 1;
}

// What only the data can tell about a model.
static bpt_status_t complete_model(cli_options_t *o, cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const cli_reader_t *reader = cli_reader_of(m);
    if (o->data.vectors.count && !o->run.resume) {
        int64_t columns;
        BPT_TRY(cli_vectors_width(o, &columns));
        m->d_embed = columns > INT32_MAX ? INT32_MAX : (int32_t)columns;
    }
    if (bpt_task_of(m)->values) {
        m->classes = corpus->examples[BPT_TRAIN].values.columns;
        m->d_input = (int32_t)corpus->examples[BPT_TRAIN].vectors.columns;
    }
    if (bpt_task_of(m)->labelled) {
        m->classes = (int64_t)corpus->labels.count;
        if (m->classes < 2)
            return bpt_fail(BPT_ERR_INPUT, "%s: fewer than two different labels; there is nothing to learn", cli_data_path(&o->data));
    }
    BPT_TRY(cli_class_weights_fill(o, corpus));
    return reader->fill_from_data ? reader->fill_from_data(o, corpus) : BPT_OK;
}

// Tokens, or vectors in their place.
static int64_t trained_tokens(const cli_corpus_t *corpus) {
    const bpt_examples_t *e = &corpus->examples[BPT_TRAIN];
    return (int64_t)(e->count ? e->n_tokens : cli_corpus_tokens(corpus, BPT_TRAIN).count);
}

static bpt_status_t read_corpus(cli_options_t *o, const bpt_checkpoint_t *resumed, cli_corpus_t *corpus) {
    if (resumed && o->data.unit != BPT_UNIT_IDS) BPT_TRY(cli_run_vocab(resumed, o->data.unit, o->data.lower, &corpus->vocab));
    if (resumed && o->data.unit != BPT_UNIT_IDS) BPT_TRY(cli_run_source_vocab(resumed, o->data.unit, o->data.lower, &corpus->source_vocab));
    const bool known = corpus->vocab != NULL, named = bpt_task_of(&o->model)->labelled || o->data.tree_labels == CLI_TREE_LABELS_STATE;
    if (known && !resumed) BPT_TRY(cli_subwords_hold(o, corpus->vocab));
    if (resumed && bpt_model_labels(&o->model)) BPT_TRY(cli_run_labels(resumed, &corpus->labels));
    const int64_t id_limit = resumed ? o->model.vocab : BPT_MAX_VOCAB;
    if (corpus->split.part[BPT_TRAIN].bytes) {
        BPT_TRY(scan(o, &corpus->split, !known, named && !resumed && !corpus->labels.count, id_limit, corpus));
        BPT_TRY(encode(o, &corpus->split, corpus));
    } else if (!known) {
        BPT_TRY(bpt_vocab_create(BPT_UNIT_IDS, false, &corpus->vocab));  // of no ids
        BPT_TRY(bpt_vocab_freeze(corpus->vocab));
    }
    if (o->data.unit != BPT_UNIT_BYTE) bpt_split_close(&corpus->split);
    bpt_split_close(&corpus->target);
    bpt_split_close(&corpus->trees);
    const bpt_ids_t *text = &corpus->ids[BPT_TRAIN];
    BPT_TRY(bpt_fingerprint_take(text, &corpus->examples[BPT_TRAIN], resumed ? resumed->state.data : NULL, corpus->fingerprint));
    const int64_t size = vocab_size(corpus);
    if (!known && !resumed) o->model.vocab = size;
    if (bpt_unit_of(o->data.unit)->pieces) o->data.subwords = size;
    if (bpt_unit_of(o->data.unit)->pieces && !resumed) BPT_TRY(cli_subwords_record(o));
    if (size > o->model.vocab)
        return bpt_fail(BPT_ERR_INPUT,
                        "the data have %" PRId64 " different tokens, the model knows %" PRId64 "; they belong to another run", size,
                        o->model.vocab);
    cli_defaults_model(o, (int64_t)corpus->examples[BPT_TRAIN].count);
    BPT_TRY(complete_model(o, corpus));
    BPT_TRY(bpt_model_config_check(&o->model));
    cli_defaults_batch(o, (int64_t)corpus->examples[BPT_TRAIN].count, trained_tokens(corpus));
    BPT_TRY(cli_reader_of(&o->model)->open(o, corpus));
    BPT_TRY(cli_unknown_words_drop(o, corpus));
    bpt_batch_source_t *direct = corpus->train;  // from here on the next batch is prepared while the device works
    corpus->train = NULL;
    const bpt_status_t status = bpt_prefetch_create(&direct, 0, &corpus->train);
    if (status != BPT_OK) corpus->train = direct;
    return status;
}

// A pattern and a name may find one file twice; cut, copies of its examples would be in several parts, and tests would find them again.
static bpt_status_t check_named_once(const bpt_paths_t *paths) {
    for (size_t i = 1; i < paths->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (strcmp(paths->path[i], "-") && !strcmp(paths->path[i], paths->path[k]))
                return bpt_fail(BPT_ERR_USAGE, "--data names %s twice, and what it names is cut into parts; name it once", paths->path[i]);
    return BPT_OK;
}

static bpt_status_t open_files(const cli_options_t *o, cli_corpus_t *corpus) {
    const cli_reader_t *reader = cli_reader_of(&o->model);
    if (reader->open_files) return reader->open_files(o, corpus);
    const bpt_paths_t paths = cli_data_paths(&o->data);
    if (!o->run.resume && !bpt_split_has_parts(&paths)) BPT_TRY(check_named_once(&paths));
    return cli_split_open(&o->data, &o->model, o->train.seed, &paths, &corpus->split);
}

bpt_status_t cli_corpus_open(cli_options_t *o, bpt_vocab_t *vocab, bpt_vocab_t *source_vocab, bpt_labels_t node_labels,
                             const bpt_checkpoint_t *resumed, cli_corpus_t *out) {
    *out = (cli_corpus_t){.vocab = vocab, .source_vocab = source_vocab, .labels = node_labels};
    const cli_reader_t *reader = cli_reader_of(&o->model);
    bool made = false;
    bpt_status_t status = reader->make ? reader->make(o, out, &made) : BPT_OK;
    if (status == BPT_OK) status = cli_unknown_words_check(o);
    if (status == BPT_OK && !made) status = open_files(o, out);
    if (status == BPT_OK) status = read_corpus(o, resumed, out);
    if (status != BPT_OK) cli_corpus_close(out);
    return status;
}

void cli_corpus_close(cli_corpus_t *corpus) {
    if (corpus->train) corpus->train->destroy(corpus->train);
    if (corpus->valid) corpus->valid->destroy(corpus->valid);
    for (int part = 0; part < BPT_PARTS; ++part) {
        bpt_ids_free(&corpus->ids[part]);
        bpt_examples_free(&corpus->examples[part]);
    }
    bpt_labels_free(&corpus->labels);
    bpt_free(corpus->class_weights);
    bpt_vocab_destroy(corpus->vocab);
    bpt_vocab_destroy(corpus->source_vocab);
    bpt_split_close(&corpus->split);
    bpt_split_close(&corpus->target);
    bpt_split_close(&corpus->trees);
    *corpus = (cli_corpus_t){0};
}
