// What examples have, and what its fields or columns are called where no option names them.
#ifndef BPT_DATA_READERS_ROLES_H
#define BPT_DATA_READERS_ROLES_H

typedef struct {
    const char *what, *option;
    const char *usual[5];  // ends with NULL
} bpt_role_t;

extern const bpt_role_t bpt_role_text, bpt_role_first, bpt_role_second;  // a text; those of a pair
extern const bpt_role_t bpt_role_tokens, bpt_role_tags, bpt_role_label;
extern const bpt_role_t bpt_role_side;  // of a text and its translation

#endif
