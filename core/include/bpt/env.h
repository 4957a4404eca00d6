// Environment variables that switch something on or off.
#ifndef BPT_ENV_H
#define BPT_ENV_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

// BPT_ERR_USAGE unless the variable is 0, 1, empty or not set: a word that means nothing must not pass for one of them.
BPT_API bpt_status_t bpt_env_check_switch(const char *name) BPT_MUST_USE;

BPT_END_DECLS

#endif
