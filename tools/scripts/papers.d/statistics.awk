# Statistics of the report. Only sums, products, powers, sines and logarithms of doubles, so that every awk prints the same digits.

function mean_of(x, n,   i, sum) {
    for (i = 1; i <= n; ++i) sum += x[i]
    return sum / n
}

# The deviation of a sample, with n - 1.
function deviation_of(x, n,   i, m, sum) {
    if (n < 2) return 0
    m = mean_of(x, n)
    for (i = 1; i <= n; ++i) sum += (x[i] - m) ^ 2
    return sqrt(sum / (n - 1))
}

# The integral of cos^power from `from` to a right angle (Simpson's rule).
function cosine_integral(power, from,   steps, h, i, x, sum) {
    steps = 4000
    h = (atan2(1, 0) - from) / steps
    for (i = 0; i <= steps; ++i) {
        x = cos(from + i * h)
        if (x > 1e-12) sum += (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2) * exp(power * log(x))
        else if (power == 0) sum += (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2)
    }
    return sum * h / 3
}

# How often Student's t of `freedom` degrees is at least as far from 0: with t = sqrt(freedom) tan(angle) its density is cos^(freedom - 1).
function student_p(t, freedom) {
    if (t < 0) t = -t
    return cosine_integral(freedom - 1, atan2(t, sqrt(freedom))) / cosine_integral(freedom - 1, 0)
}

# Welch's test of two samples, both sides; -1 where there is none: fewer than two numbers, or none that varies.
function welch_p(x, n, y, m,   a, b, t) {
    if (n < 2 || m < 2) return -1
    a = deviation_of(x, n) ^ 2 / n
    b = deviation_of(y, m) ^ 2 / m
    if (a + b <= 0) return -1
    t = (mean_of(x, n) - mean_of(y, m)) / sqrt(a + b)
    return student_p(t, (a + b) ^ 2 / (a ^ 2 / (n - 1) + b ^ 2 / (m - 1)))
}

# Adds c independent steps of +m or -m to the distribution `chance`, of sums from -reach to reach. What has less than 1e-15 is left out.
function add_steps(c, m,   k, from, to, top, sum, next_chance, binomial) {
    from = int(c / 2 - 6 * sqrt(c)) - 1
    if (from < 0) from = 0
    to = c - from
    top = 0
    for (k = 1; k <= int(c / 2); ++k) top += log((c - k + 1) / k)
    top = exp(top - c * log(2)) # of the middle
    binomial[int(c / 2)] = top
    for (k = int(c / 2) + 1; k <= to; ++k) binomial[k] = binomial[k - 1] * (c - k + 1) / k
    for (k = int(c / 2) - 1; k >= from; --k) binomial[k] = binomial[k + 1] * (k + 1) / (c - k)
    split("", next_chance)
    for (sum = -reach; sum <= reach; ++sum) {
        if (!(sum in chance)) continue
        for (k = from; k <= to; ++k)
            if (chance[sum] * binomial[k] > 1e-15) next_chance[sum + m * (2 * k - c)] += chance[sum] * binomial[k]
    }
    reach += m * (to - from)
    split("", chance)
    for (sum = -reach; sum <= reach; ++sum)
        if (sum in next_chance) chance[sum] = next_chance[sum]
}

# The exact test by signs: how often the sum of differences is at least as far from 0, if each may as well have the other sign. times[m]:
# differences of m or -m, for m up to `largest`; with differences of 1 alone it is McNemar's exact test.
function signs_p(times, largest, observed,   m, sum, p) {
    split("", chance)
    chance[0] = 1
    reach = 0
    for (m = 1; m <= largest; ++m)
        if (times[m]) add_steps(times[m], m)
    if (observed < 0) observed = -observed
    for (sum = -reach; sum <= reach; ++sum)
        if ((sum in chance) && (sum >= observed || sum <= -observed)) p += chance[sum]
    return p > 1 ? 1 : p
}

# Several tests of the same texts, which depend on each other: twice the median of their p is a p whatever the dependence.
function median_p(p, n,   i, j, t) {
    for (i = 2; i <= n; ++i) {
        t = p[i]
        for (j = i - 1; j >= 1 && p[j] > t; --j) p[j + 1] = p[j]
        p[j + 1] = t
    }
    if (n == 1) return p[1]
    t = n % 2 ? p[(n + 1) / 2] : (p[n / 2] + p[n / 2 + 1]) / 2
    return 2 * t > 1 ? 1 : 2 * t
}

# Holm's correction of p[1..n] for n tests, into corrected[].
function holm(p, n, corrected,   i, j, rank, before, used) {
    before = 0
    split("", used)
    for (rank = 1; rank <= n; ++rank) {
        j = 0
        for (i = 1; i <= n; ++i)
            if (!(i in used) && (!j || p[i] < p[j])) j = i
        used[j] = 1
        before = (n - rank + 1) * p[j] > before ? (n - rank + 1) * p[j] : before
        corrected[j] = before > 1 ? 1 : before
    }
}
