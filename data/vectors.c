// Word vectors in text form (see vectors.h).
#include "data/vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "data/vocab_internal.h"

const char *const bpt_unknown_vectors_names[] = {[BPT_UNKNOWN_ZERO] = "zero", [BPT_UNKNOWN_RANDOM] = "random", NULL};

enum { BLOCK_BYTES = 1 << 24, LARGEST_DIM = 65536 };

typedef struct {
    const bpt_vocab_t *vocab;
    const bpt_vectors_place_t *place;
    int64_t dim;              // 0 before the first line
    int64_t promised, lines;  // vectors that the first line announces (-1: it does not), vectors seen
    bool *seen, *by_lower;    // [vocabulary]: words with a vector, and with that of their lower-case form
    bpt_vocab_t *lower;       // lower-case forms of the words that are written otherwise, and of each form the words, as lists:
    uint32_t *first, *next;   // [forms], [vocabulary]; BPT_NO_TOKEN ends a list
    float *scratch;           // [dim]: numbers that nobody wants
    int64_t found;
} reader_t;

// A decimal number with at most 18 digits that count: exact to well below a float's rounding. No locale, no hexadecimal, no nan or inf.
static bool parse_number(const char *p, size_t bytes, float *out) {
    static const double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *end = p + bytes;
    const bool negative = p < end && *p == '-';
    uint64_t mantissa = 0;
    int exponent = 0, digits = 0, written = 0;
    bool fraction = false;
    if (p < end && (*p == '-' || *p == '+')) ++p;
    for (int seen = 0; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !seen)); ++p) {
        if (*p == '.') {
            seen = fraction = true;
            continue;
        }
        digits = 1;
        if (mantissa < 100000000000000000u)
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        else
            written = 1;
        exponent += (written ? 1 : 0) - (fraction ? 1 : 0);
    }
    if (!digits) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const bool down = ++p < end && *p == '-';
        int given = 0;
        if (p < end && (*p == '-' || *p == '+')) ++p;
        if (p == end) return false;
        for (; p < end && *p >= '0' && *p <= '9'; ++p)
            if (given < 100000) given = given * 10 + (*p - '0');
        exponent += down ? -given : given;
    }
    const int distance = exponent < 0 ? -exponent : exponent;
    double value = (double)mantissa;
    if (mantissa && distance) {
        const double power = distance <= 22 ? powers[distance] : pow(10, distance);
        value = exponent < 0 ? value / power : value * power;
    }
    *out = (float)(negative ? -value : value);
    return p == end && isfinite(*out);
}

static bpt_status_t wrong_count(const bpt_range_t *line, int64_t numbers, int64_t dim) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has %lld numbers, the vectors have %lld; the file is damaged or cut off", line->path,
                    (unsigned long long)line->line, (long long)numbers, (long long)dim);
}

static bool parse_count(const char *word, size_t bytes, int64_t *count) {
    *count = 0;
    if (bytes < 1 || bytes > 12) return false;
    for (size_t i = 0; i < bytes; ++i) {
        if (word[i] < '0' || word[i] > '9') return false;
        *count = *count * 10 + (word[i] - '0');
    }
    return true;
}

static int64_t count_fields(bpt_range_t line) {
    size_t bytes;
    int64_t fields = 0;
    while (bpt_next_token(&line, &bytes)) ++fields;
    return fields;
}

// word2vec begins with a line of two whole numbers, `count d`.
static bool is_header(bpt_range_t line, int64_t *count, int64_t *dim) {
    size_t count_bytes, dim_bytes;
    if (count_fields(line) != 2) return false;
    const char *first = bpt_next_token(&line, &count_bytes), *second = bpt_next_token(&line, &dim_bytes);
    return parse_count(first, count_bytes, count) && parse_count(second, dim_bytes, dim);
}

// The dimension from the first line, or the first two, of a file; *promised as in reader_t.
static bpt_status_t read_dimension(bpt_range_t rest, int64_t *dim, int64_t *promised) {
    bpt_range_t line;
    *promised = -1;
    const bool any = bpt_range_next_line(&rest, &line);
    const bool header = any && is_header(line, promised, dim);
    if (!header) {
        *promised = -1;
        *dim = any ? count_fields(line) - 1 : 0;
    }
    if (*dim >= 1 && *dim <= LARGEST_DIM) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu is not a word followed by 1 to %d numbers", rest.path,
                    (unsigned long long)(any ? line.line : 1), LARGEST_DIM);
}

static float *columns_of(const reader_t *r, int64_t id) { return r->place->rows + id * r->place->stride + r->place->column; }
static bool has_vector(const reader_t *r, int64_t id) { return r->seen[id] || r->by_lower[id]; }

// ---- Words by their lower-case form

static bpt_status_t add_form(reader_t *r, uint32_t id, bpt_strbuf_t *buf) {
    size_t bytes;
    const char *token = bpt_vocab_token(r->vocab, id, &bytes), *form = token;
    const bool valid = bpt_fold_word(buf, &form, &bytes) == BPT_OK;
    if (!valid || form == token || bytes == 0) return BPT_OK;
    BPT_TRY(bpt_vocab_add(r->lower, form, bytes, 1));
    const uint32_t number = bpt_vocab_lookup(r->lower, form, bytes);
    r->next[id] = r->first[number];
    r->first[number] = id;
    return BPT_OK;
}

static bpt_status_t list_forms(reader_t *r) {
    const size_t words = (size_t)bpt_vocab_size(r->vocab);
    bpt_strbuf_t buf = {0};
    BPT_TRY(bpt_vocab_create(BPT_UNIT_WORD, false, &r->lower));
    BPT_TRY(bpt_alloc(words, sizeof *r->by_lower, &r->by_lower));
    BPT_TRY(bpt_alloc(words + 2, sizeof *r->first, &r->first));  // a vocabulary of words begins with two symbols
    BPT_TRY(bpt_alloc(words, sizeof *r->next, &r->next));
    for (size_t i = 0; i < words + 2; ++i) r->first[i] = BPT_NO_TOKEN;
    bpt_status_t status = BPT_OK;
    for (size_t id = 0; id < words && status == BPT_OK; ++id) status = add_form(r, (uint32_t)id, &buf);
    bpt_strbuf_free(&buf);
    return status;
}

// Gives a vector to the words that are this one in lower case and have none of their own.
static void copy_to_words(reader_t *r, const char *word, size_t bytes, const float *row) {
    const uint32_t form = bpt_vocab_lookup(r->lower, word, bytes);
    for (uint32_t id = form == BPT_NO_TOKEN ? form : r->first[form]; id != BPT_NO_TOKEN; id = r->next[id]) {
        if (r->seen[id] || r->by_lower[id]) continue;
        memcpy(columns_of(r, id), row, (size_t)r->dim * sizeof *row);
        r->by_lower[id] = true;
        ++r->found;
    }
}

// ---- The file

static bpt_status_t start(reader_t *r, const bpt_range_t *lines) {
    BPT_TRY(read_dimension(*lines, &r->dim, &r->promised));
    if (r->dim != r->place->dimension)
        return bpt_fail(BPT_ERR_USAGE, "%s: vectors of %lld numbers where the model's embedding has %lld; set --d-embed %lld", lines->path,
                        (long long)r->dim, (long long)r->place->dimension, (long long)r->dim);
    BPT_TRY(bpt_alloc((size_t)r->dim, sizeof *r->scratch, &r->scratch));
    BPT_TRY(bpt_alloc((size_t)bpt_vocab_size(r->vocab), sizeof *r->seen, &r->seen));
    return list_forms(r);
}

// Skips the fields of the word. With more fields than numbers the word holds blanks, unless its second part is a number.
static bpt_status_t take_word(const reader_t *r, bpt_range_t *rest, int64_t fields, const char **word, size_t *bytes) {
    const bpt_range_t line = *rest;
    size_t length;
    float number;
    *word = bpt_next_token(rest, bytes);
    if (fields < r->dim + 1) return wrong_count(&line, fields - 1, r->dim);
    for (int64_t i = fields - r->dim - 1; i > 0; --i) {
        const char *part = bpt_next_token(rest, &length);
        if (i == fields - r->dim - 1 && parse_number(part, length, &number)) return wrong_count(&line, fields - 1, r->dim);
        *bytes = (size_t)(part - *word) + length;
    }
    return BPT_OK;
}

static float *row_of(reader_t *r, const char *word, size_t bytes) {
    uint32_t id;
    size_t token_bytes;
    if (!bpt_vocab_find(r->vocab, word, bytes, &id)) return r->scratch;
    const char *token = bpt_vocab_token(r->vocab, id, &token_bytes);
    if (token_bytes != bytes || memcmp(token, word, bytes) != 0 || r->seen[id]) return r->scratch;  // <unk> stands for the unknown
    r->seen[id] = true;
    if (!r->by_lower[id]) ++r->found;
    return columns_of(r, id);
}

static bpt_status_t add_line(reader_t *r, const bpt_range_t *line) {
    bpt_range_t rest = *line;
    const char *word;
    size_t bytes;
    BPT_TRY(take_word(r, &rest, count_fields(*line), &word, &bytes));
    float *row = row_of(r, word, bytes);
    for (int64_t i = 0; i < r->dim; ++i) {
        size_t length;
        const char *text = bpt_next_token(&rest, &length);
        if (!parse_number(text, length, &row[i]))
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' is not a finite number", line->path, (unsigned long long)line->line,
                            bpt_show(text, length).text);
    }
    copy_to_words(r, word, bytes, row);
    ++r->lines;
    return BPT_OK;
}

static bpt_status_t add_lines(reader_t *r, const bpt_range_t *lines) {
    bpt_range_t rest = *lines, line;
    const bool first = r->dim == 0;
    if (first) BPT_TRY(start(r, lines));
    if (first && r->promised >= 0) (void)bpt_range_next_line(&rest, &line);
    while (bpt_range_next_line(&rest, &line)) {
        BPT_TRY(bpt_range_check_line(&line));
        BPT_TRY(add_line(r, &line));
    }
    return BPT_OK;
}

// The standard deviation of all numbers of the vectors found.
static double deviation(const reader_t *r) {
    const int64_t words = bpt_vocab_size(r->vocab);
    const double count = (double)(r->found * r->dim);
    double sum = 0, squares = 0;
    for (int64_t id = 0; r->found && id < words; ++id)
        for (int64_t i = 0; has_vector(r, id) && i < r->dim; ++i) sum += (double)columns_of(r, id)[i];
    for (int64_t id = 0; r->found && id < words; ++id)
        for (int64_t i = 0; has_vector(r, id) && i < r->dim; ++i) {
            const double distance = (double)columns_of(r, id)[i] - sum / count;
            squares += distance * distance;
        }
    return r->found ? sqrt(squares / count) : 0;
}

// A normal number (Box and Muller 1958) of a word and a column of its row.
static double normal(uint64_t seed, int64_t id, int64_t column) {
    const uint64_t key = bpt_mix64(bpt_mix64(seed) ^ bpt_hash_string("unknown-vectors"));
    uint32_t words[4];
    bpt_philox((const uint32_t[4]){(uint32_t)id, (uint32_t)((uint64_t)id >> 32), (uint32_t)(column / 2), 0},
               (const uint32_t[2]){(uint32_t)key, (uint32_t)(key >> 32)}, words);
    const double radius = sqrt(-2 * log(((double)words[0] + 0.5) * 0x1p-32)),
                 angle = 6.283185307179586 * (((double)words[1] + 0.5) * 0x1p-32);
    return radius * (column % 2 ? sin(angle) : cos(angle));
}

static void fill_unknown(const reader_t *r, double spread) {
    for (int64_t id = 0; id < bpt_vocab_size(r->vocab); ++id)
        for (int64_t i = 0; !has_vector(r, id) && i < r->dim; ++i)
            columns_of(r, id)[i] = (float)fmax(-FLT_MAX, fmin(FLT_MAX, spread * normal(r->place->seed, id, r->place->column + i)));
}

static bpt_status_t check_count(const reader_t *r, const char *path) {
    if (r->lines == 0) return bpt_fail(BPT_ERR_INPUT, "%s holds no vector; a line is `word x1 .. xd`", path);
    if (r->promised >= 0 && r->promised != r->lines)
        return bpt_fail(BPT_ERR_INPUT, "%s: its first line says %lld vectors, there are %lld; the file is damaged or cut off", path,
                        (long long)r->promised, (long long)r->lines);
    return BPT_OK;
}

static bpt_status_t finish(reader_t *r, bpt_status_t status, const char *path, bpt_vectors_found_t *found) {
    if (status == BPT_OK) status = check_count(r, path);
    *found = (bpt_vectors_found_t){.words = r->found};
    if (status == BPT_OK) found->deviation = deviation(r);
    if (status == BPT_OK && r->place->unknown == BPT_UNKNOWN_RANDOM) fill_unknown(r, found->deviation);
    bpt_free(r->next);
    bpt_free(r->first);
    bpt_free(r->by_lower);
    bpt_vocab_destroy(r->lower);
    bpt_free(r->seen);
    bpt_free(r->scratch);
    return status;
}

bpt_status_t bpt_vectors_parse(const bpt_range_t *text, const bpt_vocab_t *vocab, const bpt_vectors_place_t *place,
                               bpt_vectors_found_t *found) {
    reader_t reader = {.vocab = vocab, .place = place};
    return finish(&reader, add_lines(&reader, text), text->path, found);
}

// Gives the blocks of a file to the reader; only the first one when there is none.
static bpt_status_t read_blocks(const char *path, size_t block_bytes, reader_t *reader, int64_t *dimension) {
    bpt_text_blocks_t *blocks;
    BPT_TRY(bpt_text_blocks_open(path, block_bytes, &blocks));
    bpt_range_t lines;
    bool end = false;
    int64_t promised;
    bpt_status_t status = BPT_OK;
    while (status == BPT_OK && !end) {
        status = bpt_text_blocks_next(blocks, &lines, &end);
        if (status == BPT_OK && !reader) {
            status = read_dimension(lines, dimension, &promised);
            break;
        }
        if (status == BPT_OK && !end) status = add_lines(reader, &lines);
    }
    bpt_text_blocks_close(blocks);
    return status;
}

bpt_status_t bpt_vectors_dimension(const char *path, int64_t *dimension) { return read_blocks(path, 1 << 16, NULL, dimension); }

bpt_status_t bpt_vectors_read(const char *path, const bpt_vocab_t *vocab, const bpt_vectors_place_t *place, bpt_vectors_found_t *found) {
    reader_t reader = {.vocab = vocab, .place = place};
    return finish(&reader, read_blocks(path, BLOCK_BYTES, &reader, NULL), path, found);
}
