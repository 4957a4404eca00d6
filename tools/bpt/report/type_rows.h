// Precision, recall and F1 of each class or type of span: a table, or JSON. Knows no task.
#ifndef BPT_TOOLS_TYPE_ROWS_H
#define BPT_TOOLS_TYPE_ROWS_H

#include <jansson.h>

#include "data/score/confusion.h"

// A label at the front of a line, at least so many columns wide.
enum { CLI_LABEL_COLUMNS = 12 };
void cli_print_label(const char *label);
// A line for each type that occurs, in the data or among the answers; with `means` three lines more. Nothing where none occurs.
void cli_type_rows_print(const char *title, const bpt_span_type_t *types, size_t count, bool means);
// KEY: {"PER": {"precision": .., "recall": .., "f1": .., "count": .., "support": ..}, ..}
bpt_status_t cli_type_rows_to_json(const char *key, const bpt_span_type_t *types, size_t count, json_t *object) BPT_MUST_USE;
// "macro_f1" and so on.
bpt_status_t cli_type_means_to_json(const bpt_span_type_t *types, size_t count, json_t *object) BPT_MUST_USE;

#endif
