// JSON text and typed keys (see bpt/json.h).
#include "bpt/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/names.h"
#include "bpt/strbuf.h"

bpt_status_t bpt_json_parse_line(const char *text, size_t length, const char *name, uint64_t line, json_t **out) {
    json_error_t error;
    const size_t mark = bpt_byte_order_mark(text, length);
    json_t *value = json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, &error);
    if (value) {
        *out = value;
        return BPT_OK;
    }
    if (json_error_code(&error) == json_error_out_of_memory)
        return bpt_fail(BPT_ERR_NO_MEMORY, "%s: out of host memory while reading JSON", name);
    return bpt_fail(BPT_ERR_INPUT, "%s: line %" PRIu64 ", column %d: not valid JSON: %s", name, line + (uint64_t)error.line - 1,
                    error.column, error.text);
}

bpt_status_t bpt_json_parse(const char *text, size_t length, const char *name, json_t **out) {
    return bpt_json_parse_line(text, length, name, 1, out);
}

bpt_status_t bpt_json_read(const char *path, json_t **out) {
    char *text;
    size_t length;
    BPT_TRY(bpt_file_read(path, (size_t)64 << 20, &text, &length));
    const bpt_status_t status = bpt_json_parse(text, length, path, out);
    bpt_free(text);
    return status;
}

bpt_status_t bpt_json_write(const char *path, const json_t *value) {
    char *text;
    BPT_TRY(bpt_json_format(value, 2, &text));
    const size_t length = strlen(text);
    text[length] = '\n';  // in the place of the terminator
    const bpt_status_t status = bpt_file_write(path, text, length + 1);
    bpt_free(text);
    return status;
}

// ---- text. jansson writes 0.1 as 0.10000000000000001 or loses digits; configurations are read by people and must be exact.

static bpt_status_t out_of_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing JSON"); }

static bpt_status_t format_scalar(const json_t *value, bpt_strbuf_t *buf) {
    for (size_t digits = 15;; ++digits) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        if (!text) return out_of_memory();
        bool exact = !json_is_real(value) || digits == 17;
        if (!exact) {
            json_t *again = json_loads(text, JSON_DECODE_ANY, NULL);
            exact = again && json_number_value(again) == json_real_value(value);
            json_decref(again);
        }
        const bpt_status_t status = exact ? bpt_strbuf_append(buf, text, strlen(text)) : BPT_OK;
        free(text);
        if (exact) return status;
    }
}

static bpt_status_t new_line(int indent, int depth, bpt_strbuf_t *buf) {
    return indent ? bpt_strbuf_printf(buf, "\n%*s", indent * depth, "") : BPT_OK;
}

static bpt_status_t format_value(const json_t *value, int indent, int depth, bpt_strbuf_t *buf);

static bpt_status_t format_object(const json_t *object, int indent, int depth, bpt_strbuf_t *buf) {
    BPT_TRY(bpt_strbuf_append(buf, "{", 1));
    bool first = true;
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)object, key, item) {
        if (!first) BPT_TRY(bpt_strbuf_append(buf, indent ? "," : ", ", indent ? 1 : 2));
        first = false;
        BPT_TRY(new_line(indent, depth + 1, buf));
        json_t *name = json_string(key);
        if (!name) return out_of_memory();
        const bpt_status_t status = format_scalar(name, buf);
        json_decref(name);
        BPT_TRY(status);
        BPT_TRY(bpt_strbuf_append(buf, ": ", 2));
        BPT_TRY(format_value(item, indent, depth + 1, buf));
    }
    if (!first) BPT_TRY(new_line(indent, depth, buf));
    return bpt_strbuf_append(buf, "}", 1);
}

static bpt_status_t format_array(const json_t *array, int depth, bpt_strbuf_t *buf) {  // always on one line
    BPT_TRY(bpt_strbuf_append(buf, "[", 1));
    for (size_t i = 0; i < json_array_size(array); ++i) {
        if (i) BPT_TRY(bpt_strbuf_append(buf, ", ", 2));
        BPT_TRY(format_value(json_array_get(array, i), 0, depth + 1, buf));
    }
    return bpt_strbuf_append(buf, "]", 1);
}

static bpt_status_t format_value(const json_t *value, int indent, int depth, bpt_strbuf_t *buf) {
    if (json_is_object(value)) return format_object(value, indent, depth, buf);
    return json_is_array(value) ? format_array(value, depth, buf) : format_scalar(value, buf);
}

bpt_status_t bpt_json_format(const json_t *value, int indent, char **out) {
    bpt_strbuf_t buf = {0};
    const bpt_status_t status = format_value(value, indent, 0, &buf);
    if (status == BPT_OK)
        *out = buf.data;
    else
        bpt_strbuf_free(&buf);
    return status;
}

// ---- readers

static bpt_status_t wrong(const char *key, const json_t *value, const char *wanted) {
    static const char *const kinds[] = {"an object", "an array", "a text", "an integer", "a real number", "true", "false", "null"};
    return bpt_fail(BPT_ERR_INPUT, "key \"%s\" must be %s, not %s", key, wanted, kinds[json_typeof(value)]);
}

bpt_status_t bpt_json_get_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return BPT_OK;
    if (!json_is_integer(value)) return wrong(key, value, "an integer");
    const int64_t number = json_integer_value(value);
    if (number < min || number > max)
        return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is %" PRId64 ", must be %" PRId64 " to %" PRId64, key, number, min, max);
    *out = number;
    return BPT_OK;
}

bpt_status_t bpt_json_get_int32(const json_t *object, const char *key, int32_t min, int32_t max, int32_t *out) {
    int64_t wide = *out;
    BPT_TRY(bpt_json_get_int(object, key, min, max, &wide));
    *out = (int32_t)wide;
    return BPT_OK;
}

bpt_status_t bpt_json_get_real(const json_t *object, const char *key, double min, double max, double *out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return BPT_OK;
    if (!json_is_number(value)) return wrong(key, value, "a number");
    const double number = json_number_value(value);
    if (!(number >= min && number <= max)) return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is %g, must be %g to %g", key, number, min, max);
    *out = number;
    return BPT_OK;
}

bpt_status_t bpt_json_get_bool(const json_t *object, const char *key, bool *out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return BPT_OK;
    if (!json_is_boolean(value)) return wrong(key, value, "true or false");
    *out = json_is_true(value);
    return BPT_OK;
}

bpt_status_t bpt_json_get_text(const json_t *object, const char *key, const char **out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return BPT_OK;
    if (!json_is_string(value)) return wrong(key, value, "a text");
    *out = json_string_value(value);
    return BPT_OK;
}

bpt_status_t bpt_json_get_u64(const json_t *object, const char *key, uint64_t *out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return BPT_OK;
    if (json_is_integer(value)) {
        int64_t number = 0;
        BPT_TRY(bpt_json_get_int(object, key, 0, INT64_MAX, &number));
        *out = (uint64_t)number;
        return BPT_OK;
    }
    if (!json_is_string(value)) return wrong(key, value, "an integer");
    const char *digits = json_string_value(value);
    errno = 0;
    const uint64_t number = strtoull(digits, NULL, 10);
    if (!*digits || digits[strspn(digits, "0123456789")] || errno)
        return bpt_fail(BPT_ERR_INPUT, "key \"%s\" must be an integer from 0 to %" PRIu64, key, UINT64_MAX);
    *out = number;
    return BPT_OK;
}

// ---- writers

static bpt_status_t set(json_t *object, const char *key, json_t *value) {
    return value && !json_object_set_new(object, key, value) ? BPT_OK : out_of_memory();
}

bpt_status_t bpt_json_set_int(json_t *object, const char *key, int64_t value) { return set(object, key, json_integer(value)); }
bpt_status_t bpt_json_set_bool(json_t *object, const char *key, bool value) { return set(object, key, json_boolean(value)); }

bpt_status_t bpt_json_set_u64(json_t *object, const char *key, uint64_t value) {
    if (value <= INT64_MAX) return set(object, key, json_integer((json_int_t)value));
    return set(object, key, json_sprintf("%" PRIu64, value));
}

bpt_status_t bpt_json_set_real(json_t *object, const char *key, double value) {
    if (!isfinite(value)) return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is %g: JSON has finite numbers only", key, value);
    return set(object, key, json_real(value));
}

bpt_status_t bpt_json_set_float(json_t *object, const char *key, float value) {
    double decimal = (double)value;  // the double nearest to the shortest decimal that names the float
    for (int digits = 6; digits <= 9 && isfinite(value); ++digits) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        decimal = strtod(text, NULL);
        if ((float)decimal == value) break;
    }
    return bpt_json_set_real(object, key, decimal);
}

bpt_status_t bpt_json_set_text(json_t *object, const char *key, const char *value) {
    json_t *text = json_string(value);
    if (!text) return bpt_fail(BPT_ERR_INPUT, "key \"%s\": the text is not valid UTF-8", key);
    return set(object, key, text);
}

bpt_status_t bpt_json_set_name(json_t *object, const char *key, const char *value) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = bpt_name_escape(value, &text);
    if (status == BPT_OK) status = bpt_json_set_text(object, key, text.data);
    bpt_strbuf_free(&text);
    return status;
}

const char *bpt_json_unknown_key(const json_t *object, const char *const *known) {
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)object, key, item) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key)) ++i;
        if (!known[i]) return key;
    }
    return NULL;
}
