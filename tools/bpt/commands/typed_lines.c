// Lines from a terminal or a pipe (see typed_lines.h). The library for editing is opened at run time and used through its callbacks, so
// that signals are ours and reach us between two keys.
#include "tools/bpt/commands/typed_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/library.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/platform/system.h"
#include "tools/bpt/signals.h"

enum { BLOCK_BYTES = 1 << 16, LOOK_MS = 200 };
static const char prompt[] = "> ";

// What GNU readline and libedit have in common.
typedef struct {
    void (*install)(const char *prompt, void (*take)(char *line));
    void (*remove)(void);
    void (*read_char)(void);
    void (*add_history)(const char *line);
} editor_t;

struct cli_typed_lines {
    volatile sig_atomic_t *interrupted;
    bool by_hand, edited;
    editor_t editor;
    bpt_text_blocks_t *blocks;  // without an editor
    bpt_range_t rest;
    char *line;  // of the editor
    uint64_t number;
};

// ---- The library

static bool bind_editor(void *library, editor_t *e) {
    *(void **)&e->install = bpt_library_symbol(library, "rl_callback_handler_install");
    *(void **)&e->remove = bpt_library_symbol(library, "rl_callback_handler_remove");
    *(void **)&e->read_char = bpt_library_symbol(library, "rl_callback_read_char");
    *(void **)&e->add_history = bpt_library_symbol(library, "add_history");
    int *catches = bpt_library_symbol(library, "rl_catch_signals");
    FILE **output = bpt_library_symbol(library, "rl_outstream");
    int (*insert)(int, int) = NULL, (*bind)(int, int (*)(int, int)) = NULL;
    *(void **)&insert = bpt_library_symbol(library, "rl_insert");
    *(void **)&bind = bpt_library_symbol(library, "rl_bind_key");
    if (!e->install || !e->remove || !e->read_char || !e->add_history || !catches || !output) return false;
    *catches = 0;
    *output = stderr;                        // results alone go to stdout
    if (insert && bind) bind('\t', insert);  // a tab is text, not the name of a file
    return true;
}

// *found: whether there is an editor. One that was asked for must be there.
static bpt_status_t open_editor(editor_t *e, bool *found) {
    const char *own = bpt_env_text("BPT_READLINE_LIBRARY");
    *found = false;
    if (own && !strcmp(own, "none")) return BPT_OK;
    void *library = bpt_library_open(BPT_LIBRARY_READLINE, own);
    *found = library && bind_editor(library, e);
    if (*found || !own) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_READLINE_LIBRARY: %s is no library for editing lines; give another one, or none", own);
}

bpt_status_t cli_typed_lines_open(volatile sig_atomic_t *interrupted, cli_typed_lines_t **out) {
    cli_typed_lines_t *l;
    BPT_TRY(bpt_alloc(1, sizeof *l, &l));
    l->interrupted = interrupted;
    l->by_hand = isatty(STDIN_FILENO) != 0;
    bpt_status_t status = l->by_hand && isatty(STDERR_FILENO) ? open_editor(&l->editor, &l->edited) : BPT_OK;
    if (status == BPT_OK && !l->edited) status = bpt_text_blocks_open("-", BLOCK_BYTES, &l->blocks);
    if (status == BPT_OK)
        *out = l;
    else
        bpt_free(l);
    return status;
}

void cli_typed_lines_close(cli_typed_lines_t *l) {
    if (!l) return;
    bpt_text_blocks_close(l->blocks);
    free(l->line);  // from the library
    bpt_free(l);
}

bool cli_typed_lines_by_hand(const cli_typed_lines_t *l) { return l->by_hand; }

// ---- Waiting

// Until something has come; *ctrl_c: before that Ctrl-C came.
static bpt_status_t wait_for_input(const cli_typed_lines_t *l, bool *ctrl_c) {
    for (;;) {
        const bool ready = cli_system_wait_for_input(LOOK_MS);  // a signal just before it would not wake it
        if (cli_interrupted) return bpt_fail(BPT_ERR_INTERRUPTED, "stopped");
        *ctrl_c = *l->interrupted;
        if (*ctrl_c || ready) return BPT_OK;
    }
}

// ---- With an editor. Its callback knows nothing of ours.
static char *taken;
static bool complete;
static void (*remove_handler)(void);

// As long as the handler is there, the library shows its prompt again after a line and reads keys in its own mode. A key that is typed
// then, before the next line is asked for, would be lost.
static void take(char *line) {
    taken = line;
    complete = true;
    remove_handler();
}

static bpt_status_t edit_line(cli_typed_lines_t *l, cli_typed_t *what) {
    bpt_status_t status = BPT_OK;
    bool ctrl_c = false;
    complete = false;
    remove_handler = l->editor.remove;
    l->editor.install(prompt, take);
    while (status == BPT_OK && !complete && !ctrl_c) {
        status = wait_for_input(l, &ctrl_c);
        if (status == BPT_OK && !ctrl_c) l->editor.read_char();
    }
    l->editor.remove();  // after a line too: libedit goes back to its own mode behind the callback
    free(l->line);
    l->line = complete ? taken : NULL;
    if (!l->line) fputc('\n', stderr);
    *what = l->line ? CLI_TYPED_LINE : ctrl_c ? CLI_TYPED_CTRL_C : CLI_TYPED_END;
    if (l->line && *l->line) l->editor.add_history(l->line);
    return status;
}

// ---- Without
static bpt_status_t read_line(cli_typed_lines_t *l, cli_typed_t *what, bpt_range_t *line) {
    bool ctrl_c = false, end = false;
    if (l->by_hand) fputs(prompt, stderr);
    while (!bpt_range_next_line(&l->rest, line) && !end && !ctrl_c) {
        if (l->by_hand && !bpt_text_blocks_ended(l->blocks)) BPT_TRY(wait_for_input(l, &ctrl_c));
        if (l->by_hand && !ctrl_c) BPT_TRY(bpt_text_blocks_next(l->blocks, &l->rest, &end));
        if (!l->by_hand) BPT_TRY(cli_next_lines(l->blocks, &l->rest, &end));
    }
    if (!end && !ctrl_c) BPT_TRY(bpt_range_check_line(line));
    *what = end ? CLI_TYPED_END : ctrl_c ? CLI_TYPED_CTRL_C : CLI_TYPED_LINE;
    if (l->by_hand && *what != CLI_TYPED_LINE) fputc('\n', stderr);
    return BPT_OK;
}

bpt_status_t cli_typed_lines_next(cli_typed_lines_t *l, cli_typed_t *what, bpt_range_t *line) {
    const bpt_status_t status = l->edited ? edit_line(l, what) : read_line(l, what, line);
    if (status != BPT_OK) return status;
    if (*what == CLI_TYPED_CTRL_C) *l->interrupted = 0;
    if (!l->edited || *what != CLI_TYPED_LINE) return BPT_OK;
    *line = bpt_range_of("standard input", l->line, strlen(l->line));
    line->line = ++l->number;
    return BPT_OK;
}
