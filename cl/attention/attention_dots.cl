// The order of the sum is that of dy . v in the other kernels, so that the two cancel exactly where one key has all the weight.
#include "cl/attention/dot.h"
DOT(dot_row, READ, y, READ, dy)
KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) AT(dots, i) = dot_row(PASS, i * p.head_dim, i * p.head_dim, p.head_dim);
KERNEL_END
