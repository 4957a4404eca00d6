KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        float v = HAS_A != 0u ? LOAD(a, i) : 0.0f;
        if (i >= p.begin && i < p.end) v += LOAD(b, i - p.begin);
        STORE(y, i, v);
    }
KERNEL_END
