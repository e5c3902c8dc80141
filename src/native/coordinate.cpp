// Coordinate descent on a quadratic function with an L1 penalty (Friedman, Hastie & Tibshirani 2010).

#include "algebra.hpp"
#include "bindings.hpp"

namespace discriminant {
namespace {

// Minimise `gradient'd + d'(matrix + diag(ridge))d / 2 + sum l1 |x|`, d = x - origin, from `x`, in place.
//
// `gradient` becomes that at the end. Sweeps go over all coordinates, then over the nonzero ones until these gain
// little, and so on, until a sweep over all gains less than `enough` or than a `share` of the total gain. Returns the
// number of sweeps.
index minimise_quadratic(Matrix<const double> matrix, Vector<const double> ridge, Vector<const double> l1,
                         Vector<const double> origin, Vector<double> gradient, Vector<double> x, double enough,
                         double share, index most) {
    const index size = x.size();
    require(matrix.shape == std::array{size, size} && ridge.size() == size && l1.size() == size &&
                origin.size() == size && gradient.size() == size,
            "The shapes of matrix and coefficients do not fit each other.");
    const auto move = [&](index j, double change) {
        const double* const line = matrix.data + j * size;
        double* __restrict const slope = gradient.data;
        slope[j] += ridge[j] * change;
        for (index k = 0; k < size; ++k) slope[k] += change * line[k];
    };
    for (index j = 0; j < size; ++j)
        if (x[j] != origin[j]) move(j, x[j] - origin[j]);
    double gained = 0.0;
    bool over_all = true;
    for (index sweep = 0; sweep < most; ++sweep) {
        double gain = 0.0;
        for (index j = 0; j < size; ++j) {
            if (!over_all && x[j] == 0.0) continue;
            const double curvature = matrix(j, j) + ridge[j], best = coordinate_minimum(x[j], gradient[j], curvature, l1[j]);
            const double change = best - x[j];
            if (change == 0.0) continue;
            gain -= change * (gradient[j] + 0.5 * curvature * change) + l1[j] * (std::abs(best) - std::abs(x[j]));
            x[j] = best;
            move(j, change);
        }
        gained += gain;
        const bool is_small = gain <= std::max(enough, share * gained);
        if (is_small && over_all) return sweep + 1;
        over_all = is_small;
    }
    return most;
}

}  // namespace

void bind_coordinate(nanobind::module_& module) {
    kernel(module, "minimise_quadratic", minimise_quadratic,
           "Minimise ``gradient'd + d'(matrix + diag(ridge))d / 2 + sum l1 |x|``, d = x - origin, from ``x``, in place."
           "\n\n``gradient`` becomes that at the end. Sweeps go over all coordinates, then over the nonzero ones "
           "until these gain little, and so on, until a sweep over all gains less than ``enough`` or than a ``share`` "
           "of the total gain. Returns the number of sweeps.");
}

}  // namespace discriminant
