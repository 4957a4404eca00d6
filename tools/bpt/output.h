// What commands write to standard output.
#ifndef BPT_TOOLS_OUTPUT_H
#define BPT_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpt/status.h"

// Flushes stdout; BPT_ERR_IO when anything written to it was lost (full disk, closed pipe).
bpt_status_t cli_flush_output(void) BPT_MUST_USE;
// Whether output was lost because nobody reads the pipe any more, as behind `| head`.
bool cli_reader_has_gone(void);
// A JSON value and a line end on stdout; on one line with indent 0.
struct json_t;
bpt_status_t cli_print_json(const struct json_t *value, int indent) BPT_MUST_USE;
// A text under a key of a JSON object. JSON holds UTF-8 only: bytes that are none become U+FFFD.
bpt_status_t cli_json_set_bytes(struct json_t *object, const char *key, const char *data, uint64_t bytes) BPT_MUST_USE;
// Columns of the terminal behind `fd`, `fallback` when there is none.
int cli_columns(int fd, int fallback);

// Does what is still to be done, such as writing the answers that there are, whether or not what came before it failed with `status`. The
// first failure is the one that is returned, with its message.
bpt_status_t cli_finish(bpt_status_t status, bpt_status_t (*finish)(void *user), void *user) BPT_MUST_USE;

#endif
