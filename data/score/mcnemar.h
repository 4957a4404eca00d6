// McNemar's exact test (1947): whether two classifiers differ by more than chance on the same examples. Only those count that one of
// them has right and the other wrong; if both are equally good, either case is as likely.
#ifndef BPT_DATA_SCORE_MCNEMAR_H
#define BPT_DATA_SCORE_MCNEMAR_H

#include <stdint.h>

// The probability of counts at least as unequal as these, of both sides; 1 where there are none.
double bpt_mcnemar(int64_t first_only, int64_t second_only);

#endif
