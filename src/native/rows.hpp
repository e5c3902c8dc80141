// Single rows within a kernel: inner products and sums, for dense rows and for those of a CSR matrix.
#pragma once

#include "algebra.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <span>
#include <tuple>
#include <utility>

namespace discriminant {

// Rows of a C-contiguous matrix.
template <class X>
class Dense {
public:
    explicit Dense(Matrix<const X> values) : values(values) {}
    index count() const { return values.shape[0]; }
    bool have_width(index width) const { return values.shape[1] == width; }

    // Call a function with the place and the value of each element of a row.
    template <class Function>
    DISCRIMINANT_INLINE void each(index i, Function function) const {
        const X* const row = values.data + i * width();
        for (index j = 0; j < width(); ++j) function(j, row[j]);
    }
    // The sum of a term of the place and the value of each element of a row.
    template <class Term>
    DISCRIMINANT_INLINE double sum(index i, Term term) const {
        return sum_over(width(), [row = values.data + i * width(), term](index j) { return term(j, row[j]); });
    }
    double dot(index i, const double* vector) const {
        return sum(i, [vector](index j, double value) { return value * vector[j]; });
    }
    // The inner products of a row with a vector and with itself.
    std::pair<double, double> dot_and_square(index i, const double* vector) const {
        const X* row = values.data + i * width();
        double total = 0.0, square = 0.0;
        for (index j = 0; j < width(); ++j) {
            const double value = row[j];
            total += value * vector[j];
            square += value * value;
        }
        return {total, square};
    }
    void add(index i, double factor, double* vector) const {
        const X* row = values.data + i * width();
        for (index j = 0; j < width(); ++j) vector[j] += factor * row[j];
    }
    void check(index, index) const {}
    void prefetch(index) const {}

private:
    index width() const { return values.shape[1]; }
    Matrix<const X> values;
};

// Rows of a CSR matrix. What its places point to is checked shortly before they are followed, which is when they come
// into the cache.
template <class X, class I>
class Csr {
public:
    using Parts = std::tuple<Vector<const X>, Vector<const I>, Vector<const I>>;

    explicit Csr(const Parts& parts)
        : values(std::get<0>(parts)), places(std::get<1>(parts)), starts(std::get<2>(parts)) {
        require(starts.size() > 0 && places.size() == values.size(), "The parts of the CSR matrix do not fit each other.");
    }
    Csr(const Parts& parts, index width) : Csr(parts) { limit = width; }

    index count() const { return starts.size() - 1; }
    // The columns that places may point to are known from what rows are multiplied with.
    bool have_width(index width) {
        limit = width;
        return true;
    }

    // Refuse some rows if they are not sound.
    void check(index first, index last) const {
        bool increase = starts.data[first] >= 0;
        for (index i = first; i < last; ++i) increase &= starts.data[i] <= starts.data[i + 1];
        require(increase && starts.data[last] <= values.size(), "The CSR matrix has rows outside of its values.");
        const auto size = static_cast<std::size_t>(starts.data[last] - starts.data[first]);
        require(all_below(std::span<const I>(places.data + starts.data[first], size), limit),
                "The CSR matrix has places outside of its columns.");
    }

    // A row that has been checked.
    struct Row {
        const X* values;
        const I* places;
        index size;
    };
    Row row(index i) const {
        const index first = starts.data[i];
        return {values.data + first, places.data + first, starts.data[i + 1] - first};
    }

    template <class Function>
    DISCRIMINANT_INLINE void each(index i, Function function) const {
        const auto [value, place, size] = row(i);
        for (index e = 0; e < size; ++e) function(place[e], value[e]);
    }
    template <class Term>
    DISCRIMINANT_INLINE double sum(index i, Term term) const {
        const auto [value, place, size] = row(i);
        double total = 0.0;
        for (index e = 0; e < size; ++e) total += term(place[e], value[e]);
        return total;
    }
    double dot(index i, const double* vector) const {
        return sum(i, [vector](index j, double value) { return value * vector[j]; });
    }
    std::pair<double, double> dot_and_square(index i, const double* vector) const {
        const auto [value, place, size] = row(i);
        double total = 0.0, square = 0.0;
        for (index e = 0; e < size; ++e) {
            const double own = value[e];
            total += own * vector[place[e]];
            square += own * own;
        }
        return {total, square};
    }
    void add(index i, double factor, double* vector) const {
        const auto [value, place, size] = row(i);
        for (index e = 0; e < size; ++e) vector[place[e]] += factor * value[e];
    }
    // Ask for a row, which need not have been checked, to be brought into the cache.
    //
    // Always inlined: GCC removes calls of functions that only prefetch.
    DISCRIMINANT_INLINE void prefetch([[maybe_unused]] index i) const {
#if defined(__GNUC__)
        constexpr index line = 64;
        const index first = std::max<index>(starts.data[i], 0), end = std::min<index>(starts.data[i + 1], values.size());
        for (index e = first; e < end; e += line / index(sizeof(X))) __builtin_prefetch(values.data + e);
        for (index e = first; e < end; e += line / index(sizeof(I))) __builtin_prefetch(places.data + e);
#endif
    }

private:
    Vector<const X> values;
    Vector<const I> places, starts;
    index limit = 0;
};

// A CSR matrix as Python gives it: the tuple (data, indices, indptr).
using CsrParts = std::variant<Csr<double, std::int32_t>::Parts, Csr<double, std::int64_t>::Parts,
                              Csr<float, std::int32_t>::Parts, Csr<float, std::int64_t>::Parts>;
// Rows as Python gives them.
using Rows = std::variant<Matrix<const double>, Matrix<const float>, Csr<double, std::int32_t>::Parts,
                          Csr<double, std::int64_t>::Parts, Csr<float, std::int32_t>::Parts,
                          Csr<float, std::int64_t>::Parts>;

template <class X> Dense<X> as_rows(Matrix<const X> values) { return Dense<X>(values); }
template <class X, class I>
Csr<X, I> as_rows(const std::tuple<Vector<const X>, Vector<const I>, Vector<const I>>& parts) {
    return Csr<X, I>(parts);
}

// Call a function with rows of the type that they have.
template <class AnyRows, class Function>
decltype(auto) with_rows(const AnyRows& rows, Function&& function) {
    return std::visit([&](const auto& parts) { return function(as_rows(parts)); }, rows);
}

// Call a function with the number of each row, a few of which are checked together.
template <class AnyRows, class Function>
void for_each_row(const AnyRows& rows, Function&& function) {
    constexpr index together = 32;
    for (index start = 0; start < rows.count(); start += together) {
        const index end = std::min(start + together, rows.count());
        rows.check(start, end);
        for (index i = start; i < end; ++i) function(i);
    }
}

// Refuse numbers of rows that are not there.
inline void require_rows(Vector<const std::int64_t> chosen, index count) {
    require_below(chosen, count, "There is no row of that number.");
}

}  // namespace discriminant
