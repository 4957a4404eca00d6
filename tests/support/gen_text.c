// A made-up language for tests (see batches.h).
#include <ctype.h>
#include <string.h>

#include "bpt/rng.h"
#include "support/batches.h"

enum { WORDS = 400, FOLLOWERS = 6 };

// Word number w: two to four syllables that depend on the number alone.
static size_t spell(uint32_t w, char *out) {
    static const char *const onsets[] = {"b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"};
    static const char *const rimes[] = {"a", "e", "i", "o", "u", "an", "el", "or"};
    uint64_t bits = bpt_mix64(w);
    size_t size = 0;
    for (uint64_t syllables = 1 + bits % 3 + (w > 40); syllables > 0; --syllables) {
        bits = bpt_mix64(bits);
        const char *const parts[2] = {onsets[bits % 16], rimes[(bits >> 8) % 8]};
        for (int i = 0; i < 2; ++i) {
            memcpy(out + size, parts[i], strlen(parts[i]));
            size += strlen(parts[i]);
        }
    }
    return size;
}

// The next word: one of a few that may follow, the first ones more often.
static uint32_t follow(uint32_t w, uint64_t random) {
    const uint64_t rank = (random % FOLLOWERS) * ((random >> 16) % FOLLOWERS) / FOLLOWERS;
    const uint64_t place = bpt_mix64((uint64_t)w * FOLLOWERS + rank) % (WORDS * WORDS);
    return (uint32_t)(place % WORDS * (place / WORDS) / WORDS);  // small numbers are frequent words
}

void test_gen_text(uint64_t seed, char *out, size_t bytes) {
    char piece[64];
    uint32_t word = 0;
    int left = 0;  // words of the sentence
    uint64_t random = bpt_mix64(seed);
    for (size_t used = 0; used < bytes;) {
        random = bpt_mix64(random);
        const bool first = left == 0;
        if (first) left = 3 + (int)(random >> 40) % 12;
        word = follow(word, random);
        size_t size = spell(word, piece);
        if (first) piece[0] = (char)toupper(piece[0]);
        if (--left == 0) {
            memcpy(piece + size, ".\n", 2);
            size += 2;
        } else {
            piece[size++] = ' ';
        }
        const size_t take = size < bytes - used ? size : bytes - used;
        memcpy(out + used, piece, take);
        used += take;
    }
}
