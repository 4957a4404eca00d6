// A text that a language model goes on with, token by token: what is common to one prompt, many prompts and a conversation.
#ifndef BPT_TOOLS_CONTINUATION_H
#define BPT_TOOLS_CONTINUATION_H

#include "models/decode/decode.h"
#include "models/decode/sample.h"
#include "tools/bpt/runs/trained.h"

// What all texts of a command share.
typedef struct {
    const cli_options_t *o;
    cli_trained_t *trained;
    bpt_sampler_t *sampler;
    bpt_room_t room;         // for a prompt, without the tokens that are to follow
    bpt_decoder_t *decoder;  // NULL: none yet
    int64_t capacity, sequences;
    float *logits;  // [sequences, vocab]
    bpt_strbuf_t scratch;
} cli_writer_t;

// The sampler, as the options say. What was opened is released by cli_writer_close, also after a failure.
bpt_status_t cli_writer_open(const cli_options_t *o, cli_trained_t *trained, cli_writer_t *out) BPT_MUST_USE;
// A new, empty decoder in place of the one so far.
bpt_status_t cli_writer_room(cli_writer_t *writer, int64_t capacity, int64_t sequences) BPT_MUST_USE;
void cli_writer_close(cli_writer_t *writer);

// Tokens of a text, freed with bpt_free; words that the vocabulary lacks are remarked on.
bpt_status_t cli_writer_encode(const cli_writer_t *writer, const bpt_range_t *text, uint32_t **ids, uint64_t *count) BPT_MUST_USE;

typedef struct {
    uint32_t *ids;  // prompt, then what was chosen
    size_t count, capacity;
    bpt_strbuf_t text;  // of what was chosen; with --echo of the prompt before it
    size_t ready;       // of these bytes so many may be shown; the others may begin a stop text
    int64_t chosen;     // tokens since those that were given last
    bool line_start;    // words: no blank before the next one
    bool stopped;       // by a stop text
} cli_continuation_t;

// Adds tokens that are given, not chosen.
bpt_status_t cli_continuation_give(cli_writer_t *writer, cli_continuation_t *c, const uint32_t *ids, uint64_t count,
                                   bool echo) BPT_MUST_USE;
// Chooses the next token from its logits. A stop text sets `stopped`.
bpt_status_t cli_continuation_draw(cli_writer_t *writer, cli_continuation_t *c, const float *logits, uint64_t draw,
                                   uint32_t *token) BPT_MUST_USE;
// The end: what was held back may be shown, unless a stop text ended it.
void cli_continuation_end(cli_continuation_t *c);
void cli_continuation_free(cli_continuation_t *c);

#endif
