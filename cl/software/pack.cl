FUNCTION float element(CONTEXT, uint k, uint line) {
    OPEN
    return line < p.lines && k < p.depth ? READ(x, ALONG != 0u ? line * p.ld + k : k * p.ld + line) : 0.0f;
}
// Four of a line where ALONG, else of a step.
FUNCTION float4 four_elements(CONTEXT, uint k, uint line) {
    const uint on_k = ALONG != 0u ? 1u : 0u, on_line = 1u - on_k;
    return FLOAT4(element(PASS, k, line), element(PASS, k + on_k, line + on_line), element(PASS, k + 2u * on_k, line + 2u * on_line),
                  element(PASS, k + 3u * on_k, line + 3u * on_line));
}
KERNEL_BEGIN
    // An item takes four elements of four lines, as many of which as possible are loaded side by side.
    const uint width = WIDTH / 4u, count = p.k4 * width, groups = (count + WG - 1u) / WG;
    const uint panel = GROUP_ID / groups, i = (GROUP_ID - panel * groups) * WG + LOCAL_ID;
    if (i < count) {
        const uint step = i / width, block = i - step * width, k = 4u * step, line = panel * WIDTH + 4u * block;
        float4 a, b, c, d;  // lines where ALONG, else steps
        if (line + 3u < p.lines && k + 3u < p.depth) {
            const uint from = ALONG != 0u ? line * p.ld + k : k * p.ld + line;
            a = READ4(x, from);
            b = READ4(x, from + p.ld);
            c = READ4(x, from + 2u * p.ld);
            d = READ4(x, from + 3u * p.ld);
        } else {
            const uint next_k = ALONG != 0u ? 0u : 1u, next_line = 1u - next_k;
            a = four_elements(PASS, k, line);
            b = four_elements(PASS, k + next_k, line + next_line);
            c = four_elements(PASS, k + 2u * next_k, line + 2u * next_line);
            d = four_elements(PASS, k + 3u * next_k, line + 3u * next_line);
        }
        if (ALONG != FOURS) {
            const float4 e = FLOAT4(a.x, b.x, c.x, d.x), f = FLOAT4(a.y, b.y, c.y, d.y), g = FLOAT4(a.z, b.z, c.z, d.z);
            d = FLOAT4(a.w, b.w, c.w, d.w);
            a = e;
            b = f;
            c = g;
        }
        const uint apart = FOURS != 0u ? 1u : width;
        const uint to = panel * 4u * count + (FOURS != 0u ? step * WIDTH + 4u * block : k * width + block);
        PUT(y, to, a);
        PUT(y, to + apart, b);
        PUT(y, to + 2u * apart, c);
        PUT(y, to + 3u * apart, d);
    }
KERNEL_END
