// Reductions over a work-group, always in the same order: values are folded in halves, in a local array. Where a kernel may rely on its
// subgroups, the first of them does the last folds among its items, which needs no barriers, in the same order and so with the same bits.
// Afterwards array[0] holds the result, and all items may read it. A kernel shows its barriers:
//
//     FOLDS(add_sums, sums, add)  before the kernel, declares two functions
//
//     sums[LOCAL_ID] = sum;
//     BARRIER;
//     FOR_FOLDS(width) {
//         add_sums(PASS, width);
//         BARRIER;
//     }
//     add_sums_last(PASS);
//     BARRIER_OF_FOLDS;
FUNCTION float add(float sum, float other) { return sum + other; }
FUNCTION float larger(float largest, float other) { return !(other <= largest) ? other : largest; }  // a NaN wins

#ifdef SUBGROUP_XOR
#define FOR_FOLDS(width) for (uint width = WG / 2u; width >= SUBGROUP_SIZE; width /= 2u)
#define BARRIER_OF_FOLDS BARRIER
#define LAST_FOLDS(name, array, operation)                                                               \
    FUNCTION void name##_last(CONTEXT) {                                                                 \
        OPEN                                                                                             \
        if (SUBGROUP_ID == 0u) {                                                                         \
            float value = array[SUBGROUP_LANE];                                                          \
            for (uint width = SUBGROUP_SIZE / 2u; width > 0u; width /= 2u)                               \
                value = operation(value, SUBGROUP_XOR(value, width));                                    \
            if (SUBGROUP_LANE == 0u) array[0] = value;                                                   \
        }                                                                                                \
    }
#else
#define FOR_FOLDS(width) for (uint width = WG / 2u; width > 0u; width /= 2u)
#define BARRIER_OF_FOLDS
#define LAST_FOLDS(name, array, operation) \
    FUNCTION void name##_last(CONTEXT) {}
#endif

#define FOLDS(name, array, operation)                                                                    \
    FUNCTION void name(CONTEXT, uint width) {                                                            \
        OPEN                                                                                             \
        if (LOCAL_ID < width) array[LOCAL_ID] = operation(array[LOCAL_ID], array[LOCAL_ID + width]);     \
    }                                                                                                    \
    LAST_FOLDS(name, array, operation)
