// Parameters of the kernels that take a block of queries (blocks.h).
#define BLOCK_PARAMS(P)                                                                                                                \
    P(int, graph) P(int, n) P(int, reach) P(int, rel_levels) P(uint, calls) P(uint, leaf_rows) P(uint, other) P(uint, heads)            \
    P(uint, head_dim) P(uint, n_tiles) P(float, scale) P(float, inverse) P(uint, threshold) P(uint, uid) P(int, level) P(uint, parts)   \
    P(int, part_nodes)
