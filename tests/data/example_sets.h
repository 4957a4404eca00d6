// Examples that are read from a text, with their words and labels, and shown as one text.
#ifndef BPT_TEST_EXAMPLE_SETS_H
#define BPT_TEST_EXAMPLE_SETS_H

#include <stdio.h>
#include <string.h>

#include "data/examples/examples.h"
#include "support/check.h"

typedef struct {
    bpt_vocab_t *vocab;
    bpt_labels_t labels;
    bpt_examples_t examples;
} set_t;

static inline bpt_status_t read_bytes(const char *text, size_t bytes, const bpt_examples_options_t *o, bpt_unit_t unit, set_t *s) {
    const bpt_range_t range = bpt_range_of("x.txt", text, bytes);
    *s = (set_t){0};
    BPT_TRY(bpt_vocab_create(unit, false, &s->vocab));
    BPT_TRY(bpt_examples_scan(&range, o, s->vocab, &s->labels));
    bpt_labels_freeze(&s->labels);
    BPT_TRY(bpt_vocab_freeze(s->vocab));
    return bpt_examples_read(&range, o, s->vocab, o->labelled ? &s->labels : NULL, &s->examples);
}

static inline bpt_status_t read_all(const char *text, const bpt_examples_options_t *o, bpt_unit_t unit, set_t *s) {
    return read_bytes(text, strlen(text), o, unit, s);
}

static inline void free_set(set_t *s) {
    bpt_vocab_destroy(s->vocab);
    bpt_labels_free(&s->labels);
    bpt_examples_free(&s->examples);
}

// Every example as "label: word word | word", every token with "/tag" where tokens have labels.
static inline void show(const set_t *s, char *out, size_t bytes) {
    const bpt_examples_t *e = &s->examples;
    const uint64_t texts = e->texts == 2 ? 2 : 1;
    size_t used = 0;
    *out = 0;
    for (uint64_t i = 0; i < e->count; ++i) {
        if (e->values.has) used += (size_t)snprintf(out + used, bytes - used, "%g:", (double)e->values.of[i]);
        if (!e->values.has && !e->labels.per_token)
            used +=
                (size_t)snprintf(out + used, bytes - used, "%s:", e->labels.of[i] == BPT_NO_LABEL ? "-" : s->labels.name[e->labels.of[i]]);
        for (uint64_t t = i * texts; t < (i + 1) * texts; ++t) {
            if (t % texts) used += (size_t)snprintf(out + used, bytes - used, " |");
            for (uint64_t k = e->offsets[t]; k < e->offsets[t + 1]; ++k) {
                size_t length;
                const char *word = bpt_vocab_token(s->vocab, e->tokens[k], &length);
                used += (size_t)snprintf(out + used, bytes - used, " %.*s", (int)length, word);
                if (e->labels.per_token)
                    used += (size_t)snprintf(out + used, bytes - used, "/%s",
                                             e->labels.of[k] == BPT_NO_LABEL ? "-" : s->labels.name[e->labels.of[k]]);
            }
        }
        used += (size_t)snprintf(out + used, bytes - used, ";");
    }
}

// Reading a text by words gives these examples (show).
static inline void expect_examples(size_t number, const char *text, const bpt_examples_options_t *o, const char *wanted) {
    char found[1000];
    set_t s;
    assert_ok(read_all(text, o, BPT_UNIT_WORD, &s));
    show(&s, found, sizeof found);
    if (strcmp(found, wanted)) fail_msg("case %zu: '%s', wanted '%s'", number, found, wanted);
    free_set(&s);
}

#endif
