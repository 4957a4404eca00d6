// Reading word vectors (vectors.h): one pass over the mapped file; only lines of words in the vocabulary are converted.
#include "data/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

static int64_t count_tokens(bpt_range_t line) {
    size_t bytes;
    int64_t n = 0;
    while (bpt_next_token(&line, &bytes)) ++n;
    return n;
}

// word2vec begins with a line of two whole numbers.
static bool is_header(const bpt_range_t *line) {
    if (count_tokens(*line) != 2) return false;
    for (uint64_t i = 0; i < line->bytes; ++i)
        if (line->data[i] != ' ' && (line->data[i] < '0' || line->data[i] > '9')) return false;
    return true;
}

static bpt_status_t first_line(bpt_range_t *rest, int64_t *dimension) {
    bpt_range_t line, after = *rest;
    const bpt_range_t start = *rest;
    if (!bpt_range_next_line(&after, &line)) return bpt_fail(BPT_ERR_INPUT, "%s: no vectors in it", start.path);
    if (is_header(&line)) {
        *rest = after;
        if (!bpt_range_next_line(&after, &line)) return bpt_fail(BPT_ERR_INPUT, "%s: a header and no vectors", start.path);
    }
    *dimension = count_tokens(line) - 1;
    if (*dimension < 1) return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: not a word followed by numbers", start.path, (unsigned long long)line.line);
    return BPT_OK;
}

bpt_status_t bpt_vectors_dimension(const char *path, int64_t *dimension) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(path, &text));
    bpt_range_t rest = bpt_text_range(text);
    const bpt_status_t status = first_line(&rest, dimension);
    bpt_text_close(text);
    return status;
}

static bpt_status_t read_row(const bpt_range_t *whole, int64_t dimension, float *row) {
    bpt_range_t line = *whole;
    size_t bytes;
    if (count_tokens(line) != dimension + 1)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %lld values where the first line has %lld", line.path, (unsigned long long)line.line,
                        (long long)count_tokens(line) - 1, (long long)dimension);
    (void)bpt_next_token(&line, &bytes);
    for (int64_t i = 0; i < dimension; ++i) {
        const char *token = bpt_next_token(&line, &bytes);
        char number[64], *end;
        if (bytes >= sizeof number) bytes = sizeof number - 1;
        memcpy(number, token, bytes);
        number[bytes] = 0;
        row[i] = strtof(number, &end);
        if (*end || !isfinite(row[i]))
            return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' is not a finite number", line.path, (unsigned long long)line.line, number);
    }
    return BPT_OK;
}

bpt_status_t bpt_vectors_read(const char *path, const bpt_vocab_t *vocab, int64_t dimension, float *rows, int64_t *found) {
    bpt_text_t *text;
    bool *seen = NULL;
    int64_t file_dimension;
    uint32_t unk = UINT32_MAX;
    *found = 0;
    BPT_TRY(bpt_text_open(path, &text));
    bpt_range_t rest = bpt_text_range(text), line;
    bpt_status_t status = bpt_alloc((size_t)bpt_vocab_size(vocab), 1, &seen);
    if (status == BPT_OK) status = first_line(&rest, &file_dimension);
    if (status == BPT_OK && file_dimension != dimension)
        status = bpt_fail(BPT_ERR_USAGE, "%s: vectors of %lld numbers where the model's embedding has %lld; set --d-embed %lld", path,
                          (long long)file_dimension, (long long)dimension, (long long)file_dimension);
    (void)bpt_vocab_find(vocab, "<unk>", 5, &unk);
    while (status == BPT_OK && bpt_range_next_line(&rest, &line)) {
        bpt_range_t left = line;
        size_t bytes;
        uint32_t id;
        const char *word = bpt_next_token(&left, &bytes);
        if (!word) continue;
        if (!bpt_vocab_find(vocab, word, bytes, &id) || (id == unk && !(bytes == 5 && !memcmp(word, "<unk>", 5))) || seen[id]) continue;
        seen[id] = true;
        ++*found;
        status = read_row(&line, dimension, rows + (int64_t)id * dimension);
    }
    bpt_free(seen);
    bpt_text_close(text);
    return status;
}
