// `bpt bleu`: BLEU of translations. Knows no model.
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/strbuf.h"
#include "data/score/bleu.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"

// The hypothesis is text 0, the references are behind it.
typedef struct {
    bpt_text_t **text;
    bpt_range_t *rest, *line;
    int count;
} texts_t;

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

static bpt_status_t check_lines(const texts_t *t) {
    const uint64_t wanted = count_lines(t->rest[0]);
    for (int i = 1; i < t->count; ++i) {
        const uint64_t lines = count_lines(t->rest[i]);
        if (lines != wanted)
            return bpt_fail(BPT_ERR_INPUT,
                            "%s has %llu lines, but %s has %llu; line N of one must be the translation of line N of the other",
                            t->rest[0].path, (unsigned long long)wanted, t->rest[i].path, (unsigned long long)lines);
    }
    return BPT_OK;
}

static const char *path_of(const cli_options_t *o, int text) {
    if (text) return o->use.references.item[text - 1];
    return o->n_arguments ? o->arguments[0] : "-";
}

static bpt_status_t check_paths(const cli_options_t *o, int count) {
    int standard_inputs = 0;
    for (int i = 0; i < count; ++i) standard_inputs += !strcmp(path_of(o, i), "-");
    if (standard_inputs < 2) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "only one text can come from standard input; name files for the others");
}

static bpt_status_t open_texts(const cli_options_t *o, texts_t *t) {
    const int count = 1 + (int)o->use.references.count;
    BPT_TRY(check_paths(o, count));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->text, &t->text));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->rest, &t->rest));
    BPT_TRY(bpt_alloc((size_t)count, sizeof *t->line, &t->line));
    for (; t->count < count; ++t->count) {
        BPT_TRY(bpt_text_open(path_of(o, t->count), &t->text[t->count]));
        t->rest[t->count] = bpt_text_range(t->text[t->count]);
    }
    return check_lines(t);
}

static void close_texts(texts_t *t) {
    for (int i = 0; i < t->count; ++i) bpt_text_close(t->text[i]);
    bpt_free(t->text);
    bpt_free(t->rest);
    bpt_free(t->line);
}

static bpt_status_t count_segments(texts_t *t, bpt_bleu_counter_t *counter, bpt_bleu_counts_t *counts) {
    while (next_line(&t->rest[0], &t->line[0])) {
        BPT_TRY(bpt_range_check_line(&t->line[0]));
        for (int i = 1; i < t->count; ++i) {
            if (!next_line(&t->rest[i], &t->line[i])) return bpt_fail(BPT_ERR_INTERNAL, "%s: lines were counted wrongly", t->rest[i].path);
            BPT_TRY(bpt_range_check_line(&t->line[i]));
        }
        BPT_TRY(bpt_bleu_count(counter, &t->line[0], t->line + 1, t->count - 1, counts));
    }
    return BPT_OK;
}

// ---- Printing

static bpt_status_t add_signature(const cli_options_t *o, bpt_strbuf_t *out) {
    return bpt_strbuf_printf(out, "nrefs:%zu|case:%s|eff:no|tok:%s|smooth:exp|version:%s", o->use.references.count,
                             o->tool.lowercase ? "lc" : "mixed", bpt_bleu_tokenizer_names[o->tool.tokenizer], BPT_SACREBLEU_VERSION);
}

static double ratio_of(const bpt_bleu_counts_t *c) { return c->reference ? (double)c->hypothesis / (double)c->reference : 0; }

static bpt_status_t set_orders(json_t *object, const char *key, const double *real, const int64_t *whole) {
    json_t *list = json_array();
    int failed = json_object_set_new(object, key, list);
    for (int n = 0; n < BPT_BLEU_ORDER && !failed; ++n)
        failed = json_array_append_new(list, real ? json_real(real[n]) : json_integer((json_int_t)whole[n]));
    return failed ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result") : BPT_OK;
}

static bpt_status_t fill(json_t *object, const bpt_bleu_t *bleu, const bpt_bleu_counts_t *counts, const char *signature) {
    BPT_TRY(bpt_json_set_text(object, "name", "BLEU"));
    BPT_TRY(bpt_json_set_real(object, "score", bleu->score));
    BPT_TRY(set_orders(object, "precisions", bleu->precision, NULL));
    BPT_TRY(set_orders(object, "counts", NULL, counts->correct));
    BPT_TRY(set_orders(object, "totals", NULL, counts->total));
    BPT_TRY(bpt_json_set_real(object, "bp", bleu->penalty));
    BPT_TRY(bpt_json_set_real(object, "ratio", ratio_of(counts)));
    BPT_TRY(bpt_json_set_int(object, "hyp_len", counts->hypothesis));
    BPT_TRY(bpt_json_set_int(object, "ref_len", counts->reference));
    return bpt_json_set_text(object, "signature", signature);
}

static bpt_status_t print(const cli_options_t *o, const bpt_bleu_counts_t *counts) {
    const bpt_bleu_t bleu = bpt_bleu_score(counts);
    const double *p = bleu.precision;
    bpt_strbuf_t signature = {0};
    bpt_status_t status = add_signature(o, &signature);
    if (status == BPT_OK && o->use.json) {
        json_t *object = json_object();
        status = fill(object, &bleu, counts, signature.data);
        if (status == BPT_OK) status = cli_print_json(object, 0);
        json_decref(object);
    } else if (status == BPT_OK) {
        printf("BLEU|%s = %.*f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)\n", signature.data,
               (int)o->tool.width, bleu.score, p[0], p[1], p[2], p[3], bleu.penalty, ratio_of(counts), (long long)counts->hypothesis,
               (long long)counts->reference);
    }
    bpt_strbuf_free(&signature);
    return status;
}

static bpt_status_t run_bleu(cli_options_t *o) {
    texts_t texts = {0};
    bpt_bleu_counter_t *counter = NULL;
    bpt_bleu_counts_t counts = {0};
    if (!o->use.references.count) return bpt_fail(BPT_ERR_USAGE, "bpt bleu needs at least one reference: --ref FILE");
    bpt_status_t status = bpt_bleu_counter_create((bpt_bleu_tokenizer_t)o->tool.tokenizer, o->tool.lowercase, &counter);
    if (status == BPT_OK) status = open_texts(o, &texts);
    if (status == BPT_OK) status = count_segments(&texts, counter, &counts);
    if (status == BPT_OK) status = print(o, &counts);
    close_texts(&texts);
    bpt_bleu_counter_destroy(counter);
    return status;
}

const cli_command_t cli_command_bleu = {
    .bit = CLI_BLEU,
    .name = "bleu",
    .arguments = "[HYP]",
    .purpose = "score translations by BLEU",
    .description =
        "Reads translations from HYP or standard input, one segment a line, and compares line N with line N of every reference. Prints the "
        "line that `sacrebleu --format text` prints, with its signature: scores, precisions and lengths are those of "
        "sacreBLEU " BPT_SACREBLEU_VERSION
        " (corpus BLEU, smoothing exp) and can be compared with published ones. With --json it prints one object; its "
        "score is not rounded. Text that is tokenised already, or in lower case, gives other scores than plain text: compare like "
        "with like, and use --tokenize none for it.",
    .examples = "  bpt bleu --ref test.de hypotheses.de\n  bpt bleu --ref a.en --ref b.en --lowercase --json < hypotheses.en\n"
                "  bpt bleu --ref tokenised.de --tokenize none hypotheses.de\n",
    .max_arguments = 1,
    .run = run_bleu,
};
