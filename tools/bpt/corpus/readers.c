// The list of readers (see readers.h).
#include "tools/bpt/corpus/readers.h"

#define CLI_READER(id, name) extern const cli_reader_t cli_reader_##name;
#include "tools/bpt/corpus/readers.def"
#undef CLI_READER

static const cli_reader_t *const readers[] = {
#define CLI_READER(id, name) [BPT_READS_##id] = &cli_reader_##name,
#include "tools/bpt/corpus/readers.def"
#undef CLI_READER
};

#define CLI_READER(id, name) +1
enum {
    N_LISTED =
#include "tools/bpt/corpus/readers.def"
};
#undef CLI_READER
_Static_assert((int)N_LISTED == (int)BPT_N_READS, "readers.def needs a line for every bpt_task_reads_t");

const cli_reader_t *cli_reader_of(const bpt_model_config_t *config) {
    const bpt_task_spec_t *task = bpt_task_of(config);
    return bpt_task_sides(task) == 2 ? &cli_reader_translations : readers[task->reads];
}

bpt_status_t cli_split_open(const cli_data_options_t *d, const bpt_model_config_t *m, uint64_t seed, const bpt_paths_t *paths,
                            bpt_split_t *out) {
    const cli_reader_t *reader = cli_reader_of(m);
    if (reader->cut_file && !bpt_split_has_parts(paths)) return reader->cut_file(d, m, seed, paths, out);
    if (reader->open_split) return reader->open_split(d, m, paths, out);
    return bpt_split_open(paths, d->unit, bpt_unit_of(d->unit)->by_lines, out);
}

bpt_status_t cli_check_stored_data(const cli_data_options_t *stored, const bpt_model_config_t *model, const char *path) {
    const bpt_status_t status = cli_reader_of(model)->check_data(stored, model);
    if (status == BPT_OK) return BPT_OK;
    return bpt_fail(status == BPT_ERR_USAGE ? BPT_ERR_INPUT : status, "%s does not fit its model: %s", path, bpt_error_message());
}
