#define ELEMENT(k, line) ((line) < p.lines && (k) < p.depth ? READ(x, ALONG != 0u ? (line) * p.ld + (k) : (k) * p.ld + (line)) : 0.0f)
#define PIECE(i, j) ELEMENT(k + (ALONG != 0u ? j : i), line + (ALONG != 0u ? i : j))
#define LOCALS(L)
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
            a = FLOAT4(PIECE(0u, 0u), PIECE(0u, 1u), PIECE(0u, 2u), PIECE(0u, 3u));
            b = FLOAT4(PIECE(1u, 0u), PIECE(1u, 1u), PIECE(1u, 2u), PIECE(1u, 3u));
            c = FLOAT4(PIECE(2u, 0u), PIECE(2u, 1u), PIECE(2u, 2u), PIECE(2u, 3u));
            d = FLOAT4(PIECE(3u, 0u), PIECE(3u, 1u), PIECE(3u, 2u), PIECE(3u, 3u));
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
