// Coordinate descent on a quadratic with an L1 penalty, and the gathering of the columns it works on.
//
// Columns are numbered 0..p-1; number p stands for the intercept, a column of ones.

#include "algebra.hpp"
#include "bindings.hpp"
#include "rows.hpp"

#include <vector>

namespace discriminant {
namespace {

// Write `factor * (x - centre) / scale` of the columns asked for to `out` (rows, number of columns).
void gather(const Reals<2>& table, Vector<const std::int64_t> columns, Vector<const double> centre,
            Vector<const double> scale, Vector<const double> factor, Matrix<double> out) {
    std::visit(
        [&](const auto X) {
            const auto [n, p] = X.shape;
            const index count = columns.size();
            require(centre.size() == p && scale.size() == p && factor.size() == n && out.shape == std::array{n, count},
                    "The shapes of rows, units and columns do not fit each other.");
            require_below(columns, p + 1, "There is no column of that number.");
            const Room<double, 1> inverse({count}, 1.0), origin({count}, 0.0);
            for (index k = 0; k < count; ++k)
                if (columns[k] < p) {
                    inverse[k] = 1.0 / scale[columns[k]];
                    origin[k] = centre[columns[k]];
                }
            for (index i = 0; i < n; ++i) {
                const auto* const x = X.data + i * p;
                double* __restrict const to = out.data + i * count;
                for (index k = 0; k < count; ++k) {
                    const double value = columns.data[k] < p ? static_cast<double>(x[columns.data[k]]) : 1.0;
                    to[k] = factor.data[i] * ((value - origin.data[k]) * inverse.data[k]);
                }
            }
        },
        table);
}

// Add `factor * x_j * x_k` to `out[row_of[j], column_of[k]]`; a negative place means: not wanted.
void csr_add_gram(const CsrParts& matrix, Vector<const double> factor, Vector<const std::int64_t> row_of,
                  Vector<const std::int64_t> column_of, Matrix<double> out) {
    with_rows(matrix, [&](auto rows) {
        const index p = row_of.size() - 1;
        require(p >= 0 && column_of.size() == p + 1 && factor.size() == rows.count(), "One place for each column.");
        for (index j = 0; j <= p; ++j)
            require(row_of[j] < out.shape[0] && column_of[j] < out.shape[1], "There is no such place in the matrix.");
        rows.have_width(p);
        struct Element {
            index place;
            double value;
        };
        std::vector<Element> lines, columns;
        for_each_row(rows, [&](index i) {
            lines.clear();
            columns.clear();
            const auto take = [&](index j, double value) {
                if (row_of.data[j] >= 0) lines.push_back({row_of.data[j], factor.data[i] * value});
                if (column_of.data[j] >= 0) columns.push_back({column_of.data[j], value});
            };
            const auto [value, place, size] = rows.row(i);
            for (index e = 0; e < size; ++e) take(place[e], value[e]);
            take(p, 1.0);
            for (const Element& line : lines) {
                double* const to = out.data + line.place * out.shape[1];
                for (const Element& column : columns) to[column.place] += line.value * column.value;
            }
        });
    });
}

// Minimise `gradient'd + d'(matrix + diag(ridge))d / 2 + sum l1 |x|`, d = x - origin, from `x`, in place.
//
// `gradient` becomes that at the end. Sweeps go over all coordinates, then over those that are not 0 until these gain
// little, and so on; they end when a sweep over all gains less than `enough` or than `share` of the gain so far. Returns
// the number of sweeps.
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
            const double curvature = matrix(j, j) + ridge[j];
            double best = l1[j] > 0.0 ? 0.0 : x[j];
            if (curvature > 0.0) {
                const double aim = x[j] - gradient[j] / curvature;
                best = sign_of(aim) * std::max(std::abs(aim) - l1[j] / curvature, 0.0);
            }
            const double change = best - x[j];
            if (change == 0.0) continue;
            gain -= change * (gradient[j] + 0.5 * curvature * change) + l1[j] * (std::abs(best) - std::abs(x[j]));
            x[j] = best;
            move(j, change);
        }
        gained += gain;
        const bool little = gain <= std::max(enough, share * gained);
        if (little && over_all) return sweep + 1;
        over_all = little;
    }
    return most;
}

}  // namespace

void bind_coordinate(nanobind::module_& module) {
    kernel(module, "gather", gather,
           "Write ``factor * (x - centre) / scale`` of the columns asked for to ``out`` (rows, number of columns).");
    kernel(module, "csr_add_gram", csr_add_gram,
           "Add ``factor * x_j * x_k`` to ``out[row_of[j], column_of[k]]``; a negative place means: not wanted.");
    kernel(module, "minimise_quadratic", minimise_quadratic,
           "Minimise ``gradient'd + d'(matrix + diag(ridge))d / 2 + sum l1 |x|``, d = x - origin, from ``x``, in place."
           "\n\n``gradient`` becomes that at the end. Sweeps go over all coordinates, then over those that are not 0 "
           "until these gain little, and so on; they end when a sweep over all gains less than ``enough`` or than "
           "``share`` of the gain so far. Returns the number of sweeps.");
}

}  // namespace discriminant
