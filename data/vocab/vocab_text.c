// Texts and vocabularies (vocab.h): counting their tokens, text to ids and back.
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#include "bpt/alloc.h"
#include "data/vocab/vocab_internal.h"

// Pieces of text of about this size are given to SentencePiece, cut at blanks: whole lines, but for very long ones.
enum { SENTENCE_BYTES = 4096, CHUNK_BYTES = 65536 };

bool bpt_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }  // also \n \v \f

const char *bpt_next_token(bpt_range_t *line, size_t *bytes) {
    const char *p = line->data, *end = p + line->bytes;
    while (p < end && bpt_is_blank(*p)) ++p;
    const char *start = p;
    while (p < end && !bpt_is_blank(*p)) ++p;
    line->bytes = (uint64_t)(end - p);
    line->data = p;
    *bytes = (size_t)(p - start);
    return p == start ? NULL : start;
}

static bpt_status_t at_line(bpt_status_t status, const bpt_range_t *where) {
    return bpt_context(status, "%s: line %llu", where->path, (unsigned long long)where->line);
}

static bpt_status_t check_word(const char *word, size_t bytes) {
    if (bytes <= BPT_WORD_BYTES) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "the word '%s' is longer than %zu MiB; check that the file is a text of words, or use --unit byte",
                    bpt_show(word, bytes).text, BPT_WORD_BYTES >> 20);
}

bpt_status_t bpt_fold_word(bpt_strbuf_t *buf, const char **word, size_t *bytes) {
    size_t same = 0;
    while (same < *bytes && (signed char)(*word)[same] >= 0 && !((*word)[same] >= 'A' && (*word)[same] <= 'Z')) ++same;
    if (same == *bytes) return BPT_OK;
    bpt_strbuf_clear(buf);
    BPT_TRY(bpt_strbuf_append(buf, *word, same));
    for (size_t i = same; i < *bytes;) {
        uint32_t c;
        utf8proc_uint8_t out[4];
        const int used = bpt_utf8_next(*word + i, *bytes - i, &c);
        if (!used) return bpt_fail(BPT_ERR_INPUT, "the word '%s' is not valid UTF-8", bpt_show(*word, *bytes).text);
        BPT_TRY(bpt_strbuf_append(buf, out, (size_t)utf8proc_encode_char(utf8proc_tolower((utf8proc_int32_t)c), out)));
        i += (size_t)used;
    }
    *word = buf->data;
    *bytes = buf->length;
    return BPT_OK;
}

// The same for vocabularies that fold words.
static bpt_status_t fold(const bpt_vocab_t *v, bpt_strbuf_t *buf, const char **word, size_t *bytes) {
    return v->lower ? bpt_fold_word(buf, word, bytes) : BPT_OK;
}

// ---- Words with one blank between, handed on in pieces of at most `limit` bytes, or of one longer word

typedef struct {
    const bpt_vocab_t *vocab;
    size_t limit;
    bool encodes;  // the words are given to SentencePiece to be read, not to learn from
    bpt_status_t (*give)(void *user, const char *text, size_t bytes);
    void *user;
    bpt_strbuf_t text, folded;
} joiner_t;

static bpt_status_t join_end(joiner_t *j) {
    if (!j->text.length) return BPT_OK;
    const bpt_status_t status = j->give(j->user, j->text.data, j->text.length);
    bpt_strbuf_clear(&j->text);
    return status;
}

static bpt_status_t join_word(joiner_t *j, const char *word, size_t bytes) {
    BPT_TRY(check_word(word, bytes));
    BPT_TRY(fold(j->vocab, &j->folded, &word, &bytes));
    if (j->encodes) bpt_subwords_word(j->vocab->subwords, &word, &bytes);
    if (j->text.length && j->text.length + 1 + bytes > j->limit) BPT_TRY(join_end(j));
    if (j->text.length) BPT_TRY(bpt_strbuf_append(&j->text, " ", 1));
    return bpt_strbuf_append(&j->text, word, bytes);
}

static bpt_status_t join_words(joiner_t *j, const bpt_word_t *words, size_t n) {
    for (size_t i = 0; i < n; ++i) BPT_TRY(join_word(j, words[i].data, words[i].bytes));
    return join_end(j);
}

static bpt_status_t join_line(joiner_t *j, bpt_range_t line) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&line, &bytes));) BPT_TRY(join_word(j, word, bytes));
    return join_end(j);
}

static void join_free(joiner_t *j) {
    bpt_strbuf_free(&j->text);
    bpt_strbuf_free(&j->folded);
}

// ---- Counting

// SentencePiece learns from words of any script; one without end is cut between characters.
static bpt_status_t keep_sentence(void *user, const char *text, size_t bytes) {
    bpt_vocab_t *v = user;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at;
        if (n > SENTENCE_BYTES)
            for (n = SENTENCE_BYTES; n > 1 && ((unsigned char)text[at + n] & 0xC0) == 0x80;) --n;
        BPT_TRY(bpt_store_append(&v->sentences, text + at, n));
        BPT_TRY(bpt_store_append(&v->sentences, "\n", 1));
    }
    return BPT_OK;
}

static joiner_t learner_of(bpt_vocab_t *v) { return (joiner_t){.vocab = v, .limit = SENTENCE_BYTES, .give = keep_sentence, .user = v}; }

static bpt_status_t count_word(bpt_vocab_t *v, bpt_strbuf_t *buf, const char *word, size_t bytes) {
    BPT_TRY(check_word(word, bytes));
    BPT_TRY(fold(v, buf, &word, &bytes));
    return bpt_vocab_add(v, word, bytes, 1);
}

bpt_status_t bpt_vocab_count_words(bpt_vocab_t *v, const bpt_range_t *where, const bpt_word_t *words, size_t n) {
    joiner_t j = learner_of(v);
    bpt_status_t status = BPT_OK;
    if (bpt_unit_of(v->unit)->pieces)
        status = v->subwords ? BPT_OK : join_words(&j, words, n);
    else
        for (size_t i = 0; i < n && status == BPT_OK; ++i) status = count_word(v, &j.folded, words[i].data, words[i].bytes);
    join_free(&j);
    return at_line(status, where);
}

static bpt_status_t count_chars(bpt_vocab_t *v, const bpt_range_t *text) {
    for (uint64_t i = 0; i < text->bytes;) {
        uint32_t c;
        const int used = bpt_utf8_next(text->data + i, text->bytes - i, &c);
        BPT_TRY(bpt_vocab_add(v, text->data + i, (size_t)used, 1));
        i += (uint64_t)used;
    }
    return BPT_OK;
}

static bpt_status_t count_line(bpt_vocab_t *v, bpt_range_t line, bpt_strbuf_t *buf) {
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&line, &bytes));) BPT_TRY(count_word(v, buf, word, bytes));
    v->token[v->eos].frequency += 1;
    return BPT_OK;
}

bpt_status_t bpt_vocab_count(bpt_vocab_t *v, const bpt_range_t *text) {
    bpt_range_t rest = *text, line;
    bpt_status_t status = BPT_OK;
    if (!bpt_unit_of(v->unit)->is_text) return BPT_OK;
    BPT_TRY(bpt_range_check_utf8(text));
    if (!bpt_unit_of(v->unit)->words) return count_chars(v, text);
    const bool pieces = bpt_unit_of(v->unit)->pieces;
    joiner_t j = learner_of(v);
    while (status == BPT_OK && !(pieces && v->subwords) && bpt_range_next_line(&rest, &line))
        status = at_line(pieces ? join_line(&j, line) : count_line(v, line, &j.folded), &line);
    join_free(&j);
    return status;
}

// ---- Text to ids

static bpt_status_t unknown(const bpt_range_t *where, const char *token, size_t bytes) {
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %llu: '%s' is not in the vocabulary, which has no <unk>; train with --vocab-scope all if another part of the "
                    "data holds it, else with a text that does, or with --unit byte",
                    where->path, (unsigned long long)where->line, bpt_show(token, bytes).text);
}

static bpt_status_t parse_id(const bpt_vocab_t *v, const bpt_range_t *where, const char *token, size_t bytes, uint32_t *id) {
    int64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
        if (token[i] < '0' || token[i] > '9')
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' is not a token id (a decimal number)", where->path,
                            (unsigned long long)where->line, bpt_show(token, bytes).text);
        if (value < v->id_limit) value = value * 10 + (token[i] - '0');  // from there on it is too large whatever follows
    }
    if (value >= v->id_limit)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: token %s is outside the vocabulary, whose ids are 0 to %lld", where->path,
                        (unsigned long long)where->line, bpt_show(token, bytes).text, (long long)v->id_limit - 1);
    *id = (uint32_t)value;
    return BPT_OK;
}

static bpt_status_t encode_word(const bpt_vocab_t *v, const bpt_range_t *where, const char *word, size_t bytes, bpt_strbuf_t *buf,
                                uint32_t *id) {
    if (v->unit == BPT_UNIT_IDS) return parse_id(v, where, word, bytes, id);
    BPT_TRY(at_line(check_word(word, bytes), where));
    BPT_TRY(at_line(fold(v, buf, &word, &bytes), where));
    return bpt_vocab_find(v, word, bytes, id) ? BPT_OK : unknown(where, word, bytes);
}

bpt_status_t bpt_vocab_encode_word(const bpt_vocab_t *v, const bpt_range_t *where, const char *word, size_t bytes, uint32_t *id) {
    bpt_strbuf_t buf = {0};
    const bpt_status_t status = encode_word(v, where, word, bytes, &buf, id);
    bpt_strbuf_free(&buf);
    return status;
}

// How much text a token stands for: that from the end of the one before it.
static void count_scored(bpt_scored_text_t *s, const char *end) {
    if (!s) return;
    const bool counts = s->tokens > 0 && !(s->drop && s->tokens % s->drop == 0);
    for (const char *p = s->at; counts && p < end; ++p) s->characters += ((unsigned char)*p & 0xC0) != 0x80;
    if (counts) s->bytes += end - s->at;
    s->at = end;
    ++s->tokens;
}

// Pieces of words that were joined, and where they end in the text itself.
typedef struct {
    bpt_take_id_t *take;
    void *user;
    const bpt_vocab_t *vocab;
    bpt_scored_text_t *scored;  // NULL: nobody asks
    const char *original, *end;
    const char *joined;
    size_t at, bytes;
    bool any;  // of what is joined
} pieces_t;

static void skip(pieces_t *p, bool blanks) {
    while (p->original < p->end && bpt_is_blank(*p->original) == blanks) ++p->original;
}

// Joined words differ from the text in blanks, in the case of letters, and where a word is <unk>: words and blanks are found one by one,
// characters of a word side by side.
static void follow(pieces_t *p, size_t to) {
    while (p->at < to) {
        uint32_t c;
        const int used = bpt_utf8_next(p->joined + p->at, p->bytes - p->at, &c);
        if (p->at == 0) skip(p, true);
        if (p->joined[p->at] == ' ') {
            skip(p, false);
            skip(p, true);
        } else if (p->original < p->end && !bpt_is_blank(*p->original)) {
            const int there = bpt_utf8_next(p->original, (uint64_t)(p->end - p->original), &c);
            p->original += there > 0 ? there : 1;
        }
        p->at += used > 0 ? (size_t)used : 1;
    }
    if (to == p->bytes) skip(p, false);
}

static bpt_status_t take_piece(void *user, uint32_t id, size_t end) {
    pieces_t *p = user;
    if (p->scored) {
        follow(p, end);
        count_scored(p->scored, p->original);
    }
    p->any = true;
    return p->take(p->user, id);
}

// A text of nothing but signs that the model drops is unknown, not empty.
static bpt_status_t encode_joined(void *user, const char *text, size_t bytes) {
    pieces_t *p = user;
    p->any = false;
    p->joined = text;
    p->bytes = bytes;
    p->at = 0;
    BPT_TRY(bpt_subwords_encode(p->vocab->subwords, text, bytes, take_piece, p));
    return p->any ? BPT_OK : take_piece(p, p->vocab->unk, bytes);
}

static joiner_t encoder_of(const bpt_vocab_t *v, pieces_t *p) {
    return (joiner_t){.vocab = v, .limit = CHUNK_BYTES, .encodes = true, .give = encode_joined, .user = p};
}

static bpt_status_t need_subwords(const bpt_vocab_t *v) {
    return v->subwords ? BPT_OK : bpt_fail(BPT_ERR_INTERNAL, "a vocabulary of subwords without its model");
}

bpt_status_t bpt_vocab_encode_words(const bpt_vocab_t *v, const bpt_range_t *where, const bpt_word_t *words, size_t n, bpt_take_id_t *take,
                                    void *user) {
    pieces_t p = {.take = take, .user = user, .vocab = v};
    joiner_t j = encoder_of(v, &p);
    bpt_status_t status = BPT_OK;
    if (bpt_unit_of(v->unit)->pieces) {
        BPT_TRY(need_subwords(v));
        status = at_line(join_words(&j, words, n), where);
    } else {
        for (size_t i = 0; i < n && status == BPT_OK; ++i) {
            uint32_t id;
            status = encode_word(v, where, words[i].data, words[i].bytes, &j.folded, &id);
            if (status == BPT_OK) status = take(user, id);
        }
    }
    join_free(&j);
    return status;
}

// ---- Lines of a text

static bpt_status_t push(void *user, uint32_t id) { return bpt_ids_push(user, id); }

static bpt_status_t encode_line(const bpt_vocab_t *v, bpt_range_t line, bpt_ids_t *ids, bpt_strbuf_t *buf, bpt_scored_text_t *scored) {
    const bpt_range_t where = line;
    size_t bytes;
    for (const char *word; (word = bpt_next_token(&line, &bytes));) {
        uint32_t id;
        BPT_TRY(encode_word(v, &where, word, bytes, buf, &id));
        BPT_TRY(bpt_ids_push(ids, id));
        count_scored(scored, word + bytes);
    }
    return BPT_OK;
}

static bpt_status_t encode_lines(const bpt_vocab_t *v, const bpt_range_t *text, bool line_ends, bpt_ids_t *ids, bpt_scored_text_t *scored) {
    bpt_range_t rest = *text, line;
    const bpt_unit_spec_t *unit = bpt_unit_of(v->unit);
    pieces_t p = {.take = push, .user = ids, .vocab = v, .scored = scored};
    joiner_t j = encoder_of(v, &p);
    bpt_status_t status = unit->is_text ? bpt_range_check_utf8(text) : BPT_OK;
    if (status == BPT_OK && unit->pieces) status = need_subwords(v);
    if (scored) scored->at = text->data;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        p.original = line.data;
        p.end = line.data + line.bytes;
        status = unit->pieces ? at_line(join_line(&j, line), &line) : encode_line(v, line, ids, &j.folded, scored);
        const bool newline = rest.data[-1] == '\n';
        if (status != BPT_OK || !unit->words || !(newline || line_ends)) continue;
        status = bpt_ids_push(ids, v->eos);
        count_scored(scored, rest.data);
    }
    join_free(&j);
    return status;
}

static bpt_status_t encode_chars(const bpt_vocab_t *v, const bpt_range_t *text, bpt_ids_t *ids) {
    BPT_TRY(bpt_range_check_utf8(text));
    for (uint64_t i = 0; i < text->bytes;) {
        uint32_t c, id;
        const int used = bpt_utf8_next(text->data + i, text->bytes - i, &c);
        if (!bpt_vocab_find(v, text->data + i, (size_t)used, &id)) {
            const bpt_range_t here = bpt_range_part(text, i, i);
            return unknown(&here, text->data + i, (size_t)used);
        }
        BPT_TRY(bpt_ids_push(ids, id));
        i += (uint64_t)used;
    }
    return BPT_OK;
}

// Words that are written as <unk> is.
static uint64_t count_symbols(const bpt_vocab_t *v, bpt_range_t text) {
    size_t bytes, symbol_bytes;
    uint64_t count = 0;
    const char *symbol = bpt_vocab_token(v, v->unk, &symbol_bytes);
    for (const char *word; (word = bpt_next_token(&text, &bytes));)
        count += bytes == symbol_bytes && !(v->lower ? strncasecmp(word, symbol, bytes) : memcmp(word, symbol, bytes));
    return count;
}

static uint64_t count_hidden(const bpt_vocab_t *v, const bpt_range_t *text, const bpt_ids_t *ids) {
    const uint64_t unknown = v->unk == BPT_NO_TOKEN ? 0 : bpt_ids_count_one(ids, v->unk), symbols = unknown ? count_symbols(v, *text) : 0;
    return unknown > symbols ? unknown - symbols : 0;
}

bpt_status_t bpt_vocab_encode_scored(const bpt_vocab_t *v, const bpt_range_t *text, bool line_ends, bpt_ids_t *out,
                                     bpt_scored_text_t *scored) {
    if (v->unit == BPT_UNIT_BYTE) {
        *out = bpt_ids_of_bytes(text->data, text->bytes);
        return BPT_OK;
    }
    bpt_ids_t ids = bpt_ids_begin(bpt_vocab_size(v));
    bpt_status_t status = v->unit == BPT_UNIT_CHAR ? encode_chars(v, text, &ids) : encode_lines(v, text, line_ends, &ids, scored);
    if (status == BPT_OK) status = bpt_ids_finish(&ids);
    if (status == BPT_OK) ids.hidden = count_hidden(v, text, &ids);
    if (status != BPT_OK) bpt_ids_free(&ids);
    *out = ids;
    return status;
}

bpt_status_t bpt_vocab_encode(const bpt_vocab_t *v, const bpt_range_t *text, bool line_ends, bpt_ids_t *out) {
    return bpt_vocab_encode_scored(v, text, line_ends, out, NULL);
}

// ---- Ids to text

bpt_status_t bpt_vocab_decode(const bpt_vocab_t *v, uint32_t id, bool first, bpt_strbuf_t *out) {
    if (v->unit == BPT_UNIT_IDS) return bpt_strbuf_printf(out, "%s%u", first ? "" : " ", id);
    if (id >= v->count) return bpt_fail(BPT_ERR_INTERNAL, "id %u of a vocabulary of %zu", id, v->count);
    const bpt_unit_spec_t *unit = bpt_unit_of(v->unit);
    const bool line_start = first || (out->length && out->data[out->length - 1] == '\n');
    if (unit->pieces) {
        BPT_TRY(need_subwords(v));
        return bpt_subwords_decode(v->subwords, id, line_start, out);
    }
    if (unit->words && id == v->eos) return bpt_strbuf_append(out, "\n", 1);
    if (unit->words && !line_start) BPT_TRY(bpt_strbuf_append(out, " ", 1));
    return bpt_strbuf_append(out, v->bytes + v->token[id].offset, v->token[id].bytes);
}
