// How far a device is off (see selftest_case.h).
#include "tools/bpt/devices/selftest_case.h"

#include <math.h>

double cli_selftest_deviation(const float *a, const float *b, int64_t n, double slack, double least) {
    double largest = fmax(1e-6, least), off = 0;
    for (int64_t i = 0; i < n; ++i) {
        largest = fmax(largest, fabs((double)a[i]));
        off = fmax(off, fabs((double)a[i] - (double)b[i]) - slack);
        if (isnan(b[i])) return INFINITY;
    }
    return off / largest;
}
