// What `bpt bleu` prints (see bleu_report.h).
#include "tools/bpt/commands/bleu_report.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/json.h"
#include "bpt/strbuf.h"
#include "tools/bpt/commands/bleu_texts.h"
#include "tools/bpt/output.h"

bpt_metric_options_t cli_bleu_metric_options(const cli_options_t *o) {
    return (bpt_metric_options_t){(bpt_bleu_tokenizer_t)o->tool.tokenizer, o->tool.lowercase};
}

static const double *sums_of(const cli_bleu_report_t *r, int metric, int system) {
    return r->sums + ((size_t)metric * (size_t)r->systems + (size_t)system) * BPT_METRIC_SUMS;
}

static const bpt_paired_t *test_of(const cli_bleu_report_t *r, int metric, int system) {
    return r->tests ? &r->tests[metric * r->systems + system] : NULL;
}

static bpt_status_t sign(const cli_bleu_report_t *r, int metric, bpt_strbuf_t *out) {
    const cli_options_t *o = r->o;
    const bpt_metric_options_t options = cli_bleu_metric_options(o);
    BPT_TRY(bpt_strbuf_printf(out, "nrefs:%zu|", o->use.references.count));
    if (r->tests) BPT_TRY(bpt_strbuf_printf(out, "bs:%lld|seed:%llu|", (long long)o->tool.samples, (unsigned long long)o->train.seed));
    BPT_TRY(r->metrics[metric]->sign(&options, out));
    return bpt_strbuf_printf(out, "|version:%s", BPT_SACREBLEU_VERSION);
}

static double ratio_of(const bpt_bleu_counts_t *c) { return c->reference ? (double)c->hypothesis / (double)c->reference : 0; }

// ---- Text

static bool is_bleu(const cli_bleu_report_t *r, int metric) { return r->metrics[metric] == &bpt_corpus_metrics[BPT_METRIC_BLEU]; }

// Signs of equality stand below each other.
static bpt_status_t print_line(const cli_bleu_report_t *r, int metric, const char *signature, size_t longest) {
    const double *sums = sums_of(r, metric, 0);
    const char *name = r->metrics[metric]->name;
    printf("%*s%s|%s = %.*f", (int)(longest - strlen(name) - strlen(signature)), "", name, signature, (int)r->o->tool.width,
           r->metrics[metric]->score(sums, false).value);
    if (is_bleu(r, metric)) {
        const bpt_bleu_counts_t counts = bpt_metric_bleu_counts(sums);
        const bpt_bleu_t bleu = bpt_bleu_score(&counts);
        const double *p = bleu.precision;
        printf(" %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", p[0], p[1], p[2], p[3], bleu.penalty,
               ratio_of(&counts), (long long)counts.hypothesis, (long long)counts.reference);
    }
    printf("\n");
    return BPT_OK;
}

// The score of every system, and what a test says of it.
static bpt_status_t print_table(const cli_bleu_report_t *r, int metric, const char *signature, size_t longest) {
    const int decimals = (int)r->o->tool.width;
    int widest = 0;
    (void)longest;
    for (int s = 0; s < r->systems; ++s) {
        const int width = (int)strlen(cli_bleu_system(r->o, s));
        if (width > widest) widest = width;
    }
    printf("%s|%s\n", r->metrics[metric]->name, signature);
    for (int s = 0; s < r->systems; ++s) {
        const bpt_paired_t *test = test_of(r, metric, s);
        printf("  %-*s  %.*f", widest, cli_bleu_system(r->o, s), decimals, r->metrics[metric]->score(sums_of(r, metric, s), false).value);
        if (test) printf(" (%.*f ± %.*f)", decimals, test->mean, decimals, test->margin);
        if (test && s) printf("  p = %.4f%s", test->p, test->p > 0.05 ? "" : " *");
        printf("%s\n", test && !s ? "  baseline" : "");
    }
    return BPT_OK;
}

static bpt_status_t print_text(const cli_bleu_report_t *r) {
    bpt_strbuf_t signature[BPT_METRICS] = {{0}};
    bpt_status_t status = BPT_OK;
    size_t longest = 0;
    for (int m = 0; m < r->n_metrics && status == BPT_OK; ++m) {
        status = sign(r, m, &signature[m]);
        const size_t length = signature[m].length + strlen(r->metrics[m]->name);
        if (length > longest) longest = length;
    }
    for (int m = 0; m < r->n_metrics && status == BPT_OK; ++m)
        status = (r->systems > 1 ? print_table : print_line)(r, m, signature[m].data, longest);
    for (int m = 0; m < r->n_metrics; ++m) bpt_strbuf_free(&signature[m]);
    return status;
}

// ---- JSON

static bpt_status_t out_of_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result"); }

static bpt_status_t set_orders(json_t *object, const char *key, const double *real, const int64_t *whole) {
    json_t *list = json_array();
    int failed = json_object_set_new(object, key, list);
    for (int n = 0; n < BPT_BLEU_ORDER && !failed; ++n)
        failed = json_array_append_new(list, real ? json_real(real[n]) : json_integer((json_int_t)whole[n]));
    return failed ? out_of_memory() : BPT_OK;
}

static bpt_status_t fill_bleu(json_t *object, const double *sums) {
    const bpt_bleu_counts_t counts = bpt_metric_bleu_counts(sums);
    const bpt_bleu_t bleu = bpt_bleu_score(&counts);
    BPT_TRY(set_orders(object, "precisions", bleu.precision, NULL));
    BPT_TRY(set_orders(object, "counts", NULL, counts.correct));
    BPT_TRY(set_orders(object, "totals", NULL, counts.total));
    BPT_TRY(bpt_json_set_real(object, "bp", bleu.penalty));
    BPT_TRY(bpt_json_set_real(object, "ratio", ratio_of(&counts)));
    BPT_TRY(bpt_json_set_int(object, "hyp_len", counts.hypothesis));
    return bpt_json_set_int(object, "ref_len", counts.reference);
}

static bpt_status_t fill_test(json_t *object, const bpt_paired_t *test, bool baseline) {
    BPT_TRY(bpt_json_set_real(object, "mean", test->mean));
    BPT_TRY(bpt_json_set_real(object, "ci", test->margin));
    return baseline ? BPT_OK : bpt_json_set_real(object, "p_value", test->p);
}

static bpt_status_t fill(json_t *object, const cli_bleu_report_t *r, int metric, int system) {
    bpt_strbuf_t signature = {0};
    const double *sums = sums_of(r, metric, system);
    const bpt_paired_t *test = test_of(r, metric, system);
    BPT_TRY(bpt_json_set_text(object, "name", r->metrics[metric]->name));
    BPT_TRY(bpt_json_set_real(object, "score", r->metrics[metric]->score(sums, false).value));
    if (is_bleu(r, metric)) BPT_TRY(fill_bleu(object, sums));
    if (test) BPT_TRY(fill_test(object, test, system == 0));
    bpt_status_t status = sign(r, metric, &signature);
    if (status == BPT_OK) status = bpt_json_set_text(object, "signature", signature.data);
    bpt_strbuf_free(&signature);
    return status;
}

// The scores of a system as a list.
static bpt_status_t append_scores(json_t *list, const cli_bleu_report_t *r, int system) {
    for (int m = 0; m < r->n_metrics; ++m) {
        json_t *object = json_object();
        if (json_array_append_new(list, object)) return out_of_memory();
        BPT_TRY(fill(object, r, m, system));
    }
    return BPT_OK;
}

static bpt_status_t append_system(json_t *list, const cli_bleu_report_t *r, int system) {
    json_t *object = json_object(), *scores = json_array();
    if (json_array_append_new(list, object) || json_object_set_new(object, "system", json_null())) {
        json_decref(scores);
        return out_of_memory();
    }
    BPT_TRY(bpt_json_set_name(object, "system", cli_bleu_system(r->o, system)));
    if (json_object_set_new(object, "scores", scores)) return out_of_memory();
    return append_scores(scores, r, system);
}

// One score is an object, several of one system are a list of them; of several systems each has its list.
static bpt_status_t print_json(const cli_bleu_report_t *r) {
    json_t *list = json_array();
    bpt_status_t status = list ? BPT_OK : out_of_memory();
    for (int s = 0; s < r->systems && status == BPT_OK; ++s)
        status = r->systems > 1 ? append_system(list, r, s) : append_scores(list, r, s);
    if (status == BPT_OK) status = cli_print_json(r->systems == 1 && r->n_metrics == 1 ? json_array_get(list, 0) : list, 0);
    json_decref(list);
    return status;
}

bpt_status_t cli_bleu_report(const cli_bleu_report_t *r) { return r->o->use.json ? print_json(r) : print_text(r); }
