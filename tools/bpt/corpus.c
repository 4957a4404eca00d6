// Training data from the options (see corpus.h).
#include "tools/bpt/corpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "bpt/alloc.h"
#include "data/prefetch.h"
#include "models/config_json.h"
#include "tools/bpt/defaults.h"
#include "tools/bpt/readers.h"
#include "tools/bpt/side_files.h"
#include "tools/bpt/subwords.h"
#include "tools/bpt/word_vectors.h"

// Counts words and collects labels, of which `corpus` takes what it does not have from a run already.
static bpt_status_t scan(const cli_options_t *o, const bpt_split_t *split, bool make_vocab, bool make_labels, int64_t id_limit,
                         cli_corpus_t *corpus) {
    if (make_vocab) BPT_TRY(bpt_vocab_create(o->data.unit, o->data.lower, &corpus->vocab));
    if (make_vocab) bpt_vocab_limit_ids(corpus->vocab, id_limit);
    if (make_vocab) BPT_TRY(cli_subwords_prepare(o, corpus->vocab));
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bool count = make_vocab && (part == BPT_TRAIN || o->data.vocab_scope == CLI_SCOPE_ALL),
                   label = make_labels && part == BPT_TRAIN;
        if (!split->part[part].bytes || (!count && !label)) continue;
        BPT_TRY(cli_reader_of(&o->model)->scan(o, &split->part[part], part, count ? corpus->vocab : NULL, label ? &corpus->labels : NULL));
    }
    if (make_labels) bpt_labels_freeze(&corpus->labels);
    return make_vocab ? bpt_vocab_freeze(corpus->vocab) : BPT_OK;
}

static bpt_status_t encode(const cli_options_t *o, const bpt_split_t *split, cli_corpus_t *corpus) {
    for (int part = 0; part < BPT_PARTS; ++part)
        if (split->part[part].bytes) BPT_TRY(cli_reader_of(&o->model)->encode(o, &split->part[part], part, corpus));
    return BPT_OK;
}

bpt_ids_t cli_corpus_tokens(const cli_corpus_t *corpus, int part) {
    const bpt_examples_t *e = &corpus->examples[part];
    return e->tokens ? bpt_ids_of(e->tokens, e->n_tokens) : corpus->ids[part];
}

// The tokens of a part in blocks: a corpus may be larger than memory. False at the end.
enum { BLOCK = 4096 };
static bool next_block(const cli_corpus_t *corpus, int part, uint64_t *at, uint32_t *block, uint64_t *n) {
    const bpt_ids_t ids = cli_corpus_tokens(corpus, part);
    *n = ids.count - *at < BLOCK ? ids.count - *at : BLOCK;
    bpt_ids_copy(&ids, *at, *n, block);
    *at += *n;
    return *n > 0;
}

static int64_t vocab_size(const cli_corpus_t *corpus) {
    const int64_t size = bpt_vocab_size(corpus->vocab);
    uint32_t largest = 0, block[BLOCK];
    if (size) return size;
    for (int part = 0; part < BPT_PARTS; ++part)  // ids: as many as the largest says
        for (uint64_t at = 0, n; next_block(corpus, part, &at, block, &n);)
            for (uint64_t i = 0; i < n; ++i)
                if (block[i] > largest) largest = block[i];
    return (int64_t)largest + 1;
}

// What only the data can tell about a model.
static bpt_status_t complete_model(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const cli_reader_t *reader = cli_reader_of(m);
    if (o->data.vectors.count && !o->run.resume) {
        int64_t columns;
        BPT_TRY(cli_vectors_width(o, &columns));
        m->d_embed = columns > INT32_MAX ? INT32_MAX : (int32_t)columns;
    }
    if (bpt_task_of(m)->values) {
        m->classes = corpus->examples[BPT_TRAIN].value_columns;
        m->d_input = (int32_t)corpus->examples[BPT_TRAIN].columns;
    }
    if (bpt_task_of(m)->labelled) {
        m->classes = (int64_t)corpus->labels.count;
        if (m->classes < 2) return bpt_fail(BPT_ERR_INPUT, "%s: fewer than two different labels; there is nothing to learn", o->data.path);
    }
    return reader->fill_from_data ? reader->fill_from_data(o, corpus) : BPT_OK;
}

// Of all that training reads: tokens, and of a classifier where examples end and their labels.
static bpt_status_t take_fingerprint(cli_corpus_t *corpus) {
    const bpt_examples_t *e = &corpus->examples[BPT_TRAIN];
    uint32_t block[BLOCK];
    XXH3_state_t *state = XXH3_createState();
    if (!state) return bpt_fail(BPT_ERR_NO_MEMORY, "no memory for a checksum of the training tokens; close other programs");
    XXH3_64bits_reset(state);
    for (uint64_t at = 0, n; next_block(corpus, BPT_TRAIN, &at, block, &n);) XXH3_64bits_update(state, block, n * sizeof *block);
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    const size_t texts = e->texts == 2 ? 2 : 1, labels = e->per_token ? e->n_tokens : e->count;
    if (e->count) hash = XXH3_64bits_withSeed(e->offsets, texts * e->count * sizeof *e->offsets, hash);
    if (e->labels) hash = XXH3_64bits_withSeed(e->labels, labels * sizeof *e->labels, hash);
    if (e->bag_offsets) hash = XXH3_64bits_withSeed(e->bags, e->bag_offsets[e->n_tokens] * sizeof *e->bags, hash);
    if (e->numbers) hash = XXH3_64bits_withSeed(e->numbers, e->n_tokens * (size_t)e->columns * sizeof *e->numbers, hash);
    if (e->values) hash = XXH3_64bits_withSeed(e->values, e->count * (size_t)e->value_columns * sizeof *e->values, hash);
    snprintf(corpus->fingerprint, sizeof corpus->fingerprint, "xxh3 %016" PRIx64 ", %" PRIu64 " tokens", hash,
             e->numbers ? e->n_tokens : cli_corpus_tokens(corpus, BPT_TRAIN).count);
    return BPT_OK;
}

// Tokens, or vectors in their place.
static int64_t trained_tokens(const cli_corpus_t *corpus) {
    const bpt_examples_t *e = &corpus->examples[BPT_TRAIN];
    return (int64_t)(e->count ? e->n_tokens : cli_corpus_tokens(corpus, BPT_TRAIN).count);
}

static bpt_status_t read_corpus(cli_options_t *o, const bpt_checkpoint_t *resumed, cli_corpus_t *corpus) {
    if (resumed && o->data.unit != BPT_UNIT_IDS) BPT_TRY(cli_run_vocab(resumed, o->data.unit, o->data.lower, &corpus->vocab));
    const bool known = corpus->vocab != NULL, labelled = bpt_task_of(&o->model)->labelled;
    if (known && !resumed) BPT_TRY(cli_subwords_hold(o, corpus->vocab));
    if (labelled && resumed) BPT_TRY(cli_run_labels(resumed, &corpus->labels));
    const int64_t id_limit = resumed ? o->model.vocab : BPT_MAX_VOCAB;
    if (corpus->split.part[BPT_TRAIN].bytes) {
        BPT_TRY(scan(o, &corpus->split, !known, labelled && !resumed, id_limit, corpus));
        BPT_TRY(encode(o, &corpus->split, corpus));
    } else if (!known) {
        BPT_TRY(bpt_vocab_create(BPT_UNIT_IDS, false, &corpus->vocab));  // of no ids
        BPT_TRY(bpt_vocab_freeze(corpus->vocab));
    }
    if (o->data.unit != BPT_UNIT_BYTE) bpt_split_close(&corpus->split);
    BPT_TRY(take_fingerprint(corpus));
    const int64_t size = vocab_size(corpus);
    if (!known && !resumed) o->model.vocab = size;
    if (bpt_unit_of(o->data.unit)->pieces) o->data.subwords = size;
    if (size > o->model.vocab)
        return bpt_fail(BPT_ERR_INPUT,
                        "the data have %" PRId64 " different tokens, the model knows %" PRId64 "; they belong to another run", size,
                        o->model.vocab);
    cli_defaults_model(o, (int64_t)corpus->examples[BPT_TRAIN].count);
    BPT_TRY(complete_model(o, corpus));
    BPT_TRY(bpt_model_config_check(&o->model));
    cli_defaults_batch(o, (int64_t)corpus->examples[BPT_TRAIN].count, trained_tokens(corpus));
    BPT_TRY(cli_reader_of(&o->model)->open(o, corpus));
    bpt_batch_source_t *direct = corpus->train;  // from here on the next batch is prepared while the device works
    corpus->train = NULL;
    const bpt_status_t status = bpt_prefetch_create(&direct, 0, &corpus->train);
    if (status != BPT_OK) corpus->train = direct;
    return status;
}

bpt_status_t cli_corpus_open(cli_options_t *o, bpt_vocab_t *vocab, const bpt_checkpoint_t *resumed, cli_corpus_t *out) {
    *out = (cli_corpus_t){.vocab = vocab};
    const cli_reader_t *reader = cli_reader_of(&o->model);
    bool made = false;
    bpt_status_t status = reader->make ? reader->make(o, out, &made) : BPT_OK;
    if (status == BPT_OK && !made) status = bpt_split_open(o->data.path, o->data.unit, bpt_unit_of(o->data.unit)->by_lines, &out->split);
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
    bpt_vocab_destroy(corpus->vocab);
    bpt_split_close(&corpus->split);
    *corpus = (cli_corpus_t){0};
}
