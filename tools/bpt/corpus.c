// Training data from the options (see corpus.h).
#include "tools/bpt/corpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "data/classify.h"
#include "data/prefetch.h"
#include "data/vectors.h"
#include "models/config_json.h"
#include "tools/bpt/defaults.h"
#include "tools/bpt/side_files.h"

static bool classifies(const cli_options_t *o) { return o->model.task == BPT_TASK_CLASSIFY; }

static bpt_examples_options_t examples_options(const cli_options_t *o, int part) {
    return (bpt_examples_options_t){.subtrees = o->data.subtrees && part == BPT_TRAIN, .labelled = true, .longest = o->data.max_length};
}

// Counts words and collects labels, of which `corpus` takes what it does not have from a run already.
static bpt_status_t scan(const cli_options_t *o, const bpt_split_t *split, bool make_vocab, bool make_labels, int64_t id_limit,
                         cli_corpus_t *corpus) {
    if (make_vocab) BPT_TRY(bpt_vocab_create(o->data.unit, o->data.lower, &corpus->vocab));
    if (make_vocab) bpt_vocab_limit_ids(corpus->vocab, id_limit);
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bool count = make_vocab && (part == BPT_TRAIN || o->data.vocab_scope == CLI_SCOPE_ALL),
                   label = make_labels && part == BPT_TRAIN;
        const bpt_examples_options_t options = examples_options(o, part);
        if (!split->part[part].bytes) continue;
        if (classifies(o) && (count || label))
            BPT_TRY(bpt_examples_scan(&split->part[part], &options, count ? corpus->vocab : NULL, label ? &corpus->labels : NULL));
        else if (count)
            BPT_TRY(bpt_vocab_count(corpus->vocab, &split->part[part]));
    }
    if (make_labels) bpt_labels_freeze(&corpus->labels);
    return make_vocab ? bpt_vocab_freeze(corpus->vocab) : BPT_OK;
}

// Characters have no <unk>: the vocabulary of another run may not know those of this text.
static bpt_status_t encode_text(const cli_options_t *o, const bpt_vocab_t *vocab, const bpt_range_t *text, bpt_ids_t *ids) {
    const bpt_status_t status = bpt_vocab_encode(vocab, text, o->data.unit == BPT_UNIT_WORD, ids);
    const bool borrowed = *o->run.init && !o->run.match_vocabulary && o->data.unit == BPT_UNIT_CHAR;
    if (status != BPT_ERR_INPUT || !borrowed) return status;
    return bpt_context(status, "the vocabulary of %s does not fit, --match-vocabulary makes one that does", o->run.init);
}

static bpt_status_t encode(const cli_options_t *o, const bpt_split_t *split, cli_corpus_t *corpus) {
    for (int part = 0; part < BPT_PARTS; ++part) {
        const bpt_examples_options_t options = examples_options(o, part);
        if (!split->part[part].bytes) continue;
        if (classifies(o))
            BPT_TRY(bpt_examples_read(&split->part[part], &options, corpus->vocab, &corpus->labels, &corpus->examples[part]));
        else
            BPT_TRY(encode_text(o, corpus->vocab, &split->part[part], &corpus->ids[part]));
    }
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

static bpt_status_t open_classify(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_classify_options_t options = {.batch_examples = o->data.batch_examples,
                                            .batch_tokens = o->data.batch_tokens,
                                            .accumulate = o->train.accumulate,
                                            .seed = o->train.seed};
    BPT_TRY(bpt_classify_train_source(&corpus->examples[BPT_TRAIN], &options, &corpus->train));
    if (corpus->examples[BPT_VALID].count)
        return bpt_classify_eval_source(&corpus->examples[BPT_VALID], o->data.batch_tokens, &corpus->valid);
    bpt_warn("there are no examples for validation, so `best` will not be known");
    return BPT_OK;
}

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
    if (classifies(o)) return open_classify(o, corpus);
    const bpt_lm_options_t options = {.context = o->data.context,
                                      .stride = o->data.stride,
                                      .batch_tokens = o->data.batch_tokens,
                                      .accumulate = o->train.accumulate,
                                      .seed = o->train.seed};
    BPT_TRY(bpt_context(bpt_lm_train_source(&corpus->ids[BPT_TRAIN], &options, &corpus->train), "%s", o->data.path));
    if (corpus->ids[BPT_VALID].count < 2) {
        bpt_warn("there is no validation text, so `best` will not be known");
        return BPT_OK;
    }
    return bpt_lm_eval_source(&corpus->ids[BPT_VALID], o->data.eval_context, o->data.batch_tokens, o->data.protocol, &corpus->valid);
}

// What only the data can tell about a classifier.
static bpt_status_t complete_model(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    int64_t longest = 1;
    if (*o->data.vectors && !m->d_embed) {
        int64_t columns;
        BPT_TRY(bpt_vectors_dimension(o->data.vectors, &columns));
        m->d_embed = (int32_t)columns;
    }
    if (!classifies(o)) return BPT_OK;
    m->classes = (int64_t)corpus->labels.count;
    if (m->classes < 2) return bpt_fail(BPT_ERR_INPUT, "%s: fewer than two different labels; there is nothing to learn", o->data.path);
    for (int part = 0; part < BPT_PARTS; ++part)
        for (uint64_t e = 0; e < corpus->examples[part].count; ++e) {
            const int64_t length = (int64_t)(corpus->examples[part].offsets[e + 1] - corpus->examples[part].offsets[e]);
            if (length > longest) longest = length;
        }
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE)
        m->rel_levels = m->model == BPT_MODEL_TRANSFORMER ? (int32_t)longest : bpt_default_rel_levels(longest);
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)longest;
    if (m->positions == BPT_POSITIONS_ABSOLUTE && longest > m->max_positions)
        return bpt_fail(BPT_ERR_INPUT, "%s: a text of %" PRId64 " tokens is longer than --max-positions %d", o->data.path, longest,
                        m->max_positions);
    return BPT_OK;
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
    if (e->count) hash = XXH3_64bits_withSeed(e->offsets, e->count * sizeof *e->offsets, hash);
    if (e->count) hash = XXH3_64bits_withSeed(e->labels, e->count * sizeof *e->labels, hash);
    snprintf(corpus->fingerprint, sizeof corpus->fingerprint, "xxh3 %016" PRIx64 ", %" PRIu64 " tokens", hash,
             cli_corpus_tokens(corpus, BPT_TRAIN).count);
    return BPT_OK;
}

static bpt_status_t read_corpus(cli_options_t *o, const bpt_checkpoint_t *resumed, cli_corpus_t *corpus) {
    if (resumed && o->data.unit != BPT_UNIT_IDS) BPT_TRY(cli_run_vocab(resumed, o->data.unit, o->data.lower, &corpus->vocab));
    const bool known = corpus->vocab != NULL, read_labels = resumed && classifies(o);
    if (read_labels) BPT_TRY(cli_run_labels(resumed, &corpus->labels));
    const int64_t id_limit = resumed ? o->model.vocab : BPT_MAX_VOCAB;
    BPT_TRY(scan(o, &corpus->split, !known, classifies(o) && !read_labels, id_limit, corpus));
    BPT_TRY(encode(o, &corpus->split, corpus));
    if (o->data.unit != BPT_UNIT_BYTE) bpt_split_close(&corpus->split);
    BPT_TRY(take_fingerprint(corpus));
    const int64_t size = vocab_size(corpus);
    if (!known && !resumed) o->model.vocab = size;
    if (size > o->model.vocab)
        return bpt_fail(BPT_ERR_INPUT,
                        "the data have %" PRId64 " different tokens, the model knows %" PRId64 "; they belong to another run", size,
                        o->model.vocab);
    cli_defaults_model(o, (int64_t)corpus->examples[BPT_TRAIN].count);
    BPT_TRY(complete_model(o, corpus));
    BPT_TRY(bpt_model_config_check(&o->model));
    cli_defaults_batch(o, (int64_t)corpus->examples[BPT_TRAIN].count, (int64_t)cli_corpus_tokens(corpus, BPT_TRAIN).count);
    BPT_TRY(open_sources(o, corpus));
    bpt_batch_source_t *direct = corpus->train;  // from here on the next batch is prepared while the device works
    corpus->train = NULL;
    const bpt_status_t status = bpt_prefetch_create(&direct, 0, &corpus->train);
    if (status != BPT_OK) corpus->train = direct;
    return status;
}

bpt_status_t cli_corpus_open(cli_options_t *o, bpt_vocab_t *vocab, const bpt_checkpoint_t *resumed, cli_corpus_t *out) {
    *out = (cli_corpus_t){.vocab = vocab};
    const bool lines = o->data.unit == BPT_UNIT_WORD || o->data.unit == BPT_UNIT_IDS;
    bpt_status_t status = bpt_split_open(o->data.path, o->data.unit, lines, &out->split);
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
