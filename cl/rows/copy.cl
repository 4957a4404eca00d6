KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) AT(y, i) = AT(x, i);
KERNEL_END
