KERNEL_BEGIN
    const uint rounds = (TAGS + WG - 1u) / WG, pair_rounds = (TAGS * TAGS + WG - 1u) / WG, area = (TAGS + 2u) * TAGS;
    for (uint s = GROUP_ID; s < p.sequences; s += p.groups) {
        const uint begin = AT(ranges, 2u * s), end = min(AT(ranges, 2u * s + 1u), p.rows);
        const uint n = begin < end ? end - begin : 0u, from = min(p.first_step, n), to = min(p.first_step + p.steps, n);
        const float scale = AT(weights, s) * AT(dloss, 0);
        if (from < to) {  // as in crf_alpha
            BARRIER;
            for (uint k = 0u; k < rounds; ++k) {
                const uint i = k * WG + LOCAL_ID;
                if (i < TAGS) next[i] = to < n ? AT(ahead, s * TAGS + i) : 0.0f;
            }
            for (uint done = 0u; done < to - from; ++done) {
                // llvmpipe of Mesa 26.1 reads what the next round would read before it sees that there is none: no row before the first.
                const uint step = to - 1u - min(done, to - from - 1u), row = begin + step, tag = AT(tags, row);
                const bool last = step + 1u == n;
                BARRIER;
                for (uint k = 0u; k < rounds; ++k) {
                    const uint item = k * WG + LOCAL_ID, i = min(item, TAGS - 1u);
                    float value = AT(matrix, (TAGS + 1u) * TAGS + i);
                    if (!last) {
                        float largest = AT(matrix, i * TAGS) + next[0], total = 0.0f;
                        for (uint j = 1u; j < TAGS; ++j) largest = max(largest, AT(matrix, i * TAGS + j) + next[j]);
                        for (uint j = 0u; j < TAGS; ++j) total += exp(AT(matrix, i * TAGS + j) + next[j] - largest);
                        value = largest + log(total);
                    }
                    if (item < TAGS) {
                        of_row[i] = AT(alpha, row * TAGS + i);
                        sums[i] = value;
                    }
                }
                BARRIER;
                float top = of_row[0] + sums[0], highest = sums[0], total_of_row = 0.0f;
                for (uint i = 1u; i < TAGS; ++i) {
                    top = max(top, of_row[i] + sums[i]);
                    highest = max(highest, sums[i]);
                }
                for (uint i = 0u; i < TAGS; ++i) total_of_row += exp(of_row[i] + sums[i] - top);
                const float z = top + log(total_of_row);
                const uint follower = last ? 0u : AT(tags, row + 1u);
                for (uint k = 0u; k < pair_rounds; ++k) {
                    const uint e = k * WG + LOCAL_ID, i = e / TAGS, j = e - i * TAGS;
                    if (!last && e < TAGS * TAGS) {
                        const float right = i == tag && j == follower ? 1.0f : 0.0f;
                        AT(partial, GROUP_ID * area + e) += scale * (exp(of_row[i] + AT(matrix, e) + next[j] - z) - right);
                    }
                }
                BARRIER;
                for (uint k = 0u; k < rounds; ++k) {
                    const uint i = k * WG + LOCAL_ID;
                    if (i < TAGS) {
                        const float gradient = scale * (exp(of_row[i] + sums[i] - z) - (i == tag ? 1.0f : 0.0f));
                        AT(dx, row * TAGS + i) = gradient;
                        if (step == 0u) AT(partial, GROUP_ID * area + TAGS * TAGS + i) += gradient;
                        if (last) AT(partial, GROUP_ID * area + (TAGS + 1u) * TAGS + i) += gradient;
                        next[i] = AT(x, row * TAGS + i) + (sums[i] - highest);
                        if (step == p.first_step && step > 0u) AT(ahead, s * TAGS + i) = next[i];
                    }
                }
            }
        }
    }
KERNEL_END
