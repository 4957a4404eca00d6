// The environment variables that bpt reads (bpt/env.def). The library reads them and sets none: they belong to the whole process.
#ifndef BPT_ENV_H
#define BPT_ENV_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

typedef enum {
    BPT_ENV_TEXT,     // a file, a folder, a rule: checked where it is read
    BPT_ENV_SWITCH,   // 0 or 1
    BPT_ENV_MIB,      // a number of MiB, from 1 on
    BPT_ENV_SECONDS,  // a number of seconds, from 1 on
    BPT_ENV_WORDS,    // words with commas between them
} bpt_env_kind_t;

typedef struct {
    const char *name, *effect;  // NULL after the last
    bpt_env_kind_t kind;
    uint64_t most;  // of a number
} bpt_env_variable_t;

typedef struct {
    const char *word, *what;  // NULL after the last
} bpt_env_word_t;

BPT_API extern const bpt_env_variable_t bpt_env_variables[];
BPT_API extern const bpt_env_word_t bpt_env_disable_words[];  // of BPT_DISABLE

// The value of a variable of the list; NULL where it is empty or not set.
BPT_API const char *bpt_env_text(const char *name);
// Is the word in BPT_DISABLE?
BPT_API bool bpt_env_disabled(const char *word);
// The number of a variable, or `otherwise` where it is not set. BPT_ERR_USAGE where it is none or out of range.
BPT_API bpt_status_t bpt_env_number(const char *name, uint64_t otherwise, uint64_t *out) BPT_MUST_USE;
// Whether all variables of the list mean something: BPT_ERR_USAGE with the first that does not.
BPT_API bpt_status_t bpt_env_check(void) BPT_MUST_USE;

// Takes the next word off a list with commas; NULL at its end. Empty words are passed over.
BPT_API const char *bpt_env_next_word(const char **list, size_t *length);
// Is the word of such a list this one?
BPT_API bool bpt_env_is_word(const char *word, size_t length, const char *known);

BPT_END_DECLS

#endif
