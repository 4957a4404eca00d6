// Environment variables (see bpt/env.h).
#include "bpt/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BPT_DISABLE_WORD(word, what)
const bpt_env_variable_t bpt_env_variables[] = {
#define BPT_VARIABLE(variable, its_kind, its_most, text) {#variable, text, BPT_ENV_##its_kind, its_most},
#include "bpt/env.def"
    {NULL, NULL, BPT_ENV_TEXT, 0}};

#define BPT_VARIABLE(name, kind, most, effect)
const bpt_env_word_t bpt_env_disable_words[] = {
#define BPT_DISABLE_WORD(word, what) {word, what},
#include "bpt/env.def"
    {NULL, NULL}};

const char *bpt_env_text(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// ---- Words -------------------------------------------------------------------------------------------------------------

const char *bpt_env_next_word(const char **list, size_t *length) {
    while (*list && **list == ',') ++*list;
    if (!*list || !**list) return NULL;
    const char *word = *list;
    *length = strcspn(word, ",");
    *list = word + *length;
    return word;
}

bool bpt_env_is_word(const char *word, size_t length, const char *known) { return strlen(known) == length && !memcmp(word, known, length); }

bool bpt_env_disabled(const char *word) {
    const char *list = bpt_env_text("BPT_DISABLE");
    size_t length;
    for (const char *next; (next = bpt_env_next_word(&list, &length));)
        if (bpt_env_is_word(next, length, word)) return true;
    return false;
}

static bpt_status_t check_words(const char *name) {
    const char *list = bpt_env_text(name);
    size_t length;
    for (const char *next; (next = bpt_env_next_word(&list, &length));) {
        char known[256] = "";
        size_t used = 0, i = 0;
        for (; bpt_env_disable_words[i].word && !bpt_env_is_word(next, length, bpt_env_disable_words[i].word); ++i)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", bpt_env_disable_words[i].word);
        if (!bpt_env_disable_words[i].word)
            return bpt_fail(BPT_ERR_USAGE, "%s: unknown feature '%.*s'; known are %s", name, (int)length, next, known);
    }
    return BPT_OK;
}

// ---- Numbers and switches ----------------------------------------------------------------------------------------------

static bpt_status_t check_switch(const char *name) {
    const char *value = bpt_env_text(name);
    if (!value || !strcmp(value, "0") || !strcmp(value, "1")) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is \"%.40s\"; set it to 0 or 1, or leave it out", name, value);
}

static bpt_status_t number_of(const bpt_env_variable_t *variable, uint64_t otherwise, uint64_t *out) {
    const char *value = bpt_env_text(variable->name);
    char *end = NULL;
    *out = otherwise;
    if (!value) return BPT_OK;
    const unsigned long long number = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    if (number == 0 || number > variable->most || *end)
        return variable->kind == BPT_ENV_MIB
                   ? bpt_fail(BPT_ERR_USAGE, "%s is \"%.40s\"; set it to a number of MiB, at least 1, or leave it out", variable->name,
                              value)
                   : bpt_fail(BPT_ERR_USAGE, "%s is \"%.40s\"; set it to a number of seconds, 1 to %llu, or leave it out", variable->name,
                              value, (unsigned long long)variable->most);
    *out = number;
    return BPT_OK;
}

bpt_status_t bpt_env_number(const char *name, uint64_t otherwise, uint64_t *out) {
    for (const bpt_env_variable_t *v = bpt_env_variables; v->name; ++v)
        if (!strcmp(v->name, name)) return number_of(v, otherwise, out);
    return bpt_fail(BPT_ERR_INTERNAL, "no environment variable %s", name);
}

// ---- All of them -------------------------------------------------------------------------------------------------------

bpt_status_t bpt_env_check(void) {
    for (const bpt_env_variable_t *v = bpt_env_variables; v->name; ++v) {
        uint64_t number;
        if (v->kind == BPT_ENV_SWITCH) BPT_TRY(check_switch(v->name));
        if (v->kind == BPT_ENV_WORDS) BPT_TRY(check_words(v->name));
        if (v->kind == BPT_ENV_MIB || v->kind == BPT_ENV_SECONDS) BPT_TRY(number_of(v, 0, &number));
    }
    return BPT_OK;
}
