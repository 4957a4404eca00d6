// libFuzzer: any bytes as labelled lines, trees, ids or lines without labels. What is accepted gives sound examples and batches.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/examples_source.h"

static void require(bool condition) {
    if (!condition) abort();
}

static void check_batches(const bpt_examples_t *examples, uint8_t option, bool train) {
    const bpt_batching_t o = {.batch_examples = option % 5, .batch_tokens = 1 + option, .accumulate = 1, .seed = option};
    bpt_batch_source_t *source;
    uint64_t scored = 0, tokens = 0;
    require((train ? bpt_examples_train_source(examples, &o, &source) : bpt_examples_eval_source(examples, &o, &source)) == BPT_OK);
    for (bool end = false; scored < examples->count;) {
        bpt_batch_t b;
        require(source->next(source, &b, &end) == BPT_OK && !end);
        for (int64_t row = 0; row < b.shape.batch; ++row)
            require(b.side[0].lengths[row] >= 1 && b.side[0].lengths[row] <= b.shape.side[0].n);
        bool listed = false;
        for (int64_t i = 0; i < source->n_shapes; ++i) listed = listed || bpt_batch_shape_same(&source->shapes[i], &b.shape);
        require(listed);
        scored += (uint64_t)b.n_scored;
        tokens += (uint64_t)b.n_tokens;
    }
    require(scored == examples->count && tokens == examples->n_tokens);
    source->destroy(source);
}

static void check_examples(const bpt_examples_t *e, const bpt_vocab_t *vocab, const bpt_labels_t *labels) {
    require(e->count >= 1 && e->offsets[0] == 0 && e->offsets[e->count] == e->n_tokens);
    for (uint64_t i = 0; i < e->count; ++i) {
        require(e->offsets[i] < e->offsets[i + 1]);
        require(e->labels[i] == BPT_NO_LABEL || !labels || e->labels[i] < labels->count);
    }
    if (bpt_vocab_unit(vocab) == BPT_UNIT_WORD)
        for (uint64_t i = 0; i < e->n_tokens; ++i) require((int64_t)e->tokens[i] < bpt_vocab_size(vocab));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    char *bytes;
    require(bpt_alloc(size - 2, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + 2, size - 2);
    const bpt_range_t text = bpt_range_of("input", bytes, size - 2);
    const bpt_examples_options_t options = {.subtrees = data[0] & 1, .labelled = data[0] & 2, .longest = data[0] & 4 ? 3 : 0};
    bpt_labels_t labels = {0};
    bpt_examples_t examples;
    bpt_vocab_t *vocab;
    require(bpt_vocab_create(data[0] & 8 ? BPT_UNIT_IDS : BPT_UNIT_WORD, data[0] & 16, &vocab) == BPT_OK);
    bpt_status_t status = bpt_examples_scan(&text, &options, vocab, &labels);
    if (status == BPT_OK) {
        bpt_labels_freeze(&labels);
        require(bpt_vocab_freeze(vocab) == BPT_OK);
        const bpt_labels_t *known = options.labelled ? &labels : NULL;
        status = bpt_examples_read(&text, &options, vocab, known, &examples);
        if (status == BPT_OK) {
            check_examples(&examples, vocab, known);
            check_batches(&examples, data[1], true);
            check_batches(&examples, data[1], false);
            bpt_examples_free(&examples);
        }
    }
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
