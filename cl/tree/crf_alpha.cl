KERNEL_BEGIN
    const uint s = GROUP_ID, begin = AT(ranges, 2u * s), end = min(AT(ranges, 2u * s + 1u), p.rows);
    const uint n = begin < end ? end - begin : 0u, from = min(p.first_step, n), to = min(p.first_step + p.steps, n);
    const uint rounds = (TAGS + WG - 1u) / WG;
    float sum = p.first_step == 0u ? 0.0f : AT(nll, s);
    // A loop without rounds is not entered: lavapipe of Mesa 26.1 runs the body of such a loop once, with no work-item taking part, and ends
    // the process in it.
    if (from < to) {
        for (uint k = 0u; k < rounds; ++k) {
            const uint j = k * WG + LOCAL_ID;
            if (j < TAGS) before[j] = from > 0u ? AT(alpha, (begin + from - 1u) * TAGS + j) : 0.0f;
        }
        BARRIER;
        for (uint step = from; step < to; ++step) {
            const uint row = begin + step, tag = min(AT(tags, row), TAGS - 1u);
            const uint previous = step > 0u ? min(AT(tags, row - 1u), TAGS - 1u) : TAGS;
            for (uint k = 0u; k < rounds; ++k) {
                const uint item = k * WG + LOCAL_ID, j = min(item, TAGS - 1u);
                float value = AT(matrix, TAGS * TAGS + j);
                if (step > 0u) {
                    float largest = before[0] + AT(matrix, j), total = 0.0f;
                    for (uint i = 1u; i < TAGS; ++i) largest = max(largest, before[i] + AT(matrix, i * TAGS + j));
                    for (uint i = 0u; i < TAGS; ++i) total += exp(before[i] + AT(matrix, i * TAGS + j) - largest);
                    value = largest + log(total);
                }
                if (item < TAGS) now[j] = value + AT(x, row * TAGS + j);
            }
            BARRIER;
            float largest_now = now[0];
            for (uint j = 1u; j < TAGS; ++j) largest_now = max(largest_now, now[j]);
            sum += largest_now - (AT(matrix, previous * TAGS + tag) + AT(x, row * TAGS + tag));
            for (uint k = 0u; k < rounds; ++k) {
                const uint j = k * WG + LOCAL_ID;
                if (j < TAGS) {
                    before[j] = now[j] - largest_now;
                    AT(alpha, row * TAGS + j) = before[j];
                }
            }
            BARRIER;
        }
        if (to == n) {
            const uint last = min(AT(tags, begin + n - 1u), TAGS - 1u), ends = (TAGS + 1u) * TAGS;
            float largest = before[0] + AT(matrix, ends), total = 0.0f;
            for (uint i = 1u; i < TAGS; ++i) largest = max(largest, before[i] + AT(matrix, ends + i));
            for (uint i = 0u; i < TAGS; ++i) total += exp(before[i] + AT(matrix, ends + i) - largest);
            sum += largest + log(total) - AT(matrix, ends + last);
        }
    }
    if (LOCAL_ID == 0u) {
        AT(nll, s) = sum;
        AT(terms, s) = AT(weights, s) * sum;
    }
KERNEL_END
