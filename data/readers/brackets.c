// Which lines of a text belong together: those of a tree in brackets do (examples.h, bpt_examples_next).
#include <string.h>

#include "data/readers/reader.h"

enum { NOTHING, WORD, BRACKETS };  // what a bracket has in it so far
// Brackets that are open at the end of a line of what may be texts: many lines of texts that begin with a bracket must not be looked at
// again and again.
enum { DEEPEST_OPEN = 1000 };

static bool in_name(char c) { return c != '(' && c != ')' && !bpt_is_blank(c); }

// A tree may begin in the line. `label<TAB>text` is told by its tab, but only where there are such lines.
static bool may_begin_tree(const bpt_examples_options_t *o, const bpt_range_t *line) {
    const bool texts = !o->trees || o->made != BPT_TREES_FILE;
    uint64_t at = 0;
    while (at < line->bytes && bpt_is_blank(line->data[at])) ++at;
    return at < line->bytes && line->data[at] == '(' && !(texts && memchr(line->data, '\t', line->bytes));
}

// Where what begins with a bracket need not be a tree: a text may be about (for example) this.
static bool may_be_text(const bpt_examples_options_t *o) { return !o->labelled && (!o->trees || o->made != BPT_TREES_FILE); }

// ---- A line of a tree, whatever it is made of

static void count_brackets(const bpt_range_t *line, bpt_open_tree_t *open) {
    for (uint64_t i = 0; i < line->bytes; ++i) {
        if (line->data[i] == '(') ++open->depth;
        if (line->data[i] == ')' && open->depth) --open->depth;
    }
}

// ---- A line of a tree whose brackets hold one word or brackets, as treebanks write them

static bool take_bracket(const bpt_range_t *line, uint64_t *at, bpt_open_tree_t *open) {
    if (open->depth && open->inside == WORD) return false;
    const uint64_t name = ++*at;
    while (*at < line->bytes && in_name(line->data[*at])) ++*at;
    ++open->depth;
    open->inside = NOTHING;
    return *at > name;
}

static bool take_word(const bpt_range_t *line, uint64_t *at, bpt_open_tree_t *open) {
    if (open->depth == 0 || open->inside != NOTHING) return false;
    while (*at < line->bytes && in_name(line->data[*at])) ++*at;
    open->inside = WORD;
    return true;
}

static bool close_bracket(bpt_open_tree_t *open) {
    if (open->depth == 0 || open->inside == NOTHING) return false;
    --open->depth;
    open->inside = BRACKETS;
    return true;
}

// Whether the tree can go on with this line.
static bool goes_on(const bpt_range_t *line, bpt_open_tree_t *open) {
    bool any = false;
    for (uint64_t at = 0; at < line->bytes;) {
        const char c = line->data[at];
        if (bpt_is_blank(c)) {
            ++at;
            continue;
        }
        if (any && open->depth == 0) return false;  // something behind its end
        any = true;
        if (c == ')' ? !close_bracket(open) : c == '(' ? !take_bracket(line, &at, open) : !take_word(line, &at, open)) return false;
        if (c == ')') ++at;
    }
    return any && open->depth <= DEEPEST_OPEN;
}

// A line that is a tree from its first bracket to its last, where brackets may hold any number of words.
static bool is_whole(const bpt_examples_options_t *o, const bpt_range_t *line) {
    uint64_t depth = 0, end = 0;
    if (!o->trees || !may_begin_tree(o, line)) return false;
    for (uint64_t i = 0; i < line->bytes; ++i) {
        if (end && !bpt_is_blank(line->data[i])) return false;
        depth += line->data[i] == '(';
        depth -= line->data[i] == ')' && depth;
        if (line->data[i] == ')' && depth == 0) end = i + 1;
    }
    return end > 0;
}

// ---- Lines

static bool goes_on_as(const bpt_examples_options_t *o, const bpt_range_t *line, bpt_open_tree_t *open) {
    if (may_be_text(o)) return goes_on(line, open);
    count_brackets(line, open);
    return true;
}

bpt_range_t bpt_examples_behind(const bpt_range_t *text, const bpt_open_tree_t *open) {
    bpt_range_t rest = *text;
    rest.data += open->bytes, rest.offset += open->bytes, rest.bytes -= open->bytes, rest.line += open->lines;
    return rest;
}

// The lines of the tree that `first` begins, up to the one that closes it; `rest` is what follows on what was looked at.
static bpt_lines_t take_tree(const bpt_examples_options_t *o, const bpt_range_t *first, bpt_range_t *rest, bpt_open_tree_t *open,
                             bpt_range_t *lines) {
    bpt_range_t line;
    *lines = *first;
    if (open->bytes) lines->bytes = (uint64_t)(rest->data - first->data);
    while (bpt_range_next_line(rest, &line)) {
        if (!goes_on_as(o, &line, open)) return BPT_LINES_TEXT;
        lines->bytes = (uint64_t)(line.data + line.bytes - first->data);
        if (open->depth == 0) return BPT_LINES_TREE;
    }
    return BPT_LINES_OPEN;
}

static bpt_lines_t next_lines(const bpt_examples_options_t *o, bpt_range_t *rest, bool more, bpt_open_tree_t *open, bpt_range_t *lines) {
    bpt_range_t behind_first = *rest, first;
    if (!bpt_range_next_line(&behind_first, &first)) {
        *rest = behind_first;  // without a byte order mark
        return BPT_LINES_NONE;
    }
    bpt_line_skip_mark(&first);
    bpt_range_t after = bpt_examples_behind(rest, open);
    bpt_lines_t found = may_begin_tree(o, &first) ? take_tree(o, &first, &after, open, lines) : BPT_LINES_TEXT;
    if (found == BPT_LINES_OPEN && more) {
        open->bytes = rest->bytes, open->lines = after.line - rest->line;
        return found;
    }
    if (found == BPT_LINES_OPEN) found = may_be_text(o) ? BPT_LINES_TEXT : BPT_LINES_TREE;
    if (found == BPT_LINES_TEXT) *lines = first, after = behind_first;
    if (found == BPT_LINES_TEXT && may_be_text(o) && is_whole(o, &first)) found = BPT_LINES_TREE;
    *rest = after;
    return found;
}

// A record of CSV, over as many lines as its quotes need. What is open is looked at again: a record has few lines.
static bpt_lines_t next_record(bpt_range_t *rest, bool more, bpt_open_tree_t *open, bpt_range_t *lines) {
    bpt_range_t after = *rest;
    bool quoted;
    if (!bpt_csv_next(&after, lines, &quoted)) {
        *rest = after;
        return BPT_LINES_NONE;
    }
    if (quoted && more) {
        open->bytes = rest->bytes;
        return BPT_LINES_OPEN;
    }
    *rest = after;
    return BPT_LINES_TEXT;
}

bpt_lines_t bpt_examples_next(const bpt_examples_options_t *options, bpt_range_t *rest, bool more, bpt_open_tree_t *open,
                              bpt_range_t *lines) {
    bpt_lines_t found = BPT_LINES_NONE;
    if (bpt_format_of(options->format)->until == BPT_UNTIL_QUOTES_CLOSE)
        found = next_record(rest, more, open, lines);
    else if (!options->per_token && bpt_format_of(options->format)->until == BPT_UNTIL_BRACKETS_CLOSE)
        found = next_lines(options, rest, more, open, lines);
    else if (bpt_range_next_line(rest, lines))
        found = BPT_LINES_TEXT;
    if (found == BPT_LINES_TEXT) bpt_line_skip_mark(lines);
    if (found != BPT_LINES_OPEN) *open = (bpt_open_tree_t){0};
    return found;
}

void bpt_examples_cut_between(const bpt_examples_options_t *options, bpt_range_t *part, int parts) {
    bpt_range_t rest = part[0], lines;
    for (int p = 1; p < parts; ++p) rest.bytes += part[p].bytes;
    for (int p = 0; p < parts; ++p) {
        bpt_open_tree_t open = {0};
        const char *end = part[p].data + part[p].bytes;
        part[p] = rest;
        while (rest.bytes && rest.data < end) (void)bpt_examples_next(options, &rest, false, &open, &lines);
        part[p].bytes -= rest.bytes;
    }
}

bool bpt_reader_is_root(const bpt_reader_t *r, const bpt_word_t *label) {
    static const char *const names[] = {"ROOT", "TOP"};
    for (size_t i = 0; r->options->skip_root && i < BPT_COUNT(names); ++i)
        if (bpt_word_is(label, names[i])) return true;
    return false;
}

bpt_status_t bpt_examples_check_lines(const bpt_range_t *lines) {
    if (lines->bytes <= BPT_LINE_BYTES || !memchr(lines->data, '\n', BPT_LINE_BYTES)) return bpt_range_check_line(lines);
    return bpt_reader_fail(lines, "what begins here has more than 64 MiB; are its brackets or quotes closed?");
}
