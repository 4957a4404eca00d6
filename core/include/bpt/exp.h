// exp of vectors (GCC and clang vector extensions), of any number of lanes: one text for kernels of backends and for sums on the host.
#ifndef BPT_EXP_H
#define BPT_EXP_H

// Y = exp(X), of vectors VF of floats; VI: a vector of as many int32_t. The error is below 2 units in the last place: x = n ln 2 + f,
// |f| <= ln 2 / 2, a polynomial of degree 6 in f. Below -87.33 exactly 0 (so that masks of -1e30 vanish), above 88.37 a large finite
// number; what is no number stays none. The constant 1.5 * 2^23 makes n land in the low bits of a mantissa.
// A macro: functions cannot return vectors wider than those of the instruction set that a file is compiled for.
#define BPT_EXP(VF, VI, X, Y)                                                                                           \
    do {                                                                                                                \
        const VF exp_x_ = (X);                                                                                          \
        const VI exp_tiny_ = exp_x_<-87.33f, exp_huge_ = exp_x_> 88.37f;                                                \
        const VF exp_clamped_ = (VF)(((VI)((VF){0} + 88.37f) & exp_huge_) | ((VI)exp_x_ & ~(exp_tiny_ | exp_huge_)));   \
        const VF exp_shifted_ = exp_clamped_ * 1.44269504088896341f + 12582912.0f, exp_n_ = exp_shifted_ - 12582912.0f; \
        const VF exp_f_ = (exp_clamped_ - exp_n_ * 0.693359375f) + exp_n_ * 2.12194440e-4f;                             \
        VF exp_p_ = exp_f_ * 1.9875691500e-4f + 1.3981999507e-3f;                                                       \
        exp_p_ = exp_p_ * exp_f_ + 8.3334519073e-3f;                                                                    \
        exp_p_ = exp_p_ * exp_f_ + 4.1665795894e-2f;                                                                    \
        exp_p_ = exp_p_ * exp_f_ + 1.6666665459e-1f;                                                                    \
        exp_p_ = exp_p_ * exp_f_ + 5.0000001201e-1f;                                                                    \
        exp_p_ = (exp_p_ * exp_f_) * exp_f_ + exp_f_ + 1.0f;                                                            \
        (Y) = (VF)((VI)(exp_p_ * (VF)(((VI)exp_shifted_ << 23) + (127 << 23))) & ~exp_tiny_);                           \
    } while (0)

#endif
