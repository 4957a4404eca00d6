// Shared by all test programs.
#include "support/support.h"

#include <stdlib.h>

const char *test_shared_dir(void) { return getenv("BPT_SHARED"); }
