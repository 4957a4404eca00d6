// The steps of a block are in block_side.h, the rows of a table in table_rows.h.
#define TABLES
#define SLOT_WORDS (KEYS != 0u ? 2u : 4u)
#include "cl/attention/block_side.h"
