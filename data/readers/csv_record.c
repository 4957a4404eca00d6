// Records of CSV files and their cells (see csv_record.h).
#include "data/readers/csv_record.h"

#include <string.h>

#include "bpt/alloc.h"

void bpt_csv_cells_free(bpt_csv_cells_t *c) {
    bpt_free(c->cell);
    bpt_free(c->plain);
    *c = (bpt_csv_cells_t){0};
}

// ---- Records

// A quote in a cell is written twice, so that a line end is outside of cells where an even number of quotes is in front of it.
bool bpt_csv_next(bpt_range_t *rest, bpt_range_t *record, bool *open) {
    bpt_range_t line;
    bool quoted = false;
    if (!bpt_range_next_line(rest, record)) return false;
    bpt_line_skip_mark(record);
    line = *record;
    for (;;) {
        for (uint64_t i = 0; i < line.bytes; ++i) quoted ^= line.data[i] == '"';
        record->bytes = (uint64_t)(line.data + line.bytes - record->data);
        if (!quoted || !bpt_range_next_line(rest, &line)) break;
    }
    *open = quoted;
    return true;
}

// ---- Cells

static bpt_status_t fail(const bpt_range_t *record, const char *at, const char *what) {
    uint64_t line = record->line;
    for (const char *p = record->data; p < at; ++p) line += *p == '\n';
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: %s", record->path, (unsigned long long)line, what);
}

static bpt_status_t add(bpt_csv_cells_t *c, const char *data, size_t bytes) {
    BPT_TRY(bpt_grow(&c->cell, c->count, &c->capacity, sizeof *c->cell));
    c->cell[c->count++] = (bpt_word_t){data, bytes};
    return BPT_OK;
}

// From the quote at *p to the one that ends the cell, behind which it leaves *p.
static bpt_status_t take_quoted(const bpt_range_t *record, const char **p, size_t *used, bpt_csv_cells_t *c) {
    const char *const end = record->data + record->bytes, *const first = *p;
    char *const plain = c->plain + *used;
    size_t bytes = 0;
    for (++*p;;) {
        const char *quote = *p < end ? memchr(*p, '"', (size_t)(end - *p)) : NULL;
        if (!quote) return fail(record, first, "the quote that begins here is not closed; a quote in a text is written twice: \"\"");
        memcpy(plain + bytes, *p, (size_t)(quote - *p));
        bytes += (size_t)(quote - *p);
        *p = quote + 1;
        if (*p == end || **p != '"') break;
        plain[bytes++] = *(*p)++;
    }
    if (*p < end && **p != ',')
        return fail(record, *p, "something other than a comma behind a closing quote; a quote in a text is written twice: \"\"");
    *used += bytes;
    return add(c, plain, bytes);
}

static bpt_status_t take_bare(const bpt_range_t *record, const char **p, bpt_csv_cells_t *c) {
    const char *const end = record->data + record->bytes, *const first = *p;
    const char *comma = *p < end ? memchr(*p, ',', (size_t)(end - *p)) : NULL;
    *p = comma ? comma : end;
    const char *quote = *p > first ? memchr(first, '"', (size_t)(*p - first)) : NULL;
    if (quote)
        return fail(record, quote,
                    "a quote in a cell that does not begin with one; such a cell stands between quotes, and each of its "
                    "quotes is written twice: \"\"");
    return add(c, first, (size_t)(*p - first));
}

bpt_status_t bpt_csv_split(const bpt_range_t *record, bpt_csv_cells_t *c) {
    const char *p = record->data, *const end = p + record->bytes;
    size_t used = 0;
    c->count = 0;
    if (record->bytes > c->plain_capacity) {
        BPT_TRY(bpt_realloc(&c->plain, (size_t)record->bytes, 1));
        c->plain_capacity = (size_t)record->bytes;
    }
    for (;; ++p) {
        BPT_TRY(p < end && *p == '"' ? take_quoted(record, &p, &used, c) : take_bare(record, &p, c));
        if (p == end) return BPT_OK;
    }
}
