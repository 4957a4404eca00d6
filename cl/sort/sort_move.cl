KERNEL_BEGIN
    const uint begin = GROUP_ID * CHUNK, length = min(CHUNK, p.count - begin);
    for (uint i = LOCAL_ID; i < length; i += WG) {
        const uint place = FIRST != 0u ? begin + i : AT(places, begin + i);
        digits[i] = min(AT(ids, place), p.end_id) >> p.shift & 15u;
        place_of[i] = place;
    }
    BARRIER;
    uint n = LOCAL_ID < 16u ? AT(counts, LOCAL_ID * p.n_chunks + GROUP_ID) : 0u;
    for (uint i = 0u; i < length; ++i)
        if (digits[i] == LOCAL_ID) {
            AT(sorted, n) = place_of[i];
            ++n;
        }
KERNEL_END
