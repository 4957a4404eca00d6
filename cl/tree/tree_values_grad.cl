KERNEL_BEGIN
    const uint item = GLOBAL_ID;
    if (item < p.count) {
        const uint tree = item / p.columns, column = item - tree * p.columns, heads = p.columns / p.head_dim;
        const uint head = column / p.head_dim, place = column - head * p.head_dim, half_head = p.head_dim / 2u;
        const uint at = p.width - p.columns + column, row_of_tables = heads * half_head;
        const uint end = min(AT(trees, 4u * tree + 1u), p.leaves), begin = min(AT(trees, 4u * tree), end);
        const uint from = begin + min(p.first_leaf, end - begin), to = from + min(p.leaf_count, end - from);
        const uint nodes = AT(trees, 4u * tree + 2u) - p.leaves, most = min(p.depth, AT(trees, 4u * tree + 3u) - nodes - p.leaves);
        const bool is_vertical = place < half_head;
        const uint first_entry = tree * (p.vertical_rows + p.horizontal_rows) + (is_vertical ? 0u : p.vertical_rows);
        const uint in_entry = head * half_head + (is_vertical ? place : place - half_head);
        for (uint leaf = from; leaf < to; ++leaf) {
            const float of_leaf = AT(weight, leaf * heads + head);
            float run = LOAD(kv, leaf * p.width + at), dot_of_leaf = 0.0f;
            uint node = AT(links, 3u * leaf), depth = 0u;
            while (node >= p.leaves && node < p.rows && depth < most) {
                const uint first = AT(links, 3u * node + 1u), below = AT(links, 3u * node + 2u) - first;
                AT(chain, (nodes + depth) * p.columns + column) = node;
                depth += 1u;
                run += LOAD(kv, node * p.width + at);
                if (TABLES != 0u) {
                    if (is_vertical) {
                        run += AT(vertical, (min(depth, p.vertical_rows) - 1u) * half_head + place);
                    } else {
                        run += AT(horizontal, (min(leaf - first + 1u, p.horizontal_rows) - 1u) * half_head + place - half_head);
                    }
                }
                dot_of_leaf += LOAD(dout, node * p.width + at) / (TO_FLOAT(below) * TO_FLOAT(depth + COUNTS_LEAF)) * run;
                node = AT(links, 3u * node);
            }
            AT(dots, leaf * p.columns + column) = dot_of_leaf;
            float g = 0.0f;
            for (; depth > 0u; --depth) {
                const uint above = AT(chain, (nodes + depth - 1u) * p.columns + column);
                const uint first = AT(links, 3u * above + 1u), below = AT(links, 3u * above + 2u) - first;
                g += of_leaf / (TO_FLOAT(below) * TO_FLOAT(depth + COUNTS_LEAF)) * LOAD(dout, above * p.width + at);
                AT(sums, above * p.columns + column) += g;
                if (TABLES != 0u) {
                    const uint entry = is_vertical ? min(depth, p.vertical_rows) : min(leaf - first + 1u, p.horizontal_rows);
                    AT(partial, (first_entry + entry - 1u) * row_of_tables + in_entry) += g;
                }
            }
            AT(sums, leaf * p.columns + column) = g;
        }
    }
KERNEL_END
