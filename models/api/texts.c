// From text to tokens and back (see model.h).
#include <inttypes.h>

#include "bpt/alloc.h"
#include "bpt/strbuf.h"
#include "models/api/model_internal.h"

static bpt_status_t need_vocabulary(const bpt_model_t *m) {
    if (!m) return bpt_fail(BPT_ERR_USAGE, "the model is a null pointer");
    if (m->texts.vocabulary) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "the model was opened without its vocabulary, so there is no text: give token numbers");
}

static bpt_status_t take(const bpt_ids_t *ids, uint32_t **tokens, int64_t *count) {
    uint32_t *copy;
    BPT_TRY(bpt_alloc(ids->count, sizeof *copy, &copy));
    bpt_ids_copy(ids, 0, ids->count, copy);
    *tokens = copy;
    *count = (int64_t)ids->count;
    return BPT_OK;
}

bpt_status_t bpt_model_tokenize(const bpt_model_t *m, const char *text, size_t bytes, uint32_t **tokens, int64_t *count) {
    BPT_TRY(need_vocabulary(m));
    if ((!text && bytes) || !tokens || !count) return bpt_fail(BPT_ERR_USAGE, "bpt_model_tokenize: a null pointer");
    const bpt_range_t range = bpt_range_of("the text", text, bytes);
    bpt_ids_t ids = {0};
    BPT_TRY(bpt_vocab_encode(m->texts.vocabulary, &range, false, &ids));
    const bpt_status_t status = take(&ids, tokens, count);
    bpt_ids_free(&ids);
    return status;
}

bpt_status_t bpt_model_text(const bpt_model_t *m, const uint32_t *tokens, int64_t count, bool continues, char **text, size_t *bytes) {
    bpt_strbuf_t out = {0};
    BPT_TRY(need_vocabulary(m));
    if (!text || !bytes) return bpt_fail(BPT_ERR_USAGE, "bpt_model_text: a null pointer");
    BPT_TRY(bpt_model_check_tokens(m, tokens, count));
    bpt_status_t status = bpt_strbuf_append(&out, "", 0);
    for (int64_t i = 0; i < count && status == BPT_OK; ++i)
        status = bpt_vocab_decode(m->texts.vocabulary, tokens[i], i == 0 && !continues, &out);
    if (status != BPT_OK) {
        bpt_strbuf_free(&out);
        return status;
    }
    *text = out.data;
    *bytes = out.length;
    return BPT_OK;
}
