KERNEL_BEGIN
    const uint each = (p.n + WG - 1u) / WG, begin = min(LOCAL_ID * each, p.n), end = min(begin + each, p.n);
    uint sum = 0u;
    for (uint i = begin; i < end; ++i) sum += AT(counts, i);
    sums[LOCAL_ID] = sum;
    BARRIER;
    uint before = 0u;
    for (uint item = 0u; item < LOCAL_ID; ++item) before += sums[item];
    for (uint i = begin; i < end; ++i) {
        const uint n = AT(counts, i);
        AT(counts, i) = before;
        before += n;
    }
KERNEL_END
