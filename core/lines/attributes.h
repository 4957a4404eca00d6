// The attributes of a line as text (core/lines/form.h).
#ifndef BPT_LINES_ATTRIBUTES_H
#define BPT_LINES_ATTRIBUTES_H

#include "bpt/strbuf.h"
#include "core/lines/form.h"

// Appends " key=value" unless the value is the usual one.
bpt_status_t bpt_attribute_print(const bpt_attribute_t *a, const void *fields, bpt_strbuf_t *out) BPT_MUST_USE;
// Sets the field from the text behind "=", NULL: there is none. `where` begins the sentence of a refusal.
bpt_status_t bpt_attribute_parse(const bpt_attribute_t *a, void *fields, const char *value, const char *where) BPT_MUST_USE;
void bpt_attribute_set_standard(const bpt_attribute_t *a, void *fields);
// "a whole number from 1 to 256", for a message.
void bpt_attribute_describe(const bpt_attribute_t *a, char *text, size_t bytes);

#endif
