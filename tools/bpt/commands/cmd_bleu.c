// `bpt bleu`: scores of translations. Knows no model.
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "tools/bpt/commands/bleu_report.h"
#include "tools/bpt/commands/bleu_texts.h"
#include "tools/bpt/options/command.h"

typedef struct {
    cli_bleu_report_t report;
    cli_bleu_texts_t texts;
    void *counter[BPT_METRICS];
    double *sums;         // [metrics, systems, BPT_METRIC_SUMS]
    double **counts;      // [metrics, systems]: the numbers of each segment, for a test
    bpt_paired_t *tests;  // [metrics, systems]
} job_t;

// ---- Options

static bpt_status_t unknown_metric(const char *name, size_t length) {
    return bpt_fail(BPT_ERR_USAGE, "--metrics: there is no metric '%.*s'; known are bleu, chrf and ter, separated by commas", (int)length,
                    name);
}

// Each once, in their order.
static bpt_status_t read_metrics(const char *list, cli_bleu_report_t *r) {
    bool wanted[BPT_METRICS] = {false};
    for (const char *at = list;; ++at) {
        const size_t length = strcspn(at, ",");
        int m = 0;
        while (m < BPT_METRICS && (strlen(bpt_corpus_metrics[m].option) != length || strncmp(at, bpt_corpus_metrics[m].option, length)))
            ++m;
        if (m == BPT_METRICS) return unknown_metric(at, length);
        wanted[m] = true;
        at += length;
        if (!*at) break;
    }
    for (int m = 0; m < BPT_METRICS; ++m)
        if (wanted[m]) r->metrics[r->n_metrics++] = &bpt_corpus_metrics[m];
    return BPT_OK;
}

static bpt_status_t check_options(const cli_options_t *o) {
    if (!o->use.references.count) return bpt_fail(BPT_ERR_USAGE, "bpt bleu needs at least one reference: --ref FILE");
    if (o->tool.paired && o->n_arguments < 2)
        return bpt_fail(BPT_ERR_USAGE, "--paired-bs compares systems: name the translations of at least two, the baseline first");
    if (!o->tool.paired && cli_option_source(o, "paired-bs-n") == CLI_FROM_FLAG)
        return bpt_fail(BPT_ERR_USAGE, "--paired-bs-n is the number of samples of --paired-bs, which is missing");
    return BPT_OK;
}

// ---- Counting

static size_t places(const job_t *j) { return (size_t)j->report.n_metrics * (size_t)j->report.systems; }

static bpt_status_t open_job(const cli_options_t *o, job_t *j) {
    const bpt_metric_options_t options = cli_bleu_metric_options(o);
    BPT_TRY(check_options(o));
    BPT_TRY(read_metrics(o->tool.metrics, &j->report));
    BPT_TRY(cli_bleu_texts_open(o, &j->texts));
    if (j->texts.segments >= UINT32_MAX) return bpt_fail(BPT_ERR_INPUT, "%s has too many lines", cli_bleu_system(o, 0));
    j->report.systems = j->texts.systems;
    for (int m = 0; m < j->report.n_metrics; ++m) BPT_TRY(j->report.metrics[m]->open(&options, &j->counter[m]));
    BPT_TRY(bpt_alloc(places(j) * BPT_METRIC_SUMS, sizeof *j->sums, &j->sums));
    BPT_TRY(bpt_alloc(places(j), sizeof *j->counts, &j->counts));
    for (size_t i = 0; i < places(j) && o->tool.paired; ++i) {
        const size_t numbers = (size_t)j->report.metrics[i / (size_t)j->report.systems]->sums;
        BPT_TRY(bpt_alloc(j->texts.segments * numbers, sizeof **j->counts, &j->counts[i]));
    }
    return BPT_OK;
}

static void close_job(job_t *j) {
    for (int m = 0; m < j->report.n_metrics; ++m)
        if (j->counter[m]) j->report.metrics[m]->close(j->counter[m]);
    for (size_t i = 0; j->counts && i < places(j); ++i) bpt_free(j->counts[i]);
    bpt_free(j->counts);
    bpt_free(j->sums);
    bpt_free(j->tests);
    cli_bleu_texts_close(&j->texts);
}

static bpt_status_t count_segment(job_t *j, int metric, int system, uint64_t segment) {
    const bpt_corpus_metric_t *m = j->report.metrics[metric];
    const cli_bleu_texts_t *t = &j->texts;
    const size_t place = (size_t)metric * (size_t)j->report.systems + (size_t)system;
    double numbers[BPT_METRIC_SUMS];
    BPT_TRY(m->count(j->counter[metric], &t->line[system], t->line + t->systems, t->count - t->systems, numbers));
    for (int k = 0; k < m->sums; ++k) j->sums[place * BPT_METRIC_SUMS + (size_t)k] += numbers[k];
    if (j->counts[place]) memcpy(j->counts[place] + segment * (size_t)m->sums, numbers, (size_t)m->sums * sizeof *numbers);
    return BPT_OK;
}

static bpt_status_t count_segments(job_t *j) {
    for (uint64_t segment = 0; segment < j->texts.segments; ++segment) {
        BPT_TRY(cli_bleu_texts_next(&j->texts));
        for (int m = 0; m < j->report.n_metrics; ++m)
            for (int s = 0; s < j->report.systems; ++s) BPT_TRY(count_segment(j, m, s, segment));
    }
    return BPT_OK;
}

static bpt_status_t test_systems(const cli_options_t *o, job_t *j) {
    const int systems = j->report.systems;
    BPT_TRY(bpt_alloc(places(j), sizeof *j->tests, &j->tests));
    for (int m = 0; m < j->report.n_metrics; ++m) {
        const double *const *counts = (const double *const *)j->counts + m * systems;
        BPT_TRY(bpt_paired_bootstrap(j->report.metrics[m], counts, systems, (uint32_t)j->texts.segments, o->tool.samples, o->train.seed,
                                     j->tests + m * systems));
    }
    j->report.tests = j->tests;
    return BPT_OK;
}

static bpt_status_t run_bleu(cli_options_t *o) {
    job_t job = {.report.o = o};
    bpt_status_t status = open_job(o, &job);
    if (status == BPT_OK) status = count_segments(&job);
    if (status == BPT_OK && o->tool.paired) status = test_systems(o, &job);
    job.report.sums = job.sums;
    if (status == BPT_OK) status = cli_bleu_report(&job.report);
    close_job(&job);
    return status;
}

const cli_command_t cli_command_bleu = {
    .bit = CLI_BLEU,
    .name = "bleu",
    .arguments = "[HYP ..]",
    .purpose = "score translations by BLEU, chrF and TER",
    .description =
        "Reads translations from HYP or standard input, packed or not, one segment a line, and compares line N with line N of every "
        "reference. Prints the "
        "lines that `sacrebleu --format text` prints, with their signatures: scores, precisions and lengths are those of "
        "sacreBLEU " BPT_SACREBLEU_VERSION
        " (corpus BLEU with smoothing exp, chrF2, TER) and can be compared with published ones. TER counts edits: less is better. With "
        "--json it prints one object, for several metrics a list of them; scores are not rounded there. Text that is tokenised already, or "
        "in lower case, gives other scores than plain text: compare like with like, and use --tokenize none for it.\n\n"
        "Of several HYP it prints a table for each metric. With --paired-bs every system is compared with the first one by paired "
        "bootstrap "
        "resampling, as `sacrebleu --paired-bs` does it with the same samples: the mean of the samples' scores, the interval around it "
        "that "
        "has 95 % of them, and p, the probability that chance alone makes so large a difference; * marks p of at most 0.05.",
    .examples = "  bpt bleu --ref test.de hypotheses.de\n  bpt bleu --ref a.en --ref b.en --lowercase --json < hypotheses.en\n"
                "  bpt bleu --ref tokenised.de --tokenize none hypotheses.de\n"
                "  bpt bleu --ref test.de --metrics bleu,chrf,ter hypotheses.de\n"
                "  bpt bleu --ref test.de --paired-bs baseline.de better.de\n",
    .max_arguments = CLI_MAX_ARGUMENTS,
    .run = run_bleu,
};
