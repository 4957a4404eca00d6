// The steps of a block are in warp_side.h, keys and who reads them in key_rows.h.
#define KEY_RULES
#define OF_KEYS 1u
#define LIST_OF_QUERIES true
#include "cl/attention/warp_side.h"
