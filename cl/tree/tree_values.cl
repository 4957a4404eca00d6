KERNEL_BEGIN
    const uint item = GLOBAL_ID;
    if (item < p.count) {
        const uint tree = item / p.columns, column = item - tree * p.columns, heads = p.columns / p.head_dim;
        const uint head = column / p.head_dim, place = column - head * p.head_dim, half_head = p.head_dim / 2u;
        const uint at = p.width - p.columns + column;
        const uint end = min(AT(trees, 4u * tree + 1u), p.leaves), begin = min(AT(trees, 4u * tree), end);
        const uint from = begin + min(p.first_leaf, end - begin), to = from + min(p.leaf_count, end - from);
        for (uint leaf = from; leaf < to; ++leaf) {
            const float of_leaf = AT(weight, leaf * heads + head);
            float run = LOAD(kv, leaf * p.width + at);
            uint node = AT(links, 3u * leaf), depth = 0u;
            while (node >= p.leaves && node < p.rows && depth < p.depth) {
                const uint first = AT(links, 3u * node + 1u), below = AT(links, 3u * node + 2u) - first;
                depth += 1u;
                run += LOAD(kv, node * p.width + at);
                if (TABLES != 0u) {
                    if (place < half_head) {
                        run += AT(vertical, (min(depth, p.vertical_rows) - 1u) * half_head + place);
                    } else {
                        run += AT(horizontal, (min(leaf - first + 1u, p.horizontal_rows) - 1u) * half_head + place - half_head);
                    }
                }
                AT(sums, (node - p.leaves) * p.columns + column) += of_leaf / (TO_FLOAT(below) * TO_FLOAT(depth + COUNTS_LEAF)) * run;
                node = AT(links, 3u * node);
            }
        }
    }
KERNEL_END
