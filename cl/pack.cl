#define ELEMENT(k, line) ((line) < p.lines && (k) < p.depth ? LOAD(x, ALONG != 0u ? (line) * p.ld + (k) : (k) * p.ld + (line)) : 0.0f)
#define LOCALS(L)
KERNEL_BEGIN
    const uint count = (p.depth + 3u) / 4u * WIDTH, groups = (count + WG - 1u) / WG, panel = GROUP_ID / groups;
    const uint i = (GROUP_ID - panel * groups) * WG + LOCAL_ID;
    if (i < count) {
        const uint width = FOURS != 0u ? WIDTH : WIDTH / 4u;  // items to a step of the depth, or to four
        const uint k = i / width * (FOURS != 0u ? 4u : 1u), line = panel * WIDTH + i % width * (FOURS != 0u ? 1u : 4u);
        if (FOURS != 0u)
            AT(y, panel * count + i) = FLOAT4(ELEMENT(k, line), ELEMENT(k + 1u, line), ELEMENT(k + 2u, line), ELEMENT(k + 3u, line));
        else
            AT(y, panel * count + i) = FLOAT4(ELEMENT(k, line), ELEMENT(k, line + 1u), ELEMENT(k, line + 2u), ELEMENT(k, line + 3u));
    }
KERNEL_END
