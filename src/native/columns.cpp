// Logistic and softmax regression with an L1 penalty, on a small table kept by columns, without a return to Python.
//
// `columns` (p, n) are standardised, the last one 1 where there is an intercept; `theta` and the `gradient` of the mean
// loss (C, p); `scores` (C, n). `penalty` is `(l1, ridge)`, each (p,), 0 for the intercept. `rows` are `(weight, curves,
// shares)`: weights (n,) that sum to 1, the weighted curvature of each score (C, n), and of several scores the
// probabilities (C, n).
//
// A quadratic model of the loss at the present scores is minimised over the *members*, the columns that may matter, by
// coordinate descent (Friedman, Hastie & Tibshirani 2010). Instead of the model's Hessian its slopes in the scores are
// kept: a visit costs n, and a change C n.

#include "algebra.hpp"
#include "bindings.hpp"
#include "losses.hpp"
#include "rows.hpp"

#include <limits>
#include <optional>
#include <vector>

namespace discriminant {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A model is minimised until sweeps promise less than this share of what they have gained, and than the square root of
// its share of the objective: far from the minimum the next model is better, near it errors are to square.
constexpr double least_share = 0.02;
// A jump costs about as many sweeps as the support has columns, and is not tried before so many.
constexpr index least_sweeps = 12, most_jumps = 60;
// Sweeps creep where one gains more than this share of the one before.
constexpr double creeping = 0.9;
// What the diagonal of a singular matrix is raised by, relatively: enough for a Cholesky factor.
constexpr double collinear = 1e-11;
// A set of members starts with at most this many columns beyond those that the strong rule keeps, and then doubles.
constexpr index first_members = 256;
// Models are minimised to a share of the tolerance, a smaller one below this: coefficients have half the digits of the
// objective.
constexpr double last_tolerance = 1e-9;
// The strong rule discards columns whose gradient is below the penalty by what that has fallen. One left out wrongly
// costs a pass over all of them, one too many a few visits, so the rule allows for a greater fall,
constexpr double lenient = 2.0;
// but where strengths are far apart not for more than leaves this share of the penalty.
constexpr double least_bound = 0.5;
enum Reason { optimal, steps_used_up, no_descent, not_finite };

using Places = std::vector<index>;
using RowParts = std::tuple<Vector<const double>, Matrix<double>, Matrix<double>>;
using PenaltyParts = std::tuple<Vector<const double>, Vector<const double>>;

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
    Room<double, 1> top(scores[0]), mass({n}, 0.0);
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

double mean_loss(Matrix<const double> scores, const Codes& codes, const RowParts& rows, Matrix<double> slopes) {
    return std::visit(
        [&](const auto code) {
            if (scores.shape[0] > 1) return mean_softmax_loss(scores, code, rows, slopes);
            return mean_logistic_loss(scores[0], code, std::get<0>(rows), slopes[0], std::get<1>(rows)[0]);
        },
        codes);
}

// Change the scores as the coefficients of the members change from `before` to `theta`.
void change_scores(Matrix<const double> columns, const auto& members, Matrix<const double> before,
                   Matrix<const double> theta, Matrix<double> scores) {
    const index n = scores.shape[1];
    for (index j : members) {
        const double* const column = columns.data + j * n;
        for (index k = 0; k < theta.shape[0]; ++k) {
            const double change = theta(k, j) - before(k, j);
            double* __restrict const own = scores.data + k * n;
            if (change != 0.0)
                for (index i = 0; i < n; ++i) own[i] += change * column[i];
        }
    }
}

// Write the gradient of the mean loss in all parameters.
void find_products(Matrix<const double> columns, Matrix<const double> slopes, Matrix<double> out) {
    for (index j = 0; j < columns.shape[0]; ++j)
        for (index k = 0; k < slopes.shape[0]; ++k) out(k, j) = inner(columns[j], slopes[k]);
}

// Change the model's slopes in the scores as the coefficient of a column in score `k` changes.
void add_bend(Vector<const double> column, index k, double change, const RowParts& rows, Matrix<double> slopes) {
    const auto& [weight, curves, shares] = rows;
    const index n = column.size();
    const double* const x = column.data;
    double* __restrict const own = slopes.data + k * n;
    const double* const curve = curves.data + k * n;
    for (index i = 0; i < n; ++i) own[i] += change * x[i] * curve[i];
    for (index m = 0; m < slopes.shape[0]; ++m) {
        if (m == k) continue;
        double* __restrict const other = slopes.data + m * n;
        const double *mine = shares.data + k * n, *others = shares.data + m * n, *w = weight.data;
        for (index i = 0; i < n; ++i) other[i] -= change * x[i] * w[i] * mine[i] * others[i];
    }
}

double curvature_of(Vector<const double> column, Vector<const double> curves) {
    return sum_over(column.size(), [x = column.data, curve = curves.data](index i) { return x[i] * x[i] * curve[i]; });
}

// What stays the same along a path: the columns, classes and offsets; and the rows as they are at the present scores.
struct Problem {
    Matrix<const double> columns;
    const Codes& codes;
    RowParts rows;

    Matrix<const double> curves() const { return std::get<1>(rows); }
};

// The quadratic model over the members: minimised from `theta`, with its `slopes` in the scores.
class Model {
public:
    Model(const Problem& problem, const Places& members, const Penalty& penalty, Matrix<double> theta,
          Matrix<double> slopes)
        : problem(problem),
          members(members),
          penalty(penalty),
          theta(theta),
          slopes(slopes),
          diagonal({theta.shape[0], static_cast<index>(members.size())}, -1.0) {}

    struct Minimum {
        double gained, left;
        index sweeps;
    };

    // Sweeps go over all members, then over the support until these promise little, and so on. What they promise
    // follows from the rate at which their gains fall. Where they creep, between columns that are nearly collinear, that
    // is a guess, and what is left is not known: infinity.
    Minimum minimise(double value, double enough) {
        double gained = 0.0, before = infinity, rate = 0.0, slowest = 0.0, length = 1.0;
        index sweeps = 0, since_jump = 0, jumps = 0;
        while (true) {
            const bool over_all = before == infinity;
            const double gain = sweep(over_all);
            gained += gain;
            ++sweeps;
            ++since_jump;
            if (!over_all) {  // else the set of columns is another one, and the last rate as good a guess as any
                rate = before > 0.0 ? std::min(gain / before, 0.999) : 0.0;
                slowest = std::max(slowest, rate);
            }
            const double share = std::min(least_share, std::sqrt(std::max(gained, 0.0) / (value + 1e-300)));
            const double promised = std::max(gain, gain * rate / (1.0 - rate));
            const bool little = promised <= std::max(enough, share * gained);
            // A jump that was cut short is followed by another, with the coefficients that are left.
            if ((little && over_all && length == 1.0) || jumps == most_jumps || !std::isfinite(gain))
                return {gained, slowest <= creeping && jumps == 0 ? promised : infinity, sweeps};
            before = little ? infinity : gain;
            if (length < 1.0 || (since_jump >= least_sweeps && !little)) {
                find_support();
                if (length < 1.0 || since_jump >= static_cast<index>(support.size())) {
                    const auto [more, reached] = jump();
                    gained += std::max(more, 0.0);
                    length = more > enough ? reached : 1.0;
                    ++jumps;
                    since_jump = 0;
                    before = infinity;
                }
            }
        }
    }

private:
    struct Coefficient {
        index k, j;
    };
    struct Jump {
        double gain, length;
    };

    // Coordinate descent over all members, or over those that are not 0; what the model gains.
    double sweep(bool over_all) {
        double gain = 0.0;
        for (std::size_t a = 0; a < members.size(); ++a) {
            const index j = members[a];
            const auto column = problem.columns[j];
            const double l1 = penalty.l1[j], ridge = penalty.ridge[j];
            for (index k = 0; k < theta.shape[0]; ++k) {
                const double x = theta(k, j);
                if (!over_all && x == 0.0 && l1 > 0.0) continue;
                const double slope = inner(column, slopes[k]) + ridge * x;
                if (x == 0.0 && std::abs(slope) <= l1) continue;
                double& column_curvature = diagonal(k, static_cast<index>(a));
                if (column_curvature < 0.0) column_curvature = curvature_of(column, problem.curves()[k]);
                const double curvature = column_curvature + ridge;
                double best = l1 > 0.0 ? 0.0 : x;
                if (curvature > 0.0) {
                    const double aim = x - slope / curvature;
                    best = sign_of(aim) * std::max(std::abs(aim) - l1 / curvature, 0.0);
                }
                const double change = best - x;
                if (change == 0.0) continue;
                gain -= change * (slope + 0.5 * curvature * change) + l1 * (std::abs(best) - std::abs(x));
                theta(k, j) = best;
                add_bend(column, k, change, problem.rows, slopes);
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
    // Sweeps creep where columns are nearly collinear; once they have settled the signs, this is what is left to do.
    Jump jump() {
        const auto size = static_cast<index>(support.size());
        const Room<double, 2> matrix(size, size), room(slopes.shape[0], slopes.shape[1]);
        const Room<double, 1> slope(size), step(size);
        for (index u = 0; u < size; ++u) {
            const auto [k, j] = support[u];
            const double ridge = penalty.ridge[j];
            room.fill(0.0);
            add_bend(problem.columns[j], k, 1.0, problem.rows, room);
            slope[u] = inner(problem.columns[j], slopes[k]) + ridge * theta(k, j) + penalty.l1[j] * sign_of(theta(k, j));
            for (index v = 0; v <= u; ++v) matrix(u, v) = inner(problem.columns[support[v].j], room[support[v].k]);
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
            add_bend(problem.columns[j], k, theta(k, j) - x, problem.rows, slopes);
        }
        return {length * (1.0 - 0.5 * length) * inner(slope, step), length};
    }

    const Problem& problem;
    const Places& members;
    const Penalty& penalty;
    Matrix<double> theta, slopes;
    Room<double, 2> diagonal;
    std::vector<Coefficient> support;
};

// Where a fit stands: coefficients, the scores they give, the slopes and the mean loss there.
struct State {
    Matrix<double> theta, scores, slopes;
    double loss;
};

// Go from `start` towards the state's theta as far as the objective falls enough; the length, 0 if it does not.
double line_search(const Problem& problem, const Places& members, const Penalty& penalty, Matrix<const double> start,
                   State& state, double value, double gain) {
    const Room<double, 2> aim(state.theta), changed(state.scores.shape[0], state.scores.shape[1]);
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
                state.theta(k, j) = start(k, j) + length * (aim(k, j) - start(k, j));
    }
    copy(state.theta, start);
    mean_loss(state.scores, problem.codes, problem.rows, state.slopes);
    return 0.0;
}

// A bound of what another step would gain because the loss is not quadratic.
//
// Where the `model` has its minimum its slopes differ from the true ones by d; the next step gains d'X H^-1 X'd / 2,
// H = X'WX with the curvatures W at hand, which is at most d'W^-1 d / 2.
double missed(const RowParts& rows, Matrix<const double> model, Matrix<const double> slopes) {
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
    double left;
    index steps, visits, passes;
    Reason reason;
};

// Proximal Newton steps over the members until what is left to gain is a share `tol` of the objective or less.
//
// What a model gains is always taken; of a start that was good enough the step is not counted. `visits` are sweeps.
Effort minimise_members(const Problem& problem, const Places& members, const Penalty& penalty, State& state, double tol,
                        index most) {
    const Room<double, 2> model(state.slopes.shape[0], state.slopes.shape[1]);
    const double precision = tol * std::min(0.1, 0.01 * tol / last_tolerance);
    index steps = 0, sweeps = 0;
    while (true) {
        const double value = state.loss + penalty.of(state.theta, members);
        const Room<double, 2> start(state.theta);
        copy(model, state.slopes);
        const auto [gain, promised, more] =
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
        const double left = length == 1.0 ? promised + missed(problem.rows, model, state.slopes) : infinity;
        steps += !arrived;
        if (arrived || left <= tol * value) return {std::min(left, gain), steps, sweeps, 0, optimal};
    }
}

// What columns that are no members would gain, each by itself.
double lacking(const Problem& problem, const std::vector<bool>& is_member, const Penalty& penalty,
               Matrix<const double> gradient) {
    double total = 0.0;
    for (index j = 0; j < penalty.l1.size(); ++j)
        for (index k = 0; k < gradient.shape[0]; ++k) {
            const double over = std::abs(gradient(k, j)) - penalty.l1[j];
            if (over > 0.0 && !is_member[j])
                total += 0.5 * over * over / (penalty.ridge[j] + curvature_of(problem.columns[j], problem.curves()[k]));
        }
    return total;
}

// Mark columns whose gradient exceeds `bound` times the penalty, the steepest where they are many; how many.
index join(std::vector<bool>& is_member, const Penalty& penalty, double bound, Matrix<const double> theta,
           Matrix<const double> gradient) {
    const index p = penalty.l1.size();
    const Room<double, 1> ratio({p}, 0.0);
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
// columns tells which are missing; they join unless all of them together would not be noticed.
Effort minimise_penalised(const Problem& problem, const Penalty& penalty, double bound, State& state,
                          Matrix<double> gradient, double tol, index most) {
    const index p = problem.columns.shape[0];
    std::vector<bool> is_member(static_cast<std::size_t>(p));
    Effort all{0.0, 0, 0, 0, optimal};
    join(is_member, penalty, bound, state.theta, gradient);
    while (true) {
        Places members;
        for (index j = 0; j < p; ++j)
            if (is_member[j]) members.push_back(j);
        const Effort own = minimise_members(problem, members, penalty, state, tol, most - all.steps);
        find_products(problem.columns, state.slopes, gradient);
        const double left = own.left + lacking(problem, is_member, penalty, gradient);
        all = {left, all.steps + own.steps, all.visits + own.visits * static_cast<index>(members.size()),
               all.passes + 1, own.reason};
        const bool enough = left <= tol * (state.loss + penalty.of(state.theta, members));
        if (own.reason != optimal || enough || join(is_member, penalty, 1.0, state.theta, gradient) == 0) return all;
    }
}

// The columns with a coefficient that is not 0.
Places carrying(Matrix<const double> theta) {
    Places found;
    for (index j = 0; j < theta.shape[1]; ++j)
        for (index k = 0; k < theta.shape[0]; ++k)
            if (theta(k, j) != 0.0) {
                found.push_back(j);
                break;
            }
    return found;
}

// Start from where the last two solutions point to, if the objective is less there than at the last.
//
// Coefficients that are 0, or would change their sign, stay as they are.
void go_ahead(const Problem& problem, const Penalty& penalty, double length, Matrix<const double> older,
              Matrix<const double> offset, State& state) {
    const Places members = carrying(state.theta);
    const double value = state.loss + penalty.of(state.theta, members);
    const Room<double, 2> ahead(state.theta), moved(offset), nothing(state.theta.shape, 0.0);
    for (index j : members)
        for (index k = 0; k < ahead.shape[0]; ++k) {
            const double x = state.theta(k, j), aim = x + length * (x - older(k, j));
            if (aim * x > 0.0) ahead(k, j) = aim;
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

void require_problem(const auto& columns, const Codes& codes, Vector<const double> weight, const auto& scores) {
    require(columns.shape[1] == scores.shape[1] && weight.size() == scores.shape[1], "One score for each row.");
    const index n_classes = std::max<index>(scores.shape[0], 2);
    std::visit(
        [&](const auto code) {
            require(code.size() == scores.shape[1], "One class for each row.");
            require_below(code, n_classes, "There is no class of that number.");
        },
        codes);
}

double weighted_losses(Matrix<const double> scores, const Codes& codes, const RowParts& rows, Matrix<double> slopes) {
    require_problem(scores, codes, std::get<0>(rows), scores);
    require(slopes.shape == scores.shape && std::get<1>(rows).shape == scores.shape &&
                std::get<2>(rows).shape == scores.shape && scores.shape[0] > 0,
            "One slope for each score.");
    return mean_loss(scores, codes, rows, slopes);
}

void add_scores(Matrix<const double> columns, Vector<const std::int64_t> members, Matrix<const double> before,
                Matrix<const double> theta, Matrix<double> scores) {
    require(columns.shape[1] == scores.shape[1] && before.shape == theta.shape && theta.shape[1] == columns.shape[0] &&
                scores.shape[0] == theta.shape[0],
            "The shapes of columns and coefficients do not fit each other.");
    require_below(members, columns.shape[0], "There is no column of that number.");
    change_scores(columns, members, before, theta, scores);
}

void add_products(Matrix<const double> columns, Matrix<const double> slopes, Matrix<double> out) {
    require(slopes.shape[1] == columns.shape[1] && out.shape == std::array{slopes.shape[0], columns.shape[0]},
            "The shapes of columns and slopes do not fit each other.");
    find_products(columns, slopes, out);
}

// Minimise mean loss plus penalty at decreasing strengths, each from where the two before it point to.
//
// `units` (l1, ridge) times a strength are its penalty. The first two strengths are those of `begin`, which goes along:
// coefficients at the first and at the second, and the gradient of the mean loss at the second; where they are equal,
// the second need not be solved. Columns are screened by the sequential strong rule (Tibshirani et al. 2012).
//
// Of each strength that follows, `thetas` and `gradients` take the solution and the gradient of its mean loss, `found`
// the mean loss, what is left to gain, the steps, the sweeps over a column, the passes over all columns, and why it
// ended.
void minimise_path(Matrix<const double> columns, const Codes& codes, Vector<const double> weight,
                   Matrix<const double> offset, const PenaltyParts& units, Vector<const double> strengths, double tol,
                   index most, const std::tuple<Matrix<double>, Matrix<double>, Matrix<double>>& begin,
                   Cube<double> thetas, Cube<double> gradients, Matrix<double> found) {
    const auto& [older, theta, gradient] = begin;
    const auto& [unit_l1, unit_ridge] = units;
    const index p = columns.shape[0], n_scores = offset.shape[0];
    require_problem(columns, codes, weight, offset);
    require(n_scores > 0 && theta.shape == std::array{n_scores, p} && older.shape == theta.shape &&
                gradient.shape == theta.shape && unit_l1.size() == p && unit_ridge.size() == p,
            "The shapes of columns and coefficients do not fit each other.");
    require(found.shape[1] == 6 && strengths.size() == found.shape[0] + 2 &&
                thetas.shape == std::array{found.shape[0], n_scores, p} && gradients.shape == thetas.shape,
            "There is room for each strength.");
    const Room<double, 2> curves(n_scores, offset.shape[1]), shares(n_scores, offset.shape[1]), scores(offset),
        slopes(n_scores, offset.shape[1]), nothing(theta.shape, 0.0);
    const Problem problem{columns, codes, {weight, curves, shares}};
    State state{theta, scores, slopes, 0.0};
    change_scores(columns, carrying(theta), nothing, theta, scores);
    state.loss = mean_loss(scores, codes, problem.rows, slopes);
    for (index s = 0; s < found.shape[0]; ++s) {
        const double oldest = strengths[s], stronger = strengths[s + 1], strength = strengths[s + 2];
        const Room<double, 1> l1(unit_l1), ridge(unit_ridge);
        for (index j = 0; j < p; ++j) {
            l1[j] *= strength;
            ridge[j] *= strength;
        }
        const Penalty penalty{l1, ridge};
        const Room<double, 2> last(theta);
        if (oldest != stronger)
            go_ahead(problem, penalty, (strength - stronger) / (stronger - oldest), older, offset, state);
        const double bound = std::max(1.0 - lenient * (stronger / std::max(strength, 1e-300) - 1.0), least_bound);
        const Effort effort = minimise_penalised(problem, penalty, bound, state, gradient, tol, most);
        const double facts[] = {state.loss, effort.left, double(effort.steps), double(effort.visits),
                                double(effort.passes), double(effort.reason)};
        std::copy_n(facts, 6, &found(s, 0));
        copy(older, last);
        copy(thetas[s], theta);
        copy(gradients[s], gradient);
    }
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
           "Minimise mean loss plus penalty at decreasing strengths, each from where the two before it point to.\n\n"
           "``units`` (l1, ridge) times a strength are its penalty. The first two strengths are those of ``state``, "
           "which goes along: coefficients at the first and at the second, and the gradient of the mean loss at the "
           "second; where they are equal, the second need not be solved. Columns are screened by the sequential strong "
           "rule (Tibshirani et al. 2012).\n\nOf each strength that follows, ``thetas`` and ``gradients`` take the "
           "solution and the gradient of its mean loss, ``found`` the mean loss, what is left to gain, the steps, the "
           "sweeps over a column, the passes over all columns, and why it ended.");
}

}  // namespace discriminant
