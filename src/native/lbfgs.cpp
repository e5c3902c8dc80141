// L-BFGS of many fits at once, each with pairs and a line search of its own (Nocedal 1980; Armijo 1966).
//
// `aim` says where the fits look next, `accept` is told what was found there; between them gradients `q` are multiplied
// by an inverse Hessian that all share, and the rows are passed over, by whoever calls. `descend` does both for rows at
// hand. `going` are the fits on their way, which the lines of `q`, `aims` and of what was found belong to; `ridge`
// (parameters,) is the second derivative of the penalty.

#include "algebra.hpp"
#include "bindings.hpp"
#include "losses.hpp"
#include "rows.hpp"

#include <algorithm>
#include <limits>

namespace discriminant {
namespace {

// Pairs of steps and gradient changes that are remembered.
constexpr index memory_size = 12;
// The share of the gain promised by the slope that a step must bring (Armijo's condition).
constexpr double sufficient = 1e-4;
// A value this many relative units above another is as good: rounding of the sums over the rows.
constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
// What a step that does not descend enough is shortened by, and how often: then rounding has the last word.
constexpr double shorter = 0.4;
constexpr std::int64_t most_shorter = 12;

// The pairs of steps and gradient changes of one fit. The t-th stands in place `t % memory`; `inverses` are of the
// products of the two, 0 where they show no curvature; `shares` what each pair explains of the gradient.
struct Pairs {
    Matrix<double> steps, changes;
    Vector<double> inverses, shares;

    index memory() const { return steps.shape[0]; }

    // From the newest pair to the oldest: take what they explain off the gradient q; writes the shares.
    void first_loop(index count, Vector<double> q) const {
        for (index t = count - 1; t >= std::max<index>(count - memory(), 0); --t) {
            const index pair = t % memory();
            const double* const change = &changes(pair, 0);
            shares[pair] = inverses[pair] * inner(steps[pair], q);
            for (index j = 0; j < q.size(); ++j) q.data[j] -= shares[pair] * change[j];
        }
    }

    // From the oldest pair to the newest: add what they explain to the direction q.
    void second_loop(index count, Vector<double> q) const {
        for (index t = std::max<index>(count - memory(), 0); t < count; ++t) {
            const index pair = t % memory();
            const double* const step = &steps(pair, 0);
            const double share = shares[pair] - inverses[pair] * inner(changes[pair], q);
            for (index j = 0; j < q.size(); ++j) q.data[j] += share * step[j];
        }
    }
};

Pairs as_pairs(Matrix<double> steps, Matrix<double> changes, Vector<double> inverses, Vector<double> shares,
               Vector<double> q) {
    require(steps.shape == changes.shape && inverses.size() == steps.shape[0] && shares.size() == steps.shape[0] &&
                steps.shape[1] == q.size() && steps.shape[0] > 0,
            "The shapes of pairs and gradient do not fit each other.");
    return {steps, changes, inverses, shares};
}

void first_loop(Matrix<double> steps, Matrix<double> changes, Vector<double> inverses, Vector<double> shares,
                index count, Vector<double> q) {
    as_pairs(steps, changes, inverses, shares, q).first_loop(count, q);
}

void second_loop(Matrix<double> steps, Matrix<double> changes, Vector<double> inverses, Vector<double> shares,
                 index count, Vector<double> q) {
    as_pairs(steps, changes, inverses, shares, q).second_loop(count, q);
}

// Where each fit is, its loss without the penalty, and what it remembers: see `Fits` in solvers/fits.py.
using FitParts =
    std::tuple<Matrix<double>, Vector<double>, Matrix<double>, Vector<double>, Cube<double>, Cube<double>,
               Matrix<double>, Matrix<double>, Vector<std::int64_t>, Matrix<double>, Vector<double>, Vector<double>,
               Vector<std::int64_t>>;

class Fits {
public:
    Matrix<double> theta;
    Vector<double> loss;
    Matrix<double> slope;
    Vector<double> value;
    Cube<double> steps, changes;
    Matrix<double> inverses, shares;
    Vector<std::int64_t> count;
    Matrix<double> direction;
    Vector<double> decrement, length;
    Vector<std::int64_t> shortened;
    Vector<const double> ridge;

    Fits(const FitParts& parts, Vector<const double> ridge) : ridge(ridge) {
        std::tie(theta, loss, slope, value, steps, changes, inverses, shares, count, direction, decrement, length,
                 shortened) = parts;
        const auto [n, p] = theta.shape;
        const index memory = steps.shape[1];
        const bool fit = loss.size() == n && slope.shape == theta.shape && value.size() == n &&
                         steps.shape == std::array{n, memory, p} && changes.shape == steps.shape &&
                         inverses.shape == std::array{n, memory} && shares.shape == inverses.shape &&
                         count.size() == n && direction.shape == theta.shape && decrement.size() == n &&
                         length.size() == n && shortened.size() == n && ridge.size() == p && memory > 0;
        require(fit, "The parts of the fits do not fit each other.");
    }

    index n_parameters() const { return ridge.size(); }
    Pairs pairs(index g) const { return {steps[g], changes[g], inverses[g], shares[g]}; }

    void require_going(Vector<const std::int64_t> going, Matrix<const double> q, Matrix<const double> aims) const {
        require_below(going, theta.shape[0], "There is no fit of that number.");
        require(q.shape[1] == n_parameters() && aims.shape[1] == n_parameters() && q.shape[0] >= going.size() &&
                    aims.shape[0] >= going.size(),
                "One gradient for each fit.");
    }

    // Remember the step of a fit to an aim, where its loss has this slope.
    void learn(index g, Vector<const double> aim, Vector<const double> new_slope) const {
        const index place = count[g] % steps.shape[1];
        const auto step = steps[g][place], change = changes[g][place];
        const auto from = theta[g], old_slope = slope[g];
        double curvature = 0.0, longest = 0.0, widest = 0.0;
        for (index j = 0; j < n_parameters(); ++j) {
            const double s = aim.data[j] - from.data[j];
            const double c = new_slope.data[j] - old_slope.data[j] + ridge.data[j] * s;
            curvature += s * c;
            longest += s * s;
            widest += c * c;
            step.data[j] = s;
            change.data[j] = c;
        }
        const bool shown = curvature > std::max(1e-14 * std::sqrt(longest * widest), 1e-300);
        inverses(g, place) = shown ? 1.0 / curvature : 0.0;
    }

    // Move the fits that descend enough to where they aimed, and write their gradients; shorten the others' steps.
    void accept(Vector<const std::int64_t> going, Matrix<const double> aims, Vector<const double> losses,
                Matrix<const double> slopes, Matrix<double> q) const {
        for (index i = 0; i < going.size(); ++i) {
            const index g = going[i];
            const auto aim = aims[i], new_slope = slopes[i];
            double reached = losses[i];
            for (index j = 0; j < n_parameters(); ++j) reached += 0.5 * ridge.data[j] * aim.data[j] * aim.data[j];
            const double promised = sufficient * length[g] * decrement[g];
            if (reached <= value[g] - promised + rounding * std::abs(value[g])) {
                learn(g, aim, new_slope);
                const auto own = q[i];
                copy(theta[g], aim);
                copy(slope[g], new_slope);
                for (index j = 0; j < n_parameters(); ++j)
                    own.data[j] = new_slope.data[j] + ridge.data[j] * aim.data[j];
                loss[g] = losses[i];
                value[g] = reached;
                length[g] = 1.0;
                shortened[g] = 0;
                ++count[g];
                pairs(g).first_loop(count[g], own);
            } else {
                length[g] *= shorter;
                ++shortened[g];
            }
        }
    }

    // Write where the fits look next, and return how many go on: these come first in `going` and `aims`.
    //
    // Others have arrived, where a step promises less than a share `tol` of the value, or have taken `most` steps.
    index aim(double tol, std::int64_t most, Vector<std::int64_t> going, Matrix<double> q, Matrix<double> aims) const {
        index kept = 0;
        for (index i = 0; i < going.size(); ++i) {
            const index g = going[i];
            bool goes_on = shortened[g] < most_shorter;
            if (shortened[g] == 0) {
                const auto own = q[i];
                pairs(g).second_loop(count[g], own);
                copy(direction[g], own);
                double promised = 0.0;
                for (index j = 0; j < n_parameters(); ++j)
                    promised += (slope(g, j) + ridge.data[j] * theta(g, j)) * own.data[j];
                decrement[g] = promised;
                goes_on = promised > 2.0 * tol * std::abs(value[g]) && count[g] < most;
            }
            if (!goes_on) continue;
            going[kept] = g;
            for (index j = 0; j < n_parameters(); ++j) aims(kept, j) = theta(g, j) - length[g] * direction(g, j);
            ++kept;
        }
        return kept;
    }
};

void accept(const FitParts& parts, Vector<const double> ridge, Vector<const std::int64_t> going,
            Matrix<const double> aims, Vector<const double> losses, Matrix<const double> slopes, Matrix<double> q) {
    const Fits fits(parts, ridge);
    fits.require_going(going, q, aims);
    require(losses.size() >= going.size() && slopes.shape[0] >= going.size() && slopes.shape[1] == ridge.size(),
            "One loss and slope for each fit.");
    fits.accept(going, aims, losses, slopes, q);
}

index aim(const FitParts& parts, Vector<const double> ridge, double tol, std::int64_t most, Vector<std::int64_t> going,
          Matrix<double> q, Matrix<double> aims) {
    const Fits fits(parts, ridge);
    fits.require_going(going, q, aims);
    return fits.aim(tol, most, going, q, aims);
}

// Bring all fits to their minima, and the `scores` (fits, n) of all rows; the passes it took.
//
// `rows` (n, parameters) are standardised, a column of ones among them; the `weight` (fits, n) of each fit sums to 1.
// Two-class losses alone: one score for each row and fit.
index descend(int code, double width, Matrix<const double> rows, const Codes& codes, Matrix<const double> weight,
              Vector<const double> offset, Vector<const double> ridge, Matrix<const double> inverse, double tol,
              std::int64_t most, const FitParts& parts, Vector<std::int64_t> going, Matrix<double> q,
              Matrix<double> scores) {
    const Fits fits(parts, ridge);
    const auto [n, p] = rows.shape;
    const index all = fits.theta.shape[0];
    fits.require_going(going, q, q);
    require(p == ridge.size() && inverse.shape == std::array{p, p} && weight.shape == std::array{all, n} &&
                scores.shape == weight.shape && offset.size() == n,
            "The shapes of rows, weights and fits do not fit each other.");
    return std::visit(
        [&, n = n, p = p](const auto own_code) {
            require(own_code.size() == n, "One class for each row.");
            return with_loss(code, width, [&, n = n, p = p](const auto loss) {
                const Room<double, 2> gradient(q), aims(all, p), directions(all, p), found(all, n), slopes(all, n);
                const Room<double, 1> losses(all);
                const Room<double, 2> new_slopes(all, p);
                index size = going.size(), passes = 0;
                while (true) {
                    // Gradients of the fits on their way become steps, and the lines of those that go on move up.
                    multiply(gradient.part(0, size), inverse, Transposed::neither, directions.part(0, size));
                    size = fits.aim(tol, most, going.part(0, size), directions, aims);
                    if (size == 0) return passes;
                    copy(gradient.part(0, size), directions.part(0, size));
                    multiply(aims.part(0, size), rows, Transposed::second, found.part(0, size));
                    for (index i = 0; i < size; ++i) {
                        const double* const own = &weight(going[i], 0);
                        double *score = &found(i, 0), *slope = &slopes(i, 0), total = 0.0;
                        for (index r = 0; r < n; ++r) {
                            const double sign = 2.0 * static_cast<double>(own_code.data[r]) - 1.0;
                            score[r] += offset.data[r];
                            const Derivatives at = loss(sign * score[r]);
                            total += own[r] * at.value;
                            slope[r] = sign * own[r] * at.slope;
                        }
                        losses[i] = total;
                    }
                    multiply(slopes.part(0, size), rows, Transposed::neither, new_slopes.part(0, size));
                    fits.accept(going.part(0, size), aims, losses, new_slopes, gradient);
                    for (index i = 0; i < size; ++i)
                        if (fits.shortened[going[i]] == 0) copy(scores[going[i]], found[i]);
                    ++passes;
                }
            });
        },
        codes);
}

}  // namespace

void bind_lbfgs(nanobind::module_& module) {
    module.attr("MEMORY") = memory_size;
    module.attr("SUFFICIENT") = sufficient;
    module.attr("ROUNDING") = rounding;
    kernel(module, "first_loop", first_loop,
           "From the newest pair of a fit to the oldest: take what they explain off its gradient ``q``; writes "
           "``shares``.");
    kernel(module, "second_loop", second_loop,
           "From the oldest pair to the newest: add what they explain to the direction ``q``.");
    kernel(module, "accept", accept,
           "Move the fits that descend enough to where they aimed, and write their gradients; shorten the others' "
           "steps.");
    kernel(module, "aim", aim,
           "Write where the fits look next, and return how many go on: these come first in ``going`` and ``aims``.\n\n"
           "Others have arrived, where a step promises less than a share ``tol`` of the value, or have taken ``most`` "
           "steps.");
    kernel(module, "descend", descend,
           "Bring all fits to their minima, and the ``scores`` (fits, n) of all rows; returns the passes it took.\n\n"
           "``rows`` (n, parameters) are standardised, a column of ones among them; the ``weight`` (fits, n) of each "
           "fit sums to 1. Two-class losses alone: one score for each row and fit.");
}

}  // namespace discriminant
