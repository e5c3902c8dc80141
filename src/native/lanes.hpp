// Products of a few rows with a few columns, whose sums stay in vector registers.
//
// BLAS is slow at products with few columns, because it copies what it multiplies; plain loops over an array of sums
// are kept in memory by GCC 12, which takes 2.4 times as long as these vectors (20,000 x 200 times 12 columns).
#pragma once

#include "arrays.hpp"

namespace discriminant {

#if defined(__AVX__)
inline constexpr index lanes = 4;
#else
inline constexpr index lanes = 2;
#endif

#if defined(__GNUC__)
using Lanes = double __attribute__((vector_size(lanes * sizeof(double)), aligned(alignof(double)), may_alias));
#else
struct Lanes {
    double values[lanes];
    Lanes& operator+=(const Lanes& other) {
        for (index i = 0; i < lanes; ++i) values[i] += other.values[i];
        return *this;
    }
    friend Lanes operator*(double factor, Lanes own) {
        for (double& value : own.values) value *= factor;
        return own;
    }
};
#endif

// Rows that are multiplied together, and the number that widths of their products are a multiple of.
inline constexpr index block_rows = 4, block_columns = 4;

inline index padded(index width) { return (width + block_columns - 1) / block_columns * block_columns; }

// Add products of four rows with `vectors` times `lanes` columns to `out`, whose rows have the width of those of `b`.
template <index vectors>
void add_block(const double* a, index row, index step, const double* b, index count, index width, double* out) {
    Lanes sums[block_rows][vectors];
    const auto lanes_at = [](auto* place) { return reinterpret_cast<const Lanes*>(place); };
    for (index i = 0; i < block_rows; ++i)
        for (index v = 0; v < vectors; ++v) sums[i][v] = lanes_at(out + i * width)[v];
    for (index l = 0; l < count; ++l)
        for (index i = 0; i < block_rows; ++i)
            for (index v = 0; v < vectors; ++v) sums[i][v] += a[i * row + l * step] * lanes_at(b + l * width)[v];
    for (index i = 0; i < block_rows; ++i)
        for (index v = 0; v < vectors; ++v) reinterpret_cast<Lanes*>(out + i * width)[v] = sums[i][v];
}

// out (rows, width) += a b. Element (i, l) of `a` is at `i * row + l * step`; `b` is (count, width).
//
// `rows` is a multiple of `block_rows`, `width` one of `block_columns`.
inline void add_product(const double* a, index row, index step, index rows, const double* b, index count, index width,
                        double* out) {
    for (index i = 0; i < rows; i += block_rows) {
        const double* const own = a + i * row;
        double* const to = out + i * width;
        index j = 0;
        for (; j + 3 * lanes <= width && j + 4 * lanes != width; j += 3 * lanes)
             add_block<3>(own, row, step, b + j, count, width, to + j);
        for (; j + 2 * lanes <= width; j += 2 * lanes) add_block<2>(own, row, step, b + j, count, width, to + j);
        for (; j < width; j += lanes) add_block<1>(own, row, step, b + j, count, width, to + j);
    }
}

}  // namespace discriminant
