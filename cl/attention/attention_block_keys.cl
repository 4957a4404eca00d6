// The steps of a block are in block_side.h, keys and who reads them in key_rows.h.
#define KEY_RULES
#define KEYS 1u
#include "cl/attention/block_side.h"
