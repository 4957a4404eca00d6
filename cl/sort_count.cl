#define LOCALS(L)
KERNEL_BEGIN
    const uint digit = LOCAL_ID, begin = GROUP_ID * CHUNK, end = min(begin + CHUNK, p.count);
    if (digit < 16u) {
        uint n = 0u;
        for (uint i = begin; i < end; ++i) {
            const uint place = FIRST != 0u ? i : AT(places, i);
            if ((AT(ids, place) >> p.shift & 15u) == digit) ++n;
        }
        AT(counts, digit * p.n_chunks + GROUP_ID) = n;
    }
KERNEL_END
