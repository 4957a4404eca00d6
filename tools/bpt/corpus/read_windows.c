// Tasks that read windows of one long text, as language models do (see readers.h).
#include <inttypes.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "data/batches/masked.h"
#include "models/kinds/kind.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/corpus/readers.h"

// ---- Options
static int64_t longest_window(const cli_data_options_t *d) { return d->eval_context > d->context ? d->eval_context : d->context; }

// A model that has --stride for blocks of attention reads windows side by side.
static int64_t window_stride(const cli_options_t *o) { return o->model.stride ? o->data.context : o->data.stride; }

static void fill(cli_options_t *o) {
    bpt_model_config_t *m = &o->model;
    if (!m->rel_levels && m->positions == BPT_POSITIONS_RELATIVE) m->rel_levels = bpt_kind_of(m)->rel_levels(m, o->data.context);
    if (!m->max_positions && m->positions == BPT_POSITIONS_ABSOLUTE) m->max_positions = (int32_t)longest_window(&o->data);
}

static bpt_status_t check(const cli_options_t *o) {
    const cli_data_options_t *d = &o->data;
    const bpt_model_config_t *m = &o->model;
    if (window_stride(o) > d->context)
        return bpt_fail(BPT_ERR_USAGE, "--stride %lld would leave out text between windows of --context %lld", (long long)d->stride,
                        (long long)d->context);
    if (d->batch_tokens < d->context)
        return bpt_fail(BPT_ERR_USAGE, "--batch-tokens %lld has no room for one window of --context %lld", (long long)d->batch_tokens,
                        (long long)d->context);
    if (m->positions == BPT_POSITIONS_ABSOLUTE && m->max_positions < longest_window(d))
        return bpt_fail(BPT_ERR_USAGE, "--max-positions %d is less than the %lld of --context and --eval-context", m->max_positions,
                        (long long)longest_window(d));
    return BPT_OK;
}

static bpt_status_t check_data(const cli_data_options_t *d, const bpt_model_config_t *m) {
    const bpt_task_spec_t *task = bpt_task_of(m);
    bpt_running_t how;
    BPT_TRY(cli_running_options(d, m, d->text_field, &how));
    if (task->masks && d->protocol != BPT_PROTOCOL_CHUNKS)
        return bpt_fail(BPT_ERR_USAGE, "task %s is evaluated on windows side by side (--protocol chunks), and this is --protocol %s",
                        task->name, cli_option_find(CLI_TRAIN, "protocol")->choices[d->protocol]);
    if (task->masks && d->unit == BPT_UNIT_IDS)
        return bpt_fail(BPT_ERR_USAGE, "task %s reads texts, of which the vocabulary is known; --unit ids has none", task->name);
    if (d->protocol == BPT_PROTOCOL_CHUNKS || d->eval_context % 2 == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "--eval-context %lld must be even for windows that overlap by half", (long long)d->eval_context);
}

// ---- Files

static bpt_status_t open_text(const cli_data_options_t *d, const bpt_model_config_t *m, const bpt_paths_t *paths, bpt_text_t **out) {
    bpt_running_t how;
    BPT_TRY(cli_running_options(d, m, d->text_field, &how));
    if (!d->format) cli_running_warn(paths->path[0]);
    return bpt_running_open(paths, &how, out);
}

static bpt_status_t open_split(const cli_data_options_t *d, const bpt_model_config_t *m, const bpt_paths_t *paths, bpt_split_t *out) {
    bpt_running_t how;
    BPT_TRY(cli_running_options(d, m, d->text_field, &how));
    BPT_TRY(bpt_split_open_running(paths, d->unit, bpt_unit_of(d->unit)->by_lines, &how, out));
    if (!d->format) cli_running_warn(out->part[BPT_TRAIN].path);
    return BPT_OK;
}

// ---- Training
static bpt_status_t scan(const cli_options_t *o, int part, unsigned what, cli_corpus_t *corpus) {
    (void)o;
    return what & CLI_SCAN_WORDS ? bpt_vocab_count(corpus->vocab, &corpus->split.part[part]) : BPT_OK;
}

// Characters have no <unk>: the vocabulary of another run may not know those of this text.
static bpt_status_t encode(const cli_options_t *o, const bpt_range_t *text, int part, cli_corpus_t *corpus) {
    const bpt_status_t status = bpt_vocab_encode(corpus->vocab, text, true, &corpus->ids[part]);
    const bool borrowed = *o->run.init && !o->run.match_vocabulary && o->data.unit == BPT_UNIT_CHAR;
    if (status != BPT_ERR_INPUT || !borrowed) return status;
    return bpt_context(status, "the vocabulary of %s does not fit, --match-vocabulary makes one that does", o->run.init);
}

// The windows of `direct`, with tokens hidden where the task has that.
static bpt_status_t mask(const bpt_model_config_t *m, const bpt_vocab_t *vocab, uint64_t seed, bpt_batch_source_t *direct,
                         bpt_batch_source_t **out) {
    bpt_masking_t masking = {
        .seed = seed, .vocab = m->vocab, .mask = BPT_PLACEHOLDER, .end = BPT_PLACEHOLDER, .packed = bpt_kind_of(m)->packed};
    *out = direct;
    if (!bpt_task_of(m)->masks) return BPT_OK;
    (void)bpt_vocab_mask(vocab, &masking.mask);
    (void)bpt_vocab_end_sign(vocab, &masking.end);
    return bpt_masked_source(direct, &masking, out);
}

enum { SEED_OF_EVALUATIONS = 1 };

static bpt_status_t open_sources(const cli_options_t *o, cli_corpus_t *corpus) {
    const bpt_lm_options_t options = {.context = o->data.context,
                                      .stride = window_stride(o),
                                      .batch_tokens = o->data.batch_tokens,
                                      .accumulate = o->train.accumulate,
                                      .seed = o->train.seed};
    bpt_batch_source_t *direct;
    BPT_TRY(bpt_context(bpt_lm_train_source(&corpus->ids[BPT_TRAIN], &options, &direct), "%s", cli_data_path(&o->data)));
    BPT_TRY(mask(&o->model, corpus->vocab, o->train.seed, direct, &corpus->train));
    if (corpus->ids[BPT_VALID].count < 2) {
        bpt_warn("there is no validation text, so `best` will not be known");
        return BPT_OK;
    }
    BPT_TRY(bpt_lm_eval_source(&corpus->ids[BPT_VALID], o->data.eval_context, o->data.batch_tokens, o->data.protocol, &direct));
    return mask(&o->model, corpus->vocab, SEED_OF_EVALUATIONS, direct, &corpus->valid);
}

// ---- Evaluation: token numbers, where every line is a sequence of its own
typedef struct {
    uint64_t n_ids, n_lines;
    size_t id_capacity, line_capacity;
} sizes_t;

static bpt_status_t read_line(const bpt_range_t *line, const cli_trained_t *t, cli_eval_data_t *e, sizes_t *n) {
    const bpt_room_t room = {.positions = bpt_model_positions(&t->config)};
    bpt_range_t rest = *line;
    size_t bytes;
    for (const char *token; (token = bpt_next_token(&rest, &bytes)) != NULL; ++n->n_ids) {
        BPT_TRY(bpt_grow(&e->line_ids, n->n_ids, &n->id_capacity, sizeof *e->line_ids));
        BPT_TRY(bpt_vocab_encode_word(t->vocab, line, token, bytes, &e->line_ids[n->n_ids]));
    }
    const uint64_t count = n->n_ids - e->offsets[n->n_lines];
    BPT_TRY(bpt_room_check(&room, line, count ? count - 1 : 0));  // the last token is only a target
    BPT_TRY(bpt_grow(&e->offsets, n->n_lines + 1, &n->line_capacity, sizeof *e->offsets));
    e->offsets[++n->n_lines] = n->n_ids;
    return BPT_OK;
}

// Options that cut a text into windows have no meaning where every line is one.
static bpt_status_t check_no_windows(const cli_options_t *o) {
    static const char *const of_windows[] = {"eval-context", "protocol"};
    for (size_t i = 0; i < BPT_COUNT(of_windows); ++i)
        if (cli_option_source(o, of_windows[i]) == CLI_FROM_FLAG)
            return bpt_fail(BPT_ERR_USAGE, "--%s is without effect with --unit ids, where every line is evaluated as one sequence",
                            of_windows[i]);
    return BPT_OK;
}

static bpt_status_t open_lines(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    BPT_TRY(check_no_windows(o));
    sizes_t n = {0};
    bpt_range_t rest = *text, line;
    BPT_TRY(bpt_grow(&e->offsets, 0, &n.line_capacity, sizeof *e->offsets));
    e->offsets[0] = 0;
    while (bpt_range_next_line(&rest, &line)) {
        BPT_TRY(bpt_range_check_line(&line));
        BPT_TRY(read_line(&line, t, e, &n));
    }
    return bpt_lm_lines_source(e->line_ids, e->offsets, n.n_lines, &e->source);
}

// ---- Evaluation: text
static bpt_status_t open_windows(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    const int64_t trained_context = t->stored.data.eval_context ? t->stored.data.eval_context : t->stored.data.context;
    const int64_t context = o->data.eval_context ? o->data.eval_context : trained_context;
    const bpt_protocol_t protocol = cli_option_source(o, "protocol") == CLI_FROM_FLAG ? o->data.protocol : t->stored.data.protocol;
    const int64_t positions = bpt_model_positions(&t->config);
    if (positions && context > positions)
        return bpt_fail(BPT_ERR_USAGE, "--eval-context %" PRId64 " is more than the model's %" PRId64 " positions", context, positions);
    if (protocol == BPT_PROTOCOL_RELEASED) e->scored.drop = context / 2;
    bpt_batch_source_t *direct;
    if (bpt_task_of(&t->config)->masks)  // what is scored is not the whole text
        BPT_TRY(bpt_vocab_encode(t->vocab, text, true, &e->ids));
    else
        BPT_TRY(bpt_vocab_encode_scored(t->vocab, text, true, &e->ids, &e->scored));
    BPT_TRY(bpt_context(bpt_lm_eval_source(&e->ids, context, o->data.batch_tokens, protocol, &direct), "%s", text->path));
    return mask(&t->config, t->vocab, SEED_OF_EVALUATIONS, direct, &e->source);
}

static bpt_status_t open_eval(const cli_options_t *o, const bpt_range_t *text, cli_trained_t *t, cli_eval_data_t *e) {
    return t->unit == BPT_UNIT_IDS ? open_lines(o, text, t, e) : open_windows(o, text, t, e);
}

const cli_reader_t cli_reader_windows = {
    .unit = BPT_UNIT_BYTE,
    .batch_option = "batch-tokens",
    .check_data = check_data,
    .check = check,
    .fill_from_options = fill,
    .open_text = open_text,
    .open_split = open_split,
    .scan = scan,
    .encode = encode,
    .open = open_sources,
    .open_eval = open_eval,
};
