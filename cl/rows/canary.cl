KERNEL_BEGIN
    if (LOCAL_ID == 0u) AT(counter, 0u) = AT(counter, 0u) + 1u;
KERNEL_END
