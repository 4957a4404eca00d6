// The steps of a block are in fragment_forward.h, the rows of a rule in rule_rows.h.
#include "cl/attention/fragment_forward.h"
