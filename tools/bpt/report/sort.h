// Numbers in order, for medians and other quantiles. Knows nothing else.
#ifndef BPT_TOOLS_SORT_H
#define BPT_TOOLS_SORT_H

#include <stddef.h>

void cli_sort(double *values, size_t count);                         // ascending
double cli_quantile(double *values, size_t count, double fraction);  // 0.5: the median; sorts the values, of which there is at least one

#endif
