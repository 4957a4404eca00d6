// The steps of a block are in fragment_forward.h, the rows of a table in table_rows.h.
#define TABLES
#define SLOT_WORDS 4u
#include "cl/attention/fragment_forward.h"
