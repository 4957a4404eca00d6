// Bit i where element `column` + i of the row is not 0.
FUNCTION uint bit_of(CONTEXT, uint row, uint column, uint i) {
    OPEN
    return column + i < p.columns && LOAD(x, row * p.columns + column + i) != 0.0f ? 1u << i : 0u;
}
KERNEL_BEGIN
    const uint word = GROUP_ID * (WG / 8u) + LOCAL_ID / 8u, row = word / p.words, column = 32u * (word - row * p.words) + 4u * (LOCAL_ID % 8u);
    uint own_bits = 0u;
    if (word < p.count) UNROLL for (uint i = 0u; i < 4u; ++i) own_bits |= bit_of(PASS, row, column, i);
    fours[LOCAL_ID] = own_bits;
    BARRIER;
    const uint own = LOCAL_ID % (WG / 8u), mine = GROUP_ID * (WG / 8u) + own;
    uint bits_of_word = 0u;
    UNROLL for (uint i = 0u; i < 8u; ++i) bits_of_word |= fours[8u * own + i] << (4u * i);
    if (LOCAL_ID < WG / 8u && mine < p.count) AT(bits, mine) = bits_of_word;
KERNEL_END
