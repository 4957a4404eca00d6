// Time and memory of this process. Knows nothing else.
#ifndef BPT_TRAIN_CLOCK_H
#define BPT_TRAIN_CLOCK_H

#include "bpt/base.h"

double bpt_clock_seconds(void);     // monotonic
int64_t bpt_peak_host_bytes(void);  // largest resident size so far, -1 = unknown

#endif
