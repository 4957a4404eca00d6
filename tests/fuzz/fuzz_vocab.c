// libFuzzer: any bytes as a vocab.txt. What is accepted must be written and read back as it was.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/vocab/vocab.h"

static void require(bool condition) {
    if (!condition) abort();
}

static void same(const bpt_vocab_t *a, const bpt_vocab_t *b) {
    require(bpt_vocab_size(a) == bpt_vocab_size(b));
    for (uint32_t id = 0; id < bpt_vocab_size(a); ++id) {
        size_t n, m;
        uint32_t found;
        const char *x = bpt_vocab_token(a, id, &n), *y = bpt_vocab_token(b, id, &m);
        require(n == m && !memcmp(x, y, n));
        require(bpt_vocab_find(a, x, n, &found) && found == id);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    char *bytes;  // of exactly this size, so that reading over its end is seen
    require(bpt_alloc(size - 1, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + 1, size - 1);
    static const bpt_unit_t units[] = {BPT_UNIT_BYTE, BPT_UNIT_CHAR, BPT_UNIT_WORD, BPT_UNIT_SUBWORD};
    const bpt_unit_t unit = units[data[0] % 4];
    const bpt_range_t text = bpt_range_of("input", bytes, size - 1);
    bpt_vocab_t *vocab, *again;
    const bpt_status_t status = bpt_vocab_parse(&text, unit, data[0] & 64, &vocab);
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    if (status == BPT_OK) {
        bpt_strbuf_t file = {0};
        require(bpt_vocab_format(vocab, &file) == BPT_OK);
        const bpt_range_t range = bpt_range_of("again", file.data, file.length);
        require(bpt_vocab_parse(&range, unit, data[0] & 64, &again) == BPT_OK);
        same(vocab, again);
        bpt_strbuf_free(&file);
        bpt_vocab_destroy(again);
        bpt_vocab_destroy(vocab);
    }
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
