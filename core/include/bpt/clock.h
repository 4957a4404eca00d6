// Time and memory of this process. Knows nothing else.
#ifndef BPT_CLOCK_H
#define BPT_CLOCK_H

#include "bpt/base.h"

BPT_BEGIN_DECLS

BPT_API double bpt_clock_seconds(void);     // monotonic
BPT_API void bpt_clock_rest(double seconds);  // lets this thread sleep; a signal may end it before
BPT_API int64_t bpt_peak_host_bytes(void);  // largest resident size so far, -1 = unknown

BPT_END_DECLS

#endif
