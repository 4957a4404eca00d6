// A line of word vectors (see vector_line.h).
#include "data/vocab/vector_line.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "data/vocab/vocab_internal.h"

enum { LARGEST_DIM = 65536, FIRST_LINES = 16, FIRST_BYTES = 1 << 16 };

// ---- Numbers

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

static bool is_whole(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (text[i] < '0' || text[i] > '9') return false;
    return bytes > 0;
}

static bool is_not_finite(const char *text, size_t bytes) {
    const bool sign = bytes > 1 && (*text == '-' || *text == '+');
    text += sign, bytes -= sign;
    return (bytes == 3 && (!strncasecmp(text, "nan", 3) || !strncasecmp(text, "inf", 3))) ||
           (bytes == 8 && !strncasecmp(text, "infinity", 8));
}

static bool reads_as_number(const char *text, size_t bytes) {
    float number;
    return parse_number(text, bytes, &number) || is_not_finite(text, bytes);
}

bpt_status_t bpt_vector_line_number(bpt_range_t *numbers, float *out) {
    const bpt_range_t line = *numbers;
    size_t bytes;
    const char *text = bpt_next_token(numbers, &bytes);
    if (text && parse_number(text, bytes, out)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu: '%s' is not a finite number", line.path, (unsigned long long)line.line,
                    bpt_show(text ? text : "", bytes).text);
}

// ---- The word

static int64_t count_fields(bpt_range_t line) {
    size_t bytes;
    int64_t fields = 0;
    while (bpt_next_token(&line, &bytes)) ++fields;
    return fields;
}

static bool has_whole_number(bpt_range_t numbers) {
    size_t bytes;
    for (const char *text; (text = bpt_next_token(&numbers, &bytes));)
        if (is_whole(text, bytes)) return true;
    return false;
}

// Whether one of these fields, which stand between the first field and the numbers, is a number too many.
static bool has_number_too_many(bpt_range_t fields, bpt_range_t numbers) {
    bool whole = false;
    size_t bytes;
    for (const char *text; (text = bpt_next_token(&fields, &bytes));) {
        if (!reads_as_number(text, bytes)) continue;
        if (!is_whole(text, bytes)) return true;
        whole = true;
    }
    return whole && has_whole_number(numbers);
}

static bool begins_with_blank(const bpt_range_t *line) { return line->bytes && bpt_is_blank(line->data[0]); }

static bool begins_with_number(bpt_range_t line) {
    size_t bytes;
    const char *text = bpt_next_token(&line, &bytes);
    return text && reads_as_number(text, bytes);
}

bpt_status_t bpt_vector_line_split(const bpt_range_t *line, int64_t dim, bpt_vector_line_t *out) {
    const int64_t fields = count_fields(*line);
    size_t bytes;
    *out = (bpt_vector_line_t){.numbers = *line};
    if (fields == dim && begins_with_blank(line) && begins_with_number(*line)) return BPT_OK;
    out->word = bpt_next_token(&out->numbers, &out->bytes);
    bpt_range_t behind_first = out->numbers;
    for (int64_t i = 1; i < fields - dim; ++i) out->bytes = (size_t)(bpt_next_token(&out->numbers, &bytes) - out->word) + bytes;
    behind_first.bytes -= out->numbers.bytes;
    if (fields > dim && !has_number_too_many(behind_first, out->numbers)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has %lld numbers, the vectors have %lld; the file is damaged or cut off", line->path,
                    (unsigned long long)line->line, (long long)fields - 1, (long long)dim);
}

// ---- The first lines

static bool parse_count(const char *word, size_t bytes, int64_t *count) {
    *count = 0;
    if (bytes > 12 || !is_whole(word, bytes)) return false;
    for (size_t i = 0; i < bytes; ++i) *count = *count * 10 + (word[i] - '0');
    return true;
}

// word2vec begins with a line of two whole numbers, `count d`.
static bool is_header(bpt_range_t line, int64_t *count, int64_t *dim) {
    size_t count_bytes, dim_bytes;
    if (count_fields(line) != 2) return false;
    const char *first = bpt_next_token(&line, &count_bytes), *second = bpt_next_token(&line, &dim_bytes);
    return parse_count(first, count_bytes, count) && parse_count(second, dim_bytes, dim);
}

// The numbers that a line ends with, its first field apart; where there is none, all fields but the first, so that a message names one.
static int64_t numbers_at_end(bpt_range_t line, bpt_range_t *numbers) {
    size_t bytes;
    int64_t fields = 0, count = 0;
    const bool blank = begins_with_blank(&line);
    *numbers = line;
    for (const char *text; (text = bpt_next_token(&line, &bytes)); ++fields) {
        const bool number = (fields || blank) && reads_as_number(text, bytes);
        count = number ? count + 1 : 0;
        if (!number) *numbers = line;
    }
    return count ? count : fields - 1;
}

// Dimensions that a line may have: with whole numbers in front that may belong to the word, and without.
static void add_candidates(const bpt_range_t *line, int64_t candidates[2]) {
    bpt_range_t numbers;
    size_t bytes;
    candidates[0] = candidates[1] = numbers_at_end(*line, &numbers);
    for (const char *text; candidates[1] > 1 && (text = bpt_next_token(&numbers, &bytes)) && is_whole(text, bytes);) --candidates[1];
}

static bool has_dimension(const bpt_range_t *line, int64_t dim) {
    bpt_vector_line_t split;
    if (bpt_vector_line_split(line, dim, &split) == BPT_OK) return true;
    bpt_error_clear();
    return false;
}

// The one that most of the first lines can have: each alone may have an odd word or be damaged.
static int64_t agreed_dimension(bpt_range_t rest) {
    const uint64_t begin = rest.offset;
    bpt_range_t line[FIRST_LINES];
    int64_t candidates[2 * FIRST_LINES], best = 0;
    int count = 0, best_lines = 0;
    while (count < FIRST_LINES && bpt_range_next_line(&rest, &line[count]) && (!count || rest.offset - begin <= FIRST_BYTES))
        if (count_fields(line[count])) add_candidates(&line[count], &candidates[2 * count]), ++count;
    for (int c = 0; c < 2 * count; ++c) {
        int lines = 0;
        for (int i = 0; i < count; ++i) lines += candidates[c] > 0 && has_dimension(&line[i], candidates[c]);
        if (lines > best_lines) best = candidates[c], best_lines = lines;
    }
    return best;
}

bpt_status_t bpt_vector_lines_dimension(bpt_range_t lines, int64_t *dim, int64_t *promised) {
    bpt_range_t rest = lines, line;
    const bool any = bpt_range_next_line(&rest, &line), header = any && is_header(line, promised, dim);
    if (!header) {
        *promised = -1;
        *dim = agreed_dimension(lines);
    }
    if (*dim >= 1 && *dim <= LARGEST_DIM) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu is not a word followed by 1 to %d numbers", lines.path,
                    (unsigned long long)(any ? line.line : 1), LARGEST_DIM);
}
