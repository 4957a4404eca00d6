// Data for a trained model to be evaluated on, as batches in file order. Knows data/ and trained models, no command.
#ifndef BPT_TOOLS_EVAL_DATA_H
#define BPT_TOOLS_EVAL_DATA_H

#include "tools/bpt/corpus/loaded.h"

// What --data, --split, --protocol, --eval-context and --batch-tokens say, each as trained when not given. Labels that the model does not
// know join those of `trained`, behind them.
bpt_status_t cli_eval_data_open(const cli_options_t *o, cli_trained_t *trained, cli_eval_data_t *out) BPT_MUST_USE;
// As trained, but for what the command says.
cli_data_options_t cli_eval_data_options(const cli_options_t *o, const cli_trained_t *trained);
// Whether a file of examples is evaluated whole: it was named by --data, and no --split says which part.
bool cli_eval_data_is_whole(const cli_options_t *o);
// The refusal of data without the part that --split asks for.
bpt_status_t cli_eval_data_fail_part(const cli_options_t *o, const bpt_paths_t *paths) BPT_MUST_USE;
void cli_eval_data_close(cli_eval_data_t *data);

#endif
