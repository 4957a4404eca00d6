// Data for a trained model to be evaluated on (see eval_data.h).
#include "tools/bpt/corpus/eval_data.h"

#include "bpt/alloc.h"
#include "tools/bpt/corpus/example_options.h"
#include "tools/bpt/corpus/readers.h"

cli_data_options_t cli_eval_data_options(const cli_options_t *o, const cli_trained_t *t) {
    cli_data_options_t d = t->stored.data;
    d.unit = t->unit;
    cli_examples_given(o, &d);
    if (cli_option_source(o, "skip-empty") == CLI_FROM_FLAG) d.skip_empty = o->data.skip_empty;
    if (cli_option_source(o, "source") == CLI_FROM_FLAG) d.source = o->data.source;
    if (cli_option_source(o, "target") == CLI_FROM_FLAG) d.target = o->data.target;
    if (cli_option_source(o, "context-tokens") == CLI_FROM_FLAG) d.context_tokens = o->data.context_tokens;
    return d;
}

bool cli_eval_data_is_whole(const cli_options_t *o) { return o->data.paths.count && cli_option_source(o, "split") != CLI_FROM_FLAG; }

static bool same_paths(const bpt_paths_t *a, const bpt_paths_t *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; ++i) same = !strcmp(a->path[i], b->path[i]);
    return same;
}

// A file is cut by the seed: with another one, a run of --with has learnt from examples that the first run has kept for its test.
static bpt_status_t check_cuts(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *t, const bpt_split_t *split) {
    const cli_data_options_t *d = &t->stored.data;
    for (size_t i = 0; split->cut.part && i < t->n_others; ++i) {
        const cli_options_t *other = &t->others[i].stored;
        const bpt_paths_t theirs = cli_data_paths(&other->data);
        const bool same_cut = other->data.cut == d->cut && (d->cut == BPT_CUT_IN_ORDER || other->train.seed == t->stored.train.seed);
        if (!same_cut && same_paths(paths, &theirs))
            return bpt_fail(
                BPT_ERR_USAGE,
                "--with %s: its training cut %s otherwise (by --seed and --cut) and has learnt from examples that are evaluated "
                "here; name other data by --data, or train both with --cut in-order or on a folder that has the parts",
                o->use.with.item[i], paths->path[0]);
    }
    return BPT_OK;
}

bpt_status_t cli_eval_data_fail_part(const cli_options_t *o, const bpt_paths_t *paths) {
    static const char *const names[] = {"train", "valid", "test"};
    return bpt_fail(BPT_ERR_INPUT, "%s has no %s part; --split names another one, and --data other data", paths->path[0], names[o->data.part]);
}

static bpt_status_t open_part(const cli_options_t *o, const bpt_paths_t *paths, cli_trained_t *t, cli_eval_data_t *e) {
    cli_data_options_t d = cli_eval_data_options(o, t);
    cli_examples_fit(o, &t->config, t->unit, paths->path[0], &d);
    BPT_TRY(cli_split_open(&d, &t->config, t->stored.train.seed, paths, &e->split));
    BPT_TRY(check_cuts(o, paths, t, &e->split));
    const bpt_range_t *part = &e->split.part[o->data.part];
    return part->bytes ? cli_reader_of(&t->config)->open_eval(o, part, t, e) : cli_eval_data_fail_part(o, paths);
}

static bpt_status_t open_whole(const cli_options_t *o, const bpt_paths_t *paths, cli_trained_t *t, cli_eval_data_t *e) {
    const cli_data_options_t d = cli_eval_data_options(o, t);
    const cli_reader_t *reader = cli_reader_of(&t->config);
    BPT_TRY(reader->open_text ? reader->open_text(&d, &t->config, paths, &e->text) : bpt_text_open_files(paths, &e->text));
    const bpt_range_t range = bpt_text_range(e->text);
    return reader->open_eval(o, &range, t, e);
}

bpt_status_t cli_eval_data_open(const cli_options_t *o, cli_trained_t *t, cli_eval_data_t *e) {
    *e = (cli_eval_data_t){0};
    const bpt_paths_t paths = cli_data_paths(o->data.paths.count ? &o->data : &t->stored.data);
    if (!paths.count) return bpt_fail(BPT_ERR_USAGE, "bpt eval needs --data PATH: the run does not say what it was trained on");
    const cli_reader_t *reader = cli_reader_of(&t->config);
    bool made = false;
    if (reader->make_eval) {
        const bpt_status_t status = reader->make_eval(o, &paths, t, e, &made);
        if (status != BPT_OK) cli_eval_data_close(e);
        if (status != BPT_OK || made) return status;
    }
    const bool whole = cli_eval_data_is_whole(o) && !bpt_split_has_folder(&paths);
    const bpt_status_t status = whole ? open_whole(o, &paths, t, e) : open_part(o, &paths, t, e);
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
