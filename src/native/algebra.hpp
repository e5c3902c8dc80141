// Vectors and small matrices: sums, products, Cholesky factors.
#pragma once

#include "arrays.hpp"
#include "elementary.hpp"

#include <cmath>
#include <limits>

namespace discriminant {

// The sum of a term for each of 0..size-1, in vector lanes. Of many terms the four quarters are added up
// beside each other: no sum waits for the last.
template <class Term>
DISCRIMINANT_INLINE double sum_over(index size, Term term) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    constexpr index many = 64;
    const index quarter = size >= many ? size / 4 : 0;
    for (index i = 0; i < quarter; ++i) {
        a += term(i);
        b += term(quarter + i);
        c += term(2 * quarter + i);
        d += term(3 * quarter + i);
    }
    for (index i = 4 * quarter; i < size; ++i) a += term(i);
    return (a + b) + (c + d);
}

template <class A, class B>
double inner(Vector<A> a, Vector<B> b) {
    return sum_over(a.size(), [x = a.data, y = b.data](index i) { return double(x[i]) * y[i]; });
}

template <class A>
double sum(Vector<A> a) {
    return sum_over(a.size(), [x = a.data](index i) { return double(x[i]); });
}

// -1, 0 or 1; NaN stays.
inline double sign_of(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }

// The minimum over z of `slope (z - x) + curvature (z - x)^2 / 2 + l1 |z|`, by soft thresholding; 0, or x without a
// penalty, if there is no curvature.
inline double coordinate_minimum(double x, double slope, double curvature, double l1) {
    if (!(curvature > 0.0)) return l1 > 0.0 ? 0.0 : x;
    const double unpenalised = x - slope / curvature;
    return sign_of(unpenalised) * std::max(std::abs(unpenalised) - l1 / curvature, 0.0);
}

// Write the Cholesky factor over the lower half of a matrix; the number of pivots that are nothing but rounding.
//
// These, not above `least` times their entry on the diagonal, become infinite, which holds their directions.
index cholesky(Matrix<double> matrix, double least);

// Write (factor factor')^-1 right, the factor lower triangular.
void solve_factored(Matrix<const double> factor, Vector<const double> right, Vector<double> out);

// out = a a', by BLAS.
void inner_products(Matrix<const double> a, Matrix<double> out);

}  // namespace discriminant
