// "Did you mean": the nearest known word by edit distance (optimal string alignment: insert, delete, replace, swap).
#include <stdio.h>
#include <string.h>

#include "tools/bpt/options/options.h"

enum { MAX_WORD = 64 };

static int minimum(int a, int b) { return a < b ? a : b; }

static int edit_distance(const char *a, const char *b) {
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n > MAX_WORD || m > MAX_WORD) return MAX_WORD;
    int row[3][MAX_WORD + 1];  // the last two rows and the current one
    for (int j = 0; j <= m; ++j) row[0][j] = j;
    for (int i = 1; i <= n; ++i) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; ++j) {
            now[j] = minimum(minimum(last[j] + 1, now[j - 1] + 1), last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = minimum(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

void cli_suggest(cli_suggestion_t *s, const char *candidate) {
    const size_t length = strlen(s->word);
    int distance = edit_distance(s->word, candidate);
    // A word that was only begun ("--drop", "--checkpo") is near to its completions.
    if (length >= 3 && !strncmp(s->word, candidate, length)) distance = minimum(distance, 1);
    if (!s->best || distance < s->distance) s->best = candidate, s->distance = distance;
}

const char *cli_suggest_text(const cli_suggestion_t *s, const char *prefix, char *buffer, size_t bytes) {
    const int length = (int)strlen(s->word);
    const int near = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    if (!s->best || s->distance > near) return "";
    snprintf(buffer, bytes, "; did you mean %s%s?", prefix, s->best);
    return buffer;
}
