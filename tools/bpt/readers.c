// The list of readers (see readers.h).
#include "tools/bpt/readers.h"

#define CLI_READER(id, name) extern const cli_reader_t cli_reader_##name;
#include "tools/bpt/readers.def"
#undef CLI_READER

static const cli_reader_t *const readers[] = {
#define CLI_READER(id, name) [BPT_READS_##id] = &cli_reader_##name,
#include "tools/bpt/readers.def"
#undef CLI_READER
};

#define CLI_READER(id, name) +1
enum {
    N_LISTED =
#include "tools/bpt/readers.def"
};
#undef CLI_READER
_Static_assert((int)N_LISTED == (int)BPT_N_READS, "readers.def needs a line for every bpt_task_reads_t");

const cli_reader_t *cli_reader_of(const bpt_model_config_t *config) {
    const bpt_task_spec_t *task = bpt_task_of(config);
    return bpt_task_sides(task) == 2 ? &cli_reader_translations : readers[task->reads];
}
