// Exponentials and logarithms in plain arithmetic, which the compiler spreads over vector lanes.
//
// The error is a unit or two in the last place. The C library takes one number at a time, and three times as long.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

// Loops go through vector lanes only if what they call is part of them.
#if defined(_MSC_VER)
#define DISCRIMINANT_INLINE __forceinline
#else
#define DISCRIMINANT_INLINE [[gnu::always_inline]] inline
#endif

namespace discriminant {

// Zero, which the compiler does not know.
extern const std::uint64_t no_bits;

// The same number, as it was rounded: sums are regrouped elsewhere, but not across this.
DISCRIMINANT_INLINE double rounded(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ no_bits); }

// The least number whose exponential is a normal one.
inline constexpr double least_exponent = -708.0;
inline constexpr double log2_of_e = 1.4426950408889634;
// The logarithm of 2 in two parts, of which the first has so few digits that its multiples are exact.
inline constexpr double log_2 = 6.93147180369123816490e-01, log_2_rest = 1.90821492927058770002e-10;
inline constexpr std::uint64_t bits_of_one = 0x3FF0000000000000, fraction_bits = 0xFFFFFFFFFFFFF;

// The exponential of a number that is not positive; 0 below -708, which is negligible beside exp(0).
DISCRIMINANT_INLINE double exponential(double x) {
    constexpr double rounder = 0x1.8p52;  // adding it leaves the nearest whole number in the last bits
    const double shifted = rounded(x * log2_of_e + rounder), twos = shifted - rounder;
    const double r = rounded(x - twos * log_2) - twos * log_2_rest;
    double series = 1 / 39916800.0 + r * (1 / 479001600.0);
    series = 1 / 362880.0 + r * (1 / 3628800.0 + r * series);
    series = 1 / 5040.0 + r * (1 / 40320.0 + r * series);
    series = 1 / 120.0 + r * (1 / 720.0 + r * series);
    series = 1 / 6.0 + r * (1 / 24.0 + r * series);
    series = 1.0 + rounded(r + r * r * (0.5 + r * series));
    const double found = series * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) << 52) + bits_of_one);
    return x < least_exponent ? 0.0 : found;
}

// The logarithm of a number that is not negative.
DISCRIMINANT_INLINE double logarithm(double x) {
    constexpr double whole = 0x1p52;  // the last bits of the sum with it are a whole number
    constexpr std::uint64_t whole_bits = 0x4330000000000000;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    double twos = std::bit_cast<double>((bits >> 52) | whole_bits) - (whole + 1023);
    double m = std::bit_cast<double>((bits & fraction_bits) | bits_of_one);
    const bool above = m > 1.4142135623730951;
    m = above ? 0.5 * m : m;
    twos = above ? twos + 1.0 : twos;
    const double f = (m - 1.0) / (m + 1.0), q = f * f;
    double series = 1 / 19.0 + q * (1 / 21.0);
    series = 1 / 15.0 + q * (1 / 17.0 + q * series);
    series = 1 / 11.0 + q * (1 / 13.0 + q * series);
    series = 1 / 7.0 + q * (1 / 9.0 + q * series);
    series = 1 / 3.0 + q * (1 / 5.0 + q * series);
    const double rest = rounded(twos * log_2_rest + rounded(2.0 * f + rounded(2.0 * f * q * series)));
    const double found = twos * log_2 + rest;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return x > 0.0 ? found : (x == 0.0 ? -infinity : std::numeric_limits<double>::quiet_NaN());
}

// The logarithm of 1 + x, to all digits of a small x; x between 0 and 1.
DISCRIMINANT_INLINE double log_one_plus(double x) {
    const double f = x / (2.0 + x), q = f * f;
    double series = 1 / 31.0 + q * (1 / 33.0);
    series = 1 / 27.0 + q * (1 / 29.0 + q * series);
    series = 1 / 23.0 + q * (1 / 25.0 + q * series);
    series = 1 / 19.0 + q * (1 / 21.0 + q * series);
    series = 1 / 15.0 + q * (1 / 17.0 + q * series);
    series = 1 / 11.0 + q * (1 / 13.0 + q * series);
    series = 1 / 7.0 + q * (1 / 9.0 + q * series);
    series = 1 / 3.0 + q * (1 / 5.0 + q * series);
    return 2.0 * (f + rounded(f * q * series));
}

// Exponentials of many numbers, in place.
inline void exponentials(double* x, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; ++i) x[i] = exponential(x[i]);
}

}  // namespace discriminant
