// Words of a segment (see words.h).
#include "data/score/words.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

// A word of one of the segment's texts.
struct bpt_word {
    size_t first, length;  // code points
    const uint32_t *text;  // they are in, while words are compared
    uint32_t place;        // among all words of the segment
};

void bpt_words_free(bpt_words_t *w) {
    bpt_free(w->line.at);
    bpt_free(w->room.at);
    bpt_free(w->text.at);
    bpt_free(w->words);
    bpt_free(w->number);
}

void bpt_words_clear(bpt_words_t *w) { w->count = w->text.count = 0; }

bpt_status_t bpt_words_add(bpt_words_t *w, bpt_bleu_tokenizer_t tokenizer, bool lowercase, const bpt_range_t *line, int64_t *count) {
    const size_t before = w->count;
    BPT_TRY(bpt_bleu_tokenize(tokenizer, lowercase, line, &w->line, &w->room));
    for (size_t i = 0, end; i < w->line.count; i = end) {
        for (end = i; end < w->line.count && !bpt_bleu_is_space(w->line.at[end]);) ++end;
        if (end == i) {
            ++end;
            continue;
        }
        BPT_TRY(bpt_grow(&w->words, w->count, &w->capacity, sizeof *w->words));
        w->words[w->count] = (bpt_word_t){.first = w->text.count, .length = end - i, .place = (uint32_t)w->count};
        ++w->count;
        for (size_t k = i; k < end; ++k) {
            BPT_TRY(bpt_grow(&w->text.at, w->text.count, &w->text.capacity, sizeof *w->text.at));
            w->text.at[w->text.count++] = w->line.at[k];
        }
    }
    if (w->count >= UINT32_MAX)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has too many words", line->path, (unsigned long long)line->line);
    *count = (int64_t)(w->count - before);
    return BPT_OK;
}

static bool same_word(const bpt_word_t *a, const bpt_word_t *b) {
    return a->length == b->length && !memcmp(a->text + a->first, b->text + b->first, a->length * sizeof *a->text);
}

static int compare_words(const void *a, const void *b) {
    const bpt_word_t *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return memcmp(x->text + x->first, y->text + y->first, x->length * sizeof *x->text);
}

// Equal words get equal numbers.
bpt_status_t bpt_words_number(bpt_words_t *w) {
    uint32_t number = 0;
    if (w->numbers < w->count) {
        BPT_TRY(bpt_realloc(&w->number, w->count, sizeof *w->number));
        w->numbers = w->count;
    }
    for (size_t i = 0; i < w->count; ++i) w->words[i].text = w->text.at;
    if (w->count) qsort(w->words, w->count, sizeof *w->words, compare_words);
    for (size_t i = 0; i < w->count; ++i) {
        number += i == 0 || !same_word(&w->words[i - 1], &w->words[i]);
        w->number[w->words[i].place] = number;
    }
    return BPT_OK;
}
