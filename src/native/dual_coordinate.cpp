#include "dual_coordinate.hpp"

#include "bindings.hpp"

#include <nanobind/stl/tuple.h>

namespace discriminant {
namespace {

std::tuple<index, std::uint64_t> shuffled_due(Vector<const std::int64_t> due, std::int64_t sweep,
                                              Vector<std::int64_t> order, std::uint64_t state) {
    require(order.size() >= due.size(), "The order needs a place for each row.");
    const index count = shuffle_due(due, sweep, order, state);
    return {count, state};
}

std::tuple<double, double> sweep(const Rows& all, Vector<const std::int64_t> order, const DualRows::Parts& fixed,
                                 std::tuple<Vector<double>, Vector<double>, Vector<std::int64_t>, Vector<std::int64_t>> ascent,
                                 double bias, double proximal, std::int64_t number) {
    const DualRows known(fixed);
    const DualAscent state{std::get<0>(ascent), std::get<1>(ascent), std::get<2>(ascent), std::get<3>(ascent)};
    return with_rows(all, [&](auto rows) {
        const index n = rows.count();
        require(rows.have_width(state.coef.size()), "One coefficient for each column.");
        require(known.count() == n && state.alpha.size() == n && state.rest.size() == n && state.due.size() == n,
                "One variable for each row.");
        require_rows(order, n);
        const double gap = sweep_over(rows, order, known, state, bias, proximal, number);
        return std::tuple(bias, gap);
    });
}

void add_rows(const Rows& all, Vector<const std::int64_t> chosen, Vector<const double> amounts, Vector<double> coef) {
    with_rows(all, [&](auto rows) {
        require(rows.have_width(coef.size()), "One coefficient for each column.");
        require(amounts.size() == chosen.size(), "One amount for each row.");
        require_rows(chosen, rows.count());
        for (index k = 0; k < chosen.size(); ++k) {
            rows.check(chosen.data[k], chosen.data[k] + 1);
            rows.add(chosen.data[k], amounts.data[k], coef.data);
        }
    });
}

}  // namespace

void bind_dual_coordinate(nanobind::module_& module) {
    kernel(module, "shuffled_due", shuffled_due,
           "Write the rows that are due to ``order`` in random order; their number and the generator's next state.");
    kernel(module, "sweep_over", sweep,
           "Visit the rows in ``order``; the new bias and the sum of their terms of the duality gap.\n\n``fixed`` is (sign, upper, diagonal, squares) of each row, ``ascent`` (alpha, coef, rest, due).");
    kernel(module, "add_rows", add_rows, "Add the chosen rows times their amounts to ``coef``.");
}

}  // namespace discriminant
