// Philox 4x32-10 and the dropout bits of one element, exactly as in bpt/rng.h.
FUNCTION uint dropout_bits(uint element, uint row_code, uint sequence, uint stream, uint key0, uint key1) {
    uint c0 = element >> 3, c1 = row_code, c2 = sequence, c3 = stream;
    for (int round = 0; round < 10; ++round) {
        const uint hi0 = MUL_HI(0xD2511F53u, c0), lo0 = 0xD2511F53u * c0;
        const uint hi1 = MUL_HI(0xCD9E8D57u, c2), lo1 = 0xCD9E8D57u * c2;
        c0 = hi1 ^ c1 ^ key0;
        c2 = hi0 ^ c3 ^ key1;
        c1 = lo1;
        c3 = lo0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    const uint word = element >> 1 & 3u;
    const uint bits = word == 0u ? c0 : word == 1u ? c1 : word == 2u ? c2 : c3;
    return bits >> (16u * (element & 1u)) & 0xFFFFu;
}
