// Environment variables (see bpt/env.h).
#include "bpt/env.h"

#include <stdlib.h>
#include <string.h>

bpt_status_t bpt_env_check_switch(const char *name) {
    const char *value = getenv(name);
    if (!value || !*value || !strcmp(value, "0") || !strcmp(value, "1")) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is \"%.40s\"; set it to 0 or 1, or leave it out", name, value);
}
