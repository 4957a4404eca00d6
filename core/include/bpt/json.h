// Strict JSON on top of jansson: positions in errors, duplicate keys refused, keys read by name and type, numbers written so that
// they read back exactly. Knows nothing of what the keys mean.
#ifndef BPT_JSON_H
#define BPT_JSON_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef struct json_t json_t;  // jansson's; who only passes it on need not include <jansson.h>

// `name` (a path or what the text is) begins every message: "NAME: line 3, column 5: ...". *out is released with json_decref.
BPT_API bpt_status_t bpt_json_parse(const char *text, size_t length, const char *name, json_t **out) BPT_MUST_USE;
// One line of a text that has a value in each: `line` is its number.
BPT_API bpt_status_t bpt_json_parse_line(const char *text, size_t length, const char *name, uint64_t line, json_t **out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_read(const char *path, json_t **out) BPT_MUST_USE;          // at most 64 MiB
BPT_API bpt_status_t bpt_json_write(const char *path, const json_t *value) BPT_MUST_USE;  // indented, replaced atomically
// Text of the value in its order of keys; `indent` 0: on one line. *out is freed with bpt_free. Reals have as few digits as read
// back exactly; a non-finite number cannot be held by a json_t.
BPT_API bpt_status_t bpt_json_format(const json_t *value, int indent, char **out) BPT_MUST_USE;

// Readers of one key of an object. An absent key leaves *out alone; a wrong type or a value outside [min, max] is BPT_ERR_INPUT
// with the key's name. Text is owned by the object.
BPT_API bpt_status_t bpt_json_get_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_get_int32(const json_t *object, const char *key, int32_t min, int32_t max, int32_t *out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_get_real(const json_t *object, const char *key, double min, double max, double *out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_get_bool(const json_t *object, const char *key, bool *out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_get_text(const json_t *object, const char *key, const char **out) BPT_MUST_USE;
// Unsigned 64-bit numbers are beyond JSON integers of jansson: above 2^63 - 1 they are written as a string of digits.
BPT_API bpt_status_t bpt_json_get_u64(const json_t *object, const char *key, uint64_t *out) BPT_MUST_USE;

// Writers of one key. A text that is not UTF-8 or a non-finite number is BPT_ERR_INPUT.
BPT_API bpt_status_t bpt_json_set_int(json_t *object, const char *key, int64_t value) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_set_u64(json_t *object, const char *key, uint64_t value) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_set_real(json_t *object, const char *key, double value) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_set_float(json_t *object, const char *key, float value) BPT_MUST_USE;  // 0.1f is written as 0.1
BPT_API bpt_status_t bpt_json_set_bool(json_t *object, const char *key, bool value) BPT_MUST_USE;
BPT_API bpt_status_t bpt_json_set_text(json_t *object, const char *key, const char *value) BPT_MUST_USE;
// The name of a file, or a message with one, which need not be UTF-8: escaped as bpt/names.h says.
BPT_API bpt_status_t bpt_json_set_name(json_t *object, const char *key, const char *value) BPT_MUST_USE;

// The first key of `object` that is not among `known` (NULL-terminated), NULL if there is none.
BPT_API const char *bpt_json_unknown_key(const json_t *object, const char *const *known);

BPT_END_DECLS

#endif
