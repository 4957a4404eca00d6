// The steps of a block are in fragment_side.h, keys and who reads them in key_rows.h.
#define KEY_RULES
#define KEYS 1u
#include "cl/attention/fragment_side.h"
