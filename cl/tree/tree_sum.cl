KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint outer = i / p.inner, first = outer * p.terms * p.inner + (i - outer * p.inner);
        float sum = 0.0f;
        for (uint k = 0u; k < p.terms; ++k) sum += AT(x, first + k * p.inner);
        AT(y, i) = sum;
    }
KERNEL_END
