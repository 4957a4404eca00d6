// Looking for texts that end a generation (see stop_texts.h).
#include "tools/bpt/commands/stop_texts.h"

#include <string.h>

// The longest end of `text` that begins `stop` and is not all of it.
static size_t partial_match(const char *text, size_t bytes, const char *stop) {
    const size_t length = strlen(stop);
    size_t n = bytes < length ? bytes : length - 1;
    while (n && memcmp(text + bytes - n, stop, n)) --n;
    return n;
}

size_t cli_stop_texts_scan(const cli_texts_t *stops, const char *text, size_t bytes, bool *found) {
    size_t before = bytes, held = 0;
    *found = false;
    for (size_t i = 0; bytes && i < stops->count; ++i) {
        const char *match = memmem(text, bytes, stops->item[i], strlen(stops->item[i]));
        const size_t partial = partial_match(text, bytes, stops->item[i]);
        if (match && (size_t)(match - text) <= before) before = (size_t)(match - text), *found = true;
        if (partial > held) held = partial;
    }
    return *found ? before : bytes - held;
}
