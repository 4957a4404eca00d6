// Room for the tokens of a text. Models may have a last position (absolute ones), and those that compare each token with each take
// very long for a very long text: such a text is refused where it is read, with its line, before anything is computed.
#ifndef BPT_DATA_ROOM_H
#define BPT_DATA_ROOM_H

#include "data/text/text.h"

typedef struct {
    int64_t longest;    // tokens that the text may have by --longest; 0: any number
    int64_t positions;  // that the model has; 0: any number
    int64_t taken;      // of these, by something else than the text
    const char *by;     // which is called so: "placeholders", "the lines before it"
} bpt_room_t;

// BPT_ERR_INPUT with file and line when so many tokens have no room.
bpt_status_t bpt_room_check(const bpt_room_t *room, const bpt_range_t *where, uint64_t tokens) BPT_MUST_USE;

#endif
