// Reductions over a work-group, always in the same order: every item has put its value into array[LOCAL_ID]; afterwards array[0] holds the
// result, and all items may read it. Values are folded in halves, in local memory; where a kernel may rely on its subgroups, the first of
// them does the last folds among its items, which needs no barriers, in the same order and so with the same bits.
#define FOLD_ADD(sum, other) sum += other
#define FOLD_MAX(largest, other) if (!(other <= largest)) largest = other  // a NaN wins
#ifdef SUBGROUP_XOR
#define LEAST_HALF SUBGROUP_SIZE
#define FOLD_SUBGROUP(FOLD, array)                                                                       \
    if (SUBGROUP_ID == 0u) {                                                                             \
        float value_ = array[SUBGROUP_LANE];                                                             \
        for (uint half_ = SUBGROUP_SIZE / 2u; half_ > 0u; half_ /= 2u) {                                 \
            const float other_ = SUBGROUP_XOR(value_, half_);                                            \
            FOLD(value_, other_);                                                                        \
        }                                                                                                \
        if (SUBGROUP_LANE == 0u) array[0] = value_;                                                      \
    }
#define END_FOLDS BARRIER
#else
#define LEAST_HALF 1u
#define FOLD_SUBGROUP(FOLD, array)
#define END_FOLDS
#endif

#define REDUCE(FOLD, array)                                                                              \
    BARRIER;                                                                                             \
    for (uint half_ = WG / 2u; half_ >= LEAST_HALF; half_ /= 2u) {                                       \
        if (LOCAL_ID < half_) {                                                                          \
            FOLD(array[LOCAL_ID], array[LOCAL_ID + half_]);                                              \
        }                                                                                                \
        BARRIER;                                                                                         \
    }                                                                                                    \
    FOLD_SUBGROUP(FOLD, array)                                                                           \
    END_FOLDS;
#define REDUCE_ADD(array) REDUCE(FOLD_ADD, array)
#define REDUCE_MAX(array) REDUCE(FOLD_MAX, array)
#define REDUCE_ADD2(array, other)                                                                        \
    BARRIER;                                                                                             \
    for (uint half_ = WG / 2u; half_ >= LEAST_HALF; half_ /= 2u) {                                       \
        if (LOCAL_ID < half_) {                                                                          \
            array[LOCAL_ID] += array[LOCAL_ID + half_];                                                  \
            other[LOCAL_ID] += other[LOCAL_ID + half_];                                                  \
        }                                                                                                \
        BARRIER;                                                                                         \
    }                                                                                                    \
    FOLD_SUBGROUP(FOLD_ADD, array)                                                                       \
    FOLD_SUBGROUP(FOLD_ADD, other)                                                                       \
    END_FOLDS;
