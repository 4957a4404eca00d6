// Numbers in order (see sort.h).
#include "tools/bpt/report/sort.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cli_sort(double *values, size_t count) { qsort(values, count, sizeof *values, ascending); }

double cli_quantile(double *values, size_t count, double fraction) {
    cli_sort(values, count);
    return values[(size_t)(fraction * (double)(count - 1) + 0.5)];
}
