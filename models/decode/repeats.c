// Repeated n-grams (see repeats.h).
#include "models/decode/repeats.h"

#include <string.h>

void bpt_mark_repeats(const uint32_t *text, int64_t count, int64_t n, bool *marks, bool mark) {
    const int64_t before = n - 1;  // tokens of an n-gram that are there already
    if (n < 1) return;
    for (int64_t i = 0; i + before < count; ++i)
        if (!before || !memcmp(text + i, text + count - before, (size_t)before * sizeof *text)) marks[text[i + before]] = mark;
}
