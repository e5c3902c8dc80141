// The perceptron's walk through rows, one after the other, and the count of rows that weights get wrong.
//
// A walk visits rows `order[start:]`, of which `sides` (+1 or -1) says where they belong. `learned` holds `(weights,
// lag, clock, reach)`: at every mistake the weights (p + 1 numbers, the intercept last) change in place by `side * (x,
// constant)`; `clock` holds the visits and the updates so far; `lag` (of size 0 where no average is wanted) collects the
// updates times the visits before them, so that the mean of the weights after each visit is `weights - lag / visits`, at
// the price of an update's own nonzeros; `reach` holds the sum of the lengths of the rows that made the weights.
//
// A score is a tie where it is 0 but for rounding: the weights are a sum of rows, each of which has its digits cut off,
// so the score of row x is known to about `eps * |x| * reach`. Some times as much counts as 0. Then decimals, which
// floating point does not have, make the updates that they make on paper, in the primal and in the dual form.
//
// A walk returns the place it has come to: the end, or the one after the `most`-th update. Where a score is not finite,
// which is how NaN, infinity and overflow show, walks and counts return `-1 - place`.

#include "bindings.hpp"
#include "rows.hpp"

#include <cmath>
#include <limits>

namespace discriminant {
namespace {

// A score of fewer units of its rounding is a tie. Those of 1,562 updates on Fisher's irises came to 1.1 at most, and
// the next score is a hundred million times as far.
constexpr double ties = 4.0, tie = ties * std::numeric_limits<double>::epsilon();

// `constant` stands beside each row; with `nonpositive` a mistake is `side * score <= 0`, else `side * sign(score) < 0`
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

// Visit rows until there have been `most` more updates. `score_of(i)` is the score and the length of a row, `update(i,
// side)` what a mistake does.
index visit(Vector<const std::int64_t> order, Vector<const double> sides, Rule rule, Vector<std::int64_t> clock,
            Vector<double> reach, index start, index most, auto&& score_of, auto&& update) {
    require(clock.size() == 2 && reach.size() == 1 && start >= 0, "A clock has visits and updates.");
    const std::int64_t end = most > std::numeric_limits<std::int64_t>::max() - clock[1]
                                 ? std::numeric_limits<std::int64_t>::max() : clock[1] + most;
    for (index place = start; place < order.size(); ++place) {
        const index i = order[place];
        const double side = sides[place];
        const auto [score, length] = score_of(i);
        if (!(std::abs(score) < std::numeric_limits<double>::infinity())) return -1 - place;
        ++clock[0];
        if (!rule.is_wrong(side, score, tie * reach[0] * length)) continue;
        update(i, side);
        reach[0] += length;
        if (++clock[1] == end) return place + 1;
    }
    return order.size();
}

index count_wrong(Vector<const std::int64_t> order, Vector<const double> sides, Rule rule, Vector<const double> reach,
                  auto&& score_of) {
    require(reach.size() == 1, "There is one reach.");
    index count = 0;
    for (index place = 0; place < order.size(); ++place) {
        const auto [score, length] = score_of(order[place]);
        if (!(std::abs(score) < std::numeric_limits<double>::infinity())) return -1 - place;
        count += rule.is_wrong(sides[place], score, tie * reach[0] * length);
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
           const Learned& learned, index start, index most) {
    const Rule rule = as_rule(parts);
    const auto [weights, lag, clock, reach] = learned;
    return with_rows(all, [&, weights = weights, lag = lag, clock = clock, reach = reach](auto rows) {
        const index p = weights.size() - 1;
        require(p >= 0 && rows.have_width(p), "One weight for each column, and the intercept.");
        require(lag.size() == 0 || lag.size() == p + 1, "The lag has the size of the weights.");
        require_visits(order, sides, rows.count());
        const auto score_of = [&](index i) {
            return primal_score(rows, weights.data, weights[p], rule.constant)(i);
        };
        return visit(order, sides, rule, clock, reach, start, most, score_of, [&](index i, double side) {
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
               Vector<const double> weights, Vector<const double> reach) {
    const Rule rule = as_rule(parts);
    return with_rows(all, [&](auto rows) {
        const index p = weights.size() - 1;
        require(p >= 0 && rows.have_width(p), "One weight for each column, and the intercept.");
        require_visits(order, sides, rows.count());
        return count_wrong(order, sides, rule, reach, primal_score(rows, weights.data, weights[p], rule.constant));
    });
}

// The dual form: `learned` is (alpha, scores, lag, clock, reach).
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
                const RuleParts& rule, const DualLearned& learned, index start, index most) {
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
    return visit(order, sides, as_rule(rule), clock, std::get<4>(learned), start, most, dual_score(gram, scores.data),
                 update);
}

index gram_mistakes(Matrix<const double> gram, Vector<const std::int64_t> order, Vector<const double> sides,
                    const RuleParts& rule, Vector<const double> scores, Vector<const double> reach) {
    require(scores.size() == gram.shape[0], "One score for each row.");
    require_visits(order, sides, gram.shape[0]);
    return count_wrong(order, sides, as_rule(rule), reach, dual_score(gram, scores.data));
}

}  // namespace

void bind_perceptron(nanobind::module_& module) {
    module.attr("TIE") = ties;
    kernel(module, "walk", walk, "Walk through dense or CSR rows; ``rule`` is (constant, nonpositive).");
    kernel(module, "gram_walk", gram_walk,
           "Walk in the dual form; ``learned`` is (alpha, scores, lag, clock, reach).\n\n``alpha[i]`` counts the "
           "updates caused by row ``i``, and the scores ``gram (alpha sides)``, one for each row, follow from them; "
           "``lag`` belongs to ``alpha``.");
    kernel(module, "mistakes", mistakes, "How many dense or CSR rows the weights get wrong.");
    kernel(module, "gram_mistakes", gram_mistakes, "The same of scores that are known.");
}

}  // namespace discriminant
