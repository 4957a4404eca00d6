// Reductions over a work-group in local memory, always in the same order: every item has put its value into array[LOCAL_ID]; afterwards
// array[0] holds the result, and all items may read it.
#define REDUCE_ADD(array)                                                                   \
    BARRIER;                                                                                \
    for (uint half_ = WG / 2u; half_ > 0u; half_ /= 2u) {                                   \
        if (LOCAL_ID < half_) array[LOCAL_ID] += array[LOCAL_ID + half_];                   \
        BARRIER;                                                                            \
    }
#define REDUCE_ADD2(array, other)                                                           \
    BARRIER;                                                                                \
    for (uint half_ = WG / 2u; half_ > 0u; half_ /= 2u) {                                   \
        if (LOCAL_ID < half_) {                                                             \
            array[LOCAL_ID] += array[LOCAL_ID + half_];                                     \
            other[LOCAL_ID] += other[LOCAL_ID + half_];                                     \
        }                                                                                   \
        BARRIER;                                                                            \
    }
// A NaN wins.
#define REDUCE_MAX(array)                                                                   \
    BARRIER;                                                                                \
    for (uint half_ = WG / 2u; half_ > 0u; half_ /= 2u) {                                   \
        if (LOCAL_ID < half_ && !(array[LOCAL_ID + half_] <= array[LOCAL_ID])) array[LOCAL_ID] = array[LOCAL_ID + half_]; \
        BARRIER;                                                                            \
    }
