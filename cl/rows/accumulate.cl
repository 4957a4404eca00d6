KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const float factor = AT(keep, 0u);
        AT(acc, i) = (factor == 0.0f ? 0.0f : AT(acc, i) * factor) + AT(x, i);
    }
KERNEL_END
