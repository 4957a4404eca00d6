// libFuzzer: any bytes as a corpus of every unit but subwords. What is encoded has valid ids, decodes to what stood there, and gives sound
// batches.
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/lm.h"
#include "data/vocab/vocab.h"

static void require(bool condition) {
    if (!condition) abort();
}

static void check_source(bpt_batch_source_t *source, uint64_t wanted) {
    uint64_t scored = 0;
    for (bool end = false;;) {
        bpt_batch_t b;
        require(source->next(source, &b, &end) == BPT_OK);
        if (end) break;
        for (int64_t row = 0; row < b.shape.batch; ++row)
            require(b.side[0].lengths[row] >= 1 && b.side[0].lengths[row] <= b.shape.side[0].n);
        scored += (uint64_t)b.n_scored;
    }
    require(scored == wanted);
    source->destroy(source);
}

static void check_batches(const uint32_t *ids, uint64_t count, uint8_t option) {
    bpt_batch_source_t *source;
    const int64_t context = 2 + 2 * (option % 7);
    const bpt_ids_t text = bpt_ids_of(ids, count);
    if (count < 2) {
        require(bpt_lm_eval_source(&text, context, 64, BPT_PROTOCOL_CHUNKS, &source) == BPT_ERR_INPUT);
        return;
    }
    require(bpt_lm_eval_source(&text, context, 64, option & 32 ? BPT_PROTOCOL_CHUNKS : BPT_PROTOCOL_HALF, &source) == BPT_OK);
    check_source(source, count - 1);
    const uint64_t middle = count / (1 + option % 5), offsets[] = {0, middle, middle, count};
    require(bpt_lm_lines_source(ids, offsets, 3, &source) == BPT_OK);
    check_source(source, (middle > 1 ? middle - 1 : 0) + (count - middle > 1 ? count - middle - 1 : 0));
}

// Bytes and code points decode to the text; words and ids to a text that encodes to the same ids.
static void check_decoding(const bpt_vocab_t *vocab, const bpt_range_t *text, const uint32_t *ids, uint64_t count) {
    bpt_strbuf_t out = {0};
    bool first = true;
    for (uint64_t i = 0; i < count; ++i) {
        const size_t before = out.length;
        require(bpt_vocab_decode(vocab, ids[i], first, &out) == BPT_OK);
        first = out.length > before && out.data[out.length - 1] == '\n';
    }
    if (bpt_vocab_unit(vocab) == BPT_UNIT_BYTE || bpt_vocab_unit(vocab) == BPT_UNIT_CHAR) {
        require(out.length == text->bytes && !memcmp(out.data ? out.data : "", text->data, out.length));
    } else {
        bpt_ids_t again;
        const bpt_range_t range = {"again", out.data ? out.data : "", out.length, 1,
                                   1};  // offset 1: a first word may look like a byte order mark
        require(bpt_vocab_encode(vocab, &range, false, &again) == BPT_OK);
        require(again.count == count);
        for (uint64_t i = 0; i < count; ++i) {
            uint32_t id;
            bpt_ids_copy(&again, i, 1, &id);
            require(id == ids[i]);
        }
        bpt_ids_free(&again);
    }
    bpt_strbuf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    char *bytes;
    require(bpt_alloc(size - 2, 1, &bytes) == BPT_OK);
    memcpy(bytes, data + 2, size - 2);
    const bpt_range_t text = bpt_range_of("input", bytes, size - 2);
    static const bpt_unit_t units[] = {BPT_UNIT_BYTE, BPT_UNIT_CHAR, BPT_UNIT_WORD, BPT_UNIT_IDS};
    const bpt_unit_t unit = units[data[0] % 4];
    bpt_vocab_t *vocab;
    require(bpt_vocab_create(unit, data[0] & 64, &vocab) == BPT_OK);
    bpt_status_t status = bpt_vocab_count(vocab, &text);
    require(status == BPT_OK || status == BPT_ERR_INPUT);
    if (status == BPT_OK) {
        uint32_t *ids;
        bpt_ids_t encoded;
        require(bpt_vocab_freeze(vocab) == BPT_OK);
        status = bpt_vocab_encode(vocab, &text, unit == BPT_UNIT_WORD, &encoded);
        require(status == BPT_OK || (status == BPT_ERR_INPUT && unit == BPT_UNIT_IDS));
        if (status == BPT_OK) {
            const uint64_t count = encoded.count;
            require(bpt_alloc(count ? count : 1, sizeof *ids, &ids) == BPT_OK);
            bpt_ids_copy(&encoded, 0, count, ids);
            bpt_ids_free(&encoded);
            for (uint64_t i = 0; i < count; ++i) require(unit == BPT_UNIT_IDS || (int64_t)ids[i] < bpt_vocab_size(vocab));
            check_decoding(vocab, &text, ids, count);
            check_batches(ids, count, data[1]);
            bpt_free(ids);
        }
    }
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
    require(bpt_alloc_live() == 0);
    return 0;
}
