KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint row = i / p.columns, column = i - row * p.columns, id = AT(ids, row) - p.first_id;
        if (id < p.n_ids) STORE(target, id * p.columns + column, LOAD(x, i));
    }
KERNEL_END
