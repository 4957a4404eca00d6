// Examples that are arrays of numbers (see array_data.h).
#include "tools/bpt/corpus/array_data.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/batches/arrays.h"
#include "models/kinds/kind.h"

static const char summation[] = "summation";

// In the order of the file: a twentieth each for validation and test at its end.
static bpt_status_t cut_in_order(const bpt_examples_t *all, bpt_cut_t *cut) {
    const uint64_t n = all->count, held = n / 20 ? n / 20 : 1;
    BPT_TRY(bpt_alloc((size_t)n, 1, &cut->part));
    for (uint64_t e = 0; e < n; ++e) cut->part[e] = e < n - 2 * held ? BPT_TRAIN : e < n - held ? BPT_VALID : BPT_TEST;
    cut->count = n;
    return BPT_OK;
}

static bpt_status_t cut_arrays(const cli_data_options_t *d, uint64_t seed, const char *path, const bpt_examples_t *all, bpt_cut_t *cut) {
    if (d->cut == BPT_CUT_SHUFFLED) return bpt_cut_make(path, all->count, NULL, 0, seed, cut);
    return all->count < 3 ? bpt_split_fail_count(path, all->count, "example") : cut_in_order(all, cut);
}

// Reads the parts from `first` to `last` of a file, into an array of all parts.
static bpt_status_t split_arrays(const cli_data_options_t *d, uint64_t seed, const char *path, int first, int last,
                                 bpt_examples_t parts[BPT_PARTS]) {
    bpt_examples_t all;
    bpt_cut_t cut = {0};
    BPT_TRY(bpt_arrays_read(path, &all));
    bpt_status_t status = cut_arrays(d, seed, path, &all, &cut);
    for (int part = first; part <= last && status == BPT_OK; ++part) status = bpt_arrays_part(&all, &cut, part, &parts[part]);
    bpt_free(cut.part);
    bpt_examples_free(&all);
    return status;
}

static bpt_status_t make_sums(const cli_options_t *o, int part, bpt_examples_t *out) {
    const bpt_summation_t s = {.examples = o->data.examples,
                               .n = o->data.n,
                               .sum = o->data.sum,
                               .columns = o->model.d_input ? o->model.d_input : 10,
                               .seed = o->train.seed,
                               .part = part};
    return bpt_summation_make(&s, out);
}

static bool is_summation(const char *path) { return !strcmp(path, summation) && !bpt_file_exists(path) && !bpt_folder_exists(path); }

static bpt_status_t fail_several(const char *path) {
    return bpt_fail(BPT_ERR_INPUT, "%s: a part of vectors is one safetensors file; join x and y of the files, or name one of them", path);
}

static bool has_arrays(const bpt_paths_t *paths) {
    bool any = false;
    for (size_t i = 0; i < paths->count; ++i) any |= is_summation(paths->path[i]) || bpt_arrays_is_file(paths->path[i]);
    return any;
}

// Reads the parts from `first` to `last` of a folder, as far as they are there, unless it is one of texts.
static bpt_status_t read_folder(const char *folder, int first, int last, bpt_examples_t parts[BPT_PARTS]) {
    bpt_part_paths_t path[BPT_PARTS] = {{0}};
    bpt_status_t status = bpt_folder_exists(folder) ? bpt_split_find(folder, "safetensors", path) : BPT_OK;
    for (int part = first; part <= last && path[first].count && status == BPT_OK; ++part) {
        if (path[part].count > 1) status = fail_several(path[part].path[1]);
        if (path[part].count == 1) status = bpt_arrays_read(path[part].path[0], &parts[part]);
    }
    for (int part = 0; part < BPT_PARTS; ++part) bpt_part_paths_free(&path[part]);
    return status;
}

static bpt_status_t check_parts(const cli_options_t *o, const bpt_examples_t parts[BPT_PARTS]) {
    for (int part = 1; part < BPT_PARTS; ++part)
        if (parts[part].count &&
            (parts[part].vectors.columns != parts[0].vectors.columns || parts[part].values.columns != parts[0].values.columns))
            return bpt_fail(BPT_ERR_INPUT, "%s: the parts differ: x has %lld and %lld columns, y has %lld and %lld",
                            cli_data_path(&o->data), (long long)parts[0].vectors.columns, (long long)parts[part].vectors.columns,
                            (long long)parts[0].values.columns, (long long)parts[part].values.columns);
    return BPT_OK;
}

static bpt_status_t read_arrays(cli_options_t *o, cli_corpus_t *corpus, bool *done) {
    const bpt_paths_t paths = cli_data_paths(&o->data);
    const char *path = cli_data_path(&o->data);
    if (paths.count > 1) return has_arrays(&paths) ? fail_several(paths.path[1]) : BPT_OK;
    for (int part = 0; is_summation(path) && part < BPT_PARTS; ++part) {
        BPT_TRY(make_sums(o, part, &corpus->examples[part]));
        *done = true;
    }
    if (*done) return BPT_OK;
    if (bpt_arrays_is_file(path)) {
        *done = true;
        return split_arrays(&o->data, o->train.seed, path, BPT_TRAIN, BPT_TEST, corpus->examples);
    }
    BPT_TRY(read_folder(path, BPT_TRAIN, BPT_TEST, corpus->examples));
    *done = corpus->examples[BPT_TRAIN].count > 0;
    return *done ? check_parts(o, corpus->examples) : BPT_OK;
}

// As bpt_room_check, for what has no lines.
static bpt_status_t check_array_room(const char *path, const bpt_model_config_t *m, const bpt_examples_t *e) {
    const int64_t positions = bpt_model_positions(m);
    for (uint64_t i = 0; positions && i < e->count; ++i) {
        const int64_t length = (int64_t)(e->offsets[i + 1] - e->offsets[i]);
        if (length > positions)
            return bpt_fail(BPT_ERR_INPUT,
                            "%s: example %" PRIu64 ": %" PRId64 " vectors are more than the model's %" PRId64
                            " positions; give fewer, or train with a larger --max-positions",
                            path, i + 1, length, positions);
    }
    return BPT_OK;
}

bpt_status_t cli_arrays_make(cli_options_t *o, cli_corpus_t *corpus, bool *done) {
    *done = false;
    if (!bpt_task_of(&o->model)->values) return BPT_OK;
    BPT_TRY(read_arrays(o, corpus, done));
    for (int part = 0; *done && part < BPT_PARTS; ++part)
        BPT_TRY(check_array_room(cli_data_path(&o->data), &o->model, &corpus->examples[part]));
    if (*done) o->data.unit = BPT_UNIT_IDS;
    return BPT_OK;
}

static bpt_status_t check_arrays(const char *path, const bpt_model_config_t *m, const bpt_examples_t *e) {
    if (e->vectors.columns == m->d_input && e->values.columns == m->classes) return check_array_room(path, m, e);
    return bpt_fail(BPT_ERR_INPUT, "%s: vectors of %lld numbers and %lld values; the model reads %d and gives %lld", path,
                    (long long)e->vectors.columns, (long long)e->values.columns, m->d_input, (long long)m->classes);
}

bpt_status_t cli_arrays_make_eval(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *t, bpt_examples_t *out,
                                  bool *done) {
    bpt_examples_t parts[BPT_PARTS] = {0};
    *done = false;
    const char *path = paths->path[0];
    if (!t->config.d_input) return BPT_OK;
    *done = true;
    if (paths->count > 1) return fail_several(paths->path[1]);
    if (is_summation(path)) {
        cli_options_t made = t->stored;
        made.model.d_input = t->config.d_input;
        BPT_TRY(make_sums(&made, o->data.part, out));
    } else if (bpt_arrays_is_file(path) && cli_eval_data_is_whole(o)) {
        BPT_TRY(bpt_arrays_read(path, out));
    } else if (bpt_arrays_is_file(path)) {
        BPT_TRY(split_arrays(&t->stored.data, t->stored.train.seed, path, o->data.part, o->data.part, parts));
    } else {
        BPT_TRY(read_folder(path, o->data.part, o->data.part, parts));
        if (!parts[o->data.part].count) return bpt_fail(BPT_ERR_INPUT, "%s is no safetensors file and has none of this part in it", path);
    }
    if (parts[o->data.part].count) *out = parts[o->data.part];
    BPT_TRY(check_arrays(path, &t->config, out));
    return bpt_examples_shift(out, o->use.placeholders);
}
