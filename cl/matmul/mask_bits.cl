#define IS_SET(i) (column + (i) < p.columns && LOAD(x, row * p.columns + column + (i)) != 0.0f ? 1u << (i) : 0u)
#define LOCALS(L) L(uint, fours, WG)
KERNEL_BEGIN
    const uint word = GROUP_ID * (WG / 8u) + LOCAL_ID / 8u, row = word / p.words, column = 32u * (word - row * p.words) + 4u * (LOCAL_ID % 8u);
    fours[LOCAL_ID] = word < p.count ? IS_SET(0u) | IS_SET(1u) | IS_SET(2u) | IS_SET(3u) : 0u;
    BARRIER;
    const uint own = LOCAL_ID % (WG / 8u), mine = GROUP_ID * (WG / 8u) + own;
    uint bits_of_word = 0u;
    UNROLL for (uint i = 0u; i < 8u; ++i) bits_of_word |= fours[8u * own + i] << (4u * i);
    if (LOCAL_ID < WG / 8u && mine < p.count) AT(bits, mine) = bits_of_word;
KERNEL_END
