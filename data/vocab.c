// Vocabularies (vocab.h): an open-addressing table over xxHash; the file form is in vocab_file.c.
#include "data/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bpt/alloc.h"
#include "data/vocab_internal.h"

const char *const bpt_unit_names[] = {"byte", "char", "word", "ids", NULL};

bpt_status_t bpt_vocab_create(bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    bpt_vocab_t *v;
    BPT_TRY(bpt_alloc(1, sizeof *v, &v));
    *v = (bpt_vocab_t){.unit = unit, .lower = lower, .unk = BPT_NO_TOKEN, .eos = BPT_NO_TOKEN, .id_limit = UINT32_MAX};
    bpt_status_t status = BPT_OK;
    if (unit == BPT_UNIT_WORD) {
        status = bpt_vocab_add(v, "<unk>", 5, 0);
        if (status == BPT_OK) status = bpt_vocab_add(v, "<eos>", 5, 0);
        v->unk = 0;
        v->eos = 1;
    }
    for (int b = 0; unit == BPT_UNIT_BYTE && b < 256 && status == BPT_OK; ++b) status = bpt_vocab_add(v, &(char){(char)b}, 1, 0);
    if (status != BPT_OK) bpt_vocab_destroy(v), v = NULL;
    *out = v;
    return status;
}

void bpt_vocab_limit_ids(bpt_vocab_t *v, int64_t limit) { v->id_limit = limit < UINT32_MAX ? limit : UINT32_MAX; }

void bpt_vocab_destroy(bpt_vocab_t *v) {
    if (!v) return;
    bpt_free(v->token);
    bpt_free(v->slot);
    bpt_free(v->bytes);
    bpt_free(v);
}

// Slot that holds the token, or the free one where it belongs. There are always free slots.
static size_t find_slot(const bpt_vocab_t *v, const char *token, size_t bytes, uint64_t hash) {
    size_t i = (size_t)hash & v->mask;
    for (; v->slot[i]; i = (i + 1) & v->mask) {
        const bpt_token_t *t = &v->token[v->slot[i] - 1];
        if (t->hash == hash && t->bytes == bytes && !memcmp(v->bytes + t->offset, token, bytes)) break;
    }
    return i;
}

bpt_status_t bpt_vocab_rehash(bpt_vocab_t *v, size_t slots) {
    uint32_t *slot;
    BPT_TRY(bpt_alloc(slots, sizeof *slot, &slot));
    bpt_free(v->slot);
    v->slot = slot;
    v->mask = slots - 1;
    for (size_t id = 0; id < v->count; ++id) {
        size_t i = (size_t)v->token[id].hash & v->mask;
        while (slot[i]) i = (i + 1) & v->mask;
        slot[i] = (uint32_t)id + 1;
    }
    return BPT_OK;
}

uint32_t bpt_vocab_lookup(const bpt_vocab_t *v, const char *token, size_t bytes) {
    if (!v->count) return BPT_NO_TOKEN;
    const uint32_t found = v->slot[find_slot(v, token, bytes, XXH3_64bits(token, bytes))];
    return found ? found - 1 : BPT_NO_TOKEN;
}

bpt_status_t bpt_vocab_add(bpt_vocab_t *v, const char *token, size_t bytes, uint64_t frequency) {
    if (!v->slot || v->count * 2 >= v->mask) BPT_TRY(bpt_vocab_rehash(v, v->slot ? (v->mask + 1) * 2 : 1024));
    const uint64_t hash = XXH3_64bits(token, bytes);
    const size_t slot = find_slot(v, token, bytes, hash);
    if (v->slot[slot]) {
        v->token[v->slot[slot] - 1].frequency += frequency;
        return BPT_OK;
    }
    if (v->count >= UINT32_MAX - 2) return bpt_fail(BPT_ERR_INPUT, "a vocabulary of more than %u tokens is not possible", UINT32_MAX - 2);
    BPT_TRY(bpt_grow(&v->token, v->count, &v->capacity, sizeof *v->token));
    while (v->n_bytes + bytes > v->byte_capacity) {
        const size_t wanted = v->byte_capacity ? v->byte_capacity * 2 : 4096;
        BPT_TRY(bpt_realloc(&v->bytes, wanted, 1));
        v->byte_capacity = wanted;
    }
    memcpy(v->bytes + v->n_bytes, token, bytes);
    v->token[v->count] = (bpt_token_t){hash, v->n_bytes, bytes, frequency};
    v->n_bytes += bytes;
    v->slot[slot] = (uint32_t)++v->count;
    return BPT_OK;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }  // also \n \v \f

const char *bpt_next_token(bpt_range_t *line, size_t *bytes) {
    const char *p = line->data, *end = p + line->bytes;
    while (p < end && is_blank(*p)) ++p;
    const char *start = p;
    while (p < end && !is_blank(*p)) ++p;
    line->bytes = (uint64_t)(end - p);
    line->data = p;
    *bytes = (size_t)(p - start);
    return p == start ? NULL : start;
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

bpt_status_t bpt_vocab_count_word(bpt_vocab_t *v, const char *word, size_t bytes) {
    BPT_TRY(check_word(word, bytes));
    if (!v->lower) return bpt_vocab_add(v, word, bytes, 1);
    bpt_strbuf_t buf = {0};
    bpt_status_t status = bpt_fold_word(&buf, &word, &bytes);
    if (status == BPT_OK) status = bpt_vocab_add(v, word, bytes, 1);
    bpt_strbuf_free(&buf);
    return status;
}

bpt_status_t bpt_vocab_count(bpt_vocab_t *v, const bpt_range_t *text) {
    bpt_range_t rest = *text, line;
    if (v->unit == BPT_UNIT_BYTE || v->unit == BPT_UNIT_IDS) return BPT_OK;
    BPT_TRY(bpt_range_check_utf8(text));
    if (v->unit == BPT_UNIT_CHAR) {
        for (uint64_t i = 0; i < text->bytes;) {
            uint32_t c;
            const int used = bpt_utf8_next(text->data + i, text->bytes - i, &c);
            BPT_TRY(bpt_vocab_add(v, text->data + i, (size_t)used, 1));
            i += (uint64_t)used;
        }
        return BPT_OK;
    }
    while (bpt_range_next_line(&rest, &line)) {
        size_t bytes;
        for (const char *word; (word = bpt_next_token(&line, &bytes));)
            BPT_TRY(bpt_context(bpt_vocab_count_word(v, word, bytes), "%s: line %llu", line.path, (unsigned long long)line.line));
        v->token[v->eos].frequency += 1;
    }
    return BPT_OK;
}

static int by_bytes(const void *a, const void *b, void *vocab) {
    const bpt_vocab_t *v = vocab;
    const bpt_token_t *x = a, *y = b;
    const int order = memcmp(v->bytes + x->offset, v->bytes + y->offset, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_frequency(const void *a, const void *b, void *vocab) {
    const bpt_token_t *x = a, *y = b;
    if (x->frequency != y->frequency) return x->frequency < y->frequency ? 1 : -1;
    return by_bytes(a, b, vocab);
}

bpt_status_t bpt_vocab_freeze(bpt_vocab_t *v) {
    if (v->unit == BPT_UNIT_WORD) qsort_r(v->token + 2, v->count - 2, sizeof *v->token, by_frequency, v);
    if (v->unit == BPT_UNIT_CHAR && v->count) qsort_r(v->token, v->count, sizeof *v->token, by_bytes, v);
    return v->count ? bpt_vocab_rehash(v, v->mask + 1) : BPT_OK;
}

int64_t bpt_vocab_size(const bpt_vocab_t *v) { return (int64_t)v->count; }
bpt_unit_t bpt_vocab_unit(const bpt_vocab_t *v) { return v->unit; }

const char *bpt_vocab_token(const bpt_vocab_t *v, uint32_t id, size_t *bytes) {
    *bytes = v->token[id].bytes;
    return v->bytes + v->token[id].offset;
}

bool bpt_vocab_find(const bpt_vocab_t *v, const char *token, size_t bytes, uint32_t *id) {
    *id = bpt_vocab_lookup(v, token, bytes);
    if (*id == BPT_NO_TOKEN) *id = v->unk;
    return *id != BPT_NO_TOKEN;
}

// ---- Text to ids ------------------------------------------------------------------------------------------------------
static bpt_status_t unknown(const bpt_range_t *where, const char *token, size_t bytes) {
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %llu: '%s' is not in the vocabulary, which has no <unk>; train with a text that holds it or use --unit byte",
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
    BPT_TRY(bpt_context(check_word(word, bytes), "%s: line %llu", where->path, (unsigned long long)where->line));
    if (v->lower) BPT_TRY(bpt_context(bpt_fold_word(buf, &word, &bytes), "%s: line %llu", where->path, (unsigned long long)where->line));
    return bpt_vocab_find(v, word, bytes, id) ? BPT_OK : unknown(where, word, bytes);
}

bpt_status_t bpt_vocab_encode_word(const bpt_vocab_t *v, const bpt_range_t *where, const char *word, size_t bytes, uint32_t *id) {
    bpt_strbuf_t buf = {0};
    const bpt_status_t status = encode_word(v, where, word, bytes, &buf, id);
    bpt_strbuf_free(&buf);
    return status;
}

static bpt_status_t encode_words(const bpt_vocab_t *v, const bpt_range_t *text, bool line_ends, bpt_ids_t *ids, bpt_strbuf_t *buf) {
    bpt_range_t rest = *text, line;
    if (v->unit == BPT_UNIT_WORD) BPT_TRY(bpt_range_check_utf8(text));
    while (bpt_range_next_line(&rest, &line)) {
        size_t bytes;
        for (const char *word; (word = bpt_next_token(&line, &bytes));) {
            uint32_t id;
            BPT_TRY(encode_word(v, &line, word, bytes, buf, &id));
            BPT_TRY(bpt_ids_push(ids, id));
        }
        const bool newline = rest.data[-1] == '\n';
        if (v->unit == BPT_UNIT_WORD && (newline || line_ends)) BPT_TRY(bpt_ids_push(ids, v->eos));
    }
    return BPT_OK;
}

static bpt_status_t encode_chars(const bpt_vocab_t *v, const bpt_range_t *text, bpt_ids_t *ids) {
    BPT_TRY(bpt_range_check_utf8(text));
    bpt_range_t here = *text;
    for (uint64_t i = 0; i < text->bytes;) {
        uint32_t c, id;
        const int used = bpt_utf8_next(text->data + i, text->bytes - i, &c);
        if (!bpt_vocab_find(v, text->data + i, (size_t)used, &id)) return unknown(&here, text->data + i, (size_t)used);
        here.line += text->data[i] == '\n';
        BPT_TRY(bpt_ids_push(ids, id));
        i += (uint64_t)used;
    }
    return BPT_OK;
}

bpt_status_t bpt_vocab_encode(const bpt_vocab_t *v, const bpt_range_t *text, bool line_ends, bpt_ids_t *out) {
    if (v->unit == BPT_UNIT_BYTE) {
        *out = bpt_ids_of_bytes(text->data, text->bytes);
        return BPT_OK;
    }
    bpt_ids_t ids = bpt_ids_begin(bpt_vocab_size(v));
    bpt_strbuf_t buf = {0};
    bpt_status_t status = v->unit == BPT_UNIT_CHAR ? encode_chars(v, text, &ids) : encode_words(v, text, line_ends, &ids, &buf);
    if (status == BPT_OK) status = bpt_ids_finish(&ids);
    bpt_strbuf_free(&buf);
    if (status != BPT_OK) bpt_ids_free(&ids);
    *out = ids;
    return status;
}

bpt_status_t bpt_vocab_decode(const bpt_vocab_t *v, uint32_t id, bool first, bpt_strbuf_t *out) {
    if (v->unit == BPT_UNIT_IDS) return bpt_strbuf_printf(out, "%s%u", first ? "" : " ", id);
    if (id >= v->count) return bpt_fail(BPT_ERR_INTERNAL, "id %u of a vocabulary of %zu", id, v->count);
    if (v->unit == BPT_UNIT_WORD && id == v->eos) return bpt_strbuf_append(out, "\n", 1);
    const bool blank = v->unit == BPT_UNIT_WORD && !first && !(out->length && out->data[out->length - 1] == '\n');
    if (blank) BPT_TRY(bpt_strbuf_append(out, " ", 1));
    return bpt_strbuf_append(out, v->bytes + v->token[id].offset, v->token[id].bytes);
}
