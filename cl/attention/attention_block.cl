// The steps of a block are in block_forward.h.
#include "cl/attention/block_forward.h"
