// Scores of classes and types (see type_rows.h).
#include "tools/bpt/report/type_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "bpt/json.h"

void cli_print_label(const char *label) {
    int bytes = 0, characters = 0;
    for (; label[bytes]; ++bytes) characters += (label[bytes] & 0xc0) != 0x80;
    printf("%-*s", CLI_LABEL_COLUMNS + bytes - characters, label);
}

static void print_scores(const char *name, bpt_prf_t s) {
    cli_print_label(name);
    printf(" %7.2f %% %7.2f %% %7.2f %%", 100 * s.precision, 100 * s.recall, 100 * s.f1);
}

void cli_type_rows_print(const char *title, const bpt_span_type_t *types, size_t count, bool means) {
    bool titled = false;
    for (size_t i = 0; i < count; ++i) {
        const bpt_span_counts_t *c = &types[i].counts;
        if (!bpt_class_occurs(&types[i])) continue;
        if (!titled) printf("%-12s %9s %9s %9s %8s %8s\n", title, "precision", "recall", "f1", "count", "support");
        titled = true;
        print_scores(types[i].name, bpt_mean_of(&types[i], 1, BPT_MEAN_MICRO));
        printf(" %8" PRId64 " %8" PRId64 "\n", c->found, c->wanted);
    }
    for (int m = 0; m < BPT_MEANS && means && titled; ++m) {
        print_scores(bpt_mean_names[m], bpt_mean_of(types, count, (bpt_mean_t)m));
        printf("\n");
    }
}

static bpt_status_t counts_to_json(const bpt_span_counts_t *c, json_t *object) {
    BPT_TRY(bpt_json_set_real(object, "precision", bpt_spans_precision(c)));
    BPT_TRY(bpt_json_set_real(object, "recall", bpt_spans_recall(c)));
    BPT_TRY(bpt_json_set_real(object, "f1", bpt_spans_f1(c)));
    BPT_TRY(bpt_json_set_int(object, "count", c->found));
    return bpt_json_set_int(object, "support", c->wanted);
}

bpt_status_t cli_type_rows_to_json(const char *key, const bpt_span_type_t *types, size_t count, json_t *object) {
    json_t *rows = json_object();
    bpt_status_t status = json_object_set_new(object, key, rows) ? BPT_ERR_NO_MEMORY : BPT_OK;
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        json_t *row = bpt_class_occurs(&types[i]) ? json_object() : NULL;
        if (!bpt_class_occurs(&types[i])) continue;
        status = json_object_set_new(rows, types[i].name, row) ? BPT_ERR_NO_MEMORY : counts_to_json(&types[i].counts, row);
    }
    return status == BPT_ERR_NO_MEMORY ? bpt_fail(status, "out of host memory while writing the result") : status;
}

static bpt_status_t mean_to_json(const char *mean, const char *score, double value, json_t *object) {
    char key[40];
    snprintf(key, sizeof key, "%s_%s", mean, score);
    return bpt_json_set_real(object, key, value);
}

bpt_status_t cli_type_means_to_json(const bpt_span_type_t *types, size_t count, json_t *object) {
    for (int m = 0; m < BPT_MEANS; ++m) {
        const bpt_prf_t mean = bpt_mean_of(types, count, (bpt_mean_t)m);
        BPT_TRY(mean_to_json(bpt_mean_names[m], "precision", mean.precision, object));
        BPT_TRY(mean_to_json(bpt_mean_names[m], "recall", mean.recall, object));
        BPT_TRY(mean_to_json(bpt_mean_names[m], "f1", mean.f1, object));
    }
    return BPT_OK;
}
