KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint row = i / p.columns, column = i - row * p.columns, id = AT(ids, row) - p.first_id;
        if (id < p.n_ids) {
            STORE(y, i, LOAD(table, id * p.columns + column));
        } else if (CLEAR != 0u) {
            STORE(y, i, 0.0f);
        }
    }
KERNEL_END
