// Where the subwords of a new run come from (see subwords.h).
#include "tools/bpt/corpus/subwords.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"

static bool has_pieces(const cli_options_t *o) { return bpt_unit_of(o->data.unit)->pieces; }

// A kind is that of a model that is trained.
static bpt_status_t check_kind(const cli_options_t *o, const char *giver) {
    if (cli_option_source(o, "subword-kind") != CLI_FROM_FLAG) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--subword-kind is for subwords that are trained, and %s gives trained ones; leave it out", giver);
}

bpt_status_t cli_subwords_check(const cli_options_t *o) {
    if (!has_pieces(o)) return BPT_OK;
    if (!o->run.print_config) BPT_TRY(bpt_subwords_require("--unit subword"));
    if (*o->data.subword_model && !o->run.resume) return check_kind(o, "--subword-model");
    const bool borrowed = o->run.resume || (*o->run.init && !o->run.match_vocabulary);
    if (o->data.subwords || borrowed || o->run.print_config) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--unit subword needs --subwords N, how many are to be made of the text, or --subword-model FILE");
}

bpt_status_t cli_subwords_prepare(const cli_options_t *o, bpt_vocab_t *vocab) {
    if (!has_pieces(o)) return BPT_OK;
    if (!*o->data.subword_model) {
        bpt_vocab_want_subwords(vocab, o->data.subword_kind, o->data.subwords);
        return BPT_OK;
    }
    BPT_TRY(bpt_vocab_read_subwords(vocab, o->data.subword_model));
    if (!o->data.subwords || o->data.subwords == bpt_vocab_size(vocab)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s has %" PRId64 " subwords, not --subwords %" PRId64 "; leave one of the options out",
                    o->data.subword_model, bpt_vocab_size(vocab), o->data.subwords);
}

bpt_status_t cli_subwords_hold(const cli_options_t *o, const bpt_vocab_t *vocab) {
    if (!has_pieces(o)) return BPT_OK;
    BPT_TRY(check_kind(o, "--init"));
    if (!*o->data.subword_model) return BPT_OK;
    char *model;
    size_t bytes, known_bytes;
    const void *known = bpt_vocab_subwords(vocab, &known_bytes);
    BPT_TRY(bpt_file_read(o->data.subword_model, BPT_SUBWORD_FILE_BYTES, &model, &bytes));
    const bool same = bytes == known_bytes && !memcmp(model, known, bytes);
    bpt_free(model);
    if (same) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "%s is another model than that of --init %s, whose subwords the weights are of; leave --subword-model out, or give "
                    "--match-vocabulary",
                    o->data.subword_model, o->run.init);
}

bpt_status_t cli_subwords_record(cli_options_t *o) {
    return cli_option_set(o, cli_option_find(CLI_TRAIN, "sentencepiece"), bpt_subwords_version(), CLI_FROM_FLAG, "sentencepiece");
}
