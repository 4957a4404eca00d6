// Room for the tokens of a text (see room.h).
#include "data/examples/room.h"

#include <inttypes.h>
#include <stdio.h>

bpt_status_t bpt_room_check(const bpt_room_t *room, const bpt_range_t *where, uint64_t tokens) {
    char taken[96] = "";
    if (room->longest && (int64_t)tokens > room->longest)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s: line %" PRIu64 ": %" PRIu64 " tokens are more than --longest %" PRId64
                        "; give fewer, or a larger --longest and the time that it takes",
                        where->path, where->line, tokens, room->longest);
    if (!room->positions || (int64_t)tokens <= room->positions - room->taken) return BPT_OK;
    if (room->taken) snprintf(taken, sizeof taken, " and %" PRId64 " for %s", room->taken, room->by);
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %" PRIu64 ": %" PRIu64 " tokens%s are more than the model's %" PRId64
                    " positions; give fewer, or train with a larger --max-positions",
                    where->path, where->line, tokens, taken, room->positions);
}
