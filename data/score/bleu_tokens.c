// Tokenizers of BLEU (see bleu_tokens.h). sacreBLEU states them as regular expressions that are applied one after the other, each to
// matches that do not overlap, from the left. All of them match one or two characters and put blanks around these: here they are tables.
#include "data/score/bleu_tokens.h"

#include <string.h>
#include <utf8proc.h>

#include "bpt/alloc.h"

const char *const bpt_bleu_tokenizer_names[] = {
    [BPT_BLEU_NONE] = "none", [BPT_BLEU_13A] = "13a", [BPT_BLEU_INTL] = "intl", [BPT_BLEU_CHAR] = "char", [BPT_BLEU_ZH] = "zh", NULL};

// ---- Classes of characters

static utf8proc_category_t category_of(uint32_t c) { return utf8proc_category((utf8proc_int32_t)c); }
static bool within(uint32_t c, uint32_t first, uint32_t last) { return first <= c && c <= last; }

bool bpt_bleu_is_space(uint32_t c) {
    if (c < 128) return c == ' ' || within(c, 9, 13) || within(c, 28, 31);
    return c == 0x85 || within(category_of(c), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

static bool is_any(uint32_t c) { return (void)c, true; }
static bool is_digit(uint32_t c) { return within(c, '0', '9'); }
static bool is_no_digit(uint32_t c) { return !is_digit(c); }
static bool is_stop(uint32_t c) { return c == '.' || c == ','; }
static bool is_dash(uint32_t c) { return c == '-'; }
// ASCII punctuation without ' , - .
static bool is_ascii_symbol(uint32_t c) {
    return within(c, ' ', '&') || within(c, '(', '+') || c == '/' || within(c, ':', '@') || within(c, '[', '`') || within(c, '{', '~');
}
static bool is_no_number(uint32_t c) { return !within(category_of(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
static bool is_punctuation(uint32_t c) { return within(category_of(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
static bool is_symbol(uint32_t c) { return within(category_of(c), UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }

// The blocks that sacreBLEU's zh takes for Chinese. It means two more, U+20000 to 2A6D6 and U+2F800 to 2FA1D, but writes them with four
// digits and a further character: what is compared then is U+2001 to U+2A6D, general punctuation, arrows and mathematics among it, and
// characters beyond U+FFFF are none. Scores are comparable only with the same rule.
static bool is_chinese(uint32_t c) {
    static const uint32_t blocks[][2] = {{0x2001, 0x2a6d}, {0x2e80, 0x2fdf}, {0x2ff0, 0x303f}, {0x3100, 0x312f}, {0x31a0, 0x31bf},
                                         {0x31c0, 0x31ef}, {0x3200, 0x33ff}, {0x3400, 0x4db5}, {0x4e00, 0x9fbb}, {0xf900, 0xfa2d},
                                         {0xfa30, 0xfa6a}, {0xfa70, 0xfad9}, {0xfe10, 0xfe1f}, {0xfe30, 0xfe4f}, {0xff00, 0xffef}};
    for (size_t i = 0; i < BPT_COUNT(blocks); ++i)
        if (within(c, blocks[i][0], blocks[i][1])) return true;
    return false;
}

// ---- Tokenizers as tables

// One or, where there is a second class, two characters: a blank goes between them, and one before or behind them.
typedef struct {
    bool (*first)(uint32_t c), (*second)(uint32_t c);
    bool before, behind;
} rule_t;

#define WESTERN                                                                                                                    \
    {is_ascii_symbol, NULL, true, true}, {is_no_digit, is_stop, false, true}, {is_stop, is_no_digit, true, false}, { /* 1990-95 */ \
        is_digit, is_dash, false, true                                                                                             \
    }

static const struct {
    bool unescape;  // entities of SGML are characters, <skipped> is nothing
    bool padded;    // a blank at both ends: rules on two characters see the ends
    bool stripped;  // no white space at the front
    rule_t rules[6];
} tokenizers[] = {
    [BPT_BLEU_NONE] = {.rules = {{0}}},
    [BPT_BLEU_13A] = {.unescape = true, .padded = true, .rules = {WESTERN}},
    [BPT_BLEU_INTL] = {.rules = {{is_no_number, is_punctuation, false, true},
                                 {is_punctuation, is_no_number, true, false},
                                 {is_symbol, NULL, true, true}}},
    [BPT_BLEU_CHAR] = {.rules = {{is_any, NULL, true, true}}},
    [BPT_BLEU_ZH] = {.stripped = true, .rules = {{is_chinese, NULL, true, true}, WESTERN}},
};

// ---- Rewriting

static bpt_status_t put(bpt_code_points_t *text, uint32_t c) {
    BPT_TRY(bpt_grow(&text->at, text->count, &text->capacity, sizeof *text->at));
    text->at[text->count++] = c;
    return BPT_OK;
}

static void swap(bpt_code_points_t *a, bpt_code_points_t *b) {
    const bpt_code_points_t kept = *a;
    *a = *b;
    *b = kept;
    b->count = 0;
}

static bpt_status_t apply(const rule_t *rule, const bpt_code_points_t *from, bpt_code_points_t *to) {
    const size_t length = rule->second ? 2 : 1;
    for (size_t i = 0; i < from->count;) {
        const uint32_t *c = from->at + i;
        if (i + length > from->count || !rule->first(*c) || (rule->second && !rule->second(c[1]))) {
            BPT_TRY(put(to, *c));
            ++i;
            continue;
        }
        if (rule->before) BPT_TRY(put(to, ' '));
        BPT_TRY(put(to, *c));
        if (rule->second) {
            BPT_TRY(put(to, ' '));
            BPT_TRY(put(to, c[1]));
        }
        if (rule->behind) BPT_TRY(put(to, ' '));
        i += length;
    }
    return BPT_OK;
}

// Puts `by`, 0: nothing, in place of a word; nothing grows.
static void replace(bpt_code_points_t *text, const char *word, char by) {
    const size_t length = strlen(word);
    size_t kept = 0;
    for (size_t i = 0; i < text->count;) {
        size_t same = 0;
        while (same < length && i + same < text->count && text->at[i + same] == (unsigned char)word[same]) ++same;
        if (same < length) {
            text->at[kept++] = text->at[i++];
            continue;
        }
        if (by) text->at[kept++] = (unsigned char)by;
        i += length;
    }
    text->count = kept;
}

// ---- Lower case, as Python's str.lower

// Case_Ignorable of Unicode: marks, modifiers, format characters, and punctuation inside words (Word_Break).
static bool is_case_ignorable(uint32_t c) {
    static const uint32_t inside[] = {'\'',   '.',    ':',    0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                      0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    const utf8proc_category_t category = category_of(c);
    for (size_t i = 0; i < BPT_COUNT(inside); ++i)
        if (c == inside[i]) return true;
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK;
}

// Cased of Unicode, of characters that are not ignorable: letters that have a case, and such symbols and numerals.
static bool is_cased(uint32_t c) {
    return within(category_of(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT) || c == 0xaa || c == 0xba || within(c, 0x2160, 0x217f) ||
           within(c, 0x24b6, 0x24e9) || within(c, 0x1f130, 0x1f149) || within(c, 0x1f150, 0x1f169) || within(c, 0x1f170, 0x1f189);
}

// Final_Sigma of Unicode: behind a cased letter, and none follows.
static bool is_final(const bpt_code_points_t *text, size_t at) {
    size_t i = at;
    while (i > 0 && is_case_ignorable(text->at[i - 1])) --i;
    if (i == 0 || !is_cased(text->at[i - 1])) return false;
    for (i = at + 1; i < text->count && is_case_ignorable(text->at[i]);) ++i;
    return i == text->count || !is_cased(text->at[i]);
}

static bpt_status_t lower(const bpt_code_points_t *from, bpt_code_points_t *to) {
    enum { I_WITH_DOT = 0x130, DOT_ABOVE = 0x307, SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };
    for (size_t i = 0; i < from->count; ++i) {
        const uint32_t c = from->at[i];
        if (c == SIGMA) {
            BPT_TRY(put(to, is_final(from, i) ? FINAL_SIGMA : SMALL_SIGMA));
        } else if (c == I_WITH_DOT) {  // the only letter whose lower case is two
            BPT_TRY(put(to, 'i'));
            BPT_TRY(put(to, DOT_ABOVE));
        } else {
            BPT_TRY(put(to, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c)));
        }
    }
    return BPT_OK;
}

// ---- A line

static bpt_status_t decode(const bpt_range_t *line, bpt_code_points_t *out) {
    out->count = 0;
    for (uint64_t i = 0; i < line->bytes;) {
        uint32_t c;
        const int used = bpt_utf8_next(line->data + i, line->bytes - i, &c);
        if (!used)
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu, byte %llu of the line: not valid UTF-8 (byte 0x%02X); convert the file",
                            line->path, (unsigned long long)line->line, (unsigned long long)i + 1, (unsigned char)line->data[i]);
        BPT_TRY(put(out, c));
        i += (uint64_t)used;
    }
    return BPT_OK;
}

static void strip_front(bpt_code_points_t *text) {
    size_t n = 0;
    while (n < text->count && bpt_bleu_is_space(text->at[n])) ++n;
    text->count -= n;
    memmove(text->at, text->at + n, text->count * sizeof *text->at);
}

static bpt_status_t pad(const bpt_code_points_t *from, bpt_code_points_t *to) {
    BPT_TRY(put(to, ' '));
    for (size_t i = 0; i < from->count; ++i) BPT_TRY(put(to, from->at[i]));
    return put(to, ' ');
}

bpt_status_t bpt_bleu_tokenize(bpt_bleu_tokenizer_t tokenizer, bool lowercase, const bpt_range_t *line, bpt_code_points_t *tokens,
                               bpt_code_points_t *room) {
    static const struct {
        const char *word;
        char by;
    } entities[] = {{"<skipped>", 0}, {"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};  // one after the other
    room->count = 0;
    BPT_TRY(decode(line, tokens));
    while (tokens->count && bpt_bleu_is_space(tokens->at[tokens->count - 1])) --tokens->count;
    if (lowercase) {
        BPT_TRY(lower(tokens, room));
        swap(tokens, room);
    }
    if (tokenizers[tokenizer].stripped && tokens->count) strip_front(tokens);
    for (size_t i = 0; i < BPT_COUNT(entities) && tokenizers[tokenizer].unescape; ++i) replace(tokens, entities[i].word, entities[i].by);
    if (tokenizers[tokenizer].padded) {
        BPT_TRY(pad(tokens, room));
        swap(tokens, room);
    }
    for (const rule_t *rule = tokenizers[tokenizer].rules; rule->first; ++rule) {
        BPT_TRY(apply(rule, tokens, room));
        swap(tokens, room);
    }
    return BPT_OK;
}
