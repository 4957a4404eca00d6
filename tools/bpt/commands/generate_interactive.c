// `bpt generate --interactive`: a text that a person and the model write in turn. A line that is typed continues the text so far, in a line
// of its own; the model goes on from there. When the context is full, the older half of it is forgotten and the newer half read again.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "tools/bpt/commands/generate.h"
#include "tools/bpt/commands/typed_lines.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"
#include "tools/bpt/platform/system.h"
#include "tools/bpt/signals.h"

enum { DEFAULT_CONTEXT = 4096, LEAST_CONTEXT = 16, EXIT_INTERRUPTED = 130 };

typedef struct {
    cli_writer_t *writer;
    cli_typed_lines_t *lines;
    cli_continuation_t text;  // its tokens are those that the model sees
    int64_t context;
    uint64_t draws;
    bool open_line;  // the text does not end with a line end
    size_t *ends;    // [--max-tokens so far]: bytes of the answer after each of its tokens
    size_t n_ends, end_capacity;
} talk_t;

// ---- Ctrl-C at a terminal ends the answer, not the program; once more before that has happened ends the program.
static volatile sig_atomic_t stop_answer;

static void on_ctrl_c(void) {
    if (stop_answer) _exit(EXIT_INTERRUPTED);
    stop_answer = 1;
}

static bpt_status_t watch_ctrl_c(void) {
    return cli_system_on_ctrl_c(on_ctrl_c) ? BPT_OK : bpt_fail(BPT_ERR_IO, "cannot handle Ctrl-C");
}

// ---- The text

// The model reads the tokens that are new.
static bpt_status_t catch_up(talk_t *t) {
    cli_continuation_t *text = &t->text;
    if ((int64_t)text->count > t->context) {
        const size_t keep = (size_t)(t->context / 2);
        memmove(text->ids, text->ids + text->count - keep, keep * sizeof *text->ids);
        text->count = keep;
        bpt_decoder_rewind(t->writer->decoder, 0, 0);
    }
    const int64_t length = bpt_decoder_length(t->writer->decoder, 0);
    return bpt_decoder_feed(t->writer->decoder, 0, text->ids + length, (int64_t)text->count - length, t->writer->logits);
}

static void forget(talk_t *t) {
    t->text.count = 0;
    t->open_line = false;
    bpt_decoder_rewind(t->writer->decoder, 0, 0);
}

// A line end between two lines of the text, where the vocabulary has one.
static bpt_status_t end_line(talk_t *t) {
    const bpt_range_t range = bpt_range_of("a line end", "\n", 1);
    uint32_t *ids;
    uint64_t count;
    bpt_status_t status = cli_writer_encode(t->writer, &range, &ids, &count);
    if (status == BPT_ERR_INPUT) {
        bpt_error_clear();
        return BPT_OK;
    }
    if (status == BPT_OK) status = cli_continuation_give(t->writer, &t->text, ids, count, false);
    bpt_free(ids);
    return status;
}

static bpt_status_t give_line(talk_t *t, const bpt_range_t *line) {
    const int64_t most = t->context / 2 - 1;
    uint32_t *ids;
    uint64_t count;
    bpt_status_t status = cli_writer_encode(t->writer, line, &ids, &count);
    if (status == BPT_OK && count > (uint64_t)most)
        status = bpt_fail(BPT_ERR_INPUT, "%s: line %llu has %llu tokens; with this --context a line may have %lld", line->path,
                          (unsigned long long)line->line, (unsigned long long)count, (long long)most);
    if (status == BPT_OK && t->open_line) status = end_line(t);
    if (status == BPT_OK) status = cli_continuation_give(t->writer, &t->text, ids, count, t->writer->o->use.echo);
    if (status == BPT_OK) status = catch_up(t);
    t->open_line = true;
    bpt_free(ids);
    return status;
}

// ---- Answers
static bpt_status_t show(talk_t *t, size_t *shown) {
    if (t->text.ready > *shown) fwrite(t->text.text.data + *shown, 1, t->text.ready - *shown, stdout);
    *shown = t->text.ready;
    return cli_flush_output();
}

// Tokens that a stop text ended, and which were not printed, are no part of the text.
static bpt_status_t take_back(talk_t *t) {
    while (t->n_ends && t->ends[t->n_ends - 1] > t->text.ready) --t->n_ends, --t->text.count;
    if (!t->text.count) return BPT_OK;
    bpt_decoder_rewind(t->writer->decoder, 0, (int64_t)t->text.count - 1);  // once more, for what follows it
    return catch_up(t);
}

static bpt_status_t write_tokens(talk_t *t, size_t *shown) {
    for (int64_t i = 0; i < t->writer->o->use.max_tokens && !t->text.stopped && !stop_answer; ++i) {
        uint32_t token;
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped");
        BPT_TRY(cli_continuation_draw(t->writer, &t->text, t->writer->logits, t->draws++, &token));
        BPT_TRY(bpt_grow(&t->ends, t->n_ends, &t->end_capacity, sizeof *t->ends));
        t->ends[t->n_ends++] = t->text.text.length;
        BPT_TRY(show(t, shown));
        if (!t->text.stopped) BPT_TRY(catch_up(t));
    }
    return BPT_OK;
}

static bpt_status_t answer(talk_t *t) {
    size_t shown = 0;
    t->n_ends = 0;
    BPT_TRY(write_tokens(t, &shown));
    cli_continuation_end(&t->text);
    BPT_TRY(show(t, &shown));
    if (t->text.stopped) BPT_TRY(take_back(t));
    if (shown) t->open_line = t->text.text.data[shown - 1] != '\n';
    if (!shown || t->open_line) putchar('\n');
    stop_answer = 0;
    return cli_flush_output();
}

// ---- What is typed
static const char help[] = "A line continues the text so far, and the model goes on from it.\n"
                           "An empty line lets it go on without one.\n"
                           "/reset  forgets the text\n"
                           "/quit   ends, as Ctrl-D does; Ctrl-C ends an answer\n"
                           "/help   says this\n"
                           "//x     is a line of text that begins with /x\n";

static bpt_status_t say(talk_t *t, bpt_range_t line) {
    bpt_strbuf_clear(&t->text.text);
    t->text.ready = 0;
    t->text.stopped = false;
    if (line.bytes && line.data[0] == '/') ++line.data, --line.bytes;
    if (line.bytes) BPT_TRY(give_line(t, &line));
    if (t->text.count) return answer(t);
    return bpt_fail(BPT_ERR_INPUT, "there is no text yet to go on from; type one");
}

static bool is_command(const bpt_range_t *line, const char *name) {
    return line->bytes == strlen(name) && !memcmp(line->data, name, line->bytes);
}

static bpt_status_t obey(talk_t *t, const bpt_range_t *line, bool *quit) {
    const bool command = line->bytes && line->data[0] == '/' && !(line->bytes > 1 && line->data[1] == '/');
    if (!command) return say(t, *line);
    *quit = is_command(line, "/quit");
    if (is_command(line, "/reset"))
        forget(t);
    else if (is_command(line, "/help"))
        fputs(help, stderr);
    else if (!*quit)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: there is no %s; /help lists what there is", line->path,
                        (unsigned long long)line->line, bpt_show(line->data, line->bytes).text);
    return BPT_OK;
}

// A person may try again; a script may not go on as if nothing had been.
static bpt_status_t forgive(const talk_t *t, bpt_status_t status) {
    if (status != BPT_ERR_INPUT || !cli_typed_lines_by_hand(t->lines)) return status;
    fprintf(stderr, "bpt: %s\n", bpt_error_message());
    bpt_error_clear();
    return BPT_OK;
}

static bpt_status_t converse(talk_t *t) {
    for (bool quit = false; !quit;) {
        cli_typed_t what;
        bpt_range_t line;
        BPT_TRY(cli_typed_lines_next(t->lines, &what, &line));
        if (what == CLI_TYPED_END) break;
        if (what == CLI_TYPED_LINE) BPT_TRY(forgive(t, obey(t, &line, &quit)));
    }
    return BPT_OK;
}

static bpt_status_t begin(talk_t *t) {
    const cli_options_t *o = t->writer->o;
    const bpt_model_config_t *c = &t->writer->trained->config;
    t->context = o->data.context ? o->data.context : DEFAULT_CONTEXT;
    if (!o->data.context && c->positions == BPT_POSITIONS_ABSOLUTE && c->max_positions < t->context) t->context = c->max_positions;
    if (t->context < LEAST_CONTEXT) return bpt_fail(BPT_ERR_USAGE, "--interactive needs a --context of at least %d", LEAST_CONTEXT);
    BPT_TRY(cli_writer_room(t->writer, t->context, 1));
    if (!*o->use.prompt) return BPT_OK;
    const bpt_range_t prompt = bpt_range_of("--prompt", o->use.prompt, strlen(o->use.prompt));
    return give_line(t, &prompt);
}

bpt_status_t cli_generate_interactive(cli_writer_t *writer) {
    talk_t t = {.writer = writer, .text.line_start = true};
    bpt_status_t status = cli_typed_lines_open(&stop_answer, &t.lines);
    if (status == BPT_OK) status = cli_signals_poll(cli_stopping);
    if (status == BPT_OK && cli_typed_lines_by_hand(t.lines)) status = watch_ctrl_c();
    if (status == BPT_OK) status = begin(&t);
    if (status == BPT_OK && cli_typed_lines_by_hand(t.lines)) bpt_info("type a text to go on from; /help lists what else can be typed");
    if (status == BPT_OK) status = converse(&t);
    cli_typed_lines_close(t.lines);
    cli_continuation_free(&t.text);
    bpt_free(t.ends);
    return status;
}
