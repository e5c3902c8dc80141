// The quadratic model of a loss with an L1 penalty, minimised by coordinate descent over columns.
//
// Names and shapes are those of columns.cpp. The model's slopes in the scores are stored instead of its Hessian: a visit
// of a coefficient costs n operations, and a change C n.
#pragma once

#include "algebra.hpp"
#include "losses.hpp"

#include <limits>
#include <tuple>
#include <vector>

namespace discriminant {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A model is minimised until the expected gain of further sweeps is below this share of the gain so far, and below the
// square root of the gain's share of the objective, for quadratic convergence near the minimum.
constexpr double least_share = 0.02;
// A Newton step on the support costs about as much as a sweep for each of its columns, and is not tried before that, nor
// before this many sweeps.
constexpr index min_sweeps = 12, max_support_steps = 60;
// Coordinate descent is slow where a sweep gains more than this share of the one before.
constexpr double slow_rate = 0.9;
// What the diagonal of a singular matrix is raised by, relatively: enough for a Cholesky factor.
constexpr double collinear = 1e-11;
using Places = std::vector<index>;
using RowParts = std::tuple<Vector<const double>, Matrix<double>, Matrix<double>>;

struct Penalty {
    Vector<const double> l1, ridge;

    double of(Matrix<const double> theta, const Places& members) const {
        double total = 0.0;
        for (index j : members)
            for (index k = 0; k < theta.shape[0]; ++k) {
                const double size = std::abs(theta(k, j));
                total += (l1[j] + 0.5 * ridge[j] * size) * size;
            }
        return total;
    }
};

// The mean softmax loss; writes the weighted slopes, curvatures and probabilities of all scores.
double mean_softmax_loss(Matrix<const double> scores, const auto& code, const RowParts& rows, Matrix<double> slopes) {
    const auto& [weight, curves, shares] = rows;
    const auto [n_scores, n] = scores.shape;
    const double* const own = weight.data;
    Buffer<double, 1> top(scores[0]), mass({n}, 0.0);
    for (index k = 1; k < n_scores; ++k)
        for (index i = 0; i < n; ++i) top.data[i] = std::max(top.data[i], scores.data[k * n + i]);
    for (index k = 0; k < n_scores; ++k) {
        double* __restrict const share = shares.data + k * n;
        const double* const score = scores.data + k * n;
        for (index i = 0; i < n; ++i) mass.data[i] += share[i] = exponential(score[i] - top.data[i]);
    }
    for (index k = 0; k < n_scores; ++k) {
        double *share = shares.data + k * n, *slope = slopes.data + k * n, *curve = curves.data + k * n;
        for (index i = 0; i < n; ++i) {
            const double probability = share[i] / mass.data[i];
            share[i] = probability;
            slope[i] = own[i] * (probability - (code.data[i] == k ? 1.0 : 0.0));
            curve[i] = own[i] * probability * (1.0 - probability);
        }
    }
    double total = 0.0;
    for (index i = 0; i < n; ++i)
        total += own[i] * (logarithm(mass.data[i]) + top.data[i] - scores(index(code.data[i]), i));
    return total;
}

double mean_logistic_loss(Vector<const double> scores, const auto& code, Vector<const double> weight,
                          Vector<double> slopes, Vector<double> curves) {
    double total = 0.0;
    for (index i = 0; i < scores.size(); ++i) {
        const double sign = 2.0 * static_cast<double>(code.data[i]) - 1.0, own = weight.data[i];
        const Derivatives found = Logistic{}(sign * scores.data[i]);
        total += own * found.value;
        slopes.data[i] = sign * own * found.slope;
        curves.data[i] = own * found.curvature;
    }
    return total;
}

inline double mean_loss(Matrix<const double> scores, const Codes& codes, const RowParts& rows, Matrix<double> slopes) {
    return std::visit(
        [&](const auto code) {
            if (scores.shape[0] > 1) return mean_softmax_loss(scores, code, rows, slopes);
            return mean_logistic_loss(scores[0], code, std::get<0>(rows), slopes[0], std::get<1>(rows)[0]);
        },
        codes);
}

// Change the scores as the coefficients of the members change from `before` to `theta`.
void change_scores(const auto& columns, const auto& members, Matrix<const double> before, Matrix<const double> theta,
                   Matrix<double> scores) {
    for (index j : members)
        for (index k = 0; k < theta.shape[0]; ++k) {
            const double change = theta(k, j) - before(k, j);
            if (change != 0.0) columns.add(j, change, scores[k].data);
        }
}

// Write the gradient of the mean loss in all parameters.
void find_products(const auto& columns, Matrix<const double> slopes, Matrix<double> out) {
    for (index j = 0; j < columns.count(); ++j)
        for (index k = 0; k < slopes.shape[0]; ++k) out(k, j) = columns.dot(j, slopes[k].data);
}

// Change the model's slopes in the scores as the coefficient of column `j` in score `k` changes.
void add_curvature(const auto& columns, index j, index k, double change, const RowParts& rows, Matrix<double> slopes) {
    const auto& [weight, curves, shares] = rows;
    columns.each(j, [change, own = slopes[k].data, curve = curves[k].data](index i, double x) {
        own[i] += change * x * curve[i];
    });
    for (index m = 0; m < slopes.shape[0]; ++m) {
        if (m == k) continue;
        columns.each(j, [change, other = slopes[m].data, mine = shares[k].data, others = shares[m].data,
                         w = weight.data](index i, double x) { other[i] -= change * x * w[i] * mine[i] * others[i]; });
    }
}

double curvature_of(const auto& columns, index j, Vector<const double> curves) {
    return columns.sum(j, [curve = curves.data](index i, double x) { return x * x * curve[i]; });
}

// The columns and classes, which are constant along a path, and the derivatives of the rows at the present scores.
template <class Columns>
struct Problem {
    const Columns& columns;
    const Codes& codes;
    RowParts rows;

    Matrix<const double> curves() const { return std::get<1>(rows); }
};

// The quadratic model over the members: minimised from `theta`, with its `slopes` in the scores.
template <class Columns>
class Model {
public:
    Model(const Problem<Columns>& problem, const Places& members, const Penalty& penalty, Matrix<double> theta,
          Matrix<double> slopes)
        : problem(problem),
          members(members),
          penalty(penalty),
          theta(theta),
          slopes(slopes),
          diagonal({theta.shape[0], static_cast<index>(members.size())}, -1.0) {}

    struct Minimum {
        double gained, remaining;
        index sweeps;
    };

    // Sweeps go over all members, then over the support until their expected gain is small, and so on. The expected gain
    // follows from the rate at which gains decrease. If that is slow, as for nearly collinear columns, the estimate is
    // unreliable, and the remaining gain is unknown: infinity.
    Minimum minimise(double value, double enough) {
        double gained = 0.0, before = infinity, rate = 0.0, slowest = 0.0, length = 1.0;
        index sweeps = 0, since_support_step = 0, support_steps = 0;
        while (true) {
            const bool over_all = before == infinity;
            const double gain = sweep(over_all);
            gained += gain;
            ++sweeps;
            ++since_support_step;
            if (!over_all) {  // else the set of columns is another one, and the last rate as good a guess as any
                rate = before > 0.0 ? std::min(gain / before, 0.999) : 0.0;
                slowest = std::max(slowest, rate);
            }
            const double share = std::min(least_share, std::sqrt(std::max(gained, 0.0) / (value + 1e-300)));
            const double expected = std::max(gain, gain * rate / (1.0 - rate));
            const bool is_small = expected <= std::max(enough, share * gained);
            // A shortened step is followed by another one, with the remaining coefficients.
            if ((is_small && over_all && length == 1.0) || support_steps == max_support_steps || !std::isfinite(gain))
                return {gained, slowest <= slow_rate && support_steps == 0 ? expected : infinity, sweeps};
            before = is_small ? infinity : gain;
            if (length < 1.0 || (since_support_step >= min_sweeps && !is_small)) {
                find_support();
                if (length < 1.0 || since_support_step >= static_cast<index>(support.size())) {
                    const auto [more, reached] = step_on_support();
                    gained += std::max(more, 0.0);
                    length = more > enough ? reached : 1.0;
                    ++support_steps;
                    since_support_step = 0;
                    before = infinity;
                }
            }
        }
    }

private:
    struct Coefficient {
        index k, j;
    };
    struct SupportStep {
        double gain, length;
    };

    // Coordinate descent over all members, or over those that are not 0; what the model gains.
    double sweep(bool over_all) {
        double gain = 0.0;
        for (std::size_t a = 0; a < members.size(); ++a) {
            const index j = members[a];
            const double l1 = penalty.l1[j], ridge = penalty.ridge[j];
            for (index k = 0; k < theta.shape[0]; ++k) {
                const double x = theta(k, j);
                if (!over_all && x == 0.0 && l1 > 0.0) continue;
                const double slope = problem.columns.dot(j, slopes[k].data) + ridge * x;
                if (x == 0.0 && std::abs(slope) <= l1) continue;
                double& column_curvature = diagonal(k, static_cast<index>(a));
                if (column_curvature < 0.0) column_curvature = curvature_of(problem.columns, j, problem.curves()[k]);
                const double curvature = column_curvature + ridge, best = coordinate_minimum(x, slope, curvature, l1);
                const double change = best - x;
                if (change == 0.0) continue;
                gain -= change * (slope + 0.5 * curvature * change) + l1 * (std::abs(best) - std::abs(x));
                theta(k, j) = best;
                add_curvature(problem.columns, j, k, change, problem.rows, slopes);
            }
        }
        return gain;
    }

    // The coefficients among the members that are not 0, or not penalised.
    void find_support() {
        support.clear();
        for (index j : members)
            for (index k = 0; k < theta.shape[0]; ++k)
                if (theta(k, j) != 0.0 || penalty.l1[j] == 0.0) support.push_back({k, j});
    }

    // Go to the model's minimum over the support, or to where the first coefficient becomes 0.
    //
    // Sweeps are slow for nearly collinear columns; once they have found the signs, a Newton step is exact.
    SupportStep step_on_support() {
        const auto size = static_cast<index>(support.size());
        const Buffer<double, 2> matrix(size, size), working(slopes.shape[0], slopes.shape[1]);
        const Buffer<double, 1> slope(size), step(size);
        for (index u = 0; u < size; ++u) {
            const auto [k, j] = support[u];
            const double ridge = penalty.ridge[j];
            working.fill(0.0);
            add_curvature(problem.columns, j, k, 1.0, problem.rows, working);
            slope[u] = problem.columns.dot(j, slopes[k].data) + ridge * theta(k, j) + penalty.l1[j] * sign_of(theta(k, j));
            for (index v = 0; v <= u; ++v)
                matrix(u, v) = problem.columns.dot(support[v].j, working[support[v].k].data);
            // Where columns are collinear the step is long, and ends where a coefficient becomes 0.
            matrix(u, u) = (matrix(u, u) + ridge) * (1.0 + collinear);
        }
        cholesky(matrix, 0.01 * collinear);
        solve_factored(matrix, slope, step);
        const auto heads_for_zero = [&](index u) {
            const auto [k, j] = support[u];
            return penalty.l1[j] > 0.0 && step[u] * theta(k, j) > 0.0;
        };
        double length = 1.0;
        for (index u = 0; u < size; ++u)
            if (heads_for_zero(u)) length = std::min(length, theta(support[u].k, support[u].j) / step[u]);
        for (index u = 0; u < size; ++u) {
            const auto [k, j] = support[u];
            const double x = theta(k, j);
            const bool becomes_zero = heads_for_zero(u) && x / step[u] <= length;
            theta(k, j) = becomes_zero ? 0.0 : x - length * step[u];
            add_curvature(problem.columns, j, k, theta(k, j) - x, problem.rows, slopes);
        }
        return {length * (1.0 - 0.5 * length) * inner(slope, step), length};
    }

    const Problem<Columns>& problem;
    const Places& members;
    const Penalty& penalty;
    Matrix<double> theta, slopes;
    Buffer<double, 2> diagonal;
    std::vector<Coefficient> support;
};

}  // namespace discriminant
