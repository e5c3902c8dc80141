// Support vector machines on a table that stays in a core's cache, without a return to Python.
//
// Minimises `ridge theta^2 / 2 + linear'theta + sum_i share_i loss(rows_i theta)`. The loss is a squared hinge, or a
// smoothed one while its width shrinks (`follow`); `solve` goes on to the hinge itself by an interior point method
// (Mehrotra 1992). The steps are those of margins/soft_margin.py and margins/interior_point.py, where a step is an
// expression of NumPy: of a few dozen rows that takes ten times as long as its arithmetic. `rows` (m, q) are times their
// sign.

#include "algebra.hpp"
#include "bindings.hpp"
#include "losses.hpp"

#include <nanobind/stl/tuple.h>

#include <vector>

namespace discriminant {
namespace {

// Curvature less than this share of the largest is left out of the second derivatives.
constexpr double flat_share = 1e-3;
constexpr index most_steps = 100, most_rounds = 30;
// From this many rows for each unknown on, the first widths are followed on every fourth row only.
constexpr index sampled = 40;
// Pivots of a Hessian this small, relative to its diagonal, are rounding.
constexpr double rounding = 1e-13;
// Steps go this part of the way to the point where something positive would become 0 (Mehrotra's usual 0.995).
constexpr double short_of_zero = 0.995, shortest = 1e-6;

struct Problem {
    Matrix<const double> rows;
    Vector<const double> share, linear, ridge;

    index count() const { return rows.shape[0]; }
    index unknowns() const { return rows.shape[1]; }

    double penalty(Vector<const double> theta) const {
        double total = 0.0;
        for (index j = 0; j < theta.size(); ++j) total += (linear[j] + 0.5 * ridge[j] * theta[j]) * theta[j];
        return total;
    }
    void margins(Vector<const double> theta, Vector<double> out) const {
        for (index i = 0; i < count(); ++i) out[i] = inner(rows[i], theta);
    }
    // Add the sum of all rows, each times its amount.
    void add(Vector<const double> amounts, Vector<double> out) const {
        for (index i = 0; i < count(); ++i) {
            const double amount = amounts[i];
            const double* const row = rows.data + i * unknowns();
            if (amount != 0.0)
                for (index j = 0; j < unknowns(); ++j) out.data[j] += amount * row[j];
        }
    }
};

// Newton's method on a smooth loss.
template <class Loss>
class Newton {
public:
    explicit Newton(const Problem& problem)
        : problem(problem),
          hessian(problem.unknowns(), problem.unknowns()),
          scaled(problem.count(), problem.unknowns()),
          margins(problem.count()),
          pulls(problem.count()),
          gradient(problem.unknowns()),
          direction(problem.unknowns()),
          next(problem.unknowns()) {}

    // Go to the minimum, until a step promises no more than `enough`; the steps.
    index minimise(Loss loss, Vector<double> theta, double flat, double enough) {
        double value = evaluate(loss, theta, flat);
        index steps = 0;
        for (; steps < most_steps; ++steps) {
            cholesky(hessian, rounding);
            solve_factored(hessian, gradient, direction);
            const double decrement = inner(Vector<double>(gradient), Vector<double>(direction));
            if (!(decrement > std::max(enough, 1e-15 * std::abs(value)))) break;
            double length = 1.0, reached = value;
            bool found = false;
            for (; length > 1e-6 && !found; length *= 0.3) {
                for (index j = 0; j < theta.size(); ++j) next[j] = theta[j] - length * direction[j];
                reached = evaluate(loss, next, flat);
                found = reached <= value - 1e-4 * length * decrement;
            }
            if (!found) break;
            copy(theta, Vector<double>(next));
            value = reached;
        }
        return steps;
    }

private:
    // The value; finds the gradient and the lower half of the Hessian, of rows whose curvature is above `flat`.
    double evaluate(Loss loss, Vector<const double> theta, double flat) {
        const index m = problem.count(), q = problem.unknowns();
        problem.margins(theta, margins);
        double value = problem.penalty(theta);
        index kept = 0;
        for (index i = 0; i < m; ++i) {
            const Derivatives at = loss(margins[i]);
            const double share = problem.share[i];
            value += share * at.value;
            pulls[i] = share * at.slope;
            if (!(at.curvature > flat)) continue;
            const double root = std::sqrt(share * at.curvature);
            const double* const row = problem.rows.data + i * q;
            double* __restrict const to = scaled.data + kept * q;
            for (index j = 0; j < q; ++j) to[j] = root * row[j];
            ++kept;
        }
        for (index j = 0; j < q; ++j) gradient[j] = problem.linear[j] + problem.ridge[j] * theta[j];
        problem.add(Vector<double>(pulls), gradient);
        multiply(scaled.part(0, kept), scaled.part(0, kept), Transposed::first, hessian);
        for (index j = 0; j < q; ++j) hessian(j, j) += problem.ridge[j];
        return value;
    }

    const Problem& problem;
    Room<double, 2> hessian, scaled;
    Room<double, 1> margins, pulls, gradient, direction, next;
};

// Move `theta` to the minimum of the smoothed hinge at each width from `width` down to `last`; the last width.
double follow(const Problem& problem, Vector<double> theta, double width, double last, double shrink, index& steps) {
    Newton<SmoothedHinge> newton(problem);
    while (true) {
        steps += newton.minimise(SmoothedHinge{width}, theta, flat_share * 0.25 / width, 0.2 * width * width);
        if (width <= last) return width;
        width /= shrink;
    }
}

// Each row's multiplier divided by its share (the dual), 1 minus the dual (its room), the slack and the surplus, all of
// them positive.
struct State {
    double dual, room, slack, surplus;
};

class InteriorPoint {
public:
    explicit InteriorPoint(const Problem& problem)
        : problem(problem),
          state(static_cast<std::size_t>(problem.count())),
          change(state.size()),
          cross(state.size()),
          hessian(problem.unknowns(), problem.unknowns()),
          scaled(problem.count(), problem.unknowns()),
          weight(problem.count()),
          margins(problem.count()),
          room(problem.count()),
          descent(problem.unknowns()),
          right(problem.unknowns()),
          d_theta(problem.unknowns()) {}

    // Move `theta` to the minimum of the hinge; the steps, 0 if the gap relative to the value is not `good`.
    index minimise(Vector<double> theta, double constant, double width, double good) {
        begin(theta, width);
        for (index taken = 0; taken < most_steps; ++taken) {
            if (!step(theta)) return 0;
            double size = constant + problem.penalty(theta);
            for (index i = 0; i < problem.count(); ++i) size += problem.share[i] * state[i].slack;
            if (gap_after(0.0) <= good * size) return taken + 1;
        }
        return 0;
    }

    double dual(index i) const { return state[i].dual; }

private:
    // The state at `theta` in which slack times surplus is `width^2` for every row.
    void begin(Vector<const double> theta, double width) {
        problem.margins(theta, margins);
        for (index i = 0; i < problem.count(); ++i) {
            const Derivatives at = SmoothedHinge{width}(margins[i]);
            const double surplus = width * width / at.value;
            state[i] = {-at.slope, surplus / (at.value + surplus), at.value, surplus};
        }
    }

    // The sum of the complementary products, each times its row's share, after a step of some length.
    double gap_after(double length) const {
        double total = 0.0;
        for (index i = 0; i < problem.count(); ++i) {
            const State &at = state[i], &by = change[i];
            total += problem.share[i] * ((at.dual + length * by.dual) * (at.surplus + length * by.surplus) +
                                         (at.room + length * by.room) * (at.slack + length * by.slack));
        }
        return total;
    }

    // How far one can go before something is 0.
    double longest() const {
        double length = std::numeric_limits<double>::infinity();
        const auto until = [&length](double from, double by) {
            if (by < 0.0) length = std::min(length, -from / by);
        };
        for (std::size_t i = 0; i < state.size(); ++i) {
            until(state[i].dual, change[i].dual);
            until(state[i].room, change[i].room);
            until(state[i].slack, change[i].slack);
            until(state[i].surplus, change[i].surplus);
        }
        return length;
    }

    // Find the changes that bring all complementary products to `target`, to first order.
    void find_direction(double target) {
        const index m = problem.count();
        for (index i = 0; i < m; ++i) {
            const State& at = state[i];
            State& by = change[i];
            // First what slack and surplus would change by if the dual stayed, then what the dual's change adds.
            by.surplus = (target - at.dual * at.surplus - cross[i].surplus) / at.dual;
            by.slack = (target - at.room * at.slack + cross[i].slack) / at.room;
            by.dual = (1.0 - margins[i]) - at.slack + at.surplus + by.surplus - by.slack;
            room[i] = problem.share[i] * weight[i] * by.dual;
        }
        copy(right, Vector<double>(descent));
        problem.add(Vector<double>(room), right);
        solve_factored(hessian, right, d_theta);
        problem.margins(d_theta, room);
        for (index i = 0; i < m; ++i) {
            const State& at = state[i];
            State& by = change[i];
            by.dual = weight[i] * (by.dual - room[i]);
            by.room = -by.dual;
            by.slack += at.slack / at.room * by.dual;
            by.surplus -= at.surplus / at.dual * by.dual;
        }
    }

    // Take Mehrotra's predictor-corrector step; whether there was one.
    bool step(Vector<double> theta) {
        const index m = problem.count(), q = problem.unknowns();
        for (index i = 0; i < m; ++i) {
            const State& at = state[i];
            weight[i] = 1.0 / (at.slack / at.room + at.surplus / at.dual);
            const double root = std::sqrt(problem.share[i] * weight[i]);
            const double* const row = problem.rows.data + i * q;
            double* __restrict const to = scaled.data + i * q;
            for (index j = 0; j < q; ++j) to[j] = root * row[j];
            room[i] = problem.share[i] * at.dual;
        }
        multiply(scaled, scaled, Transposed::first, hessian);
        for (index j = 0; j < q; ++j) {
            hessian(j, j) += problem.ridge[j];
            descent[j] = -problem.linear[j] - problem.ridge[j] * theta[j];
        }
        if (cholesky(hessian, 0.0) > 0) return false;
        problem.add(Vector<double>(room), descent);
        problem.margins(theta, margins);
        std::fill(change.begin(), change.end(), State{});
        std::fill(cross.begin(), cross.end(), State{});
        const double gap = gap_after(0.0);
        find_direction(0.0);
        const double then = gap_after(std::min(1.0, longest()));
        const double ratio = then / std::max(gap, 1e-300), target = ratio * ratio * ratio * gap / sum(problem.share) / 2.0;
        for (index i = 0; i < m; ++i) {
            cross[i].surplus = change[i].dual * change[i].surplus;
            cross[i].slack = change[i].dual * change[i].slack;
        }
        find_direction(target);
        const double length = std::min(1.0, short_of_zero * longest());
        if (!(length >= shortest) || !std::isfinite(sum(Vector<double>(d_theta)))) return false;
        for (index j = 0; j < q; ++j) theta[j] += length * d_theta[j];
        for (index i = 0; i < m; ++i) {
            state[i].dual += length * change[i].dual;
            state[i].room += length * change[i].room;
            state[i].slack += length * change[i].slack;
            state[i].surplus += length * change[i].surplus;
        }
        return true;
    }

    const Problem& problem;
    std::vector<State> state, change, cross;
    Room<double, 2> hessian, scaled;
    Room<double, 1> weight, margins, room, descent, right, d_theta;
};

// Some rows, and their shares times a factor.
struct Chosen {
    Room<double, 2> rows;
    Room<double, 1> share;

    Chosen(const Problem& problem, const std::vector<index>& places, double factor)
        : rows(static_cast<index>(places.size()), problem.unknowns()), share(static_cast<index>(places.size())) {
        for (index k = 0; k < share.size(); ++k) {
            copy(rows[k], problem.rows[places[k]]);
            share[k] = factor * problem.share[places[k]];
        }
    }
};

Problem as_problem(Matrix<const double> rows, Vector<const double> share, Vector<const double> linear,
                   Vector<const double> ridge, Vector<const double> theta) {
    require(share.size() == rows.shape[0] && linear.size() == rows.shape[1] && ridge.size() == rows.shape[1] &&
                theta.size() == rows.shape[1],
            "The shapes of rows and unknowns do not fit each other.");
    return {rows, share, linear, ridge};
}

// Move `theta` to the minimum of the squared hinge; the steps.
index minimise_squared(Matrix<const double> rows, Vector<const double> share, Vector<const double> ridge,
                       Vector<double> theta) {
    const Room<double, 1> none({rows.shape[1]}, 0.0);
    const Problem problem = as_problem(rows, share, none, ridge, theta);
    return Newton<SquaredHinge>(problem).minimise(SquaredHinge{}, theta, 0.0, 0.0);
}

// Move `theta` to the minimum of the hinge and write every row's multiplier divided by its bound; the steps, 0 if lost.
index solve(Matrix<const double> rows, Vector<const double> share, Vector<const double> ridge, Vector<double> theta,
            Vector<double> used, double first, double last, double shrink, double near_widths, double good) {
    const index m = rows.shape[0], q = rows.shape[1];
    const Room<double, 1> linear({q}, 0.0), margins(m);
    const Problem problem = as_problem(rows, share, linear, ridge, theta);
    require(used.size() == m, "One multiplier for each row.");
    index steps = 0;
    if (m >= sampled * q) {
        std::vector<index> places;
        for (index i = 0; i < m; i += 4) places.push_back(i);
        const Chosen sample(problem, places, 4.0);
        first = follow({sample.rows, sample.share, linear, ridge}, theta, first, first / shrink, shrink, steps);
    }
    const double width = follow(problem, theta, first, last, shrink, steps);
    problem.margins(theta, margins);
    // Rows near the kink make the working set; those beyond it contribute a constant gradient.
    std::vector<bool> near(static_cast<std::size_t>(m)), pulling(near.size());
    for (index i = 0; i < m; ++i) {
        near[i] = std::abs(1.0 - margins[i]) < near_widths * width;
        pulling[i] = margins[i] < 1.0 && !near[i];
    }
    for (index round = 0; round < most_rounds; ++round) {
        std::vector<index> places;
        double constant = 0.0;
        linear.fill(0.0);
        for (index i = 0; i < m; ++i) {
            used[i] = pulling[i] ? 1.0 : 0.0;
            if (near[i]) places.push_back(i);
            if (!pulling[i]) continue;
            constant += share[i];
            for (index j = 0; j < q; ++j) linear[j] -= share[i] * rows(i, j);
        }
        const Chosen chosen(problem, places, 1.0);
        const Problem own{chosen.rows, chosen.share, linear, ridge};
        InteriorPoint interior(own);
        const index more = interior.minimise(theta, constant, width / shrink, good);
        if (more == 0) return 0;
        steps += more;
        problem.margins(theta, margins);
        bool violated = false;
        for (index i = 0; i < m; ++i)
            if (!near[i] && (margins[i] < 1.0) != pulling[i]) {
                near[i] = violated = true;
                pulling[i] = false;
            }
        if (violated) continue;
        for (std::size_t k = 0; k < places.size(); ++k) used[places[k]] = interior.dual(static_cast<index>(k));
        return steps;
    }
    return 0;
}

}  // namespace

void bind_hinge(nanobind::module_& module) {
    kernel(module, "minimise_squared", minimise_squared,
           "Move ``theta`` to the minimum of the squared hinge; the steps. ``rows`` (m, q) are times their sign.");
    kernel(module, "solve", solve,
           "Move ``theta`` to the minimum of the hinge and write every row's multiplier divided by its bound; the "
           "steps, 0 if lost.\n\nThe smoothed hinge is followed from the width ``first`` to ``last``; rows within "
           "``near_widths`` of these of the kink are solved to a gap that is ``good`` relative to the value.");
}

}  // namespace discriminant
