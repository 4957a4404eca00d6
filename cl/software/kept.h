// What dropout multiplies four neighbouring elements of a row by.
FUNCTION float kept(CONTEXT, uint column, uint key0, uint key1) {
    OPEN
    return dropout_bits(column, key0, key1, p.uid << 8, AT(rng, 0u), AT(rng, 1u)) < THRESHOLD ? 0.0f : p.keep;
}
FUNCTION float4 kept_of(CONTEXT, uint column, uint key0, uint key1) {
    return FLOAT4(kept(PASS, column, key0, key1), kept(PASS, column + 1u, key0, key1), kept(PASS, column + 2u, key0, key1),
                  kept(PASS, column + 3u, key0, key1));
}
