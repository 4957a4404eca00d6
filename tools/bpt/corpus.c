// Training data from the options (see corpus.h).
#include "tools/bpt/corpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "bpt/alloc.h"
#include "bpt/log.h"

static bpt_status_t make_vocab(const cli_options_t *o, const bpt_split_t *split, bpt_vocab_t **out) {
    BPT_TRY(bpt_vocab_create(o->data.unit, o->data.lower, out));
    const int parts = o->data.vocab_scope == CLI_SCOPE_ALL ? BPT_PARTS : 1;
    for (int part = 0; part < parts; ++part)
        if (split->part[part].bytes) BPT_TRY(bpt_vocab_count(*out, &split->part[part]));
    return bpt_vocab_freeze(*out);
}

static bpt_status_t encode(const cli_options_t *o, const bpt_split_t *split, cli_corpus_t *corpus) {
    for (int part = 0; part < BPT_PARTS; ++part)
        if (split->part[part].bytes)
            BPT_TRY(bpt_vocab_encode(corpus->vocab, &split->part[part], o->data.unit == BPT_UNIT_WORD, &corpus->ids[part],
                                     &corpus->count[part]));
    return BPT_OK;
}

static int64_t vocab_size(const cli_corpus_t *corpus) {
    const int64_t size = bpt_vocab_size(corpus->vocab);
    uint32_t largest = 0;
    if (size) return size;
    for (int part = 0; part < BPT_PARTS; ++part)  // ids: as many as the largest says
        for (uint64_t i = 0; i < corpus->count[part]; ++i)
            if (corpus->ids[part][i] > largest) largest = corpus->ids[part][i];
    return (int64_t)largest + 1;
}

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_lm_options_t options = {.context = o->data.context,
                                      .stride = o->data.stride,
                                      .batch_tokens = o->data.batch_tokens,
                                      .accumulate = o->train.accumulate,
                                      .seed = o->train.seed};
    BPT_TRY(bpt_context(bpt_lm_train_source(corpus->ids[BPT_TRAIN], corpus->count[BPT_TRAIN], &options, &corpus->train), "%s", o->data.path));
    if (corpus->count[BPT_VALID] < 2) {
        bpt_warn("there is no validation text, so `best` will not be known");
        return BPT_OK;
    }
    return bpt_lm_eval_source(corpus->ids[BPT_VALID], corpus->count[BPT_VALID], o->data.eval_context, o->data.batch_tokens,
                              o->data.protocol, &corpus->valid);
}

static bpt_status_t read_corpus(cli_options_t *o, const bpt_split_t *split, const char *vocab_path, cli_corpus_t *corpus) {
    if (vocab_path && o->data.unit != BPT_UNIT_IDS)
        BPT_TRY(bpt_vocab_read(vocab_path, o->data.unit, o->data.lower, &corpus->vocab));
    else
        BPT_TRY(make_vocab(o, split, &corpus->vocab));
    BPT_TRY(encode(o, split, corpus));
    const uint64_t hash = XXH3_64bits(corpus->ids[BPT_TRAIN], corpus->count[BPT_TRAIN] * sizeof(uint32_t));
    snprintf(corpus->fingerprint, sizeof corpus->fingerprint, "xxh3 %016" PRIx64 ", %" PRIu64 " tokens", hash, corpus->count[BPT_TRAIN]);
    const int64_t size = vocab_size(corpus);
    if (!vocab_path) o->model.vocab = size;
    if (size > o->model.vocab)
        return bpt_fail(BPT_ERR_INPUT,
                        "the data have %" PRId64 " different tokens, the model knows %" PRId64 "; they belong to another run", size,
                        o->model.vocab);
    return open_sources(o, corpus);
}

bpt_status_t cli_corpus_open(cli_options_t *o, const char *vocab_path, cli_corpus_t *out) {
    *out = (cli_corpus_t){0};
    bpt_split_t split;
    const bool lines = o->data.unit == BPT_UNIT_WORD || o->data.unit == BPT_UNIT_IDS;
    BPT_TRY(bpt_split_open(o->data.path, o->data.unit, lines, &split));
    const bpt_status_t status = read_corpus(o, &split, vocab_path, out);
    bpt_split_close(&split);
    if (status != BPT_OK) cli_corpus_close(out);
    return status;
}

void cli_corpus_close(cli_corpus_t *corpus) {
    if (corpus->train) corpus->train->destroy(corpus->train);
    if (corpus->valid) corpus->valid->destroy(corpus->valid);
    for (int part = 0; part < BPT_PARTS; ++part) bpt_free(corpus->ids[part]);
    bpt_vocab_destroy(corpus->vocab);
    *corpus = (cli_corpus_t){0};
}
