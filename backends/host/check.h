// The contract of bpt/ops.h as a check of calls, the same for every backend.
#ifndef BPT_CHECK_H
#define BPT_CHECK_H

#include "bpt/backend.h"

// Holds the call against the contract: presence, element types and shapes of its operands, attributes that go together. Backends ask this
// before an op's own plan, so that what follows may rely on it. A mismatch is a bug of the caller (BPT_ERR_INTERNAL).
bpt_status_t bpt_call_check(const bpt_op_call_t *call);

#endif
