// Weights of classes (see class_weights.h).
#include "tools/bpt/corpus/class_weights.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/examples/class_weights.h"

bpt_status_t cli_class_weights_check(const cli_options_t *o) {
    const bool vertices = o->model.vertex_loss == BPT_VERTEX_LOSS_ALL;
    if (!*o->data.class_weights || (!o->model.crf && !vertices)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--class-weights is not for %s; leave one of them out",
                    vertices ? "--vertex-loss all, whose loss is that of all words and phrases"
                             : "--crf, whose loss is of whole sequences of tags");
}

static bpt_status_t make(const cli_options_t *o, const cli_corpus_t *corpus, float *out) {
    if (!strcmp(o->data.class_weights, "balanced"))
        return bpt_class_weights_balance(&corpus->examples[BPT_TRAIN], corpus->labels.count, out);
    return bpt_class_weights_read(o->data.class_weights, &corpus->labels, out);
}

static bpt_status_t record(cli_options_t *o, const float *weights, size_t count) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = bpt_class_weights_format(weights, count, &text);
    if (status == BPT_OK)
        status = cli_option_set(o, cli_option_find(CLI_TRAIN, "class-weight-values"), text.data, CLI_FROM_FLAG, "class-weight-values");
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t cli_class_weights_fill(cli_options_t *o, cli_corpus_t *corpus) {
    const size_t count = corpus->labels.count;
    if (!*o->data.class_weights) return BPT_OK;
    BPT_TRY(bpt_alloc(count, sizeof *corpus->class_weights, &corpus->class_weights));
    if (o->run.resume) return bpt_class_weights_parse(o->data.class_weight_values, count, corpus->class_weights);
    BPT_TRY(make(o, corpus, corpus->class_weights));
    return record(o, corpus->class_weights, count);
}
