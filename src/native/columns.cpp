// Logistic and softmax regression with an L1 penalty, on a table in memory that is stored by columns.
//
// `columns` (p, n), dense or sparse, are standardised, the last one 1 where there is an intercept; `theta` and the
// `gradient` of the mean loss (C, p); `scores` (C, n). `penalty` is `(l1, ridge)`, each (p,), 0 for the intercept.
// `rows` are `(weight, curves, shares)`: weights (n,) that sum to 1, the weighted curvature of each score (C, n), and of
// several scores the probabilities (C, n).
//
// A quadratic model of the loss at the present scores is minimised over the *members*, the columns that may matter, by
// coordinate descent (Friedman, Hastie & Tibshirani 2010; column_model.hpp).

#include "bindings.hpp"
#include "column_model.hpp"
#include "rows.hpp"

#include <variant>

namespace discriminant {
namespace {

// A set of members starts with at most this many columns beyond those that the strong rule keeps, and then doubles.
constexpr index first_members = 256;
// Models are minimised to a share of the tolerance, a smaller one below this: coefficients have half the digits of the
// objective.
constexpr double last_tolerance = 1e-9;
// The strong rule discards columns whose gradient is below the penalty by the decrease of the penalty. A wrong discard
// costs a pass over all columns, a needless column a few visits, so the rule assumes a decrease this many times as large,
constexpr double lenient = 2.0;
// but keeps the bound above this share of the penalty, for strengths that differ much.
constexpr double least_bound = 0.5;
enum Reason { optimal, steps_used_up, no_descent, not_finite };

// The transposed table, whose rows are columns: dense, or the parts of a CSC matrix.
using Columns = std::variant<Matrix<const double>, Csr<double, std::int32_t>::Parts, Csr<double, std::int64_t>::Parts>;
using PenaltyParts = std::tuple<Vector<const double>, Vector<const double>>;

// The state of a fit: coefficients, their scores, and the slopes and the mean loss there.
struct State {
    Matrix<double> theta, scores, slopes;
    double loss;
};

// Go from `start` towards the state's theta until the objective decreases enough; the step length, 0 if it does not.
double line_search(const auto& problem, const Places& members, const Penalty& penalty, Matrix<const double> start,
                   State& state, double value, double gain) {
    const Buffer<double, 2> target(state.theta), changed(state.scores.shape[0], state.scores.shape[1]);
    double length = 1.0;
    while (length > 1e-4) {
        copy(changed, state.scores);
        change_scores(problem.columns, members, start, state.theta, changed);
        const double loss = mean_loss(changed, problem.codes, problem.rows, state.slopes);
        if (loss + penalty.of(state.theta, members) <= value - 1e-4 * length * gain + 1e-15 * value) {
            copy(state.scores, changed);
            state.loss = loss;
            return length;
        }
        length *= 0.25;
        for (index j : members)
            for (index k = 0; k < start.shape[0]; ++k)
                state.theta(k, j) = start(k, j) + length * (target(k, j) - start(k, j));
    }
    copy(state.theta, start);
    mean_loss(state.scores, problem.codes, problem.rows, state.slopes);
    return 0.0;
}

// An upper bound on the gain of another step, which comes from the loss not being quadratic.
//
// At the minimum of the `model` its slopes differ from the true ones by d; the next step gains d'X H^-1 X'd / 2 with
// H = X'WX and the IRLS weights W, which is at most d'W^-1 d / 2.
double nonquadratic_gain(const RowParts& rows, Matrix<const double> model, Matrix<const double> slopes) {
    const auto& [weight, curves, shares] = rows;
    const auto [n_scores, n] = slopes.shape;
    double total = 0.0;
    for (index k = 0; k < n_scores; ++k) {
        const double *slope = slopes.data + k * n, *modelled = model.data + k * n;
        const double *curve = n_scores == 1 ? curves.data : shares.data + k * n;
        const double* const own = weight.data;
        for (index i = 0; i < n; ++i) {
            const double difference = slope[i] - modelled[i], row_curvature = n_scores == 1 ? curve[i] : own[i] * curve[i];
            total += difference != 0.0 ? 0.5 * difference * difference / row_curvature : 0.0;
        }
    }
    return total;
}

struct Effort {
    double remaining;
    index steps, visits, passes;
    Reason reason;
};

// Proximal Newton steps over the members until the remaining gain is a share `tol` of the objective or less.
//
// The step is always taken; at a start within the tolerance it is not counted. `visits` are sweeps.
Effort minimise_members(const auto& problem, const Places& members, const Penalty& penalty, State& state, double tol,
                        index most) {
    const Buffer<double, 2> model(state.slopes.shape[0], state.slopes.shape[1]);
    const double precision = tol * std::min(0.1, 0.01 * tol / last_tolerance);
    index steps = 0, sweeps = 0;
    while (true) {
        const double value = state.loss + penalty.of(state.theta, members);
        const Buffer<double, 2> start(state.theta);
        copy(model, state.slopes);
        const auto [gain, expected, more] =
            Model(problem, members, penalty, state.theta, model).minimise(value, precision * value);
        sweeps += more;
        const bool arrived = gain <= tol * value, finite = std::isfinite(gain + value);
        if (!finite || (steps >= most && !arrived)) {
            copy(state.theta, start);
            return {gain, steps, sweeps, 0, finite ? steps_used_up : not_finite};
        }
        const double length = line_search(problem, members, penalty, start, state, value, gain);
        if (length == 0.0)
            return {gain, steps, sweeps, 0, gain <= std::max(tol, 1e-7) * value ? optimal : no_descent};
        const double left = length == 1.0 ? expected + nonquadratic_gain(problem.rows, model, state.slopes) : infinity;
        steps += !arrived;
        if (arrived || left <= tol * value) return {std::min(left, gain), steps, sweeps, 0, optimal};
    }
}

// The gain of the columns that are not members, each on its own.
double gain_of_others(const auto& problem, const std::vector<bool>& is_member, const Penalty& penalty,
                      Matrix<const double> gradient) {
    double total = 0.0;
    for (index j = 0; j < penalty.l1.size(); ++j)
        for (index k = 0; k < gradient.shape[0]; ++k) {
            const double over = std::abs(gradient(k, j)) - penalty.l1[j];
            if (over > 0.0 && !is_member[j])
                total += 0.5 * over * over / (penalty.ridge[j] + curvature_of(problem.columns, j, problem.curves()[k]));
        }
    return total;
}

// Mark columns whose gradient exceeds `bound` times the penalty, the steepest where they are many; how many.
index join(std::vector<bool>& is_member, const Penalty& penalty, double bound, Matrix<const double> theta,
           Matrix<const double> gradient) {
    const index p = penalty.l1.size();
    const Buffer<double, 1> ratio({p}, 0.0);
    index size = 0;
    for (index j = 0; j < p; ++j) {
        bool member = is_member[j] || penalty.l1[j] == 0.0;
        for (index k = 0; k < theta.shape[0]; ++k) member |= theta(k, j) != 0.0;
        is_member[j] = member;
        size += member;
        for (index k = 0; k < theta.shape[0] && !member; ++k)
            ratio[j] = std::max(ratio[j], std::abs(gradient(k, j)) / penalty.l1[j]);
    }
    const auto wanted = [&] {
        index count = 0;
        for (index j = 0; j < p; ++j) count += ratio.data[j] > bound;
        return count;
    };
    index count = wanted();
    while (count > size + first_members) {
        bound *= 1.1;
        count = wanted();
    }
    for (index j = 0; j < p; ++j)
        if (ratio[j] > bound) is_member[j] = true;
    return count;
}

// Minimise mean loss plus penalty from where the state is, in place.
//
// Columns whose `gradient` exceeds `bound` times the penalty are members from the start. Then the gradient of all
// columns shows which ones violate their condition; they join unless their total gain is within the tolerance.
Effort minimise_penalised(const auto& problem, const Penalty& penalty, double bound, State& state,
                          Matrix<double> gradient, double tol, index most) {
    const index p = problem.columns.count();
    std::vector<bool> is_member(static_cast<std::size_t>(p));
    Effort all{0.0, 0, 0, 0, optimal};
    join(is_member, penalty, bound, state.theta, gradient);
    while (true) {
        Places members;
        for (index j = 0; j < p; ++j)
            if (is_member[j]) members.push_back(j);
        const Effort own = minimise_members(problem, members, penalty, state, tol, most - all.steps);
        find_products(problem.columns, state.slopes, gradient);
        const double left = own.remaining + gain_of_others(problem, is_member, penalty, gradient);
        all = {left, all.steps + own.steps, all.visits + own.visits * static_cast<index>(members.size()),
               all.passes + 1, own.reason};
        const bool enough = left <= tol * (state.loss + penalty.of(state.theta, members));
        if (own.reason != optimal || enough || join(is_member, penalty, 1.0, state.theta, gradient) == 0) return all;
    }
}

// The columns with a coefficient that is not 0.
Places nonzero_columns(Matrix<const double> theta) {
    Places found;
    for (index j = 0; j < theta.shape[1]; ++j)
        for (index k = 0; k < theta.shape[0]; ++k)
            if (theta(k, j) != 0.0) {
                found.push_back(j);
                break;
            }
    return found;
}

// Start from the extrapolation of the last two solutions, if the objective is smaller there than at the last.
//
// Coefficients that are 0, or would change their sign, are not extrapolated.
void extrapolate(const auto& problem, const Penalty& penalty, double length, Matrix<const double> older,
                 Matrix<const double> offset, State& state) {
    const Places members = nonzero_columns(state.theta);
    const double value = state.loss + penalty.of(state.theta, members);
    const Buffer<double, 2> ahead(state.theta), moved(offset), nothing(state.theta.shape, 0.0);
    for (index j : members)
        for (index k = 0; k < ahead.shape[0]; ++k) {
            const double x = state.theta(k, j), extrapolated = x + length * (x - older(k, j));
            if (extrapolated * x > 0.0) ahead(k, j) = extrapolated;
        }
    change_scores(problem.columns, members, nothing, ahead, moved);
    state.loss = mean_loss(moved, problem.codes, problem.rows, state.slopes);
    if (state.loss + penalty.of(ahead, members) < value) {
        copy(state.theta, ahead);
        copy(state.scores, moved);
    } else {
        state.loss = mean_loss(state.scores, problem.codes, problem.rows, state.slopes);
    }
}

// ---- What Python calls ----

// Write the columns of some rows, `(x - centre) / scale`, to `out` (columns, all rows), from `start` on.
void standardised_columns(const Reals<2>& table, Vector<const double> centre, Vector<const double> scale, index start,
                          Matrix<double> out) {
    std::visit(
        [&](const auto X) {
            const auto [n, p] = X.shape;
            require(centre.size() == p && scale.size() == p && out.shape[0] >= p && start >= 0 &&
                        start + n <= out.shape[1],
                    "The shapes of rows, units and columns do not fit each other.");
            constexpr index together = 16;  // a few columns at a time, which share the cache lines of both sides
            for (index first = 0; first < p; first += together)
                for (index i = 0; i < n; ++i)
                    for (index j = first; j < std::min(first + together, p); ++j)
                        out(j, start + i) = (X(i, j) - centre[j]) / scale[j];
        },
        table);
}

// The columns, whose rows are those of the scores.
auto checked(const auto& parts, const auto& scores) {
    auto columns = as_rows(parts);
    require(columns.have_width(scores.shape[1]), "One score for each row.");
    columns.check(0, columns.count());
    return columns;
}

void require_classes(const Codes& codes, Vector<const double> weight, const auto& scores) {
    require(weight.size() == scores.shape[1], "One weight for each row.");
    const index n_classes = std::max<index>(scores.shape[0], 2);
    std::visit(
        [&](const auto code) {
            require(code.size() == scores.shape[1], "One class for each row.");
            require_below(code, n_classes, "There is no class of that number.");
        },
        codes);
}

double weighted_losses(Matrix<const double> scores, const Codes& codes, const RowParts& rows, Matrix<double> slopes) {
    require_classes(codes, std::get<0>(rows), scores);
    require(slopes.shape == scores.shape && std::get<1>(rows).shape == scores.shape &&
                std::get<2>(rows).shape == scores.shape && scores.shape[0] > 0,
            "One slope for each score.");
    return mean_loss(scores, codes, rows, slopes);
}

void add_scores(const Columns& table, Vector<const std::int64_t> members, Matrix<const double> before,
                Matrix<const double> theta, Matrix<double> scores) {
    std::visit(
        [&](const auto& parts) {
            const auto columns = checked(parts, scores);
            require(before.shape == theta.shape && theta.shape == std::array{scores.shape[0], columns.count()},
                    "The shapes of columns and coefficients do not fit each other.");
            require_below(members, columns.count(), "There is no column of that number.");
            change_scores(columns, members, before, theta, scores);
        },
        table);
}

void add_products(const Columns& table, Matrix<const double> slopes, Matrix<double> out) {
    std::visit(
        [&](const auto& parts) {
            const auto columns = checked(parts, slopes);
            require(out.shape == std::array{slopes.shape[0], columns.count()},
                    "The shapes of columns and slopes do not fit each other.");
            find_products(columns, slopes, out);
        },
        table);
}

// Minimise mean loss plus penalty at decreasing strengths, each started by extrapolation from the two before it.
//
// `units` (l1, ridge) times a strength are its penalty. The first two strengths are those of `begin`, which goes along:
// coefficients at the first and at the second, and the gradient of the mean loss at the second; where they are equal,
// the second need not be solved. Columns are screened by the sequential strong rule (Tibshirani et al. 2012).
//
// Of each strength that follows, `thetas` and `gradients` take the solution and the gradient of its mean loss, `found`
// the mean loss, the remaining gain, the steps, the sweeps over a column, the passes over all columns, and the reason
// for stopping.
void minimise_path(const Columns& table, const Codes& codes, Vector<const double> weight, Matrix<const double> offset,
                   const PenaltyParts& units, Vector<const double> strengths, double tol, index most,
                   const std::tuple<Matrix<double>, Matrix<double>, Matrix<double>>& begin, Cube<double> thetas,
                   Cube<double> gradients, Matrix<double> found) {
    const auto& [older, theta, gradient] = begin;
    const auto& [unit_l1, unit_ridge] = units;
    const index p = unit_l1.size(), n_scores = offset.shape[0];
    require_classes(codes, weight, offset);
    require(n_scores > 0 && theta.shape == std::array{n_scores, p} && older.shape == theta.shape &&
                gradient.shape == theta.shape && unit_ridge.size() == p,
            "The shapes of columns and coefficients do not fit each other.");
    require(found.shape[1] == 6 && strengths.size() == found.shape[0] + 2 &&
                thetas.shape == std::array{found.shape[0], n_scores, p} && gradients.shape == thetas.shape,
            "Outputs need a place for each strength.");
    std::visit(
        [&, older = older, theta = theta, gradient = gradient, unit_l1 = unit_l1,
         unit_ridge = unit_ridge](const auto& parts) {
            const auto columns = checked(parts, offset);
            require(columns.count() == p, "One penalty for each column.");
            const Buffer<double, 2> curves(n_scores, offset.shape[1]), shares(n_scores, offset.shape[1]),
                scores(offset), slopes(n_scores, offset.shape[1]), nothing(theta.shape, 0.0);
            const Problem<std::remove_const_t<decltype(columns)>> problem{columns, codes, {weight, curves, shares}};
            State state{theta, scores, slopes, 0.0};
            change_scores(columns, nonzero_columns(theta), nothing, theta, scores);
            state.loss = mean_loss(scores, codes, problem.rows, slopes);
            for (index s = 0; s < found.shape[0]; ++s) {
                const double oldest = strengths[s], stronger = strengths[s + 1], strength = strengths[s + 2];
                const Buffer<double, 1> l1(unit_l1), ridge(unit_ridge);
                for (index j = 0; j < p; ++j) {
                    l1[j] *= strength;
                    ridge[j] *= strength;
                }
                const Penalty penalty{l1, ridge};
                const Buffer<double, 2> last(theta);
                if (oldest != stronger)
                    extrapolate(problem, penalty, (strength - stronger) / (stronger - oldest), older, offset, state);
                const double bound =
                    std::max(1.0 - lenient * (stronger / std::max(strength, 1e-300) - 1.0), least_bound);
                const Effort effort = minimise_penalised(problem, penalty, bound, state, gradient, tol, most);
                const double facts[] = {state.loss, effort.remaining, double(effort.steps), double(effort.visits),
                                        double(effort.passes), double(effort.reason)};
                std::copy_n(facts, 6, &found(s, 0));
                copy(older, last);
                copy(thetas[s], theta);
                copy(gradients[s], gradient);
            }
        },
        table);
}

}  // namespace

void bind_columns(nanobind::module_& module) {
    kernel(module, "standardised_columns", standardised_columns,
           "Write the columns of some rows, ``(x - centre) / scale``, to ``out`` (columns, all rows), from ``start`` on.");
    kernel(module, "weighted_losses", weighted_losses,
           "The mean loss; writes the weighted slopes, curvatures and probabilities of all scores.\n\n``rows`` are "
           "(weight, curves, shares).");
    kernel(module, "add_scores", add_scores,
           "Change the scores as the coefficients of the members change from ``before`` to ``theta``.");
    kernel(module, "add_products", add_products, "Write the gradient of the mean loss in all parameters.");
    kernel(module, "minimise_path", minimise_path,
           "Minimise mean loss plus penalty at decreasing strengths, each started by extrapolation from the two before it.\n\n"
           "``units`` (l1, ridge) times a strength are its penalty. The first two strengths are those of ``state``, "
           "which goes along: coefficients at the first and at the second, and the gradient of the mean loss at the "
           "second; where they are equal, the second need not be solved. Columns are screened by the sequential strong "
           "rule (Tibshirani et al. 2012).\n\nOf each strength that follows, ``thetas`` and ``gradients`` take the "
           "solution and the gradient of its mean loss, ``found`` the mean loss, the remaining gain, the steps, the "
           "sweeps over a column, the passes over all columns, and the reason for stopping.");
}

}  // namespace discriminant
