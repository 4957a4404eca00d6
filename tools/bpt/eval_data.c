// Data for a trained model to be evaluated on (see eval_data.h).
#include "tools/bpt/eval_data.h"

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/classify.h"

// ---- Token numbers: every line a sequence of its own
typedef struct {
    uint64_t n_ids, n_lines;
    size_t id_capacity, line_capacity;
} sizes_t;

static bpt_status_t read_line(const bpt_range_t *line, const bpt_vocab_t *vocab, cli_eval_data_t *e, sizes_t *n) {
    bpt_range_t rest = *line;
    size_t bytes;
    for (const char *token; (token = bpt_next_token(&rest, &bytes)) != NULL; ++n->n_ids) {
        BPT_TRY(bpt_grow(&e->line_ids, n->n_ids, &n->id_capacity, sizeof *e->line_ids));
        BPT_TRY(bpt_vocab_encode_word(vocab, line, token, bytes, &e->line_ids[n->n_ids]));
    }
    BPT_TRY(bpt_grow(&e->offsets, n->n_lines + 1, &n->line_capacity, sizeof *e->offsets));
    e->offsets[++n->n_lines] = n->n_ids;
    return BPT_OK;
}

// Options that cut a text into windows have no meaning where there are none.
static bpt_status_t check_no_windows(const cli_options_t *o, const char *why) {
    static const char *const of_windows[] = {"eval-context", "protocol"};
    for (size_t i = 0; i < BPT_COUNT(of_windows); ++i)
        if (cli_option_source(o, of_windows[i]) == CLI_FROM_FLAG)
            return bpt_fail(BPT_ERR_USAGE, "--%s is for language models of text: %s", of_windows[i], why);
    return BPT_OK;
}

static bpt_status_t open_lines(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    BPT_TRY(check_no_windows(o, "with --unit ids every line is evaluated as one sequence"));
    sizes_t n = {0};
    bpt_range_t rest = *text, line;
    BPT_TRY(bpt_grow(&e->offsets, 0, &n.line_capacity, sizeof *e->offsets));
    e->offsets[0] = 0;
    while (bpt_range_next_line(&rest, &line)) {
        BPT_TRY(bpt_range_check_line(&line));
        BPT_TRY(read_line(&line, t->vocab, e, &n));
    }
    return bpt_lm_lines_source(e->line_ids, e->offsets, n.n_lines, &e->source);
}

// ---- Text
static bpt_status_t open_windows(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    const int64_t trained_context = t->stored.data.eval_context ? t->stored.data.eval_context : t->stored.data.context;
    const int64_t context = o->data.eval_context ? o->data.eval_context : trained_context;
    const bpt_protocol_t protocol = cli_option_source(o, "protocol") == CLI_FROM_FLAG ? o->data.protocol : t->stored.data.protocol;
    BPT_TRY(bpt_vocab_encode(t->vocab, text, t->unit == BPT_UNIT_WORD, &e->ids));
    return bpt_context(bpt_lm_eval_source(&e->ids, context, o->data.batch_tokens, protocol, &e->source), "%s", text->path);
}

static bpt_status_t open_examples(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    const bpt_examples_options_t options = {.labelled = true};
    BPT_TRY(check_no_windows(o, "a classifier reads whole texts"));
    BPT_TRY(bpt_examples_read(text, &options, t->vocab, &t->labels, &e->examples));
    return bpt_classify_eval_source(&e->examples, o->data.batch_tokens, &e->source);
}

static bpt_status_t open_range(const cli_options_t *o, const bpt_range_t *text, const cli_trained_t *t, cli_eval_data_t *e) {
    if (t->config.task == BPT_TASK_CLASSIFY) return open_examples(o, text, t, e);
    return t->unit == BPT_UNIT_IDS ? open_lines(o, text, t, e) : open_windows(o, text, t, e);
}

static bpt_status_t open_part(const cli_options_t *o, const char *path, const cli_trained_t *t, cli_eval_data_t *e) {
    static const char *const names[] = {"train", "valid", "test"};
    BPT_TRY(bpt_split_open(path, t->unit, t->unit == BPT_UNIT_WORD || t->unit == BPT_UNIT_IDS, &e->split));
    const bpt_range_t *part = &e->split.part[o->data.part];
    return part->bytes ? open_range(o, part, t, e) : bpt_fail(BPT_ERR_INPUT, "%s has no %s part", path, names[o->data.part]);
}

static bpt_status_t open_whole(const cli_options_t *o, const char *path, const cli_trained_t *t, cli_eval_data_t *e) {
    BPT_TRY(bpt_text_open(path, &e->text));
    const bpt_range_t range = bpt_text_range(e->text);
    return open_range(o, &range, t, e);
}

bpt_status_t cli_eval_data_open(const cli_options_t *o, const cli_trained_t *t, cli_eval_data_t *e) {
    *e = (cli_eval_data_t){0};
    const bool named = *o->data.path != 0;
    const char *path = named ? o->data.path : t->stored.data.path;
    if (!*path) return bpt_fail(BPT_ERR_USAGE, "bpt eval needs --data PATH: the run does not say what it was trained on");
    const bool whole = named && !bpt_folder_exists(path) && cli_option_source(o, "split") != CLI_FROM_FLAG;
    const bpt_status_t status = whole ? open_whole(o, path, t, e) : open_part(o, path, t, e);
    if (status != BPT_OK) cli_eval_data_close(e);
    return status;
}

void cli_eval_data_close(cli_eval_data_t *e) {
    if (e->source) e->source->destroy(e->source);
    bpt_ids_free(&e->ids);
    bpt_free(e->line_ids);
    bpt_free(e->offsets);
    bpt_examples_free(&e->examples);
    bpt_split_close(&e->split);
    bpt_text_close(e->text);
    *e = (cli_eval_data_t){0};
}
