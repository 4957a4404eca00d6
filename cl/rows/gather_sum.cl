KERNEL_BEGIN
    const uint window_id = GROUP_ID / p.column_blocks, column = (GROUP_ID - window_id * p.column_blocks) * WG + LOCAL_ID;
    const uint id = window_id + p.first_id;
    if (column < p.columns) {
        float sum = 0.0f;
        // llvmpipe of Mesa 26.1 reads what the next round of a loop would read before it sees that there is none: places end at the last,
        // and without any there is no loop.
        if (p.count > 0u) {
            const uint last = p.count - 1u;
            uint low = 0u, high = p.count;  // the first place whose id is not below
            while (low < high) {
                const uint middle = (low + high) / 2u;
                if (AT(ids, AT(sorted, min(middle, last))) < id)
                    low = middle + 1u;
                else
                    high = middle;
            }
            for (uint i = low; i < p.count; ++i) {
                const uint row = AT(sorted, min(i, last));
                if (AT(ids, row) != id) break;
                sum += LOAD(dy, row * p.columns + column);
            }
        }
        const uint i = window_id * p.columns + column;
        if (HAS_ACC != 0u) sum += AT(acc, i);
        AT(result, i) = sum;
    }
KERNEL_END
