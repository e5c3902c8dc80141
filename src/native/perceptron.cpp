// Training of a perceptron, row after row, and the count of misclassified rows.
//
// `walk` visits rows `order[start:]` with their `sides` (+1 or -1). `learned` holds `(weights, lag, clock, path_length)`:
// at every mistake the weights (p + 1 numbers, the intercept last) change in place by `side * (x, constant)`. `clock`
// holds the visits and the updates so far. `lag` (of size 0 without an average) is the sum of the updates times the visits
// before them, so the mean of the weights after each visit is `weights - lag / visits`, at the cost of the nonzeros of
// each update. `path_length` is the sum of the lengths of the rows of all updates.
//
// A score is a tie if it is 0 except for rounding. The weights are a sum of rounded rows, so the score of row x has an
// error of about `eps * |x| * path_length`; scores below a few times that count as 0. Then decimal fractions, which are
// not exact in floating point, cause the updates of exact arithmetic, in the primal and in the dual form.
//
// `walk` returns the place it has reached: the end, or the one after the last of `max_updates` updates. Where a score is
// not finite, because of NaN, infinity or overflow, kernels return `-1 - place`.

#include "bindings.hpp"
#include "rows.hpp"

#include <cmath>
#include <limits>

namespace discriminant {
namespace {

// A score of fewer units of its rounding is a tie. In 1,562 updates on Fisher's irises exact ties had up to 1.1 units,
// and the next score a hundred million times as many.
constexpr double ties = 4.0, tie = ties * std::numeric_limits<double>::epsilon();

// `constant` is appended to each row; with `nonpositive` a mistake is `side * score <= 0`, else `side * sign(score) < 0`
// with sign(0) = 1. A score of at most `near` is 0.
struct Rule {
    double constant;
    bool nonpositive;

    bool is_wrong(double side, double score, double near) const {
        if (std::abs(score) <= near) return nonpositive || side < 0.0;
        return nonpositive ? side * score <= 0.0 : (score >= 0.0) != (side > 0.0);
    }
};
using RuleParts = std::tuple<double, bool>;

Rule as_rule(const RuleParts& parts) { return {std::get<0>(parts), std::get<1>(parts)}; }

void require_visits(Vector<const std::int64_t> order, Vector<const double> sides, index count) {
    require(sides.size() == order.size(), "One side for each row.");
    require_rows(order, count);
}

// Visit rows until there have been `max_updates` more updates. `score_of(i)` is the score and the length of a row;
// `update(i, side)` is called at a mistake.
index visit(Vector<const std::int64_t> order, Vector<const double> sides, Rule rule, Vector<std::int64_t> clock,
            Vector<double> path_length, index start, index max_updates, auto&& score_of, auto&& update) {
    require(clock.size() == 2 && path_length.size() == 1 && start >= 0, "A clock has visits and updates.");
    const std::int64_t end = max_updates > std::numeric_limits<std::int64_t>::max() - clock[1]
                                 ? std::numeric_limits<std::int64_t>::max() : clock[1] + max_updates;
    for (index place = start; place < order.size(); ++place) {
        const index i = order[place];
        const double side = sides[place];
        const auto [score, length] = score_of(i);
        if (!(std::abs(score) < std::numeric_limits<double>::infinity())) return -1 - place;
        ++clock[0];
        if (!rule.is_wrong(side, score, tie * path_length[0] * length)) continue;
        update(i, side);
        path_length[0] += length;
        if (++clock[1] == end) return place + 1;
    }
    return order.size();
}

index count_wrong(Vector<const std::int64_t> order, Vector<const double> sides, Rule rule, Vector<const double> path_length,
                  auto&& score_of) {
    require(path_length.size() == 1, "path_length is one number.");
    index count = 0;
    for (index place = 0; place < order.size(); ++place) {
        const auto [score, length] = score_of(order[place]);
        if (!(std::abs(score) < std::numeric_limits<double>::infinity())) return -1 - place;
        count += rule.is_wrong(sides[place], score, tie * path_length[0] * length);
    }
    return count;
}

// The score of a row by weights (p + 1 numbers), and its length with the constant.
auto primal_score(const auto& rows, const double* weights, double intercept, double constant) {
    return [&rows, weights, intercept, constant](index i) {
        rows.check(i, i + 1);
        const auto [product, square] = rows.dot_and_square(i, weights);
        return std::pair(product + intercept, std::sqrt(square + constant));
    };
}

using Learned = std::tuple<Vector<double>, Vector<double>, Vector<std::int64_t>, Vector<double>>;

index walk(const Rows& all, Vector<const std::int64_t> order, Vector<const double> sides, const RuleParts& parts,
           const Learned& learned, index start, index max_updates) {
    const Rule rule = as_rule(parts);
    const auto [weights, lag, clock, path_length] = learned;
    return with_rows(all, [&, weights = weights, lag = lag, clock = clock, path_length = path_length](auto rows) {
        const index p = weights.size() - 1;
        require(p >= 0 && rows.have_width(p), "One weight for each column, and the intercept.");
        require(lag.size() == 0 || lag.size() == p + 1, "The lag has the size of the weights.");
        require_visits(order, sides, rows.count());
        const auto score_of = [&](index i) {
            return primal_score(rows, weights.data, weights[p], rule.constant)(i);
        };
        return visit(order, sides, rule, clock, path_length, start, max_updates, score_of, [&](index i, double side) {
            rows.add(i, side, weights.data);
            weights[p] += side * rule.constant;
            if (lag.size()) {
                const double before = side * static_cast<double>(clock[0] - 1);
                rows.add(i, before, lag.data);
                lag[p] += before * rule.constant;
            }
        });
    });
}

index mistakes(const Rows& all, Vector<const std::int64_t> order, Vector<const double> sides, const RuleParts& parts,
               Vector<const double> weights, Vector<const double> path_length) {
    const Rule rule = as_rule(parts);
    return with_rows(all, [&](auto rows) {
        const index p = weights.size() - 1;
        require(p >= 0 && rows.have_width(p), "One weight for each column, and the intercept.");
        require_visits(order, sides, rows.count());
        return count_wrong(order, sides, rule, path_length, primal_score(rows, weights.data, weights[p], rule.constant));
    });
}

// The dual form: `learned` is (alpha, scores, lag, clock, path_length).
//
// `alpha[i]` counts the updates caused by row i, and the scores `gram (alpha sides)`, one for each row, follow from
// them; `lag` belongs to `alpha`.
using DualLearned =
    std::tuple<Vector<std::int64_t>, Vector<double>, Vector<double>, Vector<std::int64_t>, Vector<double>>;

auto dual_score(Matrix<const double> gram, const double* scores) {
    require(gram.shape[0] == gram.shape[1], "The products of every two rows.");
    return [gram, scores](index i) { return std::pair(scores[i], std::sqrt(gram(i, i))); };
}

index gram_walk(Matrix<const double> gram, Vector<const std::int64_t> order, Vector<const double> sides,
                const RuleParts& rule, const DualLearned& learned, index start, index max_updates) {
    const auto& alpha = std::get<0>(learned);
    const auto& scores = std::get<1>(learned);
    const auto& lag = std::get<2>(learned);
    const auto& clock = std::get<3>(learned);
    const index n = gram.shape[0];
    require(alpha.size() == n && scores.size() == n && (lag.size() == 0 || lag.size() == n), "One count for each row.");
    require_visits(order, sides, n);
    const auto update = [&](index i, double side) {
        ++alpha[i];
        Dense<double>(gram).add(i, side, scores.data);
        if (lag.size()) lag[i] += static_cast<double>(clock[0] - 1);
    };
    return visit(order, sides, as_rule(rule), clock, std::get<4>(learned), start, max_updates, dual_score(gram, scores.data),
                 update);
}

index gram_mistakes(Matrix<const double> gram, Vector<const std::int64_t> order, Vector<const double> sides,
                    const RuleParts& rule, Vector<const double> scores, Vector<const double> path_length) {
    require(scores.size() == gram.shape[0], "One score for each row.");
    require_visits(order, sides, gram.shape[0]);
    return count_wrong(order, sides, as_rule(rule), path_length, dual_score(gram, scores.data));
}

}  // namespace

void bind_perceptron(nanobind::module_& module) {
    module.attr("TIE") = ties;
    kernel(module, "walk", walk, "Walk through dense or CSR rows; ``rule`` is (constant, nonpositive).");
    kernel(module, "gram_walk", gram_walk,
           "Walk in the dual form; ``learned`` is (alpha, scores, lag, clock, path_length).\n\n``alpha[i]`` counts the "
           "updates caused by row ``i``, and the scores ``gram (alpha sides)``, one for each row, follow from them; "
           "``lag`` belongs to ``alpha``.");
    kernel(module, "mistakes", mistakes, "The number of dense or CSR rows that the weights misclassify.");
    kernel(module, "gram_mistakes", gram_mistakes, "The number of misclassified rows with known scores.");
}

}  // namespace discriminant
