// libFuzzer: any bytes as word vectors in GloVe's or word2vec's form. What is accepted fills finite rows for known words alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/vectors.h"

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    static const char words[] = "a a a b b \xC3\xA9";  // <unk> <eos> a b e-acute
    const bpt_range_t corpus = bpt_range_of("words", words, sizeof words - 1);
    const int64_t dim = 1 + data[0] % 4;
    char *bytes;
    bpt_vocab_t *vocab;
    float rows[5 * 4] = {0};
    int64_t found;
    require(bpt_alloc(size - 1, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + 1, size - 1);
    const bpt_range_t text = bpt_range_of("input", bytes, size - 1);
    require(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab) == BPT_OK && bpt_vocab_count(vocab, &corpus) == BPT_OK &&
            bpt_vocab_freeze(vocab) == BPT_OK);
    const bpt_status_t status = bpt_vectors_parse(&text, vocab, dim, rows, &found);
    require(status == BPT_OK || ((status == BPT_ERR_INPUT || status == BPT_ERR_USAGE) && *bpt_error_message()));
    require(found >= 0 && found <= 5);
    if (status == BPT_OK)
        for (int64_t i = 0; i < 5 * dim; ++i) require(isfinite(rows[i]));
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
