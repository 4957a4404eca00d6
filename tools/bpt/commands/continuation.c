// Going on with a text (see continuation.h).
#include "tools/bpt/commands/continuation.h"

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "tools/bpt/commands/stop_texts.h"

enum { MAX_REMARKED = 8 };  // words

bpt_status_t cli_writer_open(const cli_options_t *o, cli_trained_t *trained, cli_writer_t *w) {
    const bpt_sample_options_t sampling = {.temperature = o->use.temperature,
                                           .top_k = o->use.top_k,
                                           .top_p = o->use.top_p,
                                           .min_p = o->use.min_p,
                                           .repeat_penalty = o->use.repeat_penalty,
                                           .repeat_window = o->use.repeat_window,
                                           .no_repeat = o->use.no_repeat,
                                           .seed = o->train.seed};
    *w = (cli_writer_t){.o = o, .trained = trained, .room = cli_trained_room(o, trained)};
    w->room.taken = o->use.max_tokens;
    w->room.by = "--max-tokens";
    BPT_TRY(bpt_decode_check_model(&trained->config));
    return bpt_sampler_create(&sampling, trained->config.vocab, &w->sampler);
}

bpt_status_t cli_writer_room(cli_writer_t *w, int64_t capacity, int64_t sequences) {
    bpt_decoder_destroy(w->decoder);
    w->decoder = NULL;
    BPT_TRY(bpt_decoder_create(w->trained->runner, capacity, sequences, &w->decoder));
    w->capacity = capacity;
    w->sequences = sequences;
    return bpt_realloc(&w->logits, (size_t)(sequences * w->trained->config.vocab), sizeof *w->logits);
}

void cli_writer_close(cli_writer_t *w) {
    bpt_sampler_destroy(w->sampler);
    bpt_decoder_destroy(w->decoder);
    bpt_free(w->logits);
    bpt_strbuf_free(&w->scratch);
}

// ---- Tokens of a text

static bpt_status_t list_unknown(const bpt_vocab_t *vocab, bpt_range_t text, bpt_strbuf_t *list, int *count) {
    bpt_range_t line;
    uint32_t unknown, id;
    size_t bytes;
    if (!bpt_vocab_find(vocab, "<unk>", 5, &unknown)) return BPT_OK;
    while (bpt_range_next_line(&text, &line))
        for (const char *word; (word = bpt_next_token(&line, &bytes));) {
            BPT_TRY(bpt_vocab_encode_word(vocab, &line, word, bytes, &id));
            if (id != unknown || (bytes == 5 && !memcmp(word, "<unk>", 5)) || ++*count > MAX_REMARKED) continue;
            BPT_TRY(bpt_strbuf_printf(list, "%s'%s'", *count > 1 ? ", " : "", bpt_show(word, bytes).text));
        }
    return BPT_OK;
}

static bpt_status_t remark_unknown(const bpt_vocab_t *vocab, const bpt_range_t *text) {
    bpt_strbuf_t list = {0};
    int count = 0;
    const bpt_status_t status = list_unknown(vocab, *text, &list, &count);
    char more[32] = "";
    if (count > MAX_REMARKED) snprintf(more, sizeof more, " and %d more", count - MAX_REMARKED);
    if (status == BPT_OK && count)
        bpt_info("%s: line %llu: not in the vocabulary, read as <unk>: %s%s", text->path, (unsigned long long)text->line, list.data, more);
    bpt_strbuf_free(&list);
    return status;
}

// Subwords are of characters: what a word is made of may be known though the word is not.
static void remark_characters(const bpt_vocab_t *vocab, const bpt_range_t *text, const uint32_t *ids, uint64_t count) {
    uint32_t unknown;
    uint64_t places = 0;
    if (!bpt_vocab_find(vocab, "<unk>", 5, &unknown)) return;
    for (uint64_t i = 0; i < count; ++i) places += ids[i] == unknown;
    if (places)
        bpt_info("%s: line %llu: characters that no subword has are read as <unk> in %llu place%s", text->path,
                 (unsigned long long)text->line, (unsigned long long)places, places == 1 ? "" : "s");
}

bpt_status_t cli_writer_encode(const cli_writer_t *w, const bpt_range_t *text, uint32_t **ids, uint64_t *count) {
    const bpt_vocab_t *vocab = w->trained->vocab;
    bpt_ids_t encoded = {0};
    *ids = NULL;
    BPT_TRY(bpt_vocab_encode(vocab, text, false, &encoded));
    *count = encoded.count;
    bpt_status_t status = *count ? bpt_alloc(*count, sizeof **ids, ids) : BPT_OK;
    if (status == BPT_OK) bpt_ids_copy(&encoded, 0, *count, *ids);
    bpt_ids_free(&encoded);
    if (status == BPT_OK && bpt_vocab_unit(vocab) == BPT_UNIT_WORD) status = remark_unknown(vocab, text);
    if (status == BPT_OK && bpt_unit_of(bpt_vocab_unit(vocab))->pieces) remark_characters(vocab, text, *ids, *count);
    if (status == BPT_OK) return BPT_OK;
    bpt_free(*ids);
    *ids = NULL;
    return status;
}

// ---- One text

static bpt_status_t add_id(cli_continuation_t *c, uint32_t id) {
    BPT_TRY(bpt_grow(&c->ids, c->count, &c->capacity, sizeof *c->ids));
    c->ids[c->count++] = id;
    return BPT_OK;
}

// Only the text of this token is known to begin a line or not, so it is made by itself.
static bpt_status_t add_text(cli_writer_t *w, cli_continuation_t *c, uint32_t id, bool shown) {
    bpt_strbuf_clear(&w->scratch);
    BPT_TRY(bpt_vocab_decode(w->trained->vocab, id, c->line_start, &w->scratch));
    if (w->scratch.length) c->line_start = w->scratch.data[w->scratch.length - 1] == '\n';
    return shown && w->scratch.length ? bpt_strbuf_append(&c->text, w->scratch.data, w->scratch.length) : BPT_OK;
}

bpt_status_t cli_continuation_give(cli_writer_t *w, cli_continuation_t *c, const uint32_t *ids, uint64_t count, bool echo) {
    for (uint64_t i = 0; i < count; ++i) {
        BPT_TRY(add_id(c, ids[i]));
        BPT_TRY(add_text(w, c, ids[i], echo));
    }
    if (!echo && !bpt_unit_of(w->trained->unit)->pieces) c->line_start = true;  // a piece may go on with the prompt's last word
    c->ready = c->text.length;
    c->chosen = 0;
    return BPT_OK;
}

// Bytes at the end that begin a character which has more of them.
static size_t unfinished(const char *text, size_t bytes) {
    for (size_t n = 1; n <= 3 && n <= bytes; ++n) {
        const unsigned char c = (unsigned char)text[bytes - n];
        if ((c & 0xC0) == 0x80) continue;
        const size_t whole = c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        return n < whole && c < 0xF8 ? n : 0;
    }
    return 0;
}

bpt_status_t cli_continuation_draw(cli_writer_t *w, cli_continuation_t *c, const float *logits, uint64_t draw, uint32_t *token) {
    BPT_TRY(bpt_sampler_draw(w->sampler, logits, c->ids, (int64_t)c->count, draw, token));
    BPT_TRY(add_id(c, *token));
    BPT_TRY(add_text(w, c, *token, true));
    ++c->chosen;
    if (c->text.length == c->ready) return BPT_OK;
    const char *rest = c->text.data + c->ready;
    size_t bytes = c->text.length - c->ready;
    if (c->chosen > w->o->use.min_tokens) bytes = cli_stop_texts_scan(&w->o->use.stop, rest, bytes, &c->stopped);
    c->ready += c->stopped ? bytes : bytes - unfinished(rest, bytes);
    return BPT_OK;
}

void cli_continuation_end(cli_continuation_t *c) {
    if (!c->stopped) c->ready = c->text.length;
}

void cli_continuation_free(cli_continuation_t *c) {
    bpt_free(c->ids);
    bpt_strbuf_free(&c->text);
    *c = (cli_continuation_t){0};
}
