// The steps of a block are in warp_side.h, the rows of a table in table_rows.h.
#define TABLES
#define SLOT_WORDS (OF_KEYS != 0u ? 2u : 4u)
#define LIST_OF_QUERIES (OF_KEYS != 0u)
#include "cl/attention/warp_side.h"
