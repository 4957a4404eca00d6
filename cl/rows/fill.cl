KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) STORE(result, i, p.value);
KERNEL_END
