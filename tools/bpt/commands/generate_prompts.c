// `bpt generate --prompts`: goes on from every line of a file, several side by side. Lines are taken as they come: those that are there
// already, up to --batch, go together.
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "tools/bpt/commands/generate.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"
#include "tools/bpt/signals.h"

enum { BLOCK_BYTES = 1 << 20, FEWEST_PLACES = 4 };  // a decoder of four places is as fast as one of one

typedef struct {
    bpt_range_t line;
    uint32_t *prompt;
    uint64_t count;  // tokens of the prompt, 0: the line is blank
    cli_continuation_t text;
    bool complete;
} member_t;

// Prompts that go together.
typedef struct {
    cli_writer_t *writer;
    member_t *members;  // [--batch]
    int64_t count, printed;
    uint32_t *tokens;  // [places of the decoder]
    bpt_text_blocks_t *blocks;
} group_t;

static void clear_members(group_t *g) {
    for (int64_t i = 0; i < g->count; ++i) {
        bpt_free(g->members[i].prompt);
        cli_continuation_free(&g->members[i].text);
    }
    g->count = g->printed = 0;
}

// ---- Output
static bpt_status_t fill_answer(json_t *object, const member_t *m) {
    BPT_TRY(cli_json_set_bytes(object, "prompt", m->line.data, m->line.bytes));
    if (m->count) return cli_json_set_bytes(object, "text", m->text.text.data, m->text.ready);
    return json_object_set_new(object, "text", json_null()) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result")
                                                            : BPT_OK;
}

// The answers that are complete, up to the first one that is not.
static bpt_status_t print_complete(group_t *g) {
    const int64_t before = g->printed;
    for (; g->printed < g->count && g->members[g->printed].complete; ++g->printed) {
        json_t *object = json_object();
        if (!object) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result");
        bpt_status_t status = fill_answer(object, &g->members[g->printed]);
        if (status == BPT_OK) status = cli_print_json(object, 0);
        json_decref(object);
        BPT_TRY(status);
    }
    return g->printed > before ? cli_flush_output() : BPT_OK;
}

// ---- The model

// A decoder for the group: the one that there is, unless it is too small or much too large.
static bpt_status_t make_places(group_t *g) {
    cli_writer_t *w = g->writer;
    uint64_t longest = 0;
    int64_t places = FEWEST_PLACES;
    for (int64_t i = 0; i < g->count; ++i)
        if (g->members[i].count > longest) longest = g->members[i].count;
    const int64_t capacity = (int64_t)longest + w->o->use.max_tokens;
    if (w->decoder && w->capacity >= capacity && w->sequences >= g->count && w->sequences <= FEWEST_PLACES * g->count) return BPT_OK;
    while (places < g->count) places *= 2;
    if (places > w->o->use.batch) places = w->o->use.batch;
    BPT_TRY(cli_writer_room(w, capacity, places));
    return bpt_realloc(&g->tokens, (size_t)places, sizeof *g->tokens);
}

static bpt_status_t feed_prompts(group_t *g) {
    cli_writer_t *w = g->writer;
    for (int64_t s = 0; s < w->sequences; ++s) g->tokens[s] = BPT_NO_ROW;  // places that nobody needs
    for (int64_t s = 0; s < g->count; ++s) {
        member_t *m = &g->members[s];
        bpt_decoder_rewind(w->decoder, s, 0);
        m->complete = !m->count;
        if (m->complete) continue;
        BPT_TRY(cli_continuation_give(w, &m->text, m->prompt, m->count, w->o->use.echo));
        BPT_TRY(bpt_decoder_feed(w->decoder, s, m->prompt, (int64_t)m->count, w->logits + s * w->trained->config.vocab));
    }
    return BPT_OK;
}

// The next token of every text that is not complete; *more: some text needs one after it. The draws of a prompt depend on its line, not on
// who is beside it.
static bpt_status_t draw_tokens(group_t *g, int64_t number, bool *more) {
    cli_writer_t *w = g->writer;
    *more = false;
    for (int64_t s = 0; s < g->count; ++s) {
        member_t *m = &g->members[s];
        g->tokens[s] = BPT_NO_ROW;
        if (m->complete) continue;
        const uint64_t draw = (m->line.line - 1) << 32 | (uint64_t)number;
        uint32_t token;
        BPT_TRY(cli_continuation_draw(w, &m->text, w->logits + s * w->trained->config.vocab, draw, &token));
        m->complete = m->text.stopped || number + 1 == w->o->use.max_tokens;
        if (m->complete)
            cli_continuation_end(&m->text);
        else
            g->tokens[s] = token, *more = true;
    }
    return BPT_OK;
}

static bpt_status_t answer(group_t *g) {
    if (!g->count) return BPT_OK;
    BPT_TRY(make_places(g));
    BPT_TRY(feed_prompts(g));
    bool more = true;
    for (int64_t i = 0; more; ++i) {
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped at line %" PRIu64, g->members[g->printed].line.line);
        BPT_TRY(draw_tokens(g, i, &more));
        BPT_TRY(print_complete(g));
        if (more) BPT_TRY(bpt_decoder_step(g->writer->decoder, g->tokens, g->writer->logits));
    }
    clear_members(g);
    return BPT_OK;
}

// ---- Lines
static bpt_status_t ask(group_t *g, const bpt_range_t *line) {
    member_t *m = &g->members[g->count];
    *m = (member_t){.line = *line, .text.line_start = true};
    BPT_TRY(bpt_range_check_line(line));
    bpt_status_t status = cli_writer_encode(g->writer, line, &m->prompt, &m->count);
    if (status == BPT_OK && m->count) status = bpt_room_check(&g->writer->room, line, m->count);
    if (status == BPT_OK)
        ++g->count;
    else
        bpt_free(m->prompt);
    return status;
}

// Lines before a bad one are answered first; then it is read again, for its message.
static bpt_status_t answer_block(group_t *g, bpt_range_t rest) {
    bpt_range_t line;
    while (bpt_range_next_line(&rest, &line)) {
        if (ask(g, &line) != BPT_OK) {
            bpt_error_clear();
            BPT_TRY(answer(g));
            BPT_TRY(ask(g, &line));
        }
        if (g->count == g->writer->o->use.batch) BPT_TRY(answer(g));
    }
    return answer(g);
}

bpt_status_t cli_generate_prompts(cli_writer_t *writer) {
    group_t g = {.writer = writer};
    BPT_TRY(bpt_text_blocks_open(writer->o->use.prompts, BLOCK_BYTES, &g.blocks));
    bpt_status_t status = bpt_alloc((size_t)writer->o->use.batch, sizeof *g.members, &g.members);
    for (bool end = false; status == BPT_OK;) {
        bpt_range_t lines;
        status = cli_next_lines(g.blocks, &lines, &end);
        if (end) break;
        if (status == BPT_OK) status = answer_block(&g, lines);
    }
    clear_members(&g);
    bpt_text_blocks_close(g.blocks);
    bpt_free(g.members);
    bpt_free(g.tokens);
    return status;
}
