// Names of files may hold any byte but NUL: as text, where they are shown or kept in JSON, what is no printable UTF-8 is written \xHH.
#ifndef BPT_NAMES_H
#define BPT_NAMES_H

#include "bpt/strbuf.h"

BPT_BEGIN_DECLS

// Appends `name` as such text, a backslash as \\, so that unescaping gives the same bytes. What unescaping does not know it leaves as it
// is.
BPT_API bpt_status_t bpt_name_escape(const char *name, bpt_strbuf_t *out) BPT_MUST_USE;
BPT_API bpt_status_t bpt_name_unescape(const char *text, bpt_strbuf_t *out) BPT_MUST_USE;

// A message as it may be shown on a terminal: as above, but backslashes, tabs and line ends stay. Cut to `capacity` bytes, NUL included;
// allocates nothing.
BPT_API void bpt_message_show(const char *message, char *out, size_t capacity);

BPT_END_DECLS

#endif
