// Word vectors in text form (see vectors.h).
#include "data/vocab/vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "data/vocab/vector_line.h"
#include "data/vocab/vocab_internal.h"

const char *const bpt_unknown_vectors_names[] = {[BPT_UNKNOWN_ZERO] = "zero", [BPT_UNKNOWN_RANDOM] = "random", NULL};

enum { BLOCK_BYTES = 1 << 24 };

typedef struct {
    const bpt_vocab_t *vocab;
    const bpt_vectors_place_t *place;
    int64_t dim;             // 0 before the first line
    uint64_t blank_line;     // the first of blank lines with nothing behind them so far; 0: there is none
    bool line_end;           // what was read last ends with a line end
    bool *seen, *by_lower;   // [vocabulary]: words with a vector, and with that of their lower-case form
    bpt_vocab_t *lower;      // lower-case forms of the words that are written otherwise, and of each form the words, as lists:
    uint32_t *first, *next;  // [forms], [vocabulary]; BPT_NO_TOKEN ends a list
    float *scratch;          // [dim]: numbers that nobody wants
    bpt_vectors_found_t found;
} reader_t;

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
        ++r->found.words;
    }
}

// ---- The file

static bpt_status_t start(reader_t *r, const bpt_range_t *lines) {
    BPT_TRY(bpt_vector_lines_dimension(*lines, &r->dim, &r->found.promised));
    if (r->dim != r->place->dimension)
        return bpt_fail(BPT_ERR_USAGE, "%s: vectors of %lld numbers where the model's embedding has %lld; set --d-embed %lld", lines->path,
                        (long long)r->dim, (long long)r->place->dimension, (long long)r->dim);
    BPT_TRY(bpt_alloc((size_t)r->dim, sizeof *r->scratch, &r->scratch));
    BPT_TRY(bpt_alloc((size_t)bpt_vocab_size(r->vocab), sizeof *r->seen, &r->seen));
    return list_forms(r);
}

static float *row_of(reader_t *r, const char *word, size_t bytes) {
    uint32_t id;
    size_t token_bytes;
    if (!bpt_vocab_find(r->vocab, word, bytes, &id)) return r->scratch;
    const char *token = bpt_vocab_token(r->vocab, id, &token_bytes);
    if (token_bytes != bytes || memcmp(token, word, bytes) != 0) return r->scratch;  // <unk> stands for the unknown
    r->found.repeated += r->seen[id];
    if (r->seen[id]) return r->scratch;
    r->seen[id] = true;
    if (!r->by_lower[id]) ++r->found.words;
    return columns_of(r, id);
}

// A blank has no place in a vocabulary; neither has a line end, whose line is blank and the next one that of an empty word.
static bpt_status_t add_line(reader_t *r, const bpt_range_t *line) {
    bpt_vector_line_t l;
    BPT_TRY(bpt_vector_line_split(line, r->dim, &l));
    if (l.bytes && r->blank_line)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has no word and no numbers, and vectors follow it; the file is damaged", line->path,
                        (unsigned long long)r->blank_line);
    if (!l.bytes && !r->found.without_word++) r->found.first_without_word = line->line;
    float *row = l.bytes ? row_of(r, l.word, l.bytes) : r->scratch;
    for (int64_t i = 0; i < r->dim; ++i) BPT_TRY(bpt_vector_line_number(&l.numbers, &row[i]));
    if (l.bytes) copy_to_words(r, l.word, l.bytes, row);
    r->blank_line = 0;
    ++r->found.lines;
    return BPT_OK;
}

static bool is_blank(bpt_range_t line) {
    size_t bytes;
    return !bpt_next_token(&line, &bytes);
}

static bpt_status_t add_lines(reader_t *r, const bpt_range_t *lines) {
    bpt_range_t rest = *lines, line;
    const bool first = r->dim == 0;
    if (first) BPT_TRY(start(r, lines));
    if (first && r->found.promised >= 0) (void)bpt_range_next_line(&rest, &line);
    while (bpt_range_next_line(&rest, &line)) {
        BPT_TRY(bpt_range_check_line(&line));
        if (!is_blank(line))
            BPT_TRY(add_line(r, &line));
        else if (!r->blank_line)
            r->blank_line = line.line;
    }
    r->line_end = lines->bytes && lines->data[lines->bytes - 1] == '\n';
    return BPT_OK;
}

// The standard deviation of all numbers of the vectors found.
static double deviation(const reader_t *r) {
    const int64_t words = bpt_vocab_size(r->vocab);
    const double count = (double)(r->found.words * r->dim);
    double sum = 0, squares = 0;
    for (int64_t id = 0; r->found.words && id < words; ++id)
        for (int64_t i = 0; has_vector(r, id) && i < r->dim; ++i) sum += (double)columns_of(r, id)[i];
    for (int64_t id = 0; r->found.words && id < words; ++id)
        for (int64_t i = 0; has_vector(r, id) && i < r->dim; ++i) {
            const double distance = (double)columns_of(r, id)[i] - sum / count;
            squares += distance * distance;
        }
    return r->found.words ? sqrt(squares / count) : 0;
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

// A first line that is wrong is not rare: people cut files with `head`, and tools leave words out after they have counted them.
static bpt_status_t check_count(const reader_t *r, const char *path) {
    const bpt_vectors_found_t *f = &r->found;
    if (f->lines == 0) return bpt_fail(BPT_ERR_INPUT, "%s holds no vector; a line is `word x1 .. xd`", path);
    if (f->promised > f->lines && !r->line_end)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s: its first line says %lld vectors, and it ends inside the line of vector %lld; the file is cut off", path,
                        (long long)f->promised, (long long)f->lines);
    return BPT_OK;
}

static bpt_status_t finish(reader_t *r, bpt_status_t status, const char *path, bpt_vectors_found_t *found) {
    if (status == BPT_OK) status = check_count(r, path);
    *found = r->found;
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
            status = bpt_vector_lines_dimension(lines, dimension, &promised);
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
