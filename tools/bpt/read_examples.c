// Tasks that read examples of their own lengths, as classifiers do (see readers.h).
#include <inttypes.h>

#include "bpt/log.h"
#include "data/classify.h"
#include "models/kinds/kind.h"
#include "tools/bpt/readers.h"

// ---- Options
static bpt_status_t check(const cli_options_t *o) {
    const cli_data_options_t *d = &o->data;
    if (d->batch_examples && o->train.accumulate > 1)
        return bpt_fail(BPT_ERR_USAGE,
                        "--accumulate has no meaning with --batch-examples %lld, the examples of a whole step; give one of them",
                        (long long)d->batch_examples);
    if (d->unit == BPT_UNIT_BYTE || d->unit == BPT_UNIT_CHAR)
        return bpt_fail(BPT_ERR_USAGE, "--task %s reads words or ids, not --unit %s", bpt_task_of(&o->model)->name,
                        bpt_unit_names[d->unit]);
    return BPT_OK;
}

static int64_t longest_example(const cli_corpus_t *corpus) {
    int64_t longest = 1;
    for (int part = 0; part < BPT_PARTS; ++part)
        for (uint64_t e = 0; e < corpus->examples[part].count; ++e) {
            const int64_t length = (int64_t)(corpus->examples[part].offsets[e + 1] - corpus->examples[part].offsets[e]);
            if (length > longest) longest = length;
        }
    return longest;
}

// Distances reach up to the length itself: that of a state of the whole text.
static bpt_status_t fill(cli_options_t *o, const cli_corpus_t *corpus) {
    bpt_model_config_t *m = &o->model;
    const int64_t longest = longest_example(corpus);
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE)
        m->rel_levels = bpt_kind_of(m)->levels ? bpt_kind_of(m)->rel_levels(m, longest) : (int32_t)longest;
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)longest;
    if (m->positions != BPT_POSITIONS_ABSOLUTE || longest <= m->max_positions) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: a text of %" PRId64 " tokens is longer than --max-positions %d", o->data.path, longest,
                    m->max_positions);
}

// ---- Training
static bpt_examples_options_t examples_options(const cli_options_t *o, int part) {
    return (bpt_examples_options_t){.subtrees = o->data.subtrees && part == BPT_TRAIN, .labelled = true, .longest = o->data.max_length};
}

static bpt_status_t scan(const cli_options_t *o, const bpt_range_t *text, int part, bpt_vocab_t *vocab, bpt_labels_t *labels) {
    const bpt_examples_options_t options = examples_options(o, part);
    return bpt_examples_scan(text, &options, vocab, labels);
}

static bpt_status_t encode(const cli_options_t *o, const bpt_range_t *text, int part, cli_corpus_t *corpus) {
    const bpt_examples_options_t options = examples_options(o, part);
    return bpt_examples_read(text, &options, corpus->vocab, &corpus->labels, &corpus->examples[part]);
}

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
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

// ---- Evaluation
static bpt_status_t open_eval(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    const bpt_examples_options_t options = {.labelled = true};
    BPT_TRY(bpt_examples_read(text, &options, t->vocab, &t->labels, &e->examples));
    return bpt_classify_eval_source(&e->examples, o->data.batch_tokens, &e->source);
}

const cli_reader_t cli_reader_examples = {
    .unit = BPT_UNIT_WORD,
    .batch_option = "batch-examples",
    .check = check,
    .fill_from_data = fill,
    .scan = scan,
    .encode = encode,
    .open = open_sources,
    .open_eval = open_eval,
};
