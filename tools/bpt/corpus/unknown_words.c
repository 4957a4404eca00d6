// Words that training does not have (see unknown_words.h).
#include "tools/bpt/corpus/unknown_words.h"

#include <math.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "data/batches/word_dropout.h"
#include "models/nn/names.h"

static bool is_words(const bpt_vocab_t *vocab) { return vocab && bpt_vocab_unit(vocab) == BPT_UNIT_WORD; }

// What training reads on each side; a side without a vocabulary of words is left empty.
static void list_read(const cli_corpus_t *corpus, bpt_read_words_t side[BPT_SIDES]) {
    const bpt_translations_t *t = &corpus->examples[BPT_TRAIN].target;
    const bpt_vocab_t *source = corpus->source_vocab ? corpus->source_vocab : corpus->vocab;
    side[0] = side[1] = (bpt_read_words_t){0};
    if (is_words(source)) side[0] = (bpt_read_words_t){source, cli_corpus_tokens(corpus, BPT_TRAIN)};
    if (t->tokens && is_words(corpus->vocab)) side[1] = (bpt_read_words_t){corpus->vocab, bpt_ids_of(t->tokens, t->n_tokens)};
}

static bool given(const cli_options_t *o, const char *name) { return cli_option_source(o, name) == CLI_FROM_FLAG; }

bpt_status_t cli_unknown_words_check(cli_options_t *o) {
    const bool borrowed = *o->run.init && !o->run.match_vocabulary && !o->run.resume;
    if (o->data.least_count > 1 && borrowed)
        return bpt_fail(BPT_ERR_USAGE,
                        "--least-count %lld makes a vocabulary, and that of --init %s is taken; leave it out, or give --match-vocabulary",
                        (long long)o->data.least_count, o->run.init);
    if (o->data.unit == BPT_UNIT_WORD) return BPT_OK;  // data may have turned out to be no words
    if (given(o, "least-count") || given(o, "word-dropout"))
        return bpt_fail(BPT_ERR_USAGE, "--%s is for words, and %s has none; leave it out",
                        given(o, "least-count") ? "least-count" : "word-dropout", cli_data_path(&o->data));
    o->data.least_count = 1;
    o->data.word_dropout = 0;
    return BPT_OK;
}

// A row that nobody else gives a value begins at zero. Trained by the few words that are dropped it would be led by chance: an optimiser
// such as Adam takes steps of one size, however rarely. An embedding that may be the head's as well is trained by every prediction.
static bool stays_zero(const cli_options_t *o) { return !*o->run.init && !o->data.vectors.count && !bpt_task_of(&o->model)->predicts_text; }

bpt_status_t cli_unknown_words_drop(const cli_options_t *o, cli_corpus_t *corpus) {
    bpt_word_dropout_t dropout = {.rate = o->data.word_dropout, .zeros = stays_zero(o), .seed = o->train.seed};
    if (!(dropout.rate > 0)) return BPT_OK;
    list_read(corpus, dropout.side);
    bpt_batch_source_t *direct = corpus->train;
    return bpt_word_dropout_create(&direct, &dropout, &corpus->train);
}

// The rows of a parameter whose words are not counted.
static bpt_status_t clear_rows(bpt_runner_t *runner, const char *name, const uint64_t *counts, int64_t words) {
    const bpt_param_t *param = bpt_params_find(bpt_runner_params(runner), name);
    const int64_t width = param->shape[1];
    float *values;
    BPT_TRY(bpt_alloc((size_t)param->count, sizeof *values, &values));
    bpt_status_t status = bpt_runner_get(runner, name, values);
    for (int64_t w = 0; w < words && w < param->shape[0]; ++w)
        if (!counts[w]) memset(values + w * width, 0, (size_t)width * sizeof *values);
    if (status == BPT_OK) status = bpt_runner_set(runner, name, values);
    bpt_free(values);
    return status;
}

// The embedding `name`, which reads the words of sides first .. last.
static bpt_status_t clear_embedding(bpt_runner_t *runner, const char *name, const bpt_read_words_t *side, int first, int last) {
    uint64_t *counts;
    const int64_t words = side[first].vocab ? bpt_vocab_size(side[first].vocab) : 0;
    if (!words || !bpt_params_find(bpt_runner_params(runner), name)) return BPT_OK;
    BPT_TRY(bpt_alloc((size_t)words, sizeof *counts, &counts));
    for (int i = first; i <= last; ++i) bpt_ids_count(&side[i].words, counts, (uint64_t)words);
    const bpt_status_t status = clear_rows(runner, name, counts, words);
    bpt_free(counts);
    return status;
}

bpt_status_t cli_unknown_words_clear(const cli_corpus_t *corpus, bpt_runner_t *runner) {
    bpt_read_words_t side[BPT_SIDES];
    list_read(corpus, side);
    const bool shared = side[1].vocab && side[1].vocab == side[0].vocab;  // one embedding for both sides
    BPT_TRY(clear_embedding(runner, BPT_NAME_EMBED, side, 0, shared ? 1 : 0));
    return clear_embedding(runner, BPT_NAME_DECODER BPT_NAME_EMBED, side, 1, 1);
}

// ---- Counting

cli_unknown_count_t cli_unknown_words_count(const bpt_vocab_t *vocab, bpt_ids_t ids) {
    uint32_t unknown, eos;
    if (!vocab || !bpt_vocab_unknown(vocab, &unknown)) return (cli_unknown_count_t){0};
    const uint64_t ends = bpt_vocab_end_sign(vocab, &eos) ? bpt_ids_count_one(&ids, eos) : 0;
    const uint64_t placeholders = bpt_ids_count_one(&ids, BPT_PLACEHOLDER);
    return (cli_unknown_count_t){.tokens = (int64_t)(ids.count - ends - placeholders),
                                 .unknown = (int64_t)bpt_ids_count_one(&ids, unknown)};
}

double cli_unknown_words_share(cli_unknown_count_t count) { return count.tokens ? (double)count.unknown / (double)count.tokens : NAN; }

// Examples have tokens that are read, and translators those that they predict; a language model predicts what it reads.
static cli_unknown_words_t count_all(const bpt_examples_t *e, bpt_ids_t ids, const bpt_vocab_t *source, const bpt_vocab_t *vocab) {
    const bpt_translations_t *t = &e->target;
    if (!e->count) {
        cli_unknown_words_t text = {.predicted = cli_unknown_words_count(vocab, ids)};
        text.predicted.unknown = (int64_t)ids.hidden;
        return text;
    }
    return (cli_unknown_words_t){.read =
                                     cli_unknown_words_count(source ? source : vocab, bpt_ids_of(e->tokens, e->tokens ? e->n_tokens : 0)),
                                 .predicted = cli_unknown_words_count(vocab, bpt_ids_of(t->tokens, t->tokens ? t->n_tokens : 0))};
}

cli_unknown_words_t cli_unknown_words_of(const cli_eval_data_t *data, const cli_trained_t *t) {
    return count_all(&data->examples, data->ids, t->source_vocab, t->vocab);
}

double cli_unknown_words_validation(const cli_corpus_t *corpus) {
    const cli_unknown_words_t all = count_all(&corpus->examples[BPT_VALID], corpus->ids[BPT_VALID], corpus->source_vocab, corpus->vocab);
    return cli_unknown_words_share(all.predicted.tokens ? all.predicted : all.read);
}

void cli_unknown_words_warn(const cli_options_t *o, const cli_corpus_t *corpus, double share) {
    if (!(share > 0.01) || o->data.word_dropout > 0 || o->train.freeze_embed) return;
    if (o->data.unit != BPT_UNIT_WORD || bpt_task_of(&o->model)->predicts_text) return;
    bpt_read_words_t side[BPT_SIDES];
    list_read(corpus, side);
    if (cli_unknown_words_count(side[0].vocab, side[0].words).unknown) return;
    bpt_warn(
        "%.1f %% of the words of the validation part are unknown, and training reads no unknown word; --word-dropout 0.25 trains for them",
        100 * share);
}
