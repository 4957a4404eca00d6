KERNEL_BEGIN
    const uint i = GLOBAL_ID;
    if (i < p.count) {
        const uint pairs = p.turned / 2u, items = p.columns - pairs, row = i / items, item = i - row * items;
        if (item >= pairs) {
            const uint at = row * p.columns + pairs + item;
            STORE(y, at, LOAD(x, at));
        } else {
            const uint middle = p.head_dim / 2u, head = item / middle, pair = item - head * middle;
            const uint first = row * p.columns + head * p.head_dim + pair, second = first + middle, angle = row * p.head_dim + pair;
            const float a = LOAD(x, first), b = LOAD(x, second);
            const float cosine = READ(angles, angle), sine = p.sign * READ(angles, angle + middle);
            STORE(y, first, a * cosine - b * sine);
            STORE(y, second, a * sine + b * cosine);
        }
    }
KERNEL_END
