// The steps of a block are in warp_forward.h, the rows of a table in table_rows.h.
#define TABLES
#define SLOT_WORDS 4u
#define LIST_OF_QUERIES false
#include "cl/attention/warp_forward.h"
