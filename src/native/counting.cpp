// Counting for evaluation: pairs of labels, merged scores, placements, calibration bins.

#include "algebra.hpp"
#include "bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

namespace discriminant {
namespace {

// Count pairs of integers from `least` on, into `out` (4, range, range).
//
// Four tables in turn: neighbours that fall into the same cell need not wait for one another.
void count_pairs(Vector<const std::int64_t> first, Vector<const std::int64_t> second, std::int64_t least,
                 Cube<std::int64_t> out) {
    const index n = first.size(), range = out.shape[1];
    require(second.size() == n && out.shape[0] == 4 && out.shape[2] == range, "Pairs are of two lists of one length.");
    bool within = true;
    for (index i = 0; i < n; ++i) {
        const auto a = static_cast<std::uint64_t>(first.data[i]) - static_cast<std::uint64_t>(least);
        const auto b = static_cast<std::uint64_t>(second.data[i]) - static_cast<std::uint64_t>(least);
        if (a < static_cast<std::uint64_t>(range) && b < static_cast<std::uint64_t>(range))
            ++out(i % 4, static_cast<index>(a), static_cast<index>(b));
        else
            within = false;
    }
    require(within, "There are integers outside of the range.");
}

// Merge two ascending arrays; how many distinct values they have.
//
// Writes each distinct value, largest first, and how often it stands in either array.
template <class Value>
index merge_scores(Vector<const Value> positives, Vector<const Value> negatives, Vector<Value> values,
                   Vector<double> positive, Vector<double> negative) {
    const index most = positives.size() + negatives.size();
    require(values.size() >= most && positive.size() >= most && negative.size() >= most, "There is too little room.");
    index i = positives.size() - 1, j = negatives.size() - 1, count = 0;
    while (i >= 0 || j >= 0) {
        const bool first = j < 0 || (i >= 0 && positives.data[i] >= negatives.data[j]);
        const Value value = first ? positives.data[i] : negatives.data[j];
        const index first_i = i, first_j = j;
        while (i >= 0 && positives.data[i] == value) --i;
        while (j >= 0 && negatives.data[j] == value) --j;
        require(i < first_i || j < first_j, "There are scores that are not numbers.");
        values.data[count] = value;
        positive.data[count] = static_cast<double>(first_i - i);
        negative.data[count] = static_cast<double>(first_j - j);
        ++count;
    }
    return count;
}

// Call a function with each distinct score's place (largest first), and the shares of the other side that a positive
// and a negative row of that score are on the right side of; rows with the same score count half.
void for_placements(Vector<const double> positive, Vector<const double> negative, auto&& function) {
    require(positive.size() == negative.size(), "Both sides have the same scores.");
    const double all_positive = sum(positive), all_negative = sum(negative);
    double above = 0.0, below = all_negative;
    for (index g = 0; g < positive.size(); ++g) {
        below -= negative.data[g];
        function(g, (below + 0.5 * negative.data[g]) / all_negative, (above + 0.5 * positive.data[g]) / all_positive);
        above += positive.data[g];
    }
}

void placements(Vector<const double> positive, Vector<const double> negative, Vector<double> of_positive,
                Vector<double> of_negative) {
    require(of_positive.size() == positive.size() && of_negative.size() == positive.size(), "One for each score.");
    for_placements(positive, negative, [&](index g, double of_p, double of_n) {
        of_positive.data[g] = of_p;
        of_negative.data[g] = of_n;
    });
}

// Weighted sums of `placements` less a centre and of their squares, without writing them.
std::tuple<double, double, double, double> placement_moments(Vector<const double> positive,
                                                             Vector<const double> negative, double centre) {
    double first = 0.0, first_squares = 0.0, second = 0.0, second_squares = 0.0;
    for_placements(positive, negative, [&](index g, double of_positive, double of_negative) {
        of_positive -= centre;
        of_negative -= centre;
        first += positive.data[g] * of_positive;
        first_squares += positive.data[g] * of_positive * of_positive;
        second += negative.data[g] * of_negative;
        second_squares += negative.data[g] * of_negative * of_negative;
    });
    return {first, first_squares, second, second_squares};
}

// Add rows to `out` (K, bins, 5): weight, and sums of p, y, p^2 and p y, where y is 1 for rows of the class.
void bin_posterior(Matrix<const double> posterior, Vector<const std::int64_t> codes, Vector<const double> weight,
                   Cube<double> out) {
    const auto [n, classes] = posterior.shape;
    const index bins = out.shape[1];
    require(codes.size() == n && weight.size() == n && out.shape[0] == classes && out.shape[2] == 5 && bins > 0,
            "The shapes of probabilities and bins do not fit each other.");
    for (index i = 0; i < n; ++i) {
        const double w = weight.data[i];
        for (index k = 0; k < classes; ++k) {
            const double p = posterior(i, k);
            require(p >= 0.0 && p <= 2.0, "There are probabilities that are none.");
            double* const bin = &out(k, std::min(static_cast<index>(p * static_cast<double>(bins)), bins - 1), 0);
            bin[0] += w;
            bin[1] += w * p;
            bin[3] += w * p * p;
            if (codes.data[i] == k) {
                bin[2] += w;
                bin[4] += w * p;
            }
        }
    }
}

}  // namespace

void bind_counting(nanobind::module_& module) {
    kernel(module, "count_pairs", count_pairs, "Count pairs of integers from ``least`` on, into ``out`` (4, range, range).");
    constexpr auto merging =
        "Merge two ascending arrays; how many distinct values they have.\n\nWrites each distinct value, largest first, "
        "and how often it stands in either array.";
    kernel(module, "merge_scores", merge_scores<double>, merging);
    kernel(module, "merge_scores", merge_scores<float>, merging);
    kernel(module, "placements", placements,
           "Write, for each distinct score (largest first), the share of the other side that it is on the right side "
           "of.\n\nFor a positive row the share of negatives below it, for a negative row the share of positives above "
           "it; rows with the same score count half.");
    kernel(module, "placement_moments", placement_moments,
           "Weighted sums of `placements` less ``centre`` and of their squares, without writing them.\n\nReturned in "
           "the order: positive rows, their squares, negative rows, their squares.");
    kernel(module, "bin_posterior", bin_posterior,
           "Add rows to ``out`` (K, bins, 5): weight, and sums of p, y, p^2 and p y, where y is 1 for rows of the "
           "class.");
}

}  // namespace discriminant
