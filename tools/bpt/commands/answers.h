// Lines that a trained model answers as they come: `bpt classify` and `bpt tag`. Those that are there at the same time go through the model
// as one batch; line N of the output belongs to line N of the input. Or sentences of a token a line, which blank lines end. `bpt embed`
// takes the same texts for their states. Knows no command.
#ifndef BPT_TOOLS_ANSWERS_H
#define BPT_TOOLS_ANSWERS_H

#include <jansson.h>

#include "tools/bpt/corpus/eval_data.h"
#include "tools/bpt/options/options.h"

// What the model says about a line; `logits` NULL: the line is blank.
typedef struct {
    const bpt_range_t *line;                // or the lines of a sentence
    const bpt_examples_options_t *options;  // how they were read
    uint64_t nth;                           // of several sentences in these lines, counted from 0
    const float *logits;                    // [rows, classes]: a row for each token of a task with labels of tokens, else one
    const uint32_t *best;                   // [rows]
    int64_t rows, classes;
    const char *const *labels;
    double temperature;  // by which logits are divided before they become probabilities
    const float *transitions;  // with --n-best: those that labels of tokens depend on (data/score/viterbi.h); NULL: on none
} cli_answer_t;

typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_examples_options_t options;  // how a line is read
    double temperature;              // handed on to `print`
    bpt_status_t (*print)(const cli_options_t *o, const cli_answer_t *answer);
    // In place of the model's answers and `print`, for what else is done with texts: called with those that are there, of which line i
    // became example of_line[i], -1: it is blank; as soon as they are so many tokens or texts, if not before.
    bpt_status_t (*take)(void *user, const bpt_examples_t *examples, const int64_t *of_line, size_t lines);
    void *user;
    int64_t most_tokens, most_texts;
    // A line is a text as language models read it, or a translator its source; `options` say nothing.
    bool plain;
} cli_answers_t;

// How a model that reads examples reads the lines of a file, or of the standard input ("-"), without their labels.
bpt_status_t cli_answer_options(const cli_options_t *o, const cli_trained_t *trained, const char *path,
                                bpt_examples_options_t *out) BPT_MUST_USE;
// Answers all lines of a file; "-": of the standard input. A line that cannot be read ends the program, after the answers to those, or to
// the sentences, before it.
bpt_status_t cli_answer_lines(const cli_answers_t *answers, const char *path) BPT_MUST_USE;

// "key": list of `count` numbers, which must be finite.
bpt_status_t cli_answer_set_list(json_t *object, const char *key, const float *values, int64_t count) BPT_MUST_USE;
// A list of such lists.
bpt_status_t cli_answer_set_rows(json_t *object, const char *key, const float *values, int64_t rows, int64_t columns) BPT_MUST_USE;

#endif
