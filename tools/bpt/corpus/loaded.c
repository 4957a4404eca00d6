// What is loaded (see loaded.h).
#include "tools/bpt/corpus/loaded.h"

#include "data/examples/examples_arrays.h"

bpt_ids_t cli_corpus_tokens(const cli_corpus_t *corpus, int part) {
    const bpt_examples_t *e = &corpus->examples[part];
    return e->tokens ? bpt_ids_of(e->tokens, e->n_tokens) : corpus->ids[part];
}

uint64_t cli_corpus_bytes(const cli_corpus_t *corpus) {
    uint64_t bytes = 0;
    for (int part = 0; part < BPT_PARTS; ++part)
        bytes += bpt_examples_bytes(&corpus->examples[part]) + corpus->ids[part].count * corpus->ids[part].width;
    return bytes;
}

static bpt_ids_t translations(const cli_corpus_t *corpus, int part) {
    const bpt_translations_t *t = &corpus->examples[part].target;
    return bpt_ids_of(t->tokens, t->n_tokens);
}

// Tokens in blocks: a corpus may be larger than memory. False at the end.
enum { BLOCK = 4096 };
static bool next_block(const bpt_ids_t *ids, uint64_t *at, uint32_t *block, uint64_t *n) {
    *n = ids->count - *at < BLOCK ? ids->count - *at : BLOCK;
    bpt_ids_copy(ids, *at, *n, block);
    *at += *n;
    return *n > 0;
}

static uint32_t largest_of(bpt_ids_t ids) {
    uint32_t largest = 0, block[BLOCK];
    for (uint64_t at = 0, n; next_block(&ids, &at, block, &n);)
        for (uint64_t i = 0; i < n; ++i)
            if (block[i] > largest) largest = block[i];
    return largest;
}

int64_t cli_corpus_largest_id(const cli_corpus_t *corpus, bool source, bool target) {
    uint32_t largest = 0;
    for (int part = 0; part < BPT_PARTS; ++part)
        for (int side = 0; side < 2; ++side) {
            const uint32_t found = !(side ? target : source) ? 0
                                   : side                    ? largest_of(translations(corpus, part))
                                                             : largest_of(cli_corpus_tokens(corpus, part));
            if (found > largest) largest = found;
        }
    return largest;
}
