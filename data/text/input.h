// The bytes of a text: a file, a pipe or the standard input as it is, or unpacked where it is packed (packings.h). What packs it is known
// by its first bytes, whatever its name. A damaged or cut file is BPT_ERR_INPUT, never a shorter text; so is an
// archive of several files, and what unpacks to more than 64 MiB and 200 times the bytes of the file.
#ifndef BPT_DATA_INPUT_H
#define BPT_DATA_INPUT_H

#include "bpt/status.h"

typedef struct bpt_input bpt_input_t;
// "-" is the standard input. Waits for no byte of it.
bpt_status_t bpt_input_open(const char *path, bpt_input_t **out) BPT_MUST_USE;
const char *bpt_input_name(const bpt_input_t *input);  // what messages call it
// Up to `room` bytes, *got == 0 at the end.
bpt_status_t bpt_input_read(bpt_input_t *input, void *buffer, size_t room, size_t *got) BPT_MUST_USE;
// Whether something has come that a read would take. Of a packed text it may need more to be there.
bool bpt_input_ready(const bpt_input_t *input);
void bpt_input_close(bpt_input_t *input);

#endif
