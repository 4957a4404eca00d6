// vocab.txt: one token a line, line number - 1 = id, escapes \n \t \\ \xHH for what a line cannot hold.
#include "bpt/file.h"
#include "data/vocab_internal.h"

static bpt_status_t append_escaped(const bpt_vocab_t *v, uint32_t id, bpt_strbuf_t *out) {
    size_t bytes;
    const char *token = bpt_vocab_token(v, id, &bytes);
    for (size_t i = 0; i < bytes; ++i) {
        const unsigned char c = (unsigned char)token[i];
        const bool raw = v->unit == BPT_UNIT_BYTE ? c >= 0x20 && c < 0x7F : c >= 0x20 && c != 0x7F;
        if (c == '\n')
            BPT_TRY(bpt_strbuf_append(out, "\\n", 2));
        else if (c == '\t')
            BPT_TRY(bpt_strbuf_append(out, "\\t", 2));
        else if (c == '\\')
            BPT_TRY(bpt_strbuf_append(out, "\\\\", 2));
        else if (raw)
            BPT_TRY(bpt_strbuf_append(out, &token[i], 1));
        else
            BPT_TRY(bpt_strbuf_printf(out, "\\x%02X", c));
    }
    return bpt_strbuf_append(out, "\n", 1);
}

bpt_status_t bpt_vocab_write(const bpt_vocab_t *v, const char *path) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    for (size_t id = 0; id < v->count && status == BPT_OK; ++id) status = append_escaped(v, (uint32_t)id, &text);
    if (status == BPT_OK) status = bpt_file_write(path, text.length ? text.data : "", text.length);
    bpt_strbuf_free(&text);
    return status;
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bpt_status_t unescape(const bpt_range_t *line, bpt_strbuf_t *out) {
    bpt_strbuf_clear(out);
    for (uint64_t i = 0; i < line->bytes; ++i) {
        char c = line->data[i];
        if (c == '\\') {
            const char e = ++i < line->bytes ? line->data[i] : 0;
            if (e == 'n') c = '\n';
            else if (e == 't') c = '\t';
            else if (e == '\\') c = '\\';
            else if (e == 'x' && i + 2 < line->bytes && hex(line->data[i + 1]) >= 0 && hex(line->data[i + 2]) >= 0) {
                c = (char)(hex(line->data[i + 1]) * 16 + hex(line->data[i + 2]));
                i += 2;
            } else
                return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: unknown escape (\\n, \\t, \\\\ and \\xHH are known)", line->path, (unsigned long long)line->line);
        }
        BPT_TRY(bpt_strbuf_append(out, &c, 1));
    }
    if (out->length) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: a token cannot be empty", line->path, (unsigned long long)line->line);
}

static bpt_status_t read_lines(bpt_vocab_t *v, const bpt_range_t *text) {
    bpt_range_t rest = *text, line;
    bpt_strbuf_t token = {0};
    bpt_status_t status = BPT_OK;
    size_t expected = 0;
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        status = unescape(&line, &token);
        // Tokens that every vocabulary of the unit starts with are there already and must be found in their places.
        const bool given = v->unit == BPT_UNIT_BYTE || (v->unit == BPT_UNIT_WORD && expected < 2);
        uint32_t id = BPT_NO_TOKEN;
        const uint32_t unk = v->unk;
        v->unk = BPT_NO_TOKEN;
        const bool known = status == BPT_OK && bpt_vocab_find(v, token.data, token.length, &id);
        v->unk = unk;
        if (status != BPT_OK) break;
        if (given && (!known || id != expected))
            status = bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' is out of place (%s)", line.path, (unsigned long long)line.line, token.data,
                              v->unit == BPT_UNIT_BYTE ? "a byte vocabulary has its 256 bytes in order" : "a word vocabulary begins with <unk> and <eos>");
        else if (!given && known)
            status = bpt_fail(BPT_ERR_INPUT, "%s: line %llu: token '%s' is there twice", line.path, (unsigned long long)line.line, token.data);
        else if (!given)
            status = bpt_vocab_add(v, token.data, token.length, 0);
        ++expected;
    }
    bpt_strbuf_free(&token);
    if (status == BPT_OK && expected != v->count)
        status = bpt_fail(BPT_ERR_INPUT, "%s: has %zu tokens where %zu are needed; the file is cut off", text->path, expected, v->count);
    return status;
}

bpt_status_t bpt_vocab_read(const char *path, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    bpt_text_t *text = NULL;
    bpt_vocab_t *v = NULL;
    BPT_TRY(bpt_text_open(path, &text));
    bpt_status_t status = bpt_vocab_create(unit, lower, &v);
    const bpt_range_t range = bpt_text_range(text);
    if (status == BPT_OK) status = read_lines(v, &range);
    bpt_text_close(text);
    if (status != BPT_OK) bpt_vocab_destroy(v), v = NULL;
    *out = v;
    return status;
}
