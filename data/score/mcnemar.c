// McNemar's exact test (see mcnemar.h).
#include "data/score/mcnemar.h"

#include <math.h>

// The binomial distribution with one half, from the smaller count down. Its largest term is made of logarithms, the others of the one
// before.
double bpt_mcnemar(int64_t first_only, int64_t second_only) {
    const int64_t n = first_only + second_only, least = first_only < second_only ? first_only : second_only;
    if (first_only == second_only) return 1;
    double term = 1, sum = 0;
    for (int64_t k = least; k >= 0 && term > 1e-18 * sum; --k) {
        sum += term;
        term *= (double)k / (double)(n - k + 1);
    }
    const double largest = lgamma((double)n + 1) - lgamma((double)least + 1) - lgamma((double)(n - least) + 1) - (double)n * log(2);
    const double p = 2 * sum * exp(largest);
    return p < 1 ? p : 1;
}
