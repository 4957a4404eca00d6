// libFuzzer: any bytes as word vectors in GloVe's or word2vec's form. What is accepted fills finite rows for known words alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/vocab/vectors.h"

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    static const char words[] = "a a a b b \xC3\xA9";  // <unk> <eos> a b e-acute
    const bpt_range_t corpus = bpt_range_of("words", words, sizeof words - 1);
    const int64_t dim = 1 + data[0] % 4;
    const bool random = data[0] & 4;
    char *bytes;
    bpt_vocab_t *vocab;
    enum { WORDS = 5, STRIDE = 6, COLUMN = 1 };
    float rows[WORDS * STRIDE] = {0};
    const bpt_vectors_place_t place = {.rows = rows,
                                       .stride = STRIDE,
                                       .column = COLUMN,
                                       .dimension = dim,
                                       .unknown = random ? BPT_UNKNOWN_RANDOM : BPT_UNKNOWN_ZERO,
                                       .seed = data[0]};
    bpt_vectors_found_t found;
    require(bpt_alloc(size - 1, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + 1, size - 1);
    const bpt_range_t text = bpt_range_of("input", bytes, size - 1);
    require(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab) == BPT_OK && bpt_vocab_count(vocab, &corpus) == BPT_OK &&
            bpt_vocab_freeze(vocab) == BPT_OK);
    const bpt_status_t status = bpt_vectors_parse(&text, vocab, &place, &found);
    require(status == BPT_OK || ((status == BPT_ERR_INPUT || status == BPT_ERR_USAGE) && *bpt_error_message()));
    require(found.words >= 0 && found.words <= WORDS);
    require(found.without_word >= 0 && !found.without_word == !found.first_without_word);
    require(found.repeated >= 0 && (status != BPT_OK || found.without_word + found.repeated <= found.lines));
    const bool whole = bytes && size > 1 && bytes[size - 2] == '\n';
    require(status != BPT_OK || (found.lines > 0 && (found.promised <= found.lines || whole)));  // nothing is cut off
    for (int64_t id = 0; id < WORDS; ++id)
        for (int64_t c = 0; c < STRIDE; ++c) {
            const bool own = c >= COLUMN && c < COLUMN + dim;
            require(own ? status != BPT_OK || isfinite(rows[id * STRIDE + c]) : rows[id * STRIDE + c] == 0);
        }
    int64_t filled = 0;  // words with a number that is not zero
    for (int64_t id = 0; id < WORDS; ++id)
        for (int64_t c = 0; c < dim; ++c)
            if (rows[id * STRIDE + COLUMN + c] != 0) {
                ++filled;
                break;
            }
    require(status != BPT_OK || random || filled <= found.words);
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
