// n-grams that a text may not have twice (Paulus et al. 2018, 2.5): which tokens would repeat one. Knows no model.
#ifndef BPT_MODELS_DECODE_REPEATS_H
#define BPT_MODELS_DECODE_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

// Sets marks[token] to `mark` for each token behind text[0 .. count - 1] that would make its last n tokens the same as n tokens side by
// side before them; n 0: for none. The time is that of a look at each token of the text.
void bpt_mark_repeats(const uint32_t *text, int64_t count, int64_t n, bool *marks, bool mark);

#endif
