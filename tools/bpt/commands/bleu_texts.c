// The texts of `bpt bleu` (see bleu_texts.h).
#include "tools/bpt/commands/bleu_texts.h"

#include <string.h>

#include "bpt/alloc.h"

// Without the line's end, and with a byte order mark: sacreBLEU reads files so. A \r in front of the end is white space.
static bool next_line(bpt_range_t *rest, bpt_range_t *line) {
    if (!rest->bytes) return false;
    const char *newline = memchr(rest->data, '\n', rest->bytes);
    *line = *rest;
    line->bytes = newline ? (uint64_t)(newline - rest->data) : rest->bytes;
    const uint64_t used = line->bytes + (newline != NULL);
    rest->data += used;
    rest->bytes -= used;
    rest->offset += used;
    ++rest->line;
    return true;
}

static uint64_t count_lines(bpt_range_t rest) {
    bpt_range_t line;
    uint64_t lines = 0;
    while (next_line(&rest, &line)) ++lines;
    return lines;
}

static bpt_status_t check_lines(const cli_bleu_texts_t *t) {
    for (int i = 1; i < t->count; ++i) {
        const uint64_t lines = count_lines(t->rest[i]);
        if (lines != t->segments)
            return bpt_fail(BPT_ERR_INPUT,
                            "%s has %llu lines, but %s has %llu; line N of one must be the translation of line N of the other",
                            t->rest[0].path, (unsigned long long)t->segments, t->rest[i].path, (unsigned long long)lines);
    }
    return BPT_OK;
}

const char *cli_bleu_system(const cli_options_t *o, int system) { return o->n_arguments ? o->arguments[system] : "-"; }

static const char *path_of(const cli_options_t *o, const cli_bleu_texts_t *t, int text) {
    return text < t->systems ? cli_bleu_system(o, text) : o->use.references.item[text - t->systems];
}

static bpt_status_t check_paths(const cli_options_t *o, const cli_bleu_texts_t *t, int count) {
    int standard_inputs = 0;
    for (int i = 0; i < count; ++i) standard_inputs += !strcmp(path_of(o, t, i), "-");
    if (standard_inputs < 2) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "only one text can come from standard input; name files for the others");
}

bpt_status_t cli_bleu_texts_open(const cli_options_t *o, cli_bleu_texts_t *t) {
    t->systems = o->n_arguments ? o->n_arguments : 1;
    const int count = t->systems + (int)o->use.references.count;
    BPT_TRY(check_paths(o, t, count));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->text, &t->text));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->rest, &t->rest));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->line, &t->line));
    for (; t->count < count; ++t->count) {
        BPT_TRY(bpt_text_open(path_of(o, t, t->count), &t->text[t->count]));
        t->rest[t->count] = bpt_text_range(t->text[t->count]);
    }
    t->segments = count_lines(t->rest[0]);
    return check_lines(t);
}

void cli_bleu_texts_close(cli_bleu_texts_t *t) {
    for (int i = 0; i < t->count; ++i) bpt_text_close(t->text[i]);
    bpt_free(t->text);
    bpt_free(t->rest);
    bpt_free(t->line);
}

bpt_status_t cli_bleu_texts_next(cli_bleu_texts_t *t) {
    for (int i = 0; i < t->count; ++i) {
        if (!next_line(&t->rest[i], &t->line[i])) return bpt_fail(BPT_ERR_INTERNAL, "%s: lines were counted wrongly", t->rest[i].path);
        BPT_TRY(bpt_range_check_line(&t->line[i]));
    }
    return BPT_OK;
}
