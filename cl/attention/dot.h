// Declares NAME(PASS, i, j, count): the sum of x[i + c] y[j + c] over c < count, in four sums, which is quicker and rounds less than one.
// READ_X and READ_Y say how x and y are read: READ and AT from bindings, ELEMENT from local arrays.
#define ELEMENT(array, i) array[i]
#define DOT(name, READ_X, x, READ_Y, y)                             \
    FUNCTION float name(CONTEXT, uint i, uint j, uint count) {      \
        OPEN                                                        \
        float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;   \
        uint c = 0u;                                                \
        for (; c + 4u <= count; c += 4u) {                          \
            sum0 += READ_X(x, i + c) * READ_Y(y, j + c);            \
            sum1 += READ_X(x, i + c + 1u) * READ_Y(y, j + c + 1u);  \
            sum2 += READ_X(x, i + c + 2u) * READ_Y(y, j + c + 2u);  \
            sum3 += READ_X(x, i + c + 3u) * READ_Y(y, j + c + 3u);  \
        }                                                           \
        for (; c < count; ++c) sum0 += READ_X(x, i + c) * READ_Y(y, j + c); \
        return (sum0 + sum1) + (sum2 + sum3);                       \
    }
