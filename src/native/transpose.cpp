// Columns to rows: the one thing that columnar files ask for before a row can be read.
//
// A cache line holds 8 numbers. Tiles of 8 columns and a few dozen rows stay in the first cache between reading their
// columns and writing their rows (500 MB/s became 2 GB/s).

#include "arrays.hpp"
#include "bindings.hpp"

namespace discriminant {
namespace {

constexpr index tile_rows = 64, tile_columns = 8;

template <class T>
void turn(Matrix<const T> lying, Matrix<T> standing) {
    const auto [n, p] = standing.shape;
    require(lying.shape[0] >= p && lying.shape[1] >= n, "The columns do not hold the rows asked for.");
    for (index i = 0; i < n; i += tile_rows)
        for (index j = 0; j < p; j += tile_columns)
            for (index row = i; row < std::min(i + tile_rows, n); ++row)
                for (index column = j; column < std::min(j + tile_columns, p); ++column)
                    standing(row, column) = lying(column, row);
}

}  // namespace

void bind_transpose(nanobind::module_& module) {
    constexpr auto text = "Write the first columns of ``lying`` (p, ...) as the rows of ``standing`` (n, p).";
    kernel(module, "turn", turn<double>, text);
    kernel(module, "turn", turn<float>, text);
}

}  // namespace discriminant
