// libFuzzer: any bytes as texts and their translations: two files, cut at the first byte 0xFE, with trees in a third behind the next one,
// or lines of two columns. What is accepted gives sound texts, trees, windows and batches that score every token once.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "data/examples/parallel.h"

static void require(bool condition) {
    if (!condition) abort();
}

static void check_texts(const bpt_examples_t *e, const bpt_parallel_options_t *o) {
    const uint64_t texts = e->windows.has ? e->windows.items[e->count - 1].end : e->count;
    require(e->count >= 1 && texts >= 1 && e->offsets[0] == 0 && e->target.offsets[0] == 0);
    require(e->offsets[texts] == e->n_tokens && e->target.offsets[texts] == e->target.n_tokens);
    for (uint64_t t = 0; t < texts; ++t) {
        const uint64_t source = e->offsets[t + 1] - e->offsets[t], target = e->target.offsets[t + 1] - e->target.offsets[t];
        require(source >= 1 && target >= 1);
        require(!o->longest || (source <= (uint64_t)o->longest && target <= (uint64_t)o->longest));
        require(!o->truncate || (source <= (uint64_t)o->truncate && target <= (uint64_t)o->truncate));
    }
    for (uint64_t t = 0; e->trees.has && t < texts; ++t) {
        const bpt_example_node_t *root = &e->trees.nodes.items[e->trees.offsets[t + 1] - 1];
        require(e->trees.offsets[t] < e->trees.offsets[t + 1] && root->first == 0 && root->end == e->offsets[t + 1] - e->offsets[t]);
        for (uint64_t i = e->trees.offsets[t]; i < e->trees.offsets[t + 1]; ++i)
            require(e->trees.nodes.items[i].first < e->trees.nodes.items[i].end && e->trees.nodes.items[i].end <= root->end);
    }
    for (uint64_t w = 0, own = 0; e->windows.has && w < e->count; own = e->windows.items[w++].end) {
        require(e->windows.items[w].own == own && e->windows.items[w].first <= own && e->windows.items[w].end > own);
        require(e->windows.items[w].first == own || (w > 0 && e->windows.items[w].first == e->windows.items[w - 1].own));
    }
}

// An evaluation in file order, or an epoch of training.
static void check_batches(const bpt_examples_t *e, uint8_t option, bool train) {
    const bpt_batching_t o = {.batch_examples = option % 5, .batch_tokens = 1 + option, .accumulate = 1, .seed = option};
    bpt_batch_source_t *source;
    uint64_t scored = 0, examples = 0;
    require((train ? bpt_examples_train_source(e, &o, &source) : bpt_examples_eval_source(e, &o, &source)) == BPT_OK);
    while (examples < e->count) {
        bpt_batch_t b;
        bool end, listed = false;
        require(source->next(source, &b, &end) == BPT_OK && !end);
        for (int64_t i = 0; i < source->n_shapes; ++i) {
            bpt_batch_shape_t shape = source->shapes[i];  // of training with room for the largest trees
            if (b.shape.side[0].nodes < shape.side[0].nodes) shape.side[0].nodes = b.shape.side[0].nodes;
            if (b.shape.side[0].node_slots < shape.side[0].node_slots) shape.side[0].node_slots = b.shape.side[0].node_slots;
            listed = listed || bpt_batch_shape_same(&shape, &b.shape);
        }
        require(listed && b.n_targets == b.shape.side[1].rows);
        for (int64_t s = 0; s < b.n_real; ++s) {
            const bpt_side_t *target = &b.side[1];
            require(target->tokens[target->start[s]] == e->target.opening && (int64_t)target->lengths[s] <= b.shape.side[1].n);
            require((int64_t)b.side[0].lengths[s] <= b.shape.side[0].n);
        }
        scored += (uint64_t)b.n_scored;
        examples += (uint64_t)b.n_real;
    }
    require(examples == e->count && (train || scored == e->target.n_tokens));
    source->destroy(source);
}

static bpt_parallel_t cut(const char *bytes, size_t size, bool columns) {
    const char *middle = columns || !size ? NULL : memchr(bytes, 0xFE, size), *end = bytes + size;
    const char *last = middle ? memchr(middle + 1, 0xFE, (size_t)(end - middle - 1)) : NULL;
    bpt_parallel_t pair = {.text = {bpt_range_of("source", bytes, (size_t)((middle ? middle : end) - bytes))}};
    if (middle) pair.text[1] = bpt_range_of("target", middle + 1, (size_t)((last ? last : end) - middle - 1));
    if (last) pair.trees = bpt_range_of("trees", last + 1, (size_t)(end - last - 1));
    return pair;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 2 };
    if (size < HEAD) return 0;
    char *bytes;
    require(bpt_alloc(size - HEAD, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + HEAD, size - HEAD);
    const bpt_parallel_t pair = cut(bytes, size - HEAD, data[0] & 1);
    bpt_labels_t labels = {0};
    const bool trees = pair.trees.data, named = trees && data[1] & 4;
    const bpt_parallel_options_t options = {.longest = data[0] & 2 ? 4 : 0,
                                            .truncate = data[0] & 4 && !trees ? 2 : 0,
                                            .context_tokens = data[0] & 8 && !trees ? 1 + data[0] / 16 : 0,
                                            .trees = trees,
                                            .labels = named ? &labels : NULL};
    bpt_vocab_t *vocab;
    bpt_examples_t examples;
    require(bpt_vocab_create(data[1] & 1 ? BPT_UNIT_IDS : BPT_UNIT_WORD, data[1] & 2, &vocab) == BPT_OK);
    bpt_status_t status = bpt_parallel_scan(&pair, (bpt_vocab_t *const[]){vocab, vocab}, named ? &labels : NULL);
    bpt_labels_freeze(&labels);
    if (status == BPT_OK) {
        require(bpt_vocab_freeze(vocab) == BPT_OK);
        status = bpt_parallel_read(&pair, &options, (const bpt_vocab_t *const[]){vocab, vocab}, &examples);
    }
    if (status == BPT_OK) {
        check_texts(&examples, &options);
        check_batches(&examples, data[1], true);
        check_batches(&examples, data[1], false);
        bpt_examples_free(&examples);
    }
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    bpt_labels_free(&labels);
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
