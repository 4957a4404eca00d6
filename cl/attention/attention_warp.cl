// The steps of a block are in warp_forward.h.
#include "cl/attention/warp_forward.h"
