// The dual of a support vector machine solved face by face (Moré & Toraldo 1991).
//
// A *face* is the set of multipliers strictly between their bounds, with all others fixed at a bound. Sweeps of dual
// coordinate ascent estimate the face, a Newton step solves it, intercept included, and multipliers that reach a bound on
// the way stay there. Rows that violate their optimality condition at the solution of a face join in the next sweep.

#include "algebra.hpp"
#include "bindings.hpp"
#include "dual_coordinate.hpp"

#include <vector>

namespace discriminant {
namespace {

// Sweeps before the first face; one before each of the others.
constexpr index first_sweeps = 12, most_rounds = 60, most_faces = 60, most_refinements = 3;
// A face with more rows for each unknown is not solved: no solution has as many rows with margin 1.
constexpr index rows_per_unknown = 4;
// Pivots this small, relative to their diagonal, are rounding: such a row depends linearly on others of its face.
constexpr double rounding = 1e-13;
// The multipliers of the two sides balance if their difference is a smaller share of their sum.
constexpr double balanced = 1e-14;
// A step to the nearest bound is longer by this share, and clipped, so that it arrives in spite of rounding.
constexpr double beyond = 1e-12;
// A violation below the first is accepted and refined; one below the second is rounding.
constexpr double holds = 1e-9, exact = 1e-14;

using Point = std::vector<double>;

Vector<const double> view(const Point& point) { return {point.data(), {static_cast<index>(point.size())}}; }
Vector<double> view(Point& point) { return {point.data(), {static_cast<index>(point.size())}}; }

struct Solved {
    double bias;
    bool found;
};

// A problem, and the rows' multipliers with the coefficients that follow from them.
//
// `proximal` times the square of `sum alpha * sign` vanishes at the solution, where that sum is 0, and makes the systems
// definite if the rows of a face determine only their differences. 0: without an intercept.
class Faces {
public:
    Faces(Matrix<const double> table, const DualRows& fixed, double proximal)
        : table(table), rows(table), fixed(fixed), n(table.shape[0]), q(table.shape[1]), proximal(proximal) {}

    // Move to the solution of the face, or of a smaller one; the intercept there, and whether it was found.
    Solved solve(Vector<double> alpha, Vector<double> coef) {
        Point moved(static_cast<std::size_t>(q));
        double bias = 0.0;
        for (index taken = 0; taken < most_faces; ++taken) {
            find_face(alpha);
            if (size() > rows_per_unknown * (q + 1)) break;
            if (size() == 0) return with_all_at_bounds(alpha, coef);
            bias = find_direction(alpha, coef);
            if (!std::isfinite(sum(view(std::as_const(change))) + bias)) break;
            const bool inside = move(alpha, 1.0) == 0;
            if (!(gain(alpha, coef, bias, moved) > 0.0) && !inside) {
                move(alpha, to_first_bound(alpha) * (1.0 + beyond));
                gain(alpha, coef, bias, moved);
            }
            for (index k = 0; k < size(); ++k) alpha[face[k]] = next[k];
            copy(coef, view(moved));
            if (inside) return {bias, true};
        }
        return {bias, false};
    }

    // The largest violation of a row's optimality condition.
    double violation(Vector<const double> alpha, Vector<const double> coef, double bias) const {
        double worst = 0.0;
        for (index i = 0; i < n; ++i) {
            const double left = 1.0 - fixed.sign[i] * (bias + rows.dot(i, coef.data)) - fixed.diagonal[i] * alpha[i];
            if ((alpha[i] > 0.0 || left > 0.0) && (alpha[i] < fixed.upper[i] || left < 0.0))
                worst = std::max(worst, std::abs(left));
        }
        return worst;
    }

    // Solve the face again for the remaining rounding errors, as long as that helps; the intercept.
    double refine(Vector<double> alpha, Vector<double> coef, double bias, double left) {
        for (index taken = 0; taken < most_refinements && left > exact; ++taken) {
            Point tried(alpha.begin(), alpha.end()), moved(coef.begin(), coef.end());
            const Solved at = solve(view(tried), view(moved));
            const double then = violation(view(tried), view(moved), at.bias);
            if (!(at.found && then < 0.5 * left)) break;
            copy(alpha, view(tried));
            copy(coef, view(moved));
            bias = at.bias;
            left = then;
        }
        return bias;
    }

private:
    index size() const { return static_cast<index>(face.size()); }

    void find_face(Vector<const double> alpha) {
        face.clear();
        for (index i = 0; i < n; ++i)
            if (0.0 < alpha[i] && alpha[i] < fixed.upper[i]) face.push_back(i);
        change.resize(face.size());
        next.resize(face.size());
    }

    // From here to the solution of a face: writes the changes of its multipliers; the intercept there.
    double find_direction(Vector<const double> alpha, Vector<const double> coef) {
        const index m = size();
        Buffer<double, 2> own(m, q), system(m, m);
        Point margin_short(face.size());
        for (index k = 0; k < m; ++k) copy(own[k], table[face[k]]);
        inner_products(own, system);
        for (index k = 0; k < m; ++k) {
            const index i = face[k];
            for (index other = 0; other <= k; ++other) system(k, other) += proximal;
            system(k, k) += fixed.diagonal[i];
            margin_short[k] = fixed.sign[i] * (1.0 - fixed.diagonal[i] * alpha[i]) - rows.dot(i, coef.data);
        }
        cholesky(system, rounding);
        solve_factored(system, view(margin_short), view(change));
        double bias = 0.0;
        if (proximal > 0.0) {
            Point influence(face.size()), ones(face.size(), 1.0);
            const double excess = inner(fixed.sign, alpha);
            solve_factored(system, view(ones), view(influence));
            bias = (sum(view(change)) + excess) / sum(view(influence));
            for (index k = 0; k < m; ++k) change[k] -= bias * influence[k];
            bias -= proximal * excess;
        }
        for (index k = 0; k < m; ++k) change[k] *= fixed.sign[face[k]];
        return bias;
    }

    // What the dual gains by the next values of a face, at a given intercept; writes their coefficients.
    double gain(Vector<const double> alpha, Vector<const double> coef, double bias, Point& moved) const {
        copy(view(moved), coef);
        double gained = 0.0;
        for (index k = 0; k < size(); ++k) {
            const index i = face[k];
            const double step = next[k] - alpha[i], sign = fixed.sign[i];
            rows.add(i, step * sign, moved.data());
            gained += step * (1.0 - bias * sign - 0.5 * fixed.diagonal[i] * (next[k] + alpha[i]));
        }
        for (index j = 0; j < q; ++j) gained -= 0.5 * (moved[j] - coef[j]) * (moved[j] + coef[j]);
        return gained;
    }

    // How much of a change leaves all multipliers of a face within their bounds, 1 at most.
    double to_first_bound(Vector<const double> alpha) const {
        double length = 1.0;
        for (index k = 0; k < size(); ++k) {
            const index i = face[k];
            if (change[k] != 0.0)
                length = std::min(length, (change[k] < 0.0 ? alpha[i] : fixed.upper[i] - alpha[i]) / std::abs(change[k]));
        }
        return length;
    }

    // Find the multipliers of a face after a change of some length, held within their bounds; how many are held.
    index move(Vector<const double> alpha, double length) {
        index held = 0;
        for (index k = 0; k < size(); ++k) {
            const double wanted = alpha[face[k]] + length * change[k];
            next[k] = std::min(std::max(wanted, 0.0), fixed.upper[face[k]]);
            held += next[k] != wanted;
        }
        return held;
    }

    // The intercept in the middle of those that violate least, and whether the multipliers balance.
    Solved with_all_at_bounds(Vector<const double> alpha, Vector<const double> coef) const {
        if (proximal == 0.0) return {0.0, true};
        double low = -std::numeric_limits<double>::infinity(), high = -low, balance = 0.0;
        for (index i = 0; i < n; ++i) {
            const double hinge_point = fixed.sign[i] - rows.dot(i, coef.data);
            balance += fixed.sign[i] * alpha[i];
            if ((alpha[i] > 0.0) == (fixed.sign[i] > 0.0))
                high = std::min(high, hinge_point);
            else
                low = std::max(low, hinge_point);
        }
        return {0.5 * (low + high), std::abs(balance) <= balanced * sum(alpha)};
    }

    Matrix<const double> table;
    Dense<double> rows;
    const DualRows& fixed;
    index n, q;
    double proximal;
    std::vector<index> face;
    Point change, next;
};

// Move `alpha` and `coef` to the solution; the intercept there and the rounds it took, 0 if there is no end.
//
// `weak` is the intercept's proximal weight in the sweeps, `proximal` that of the faces; `state` the random generator's.
std::tuple<double, index> solve(Matrix<const double> table, const DualRows::Parts& parts, Vector<double> alpha,
                                Vector<double> coef, double proximal, double weak, std::uint64_t state) {
    const DualRows fixed(parts);
    const index n = table.shape[0];
    require(fixed.count() == n && alpha.size() == n && coef.size() == table.shape[1], "One multiplier for each row.");
    const Buffer<std::int64_t, 1> rest({n}, 0), due({n}, 0), order(n);
    const DualAscent ascent{alpha, coef, rest, due};
    Faces faces(table, fixed, proximal);
    double bias = 0.0;
    index begun = 0;
    for (index taken = 0; taken < most_rounds; ++taken) {
        for (index sweep = begun; sweep < first_sweeps + taken; ++sweep) {
            const index count = shuffle_due(due, sweep, order, state);
            sweep_over(Dense<double>(table), order.part(0, count), fixed, ascent, bias, weak, sweep);
            bias += weak * inner(alpha, fixed.sign);
        }
        begun = first_sweeps + taken;
        const Solved at = faces.solve(alpha, coef);
        if (at.found) bias = at.bias;
        const double violation = faces.violation(alpha, coef, bias);
        if (at.found && violation <= holds) return {faces.refine(alpha, coef, bias, violation), taken + 1};
        due.fill(begun);
    }
    return {bias, 0};
}

}  // namespace

void bind_active_set(nanobind::module_& module) {
    kernel(module, "solve", solve,
           "Move ``alpha`` and ``coef`` to the solution; the intercept there and the rounds it took, 0 if there is no "
           "end.\n\n``fixed`` is (sign, upper, diagonal, squares) of each row; ``weak`` the intercept's proximal weight "
           "in the sweeps, ``proximal`` that of the faces; ``state`` the random generator's.");
}

}  // namespace discriminant
