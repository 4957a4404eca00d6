// vocab.txt: one token a line, line number - 1 = id, escapes \n \t \\ \xHH for what a line cannot hold (vocab.h).
#include <string.h>

#include "bpt/file.h"
#include "data/vocab/vocab_internal.h"

// Escapes: control characters, the backslash, the byte order mark and whatever is not UTF-8.
static bpt_status_t append_escaped(const bpt_vocab_t *v, uint32_t id, bpt_strbuf_t *out) {
    size_t bytes;
    const char *token = bpt_vocab_token(v, id, &bytes);
    for (size_t i = 0; i < bytes;) {
        uint32_t c = 0;
        const int used = bpt_utf8_next(token + i, bytes - i, &c);
        const bool raw = used > 0 && c >= 0x20 && c != 0x7F && c != '\\' && c != 0xFEFF;
        if (raw)
            BPT_TRY(bpt_strbuf_append(out, token + i, (size_t)used));
        else if (c == '\n' || c == '\t' || c == '\\')
            BPT_TRY(bpt_strbuf_append(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\\\", 2));
        else
            BPT_TRY(bpt_strbuf_printf(out, "\\x%02X", (unsigned char)token[i]));
        i += raw ? (size_t)used : 1;
    }
    return bpt_strbuf_append(out, "\n", 1);
}

bpt_status_t bpt_vocab_format(const bpt_vocab_t *v, bpt_strbuf_t *out) {
    for (size_t id = 0; id < v->count; ++id) BPT_TRY(append_escaped(v, (uint32_t)id, out));
    return BPT_OK;
}

bpt_status_t bpt_vocab_write(const bpt_vocab_t *v, const char *path) {
    bpt_strbuf_t text = {.limit = SIZE_MAX / 4};
    bpt_status_t status = bpt_vocab_format(v, &text);
    if (status == BPT_OK) status = bpt_file_write(path, text.length ? text.data : "", text.length);
    bpt_strbuf_free(&text);
    return status;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bpt_status_t unescape(const bpt_range_t *line, bpt_strbuf_t *out) {
    bpt_strbuf_clear(out);
    for (uint64_t i = 0; i < line->bytes; ++i) {
        char c = line->data[i];
        if ((unsigned char)c < 0x20 || c == 0x7F)
            return bpt_fail(BPT_ERR_INPUT, "a control character, to be written as \\x%02X", (unsigned char)c);
        if (c == '\\') {
            const char e = ++i < line->bytes ? line->data[i] : 0;
            const int high = e == 'x' && i + 2 < line->bytes ? hex(line->data[i + 1]) : -1, low = high >= 0 ? hex(line->data[i + 2]) : -1;
            if (e != 'n' && e != 't' && e != '\\' && low < 0)
                return bpt_fail(BPT_ERR_INPUT, "unknown escape; \\n, \\t, \\\\ and \\xHH are known");
            c = e == 'n' ? '\n' : e == 't' ? '\t' : e == '\\' ? '\\' : (char)(high * 16 + low);
            if (e == 'x') i += 2;
        }
        BPT_TRY(bpt_strbuf_append(out, &c, 1));
    }
    return out->length ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "a token cannot be empty");
}

// A column of a file may hold blanks ("New York", "26 000"), in it and not at its ends.
static bool can_be_word(const bpt_strbuf_t *token) {
    const bool at_ends = bpt_is_blank(token->data[0]) || bpt_is_blank(token->data[token->length - 1]);
    return !at_ends && !memchr(token->data, '\t', token->length) && !memchr(token->data, '\n', token->length);
}

// Whether such a token can be in a vocabulary of the unit at place `id`. <unk> and <eos> or the 256 bytes are there already.
static bpt_status_t check_token(const bpt_vocab_t *v, const bpt_strbuf_t *token, size_t id) {
    const bpt_shown_t shown = bpt_show(token->data, token->length);
    const uint32_t known = bpt_vocab_lookup(v, token->data, token->length);
    if (v->unit == BPT_UNIT_BYTE && known != id)
        return bpt_fail(BPT_ERR_INPUT, "'%s' is out of place; a byte vocabulary has its 256 bytes in order", shown.text);
    if (v->unit == BPT_UNIT_BYTE) return BPT_OK;
    if (v->unit == BPT_UNIT_WORD && id < 2)
        return known == id ? BPT_OK
                           : bpt_fail(BPT_ERR_INPUT, "'%s' is out of place; a word vocabulary begins with <unk> and <eos>", shown.text);
    if (known != BPT_NO_TOKEN) return bpt_fail(BPT_ERR_INPUT, "'%s' is there twice", shown.text);
    uint32_t c;
    if (v->unit == BPT_UNIT_CHAR && bpt_utf8_next(token->data, token->length, &c) != (int)token->length)
        return bpt_fail(BPT_ERR_INPUT, "'%s' is not one code point; is it the vocabulary of another unit?", shown.text);
    if (bpt_unit_of(v->unit)->words && !can_be_word(token))
        return bpt_fail(BPT_ERR_INPUT,
                        "'%s' begins or ends with a blank, or holds a tab or a line end, so it is no word; is it the "
                        "vocabulary of another unit?",
                        shown.text);
    const bpt_range_t whole = bpt_range_of("the token", token->data, token->length);
    return bpt_range_check_utf8(&whole);
}

static bpt_status_t read_lines(bpt_vocab_t *v, const bpt_range_t *text, bpt_strbuf_t *token) {
    bpt_range_t rest = *text, line;
    size_t lines = 0;
    for (; bpt_range_next_line(&rest, &line); ++lines) {
        BPT_TRY(bpt_range_check_line(&line));
        bpt_status_t status = unescape(&line, token);
        if (status == BPT_OK) status = check_token(v, token, lines);
        if (status == BPT_OK && lines >= v->count) status = bpt_vocab_add(v, token->data, token->length, 0);
        if (status != BPT_OK) return bpt_context(status, "%s: line %llu", line.path, (unsigned long long)line.line);
    }
    if (lines && lines == v->count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s has %zu tokens where %s are needed; the file is cut off", text->path, lines,
                    v->unit == BPT_UNIT_BYTE   ? "256"
                    : v->unit == BPT_UNIT_WORD ? "2 or more"
                                               : "some");
}

bpt_status_t bpt_vocab_parse(const bpt_range_t *text, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    bpt_vocab_t *v;
    bpt_strbuf_t token = {0};
    *out = NULL;
    if (unit == BPT_UNIT_IDS) return bpt_fail(BPT_ERR_USAGE, "%s: --unit ids has no vocabulary file", text->path);
    BPT_TRY(bpt_vocab_create(unit, lower, &v));
    const bpt_status_t status = read_lines(v, text, &token);
    bpt_strbuf_free(&token);
    if (status == BPT_OK)
        *out = v;
    else
        bpt_vocab_destroy(v);
    return status;
}
