// Coordinate ascent in the dual of a support vector machine, one row at a time (Hsieh et al. 2008).
//
// `bias` is the intercept, which moves by `proximal` times the change of `sum alpha * sign`.
#pragma once

#include "rows.hpp"

#include <algorithm>

namespace discriminant {

// The constants of each row: the dual variable is between 0 and `upper`; with `diagonal > 0` the loss is
// `slack^2 / (2 diagonal)`, else `upper * slack`; `squares` is the row's squared length.
struct DualRows {
    Vector<const double> sign, upper, diagonal, squares;

    using Parts = std::tuple<Vector<const double>, Vector<const double>, Vector<const double>, Vector<const double>>;
    explicit DualRows(const Parts& parts)
        : sign(std::get<0>(parts)), upper(std::get<1>(parts)), diagonal(std::get<2>(parts)), squares(std::get<3>(parts)) {
        const index n = sign.size();
        require(upper.size() == n && diagonal.size() == n && squares.size() == n, "One number for each row.");
    }
    index count() const { return sign.size(); }
};

// The dual variables, `coef`, the sum of `alpha * sign * row`, and the shrinking: rows whose variable stays at a bound
// are skipped for some sweeps, each time for more. `rest` is the number of sweeps skipped last, `due` the sweep of the
// next visit.
struct DualAscent {
    Vector<double> alpha, coef;
    Vector<std::int64_t> rest, due;
};

// Write the rows that are due in random order (Marsaglia's xorshift); their number. `state` is the generator's.
inline index shuffle_due(Vector<const std::int64_t> due, std::int64_t sweep, Vector<std::int64_t> order,
                         std::uint64_t& state) {
    index count = 0;
    for (index i = 0; i < due.size(); ++i)
        if (due.data[i] <= sweep) order.data[count++] = i;
    for (index k = 0; k + 1 < count; ++k) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const auto j = k + static_cast<index>(state % static_cast<std::uint64_t>(count - k));
        std::swap(order.data[k], order.data[j]);
    }
    return count;
}

// Set the variable of one row to its best value; the change times the sign. Adds the row's term of the duality gap.
inline double update_row(index i, double score, const DualRows& fixed, const DualAscent& ascent, double proximal,
                        std::int64_t sweep, double& gap) {
    constexpr std::int64_t longest_rest = 15;  // the most sweeps for which a row at its bound is skipped
    const double upper = fixed.upper.data[i], curvature = fixed.diagonal.data[i], old = ascent.alpha.data[i];
    const double margin_short = 1.0 - fixed.sign.data[i] * score, slack = std::max(margin_short, 0.0);
    if (curvature > 0.0)
        gap += 0.5 * (slack * slack / curvature + curvature * old * old) - old * margin_short;
    else
        gap += upper * slack - old * margin_short;
    const double slope = margin_short - curvature * old, hessian = fixed.squares.data[i] + proximal + curvature;
    // The slack of a row of zeros is constant without an intercept.
    const double best = hessian > 0.0 ? std::min(std::max(old + slope / hessian, 0.0), upper) : upper;
    if (best == old) {
        ascent.rest.data[i] = std::min(2 * ascent.rest.data[i] + 1, longest_rest);
        ascent.due.data[i] = sweep + 1 + ascent.rest.data[i];
        return 0.0;
    }
    ascent.rest.data[i] = 0;
    ascent.alpha.data[i] = best;
    return (best - old) * fixed.sign.data[i];
}

// Visit the rows in `order`; moves the bias. The sum of their terms of the duality gap.
template <class AnyRows>
double sweep_over(const AnyRows& rows, Vector<const std::int64_t> order, const DualRows& fixed,
                  const DualAscent& ascent, double& bias, double proximal, std::int64_t sweep) {
    constexpr index ahead = 2;  // rows that are prefetched into the cache ahead of their visit
    double gap = 0.0;
    for (index k = 0; k < order.size(); ++k) {
        rows.prefetch(order.data[std::min(k + ahead, order.size() - 1)]);
        const index i = order.data[k];
        rows.check(i, i + 1);
        const double score = bias + rows.dot(i, ascent.coef.data);
        const double change = update_row(i, score, fixed, ascent, proximal, sweep, gap);
        if (change != 0.0) {
            bias += proximal * change;
            rows.add(i, change, ascent.coef.data);
        }
    }
    return gap;
}

}  // namespace discriminant
