KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const float norm = sqrt(AT(square_sum, 0u));
        STORE(y, i, AT(x, i) / (norm < p.eps ? p.eps : norm));
    }
KERNEL_END
