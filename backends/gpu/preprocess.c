// See preprocess.h. Tokens are read from a stack of those that macros have left, then from the text. A macro's replacement goes onto the
// stack with a mark below it; until the mark is reached the macro is not expanded again.
#include "backends/gpu/preprocess.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

enum { MOST_PARAMETERS = 16, MOST_NESTED = 32, SLOTS = 1024 };

typedef enum { END_OF_TEXT, END_OF_LINE, END_OF_MACRO, WORD, NUMBER, STRING, SIGN } kind_t;

typedef struct {
    const char *text;
    uint32_t length;  // of END_OF_MACRO: the macro's place
    kind_t kind;
    bool spaced;   // a blank is in front of it
    bool first;    // of its line
    bool painted;  // the name of a macro that is not expanded, for it comes from that macro
} token_t;

typedef struct {
    token_t *at;
    size_t count, capacity;
} tokens_t;

typedef struct {
    token_t name, parameters[MOST_PARAMETERS];
    tokens_t body;
    int n_parameters;
    int next;  // with the same slot; -1: none
    bool has_parameters, defined, active;
} macro_t;

// Where tokens come from.
typedef struct {
    tokens_t stack;
    const char *text;  // NULL: nothing behind the stack
    bool line_begins;
} reader_t;

typedef struct {
    macro_t *macros;
    size_t n_macros, capacity;
    int slots[SLOTS];
    char **pasted;  // texts of tokens that ## made
    size_t n_pasted, pasted_capacity;
    struct {
        bool taken, was_taken, outer;  // this branch; this or one before it; what is around
    } conditions[MOST_NESTED];
    int depth;
} state_t;

// ---- Tokens ----------------------------------------------------------------------------------------------------------

static bpt_status_t append(tokens_t *list, token_t token) {
    BPT_TRY(bpt_grow(&list->at, list->count, &list->capacity, sizeof *list->at));
    list->at[list->count++] = token;
    return BPT_OK;
}

static bpt_status_t append_all(tokens_t *list, const tokens_t *more) {
    for (size_t i = 0; i < more->count; ++i) BPT_TRY(append(list, more->at[i]));
    return BPT_OK;
}

static void forget(tokens_t *list) {
    bpt_free(list->at);
    *list = (tokens_t){0};
}

static bool is(const token_t *token, const char *text) {
    return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}

static bool same(const token_t *a, const token_t *b) { return a->length == b->length && !memcmp(a->text, b->text, a->length); }

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Past blanks, comments and line ends with a backslash.
static const char *skip_blanks(const char *c) {
    for (;;) {
        if (c[0] == ' ' || c[0] == '\t' || c[0] == '\r')
            ++c;
        else if (c[0] == '\\' && c[1] == '\n')
            c += 2;
        else if (c[0] == '/' && c[1] == '/')
            c += strcspn(c, "\n");
        else if (c[0] == '/' && c[1] == '*')
            c = strstr(c + 2, "*/") ? strstr(c + 2, "*/") + 2 : c + strlen(c);
        else
            return c;
    }
}

static uint32_t sign_length(const char *c) {
    static const char *const pairs[] = {"##", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};
    for (size_t i = 0; i < BPT_COUNT(pairs); ++i)
        if (c[0] == pairs[i][0] && c[1] == pairs[i][1]) return 2;
    return 1;
}

static uint32_t string_length(const char *c) {
    const char *end = c + 1;
    while (*end && *end != *c && *end != '\n') end += end[0] == '\\' && end[1] ? 2 : 1;
    return (uint32_t)(end - c) + (*end == *c);
}

static kind_t kind_of(const char *c) {
    if (isdigit((unsigned char)c[0]) || (c[0] == '.' && isdigit((unsigned char)c[1]))) return NUMBER;
    return in_word(*c) ? WORD : *c == '"' || *c == '\'' ? STRING : *c == '\n' ? END_OF_LINE : *c ? SIGN : END_OF_TEXT;
}

static token_t lex(const char **text, bool *line_begins) {
    const char *c = skip_blanks(*text);
    token_t token = {.text = c, .kind = kind_of(c), .spaced = c != *text, .first = *line_begins};
    const char *end = c;
    switch (token.kind) {
    case WORD:
        while (in_word(*end)) ++end;
        break;
    case NUMBER:
        while (in_word(*end) || *end == '.' || ((*end == '+' || *end == '-') && strchr("eEpP", end[-1]))) ++end;
        break;
    case STRING: end += string_length(c); break;
    case SIGN: end += sign_length(c); break;
    default: end += token.kind == END_OF_LINE; break;
    }
    token.length = (uint32_t)(end - c);
    *text = end;
    *line_begins = token.kind == END_OF_LINE;
    return token;
}

static token_t take(state_t *s, reader_t *r) {
    while (r->stack.count) {
        const token_t token = r->stack.at[--r->stack.count];
        if (token.kind != END_OF_MACRO) return token;
        s->macros[token.length].active = false;
    }
    return r->text ? lex(&r->text, &r->line_begins) : (token_t){.text = "", .kind = END_OF_TEXT};
}

// ---- Macros ----------------------------------------------------------------------------------------------------------

static size_t slot_of(const token_t *name) {
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < name->length; ++i) hash = (hash ^ (unsigned char)name->text[i]) * 16777619u;
    return hash % SLOTS;
}

static macro_t *find(const state_t *s, const token_t *name) {
    for (int i = s->slots[slot_of(name)]; i >= 0; i = s->macros[i].next)
        if (s->macros[i].defined && same(&s->macros[i].name, name)) return &s->macros[i];
    return NULL;
}

static int parameter_of(const macro_t *m, const token_t *token) {
    for (int i = 0; i < m->n_parameters && token->kind == WORD; ++i)
        if (same(&m->parameters[i], token)) return i;
    return -1;
}

// From the tokens behind "#define".
static bpt_status_t define(state_t *s, const token_t *tokens, size_t count) {
    size_t i = 1;
    if (!count) return bpt_fail(BPT_ERR_INPUT, "a #define has no name");
    BPT_TRY(bpt_grow(&s->macros, s->n_macros, &s->capacity, sizeof *s->macros));
    const size_t slot = slot_of(&tokens[0]);
    macro_t *old = find(s, &tokens[0]), *m = &s->macros[s->n_macros];
    if (old) old->defined = false;
    *m = (macro_t){.name = tokens[0], .next = s->slots[slot], .defined = true};
    s->slots[slot] = (int)s->n_macros++;
    m->has_parameters = count > 1 && is(&tokens[1], "(") && !tokens[1].spaced;
    for (i += m->has_parameters; m->has_parameters && i < count && !is(&tokens[i - 1], ")"); ++i) {
        if (tokens[i].kind != WORD) continue;
        if (m->n_parameters == MOST_PARAMETERS) return bpt_fail(BPT_ERR_INPUT, "a macro has more than %d parameters", MOST_PARAMETERS);
        m->parameters[m->n_parameters++] = tokens[i];
    }
    for (; i < count; ++i) BPT_TRY(append(&m->body, tokens[i]));
    return BPT_OK;
}

static bpt_status_t expand_list(state_t *s, const tokens_t *list, tokens_t *out);

// The arguments of a call whose "(" has been taken.
static bpt_status_t take_arguments(state_t *s, reader_t *r, const macro_t *m, tokens_t *arguments) {
    int depth = 0, n = 0;
    for (;;) {
        const token_t token = take(s, r);
        if (token.kind == END_OF_TEXT) return bpt_fail(BPT_ERR_INPUT, "a call of a macro has no end");
        if (token.kind == END_OF_LINE) continue;
        if (is(&token, ")") && depth-- == 0) return BPT_OK;
        depth += is(&token, "(");
        if (is(&token, ",") && depth == 0 && n + 1 < m->n_parameters)
            ++n;
        else if (m->n_parameters)
            BPT_TRY(append(&arguments[n], token));
    }
}

// The last token of `list` and the first of `more` become one, the rest follows.
static bpt_status_t paste(state_t *s, tokens_t *list, const tokens_t *more) {
    char *text;
    if (!more->count) return BPT_OK;
    token_t *last = &list->at[list->count - 1];
    const size_t length = (size_t)last->length + more->at[0].length;
    BPT_TRY(bpt_grow(&s->pasted, s->n_pasted, &s->pasted_capacity, sizeof *s->pasted));
    BPT_TRY(bpt_alloc(length + 1, 1, &text));
    s->pasted[s->n_pasted++] = text;
    memcpy(text, last->text, last->length);
    memcpy(text + last->length, more->at[0].text, more->at[0].length);
    *last = (token_t){.text = text, .length = (uint32_t)length, .kind = kind_of(text), .spaced = last->spaced};
    return append_all(list, &(tokens_t){.at = more->at + 1, .count = more->count - 1});
}

// The replacement of a call: arguments expanded, but beside ## as they are.
static bpt_status_t substitute(state_t *s, const macro_t *m, const tokens_t *arguments, const tokens_t *expanded, tokens_t *out) {
    bool empty_left = true;  // nothing is there to paste to
    for (size_t i = 0; i < m->body.count; ++i) {
        const token_t *token = &m->body.at[i];
        const bool pastes = is(token, "##") && i + 1 < m->body.count;
        if (pastes) token = &m->body.at[++i];
        const int p = parameter_of(m, token);
        const bool before = i + 1 < m->body.count && is(&m->body.at[i + 1], "##");
        const tokens_t itself = {.at = (token_t *)token, .count = 1};
        const tokens_t *more = p < 0 ? &itself : pastes || before ? &arguments[p] : &expanded[p];
        BPT_TRY(pastes && !empty_left ? paste(s, out, more) : append_all(out, more));
        empty_left = (!pastes || empty_left) && !more->count;
    }
    return BPT_OK;
}

// Puts a macro's replacement onto the stack.
static bpt_status_t push(state_t *s, reader_t *r, macro_t *m, const tokens_t *replacement) {
    BPT_TRY(append(&r->stack, (token_t){.text = "", .length = (uint32_t)(m - s->macros), .kind = END_OF_MACRO}));
    for (size_t i = replacement->count; i > 0; --i) BPT_TRY(append(&r->stack, replacement->at[i - 1]));
    m->active = true;
    return BPT_OK;
}

static bpt_status_t call(state_t *s, reader_t *r, macro_t *m) {
    tokens_t arguments[MOST_PARAMETERS] = {0}, expanded[MOST_PARAMETERS] = {0}, replacement = {0};
    bpt_status_t status = m->has_parameters ? take_arguments(s, r, m, arguments) : BPT_OK;
    for (int i = 0; i < m->n_parameters && status == BPT_OK; ++i) status = expand_list(s, &arguments[i], &expanded[i]);
    if (status == BPT_OK) status = substitute(s, m, arguments, expanded, &replacement);
    if (status == BPT_OK) status = push(s, r, m, &replacement);
    for (int i = 0; i < m->n_parameters; ++i) forget(&arguments[i]), forget(&expanded[i]);
    forget(&replacement);
    return status;
}

// Does a "(" come next? It is taken then.
static bpt_status_t opens(state_t *s, reader_t *r, bool *yes) {
    token_t next;
    do next = take(s, r);
    while (next.kind == END_OF_LINE);
    *yes = is(&next, "(");
    return *yes || next.kind == END_OF_TEXT ? BPT_OK : append(&r->stack, next);
}

static bpt_status_t expand(state_t *s, reader_t *r, token_t token, tokens_t *out) {
    macro_t *m = token.kind == WORD && !token.painted ? find(s, &token) : NULL;
    bool calls = m && !m->active;
    token.painted = token.painted || (m && m->active);
    if (calls && m->has_parameters) BPT_TRY(opens(s, r, &calls));
    return calls ? call(s, r, m) : append(out, token);
}

static bpt_status_t expand_list(state_t *s, const tokens_t *list, tokens_t *out) {
    reader_t r = {0};
    bpt_status_t status = BPT_OK;
    for (size_t i = list->count; i > 0 && status == BPT_OK; --i) status = append(&r.stack, list->at[i - 1]);
    while (status == BPT_OK) {
        const token_t token = take(s, &r);
        if (token.kind == END_OF_TEXT) break;
        status = expand(s, &r, token, out);
    }
    forget(&r.stack);
    return status;
}

// ---- Conditions ------------------------------------------------------------------------------------------------------

typedef struct {
    const token_t *at, *end;
    bool wrong;
} formula_t;

static bool accept(formula_t *f, const char *text) {
    const bool yes = f->at < f->end && is(f->at, text);
    f->at += yes;
    return yes;
}

static long long either(formula_t *f, int level);

static long long single(formula_t *f) {
    if (accept(f, "!")) return !single(f);
    if (accept(f, "-")) return -single(f);
    if (accept(f, "(")) {
        const long long value = either(f, 0);
        f->wrong = f->wrong || !accept(f, ")");
        return value;
    }
    if (f->at == f->end || f->at->kind == SIGN || f->at->kind == STRING) {
        f->wrong = true;
        return 0;
    }
    const token_t *token = f->at++;
    return token->kind == NUMBER ? strtoll(token->text, NULL, 0) : 0;  // a word that is no macro is 0
}

// Operators from `level` on, those that bind least first.
static long long either(formula_t *f, int level) {
    static const char *const operators[] = {"||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*"};
    static const int levels[] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5};
    if (level > 5) return single(f);
    long long a = either(f, level + 1);
    for (size_t i = 0; i < BPT_COUNT(operators);) {
        if (levels[i] != level || !accept(f, operators[i])) {
            ++i;
            continue;
        }
        const long long b = either(f, level + 1);
        const long long values[] = {a || b, a && b, a == b, a != b, a <= b, a >= b, a<b, a> b, a + b, a - b, a * b};
        a = values[i];
        i = 0;
    }
    return a;
}

// "defined X" and "defined(X)" as numbers, which no macro changes.
static bpt_status_t resolve_defined(const state_t *s, const token_t *tokens, size_t count, tokens_t *out) {
    for (size_t i = 0; i < count; ++i) {
        const bool enclosed = i + 3 < count && is(&tokens[i + 1], "(");
        const size_t name = i + 1 + enclosed;
        if (!is(&tokens[i], "defined") || name >= count) {
            BPT_TRY(append(out, tokens[i]));
            continue;
        }
        BPT_TRY(append(out, (token_t){.text = find(s, &tokens[name]) ? "1" : "0", .length = 1, .kind = NUMBER}));
        i = name + enclosed;
    }
    return BPT_OK;
}

static bpt_status_t holds(state_t *s, const token_t *tokens, size_t count, bool *yes) {
    tokens_t resolved = {0}, expanded = {0};
    bpt_status_t status = resolve_defined(s, tokens, count, &resolved);
    if (status == BPT_OK) status = expand_list(s, &resolved, &expanded);
    if (status == BPT_OK) {
        formula_t f = {expanded.at, expanded.at + expanded.count, false};
        *yes = either(&f, 0) != 0;
        if (f.wrong || f.at != f.end) status = bpt_fail(BPT_ERR_INPUT, "a condition is not understood near '%.40s'", tokens[0].text);
    }
    forget(&resolved);
    forget(&expanded);
    return status;
}

static bool taking(const state_t *s) { return !s->depth || s->conditions[s->depth - 1].taken; }

// #if, #ifdef, #ifndef begin one; #elif and #else go on with it.
static bpt_status_t condition(state_t *s, const token_t *name, const token_t *tokens, size_t count) {
    const bool begins = !is(name, "elif") && !is(name, "else");
    if (begins && s->depth == MOST_NESTED) return bpt_fail(BPT_ERR_INPUT, "more than %d conditions in each other", MOST_NESTED);
    if (!begins && !s->depth) return bpt_fail(BPT_ERR_INPUT, "an #%.*s has no #if", (int)name->length, name->text);
    if (begins) {
        const bool outer = taking(s);
        s->conditions[s->depth].outer = outer;
        s->conditions[s->depth++].was_taken = !outer;
    }
    const int at = s->depth - 1;
    bool yes = !s->conditions[at].was_taken;
    if (yes && is(name, "ifdef")) yes = count && find(s, &tokens[0]);
    if (yes && is(name, "ifndef")) yes = count && !find(s, &tokens[0]);
    if (yes && (is(name, "if") || is(name, "elif"))) BPT_TRY(holds(s, tokens, count, &yes));
    s->conditions[at].taken = yes;
    s->conditions[at].was_taken = s->conditions[at].was_taken || yes;
    return BPT_OK;
}

// ---- Lines that begin with # -----------------------------------------------------------------------------------------

static bpt_status_t obey(state_t *s, const token_t *sign, const tokens_t *line, tokens_t *out) {
    const token_t *name = line->at, *rest = line->at + 1;
    const size_t count = line->count - (line->count > 0);
    if (!line->count) return BPT_OK;
    if (is(name, "endif")) {
        if (!s->depth) return bpt_fail(BPT_ERR_INPUT, "an #endif has no #if");
        --s->depth;
        return BPT_OK;
    }
    if (is(name, "if") || is(name, "ifdef") || is(name, "ifndef") || is(name, "elif") || is(name, "else"))
        return condition(s, name, rest, count);
    if (!taking(s) || is(name, "line")) return BPT_OK;
    if (is(name, "define")) return define(s, rest, count);
    if (is(name, "undef")) {
        macro_t *m = count ? find(s, rest) : NULL;
        if (m) m->defined = false;
        return BPT_OK;
    }
    BPT_TRY(append(out, *sign));  // for the compiler
    return append_all(out, line);
}

static bpt_status_t directive(state_t *s, reader_t *r, const token_t *sign, tokens_t *out) {
    tokens_t line = {0};
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK) {
        const token_t token = take(s, r);
        if (token.kind == END_OF_LINE || token.kind == END_OF_TEXT) break;
        status = append(&line, token);
    }
    if (status == BPT_OK) status = obey(s, sign, &line, out);
    forget(&line);
    return status;
}

static bpt_status_t read_all(state_t *s, reader_t *r, tokens_t *out) {
    for (;;) {
        const token_t token = take(s, r);
        if (token.kind == END_OF_TEXT) break;
        if (token.first && is(&token, "#"))
            BPT_TRY(directive(s, r, &token, out));
        else if (token.kind != END_OF_LINE && taking(s))
            BPT_TRY(expand(s, r, token, out));
    }
    return s->depth ? bpt_fail(BPT_ERR_INPUT, "an #if has no #endif") : BPT_OK;
}

// "-DNAME=VALUE" as "#define NAME VALUE".
static bpt_status_t define_options(state_t *s, const char *options) {
    tokens_t line = {0};
    bpt_status_t status = BPT_OK;
    bool begins = false;
    for (const char *word = options + strspn(options, " "); *word && status == BPT_OK; word += strspn(word, " ")) {
        const char *end = word + strcspn(word, " ");
        line.count = 0;
        for (const char *c = word + 2; !strncmp(word, "-D", 2) && c < end && status == BPT_OK;) {
            const token_t token = lex(&c, &begins);
            if (!is(&token, "=")) status = append(&line, token);
        }
        if (status == BPT_OK && line.count) status = define(s, line.at, line.count);
        word = end;
    }
    forget(&line);
    return status;
}

static bpt_status_t join(const tokens_t *list, char **out) {
    size_t bytes = 1;
    for (size_t i = 0; i < list->count; ++i) bytes += list->at[i].length + 1;
    BPT_TRY(bpt_alloc(bytes, 1, out));
    char *end = *out;
    for (size_t i = 0; i < list->count; ++i) {
        if (i) *end++ = ' ';
        memcpy(end, list->at[i].text, list->at[i].length);
        end += list->at[i].length;
    }
    *end = '\0';
    return BPT_OK;
}

bpt_status_t bpt_gpu_preprocess(const char *text, const char *options, char **out) {
    reader_t reader = {.text = text, .line_begins = true};
    tokens_t tokens = {0};
    state_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    for (int i = 0; i < SLOTS; ++i) s->slots[i] = -1;
    bpt_status_t status = define_options(s, options);
    if (status == BPT_OK) status = read_all(s, &reader, &tokens);
    if (status == BPT_OK) status = join(&tokens, out);
    for (size_t i = 0; i < s->n_macros; ++i) forget(&s->macros[i].body);
    for (size_t i = 0; i < s->n_pasted; ++i) bpt_free(s->pasted[i]);
    bpt_free(s->macros);
    bpt_free(s->pasted);
    bpt_free(s);
    forget(&tokens);
    forget(&reader.stack);
    return status;
}
