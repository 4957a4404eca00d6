// The steps of a block are in fragment_side.h, the rows of a table in table_rows.h.
#define TABLES
#define SLOT_WORDS (KEYS != 0u ? 2u : 4u)
#include "cl/attention/fragment_side.h"
