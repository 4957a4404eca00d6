// The corpus that the data options name (see dataset.h).
#include <stdio.h>
#include <xxhash.h>

#include "bpt/alloc.h"
#include "data/lm.h"
#include "tools/bpt/dataset.h"

static bpt_unit_t unit_of(const cli_options_t *o) { return (bpt_unit_t)((int)o->data.unit - CLI_UNIT_BYTE); }

static bpt_status_t make_vocab(const cli_options_t *o, cli_dataset_t *d) {
    BPT_TRY(bpt_vocab_create(unit_of(o), o->data.lower, &d->vocab));
    const int parts = o->data.vocab_scope == CLI_SCOPE_ALL ? BPT_PARTS : 1;
    for (int p = 0; p < parts; ++p)
        if (d->split.part[p].bytes) BPT_TRY(bpt_vocab_count(d->vocab, &d->split.part[p]));
    return bpt_vocab_freeze(d->vocab);
}

bpt_status_t cli_dataset_open(const cli_options_t *o, const char *vocab_path, cli_dataset_t *out) {
    *out = (cli_dataset_t){0};
    cli_dataset_t *d = out;
    const bpt_unit_t unit = unit_of(o);
    bpt_status_t status;
    BPT_TRY_GOTO(bpt_split_open(o->data.path, unit, unit == BPT_UNIT_WORD, &d->split), failed);
    if (vocab_path && unit != BPT_UNIT_IDS)
        BPT_TRY_GOTO(bpt_vocab_read(vocab_path, unit, o->data.lower, &d->vocab), failed);
    else
        BPT_TRY_GOTO(make_vocab(o, d), failed);
    for (int p = 0; p < BPT_PARTS; ++p)
        if (d->split.part[p].bytes) BPT_TRY_GOTO(bpt_vocab_encode(d->vocab, &d->split.part[p], true, &d->ids[p], &d->count[p]), failed);
    snprintf(d->fingerprint, sizeof d->fingerprint, "%016llx-%llu-%lld", (unsigned long long)XXH3_64bits(d->ids[0], d->count[0] * 4),
             (unsigned long long)d->count[0], (long long)bpt_vocab_size(d->vocab));
    return BPT_OK;
failed:
    cli_dataset_close(d);
    return status;
}

void cli_dataset_close(cli_dataset_t *d) {
    for (int p = 0; p < BPT_PARTS; ++p) bpt_free(d->ids[p]);
    bpt_vocab_destroy(d->vocab);
    bpt_split_close(&d->split);
    *d = (cli_dataset_t){0};
}

bpt_status_t cli_dataset_train_source(const cli_dataset_t *d, const cli_options_t *o, bpt_batch_source_t **out) {
    const bpt_lm_options_t options = {.context = o->data.context, .stride = o->data.stride, .batch_tokens = o->data.batch_tokens,
                                      .accumulate = o->train.accumulate, .seed = o->train.seed};
    return bpt_context(bpt_lm_train_source(d->ids[BPT_TRAIN], d->count[BPT_TRAIN], &options, out), "%s", d->split.part[BPT_TRAIN].path);
}

bpt_status_t cli_dataset_eval_source(const cli_dataset_t *d, const cli_options_t *o, int part, bpt_batch_source_t **out) {
    *out = NULL;
    if (!d->ids[part] || d->count[part] < 2) return BPT_OK;
    return bpt_lm_eval_source(d->ids[part], d->count[part], o->data.eval_context, o->data.batch_tokens, (bpt_protocol_t)o->data.protocol, out);
}
