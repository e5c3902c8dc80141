// Class sums and class-centred rows of one block, dense and CSR.
//
// Shapes: `X` (rows, p) float32 or float64, `codes` (rows,) in 0..K-1, `weight` (rows,), everything that is summed into
// is float64.

#include "bindings.hpp"
#include "rows.hpp"

#include <cmath>
#include <vector>

namespace discriminant {
namespace {

// Call a function with the rows and the codes of the types that they have, once they are known to fit.
void with_classes(const Reals<2>& table, const Codes& codes, Vector<const double> weight, Matrix<const double> means,
                  auto&& function) {
    std::visit(
        [&](const auto X, const auto code) {
            require(code.size() == X.shape[0] && weight.size() == X.shape[0] && means.shape[1] == X.shape[1],
                    "The shapes of rows, classes and means do not fit each other.");
            require_below(code, means.shape[0], "There is no class of that number.");
            function(X, code);
        },
        table, codes);
}

// Add each class's weight to `totals` and write its mean to `means`; classes without rows are left alone.
//
// Sums are taken from the first row of the class: differences keep the digits that sums of large values would round
// away, and the mean of equal values is that value.
void class_means(const Reals<2>& table, const Codes& codes, Vector<const double> weight, Vector<double> totals,
                 Matrix<double> means) {
    require(totals.size() == means.shape[0], "One weight for each class.");
    with_classes(table, codes, weight, means, [&](const auto X, const auto code) {
        const auto [n, p] = X.shape;
        std::vector<bool> seen(static_cast<std::size_t>(means.shape[0]));
        for (index i = 0; i < n; ++i) {
            const auto c = static_cast<std::size_t>(code.data[i]);
            if (seen[c]) continue;
            seen[c] = true;
            std::copy_n(X.data + i * p, p, means.data + static_cast<index>(c) * p);
        }
        Buffer<double, 2> sums(means.shape, 0.0);
        for (index i = 0; i < n; ++i) {
            const index c = code.data[i];
            const double w = weight.data[i];
            const auto* const x = X.data + i * p;
            const double* const mean = means.data + c * p;
            double* __restrict const of_class = sums.data + c * p;
            totals.data[c] += w;
            for (index j = 0; j < p; ++j) of_class[j] += w * (x[j] - mean[j]);
        }
        for (index c = 0; c < means.shape[0]; ++c)
            if (totals.data[c] > 0)
                for (index j = 0; j < p; ++j) means(c, j) += sums(c, j) / totals.data[c];
    });
}

// Write `sqrt(weight) * (x - mean of its class)`.
void write_centred(const auto* x, const double* mean, double weight, double* __restrict out, index p) {
    const double root = std::sqrt(weight);
    for (index j = 0; j < p; ++j) out[j] = root * (x[j] - mean[j]);
}

// Write `sqrt(weight) * (x - mean of its class)` to `out`, rows in their order.
void centred_rows(const Reals<2>& table, const Codes& codes, Vector<const double> weight, Matrix<const double> means,
                  Matrix<double> out) {
    with_classes(table, codes, weight, means, [&](const auto X, const auto code) {
        require(out.shape == X.shape, "The output has the shape of X.");
        const index p = X.shape[1];
        for (index i = 0; i < X.shape[0]; ++i)
            write_centred(X.data + i * p, means.data + index(code.data[i]) * p, weight.data[i], out.data + i * p, p);
    });
}

// Write the same rows by groups of `size` classes: group g starts at `cursor[g]`, which moves to its end.
void centred_rows_by_group(const Reals<2>& table, const Codes& codes, Vector<const double> weight,
                           Matrix<const double> means, index size, Vector<std::int64_t> cursor, Matrix<double> out) {
    with_classes(table, codes, weight, means, [&](const auto X, const auto code) {
        require(out.shape == X.shape, "The output has the shape of X.");
        require(size > 0 && means.shape[0] <= size * cursor.size(), "Each class has a group.");
        const index p = X.shape[1];
        for (index i = 0; i < X.shape[0]; ++i) {
            const index c = code.data[i], row = cursor.data[c / size]++;
            require(row >= 0 && row < out.shape[0], "A group has more rows than the output.");
            write_centred(X.data + i * p, means.data + c * p, weight.data[i], out.data + row * p, p);
        }
    });
}

// Add each class's weighted squared distance from its mean, column by column, to `squares`.
void class_squares(const Reals<2>& table, const Codes& codes, Vector<const double> weight, Matrix<const double> means,
                   Matrix<double> squares) {
    require(squares.shape == means.shape, "One square for each class and column.");
    with_classes(table, codes, weight, means, [&](const auto X, const auto code) {
        const index p = X.shape[1];
        for (index i = 0; i < X.shape[0]; ++i) {
            const auto* const x = X.data + i * p;
            const double *mean = means.data + index(code.data[i]) * p, w = weight.data[i];
            double* __restrict const of_class = squares.data + index(code.data[i]) * p;
            for (index j = 0; j < p; ++j) {
                const double distance = x[j] - mean[j];
                of_class[j] += w * distance * distance;
            }
        }
    });
}

void with_csr_classes(const CsrParts& matrix, const Codes& codes, Vector<const double> weight, auto shape,
                      auto&& function) {
    std::visit(
        [&](const auto& parts, const auto code) {
            auto rows = as_rows(parts);
            rows.have_width(shape[1]);
            require(code.size() == rows.count() && weight.size() == rows.count(), "One class and weight for each row.");
            require_below(code, shape[0], "There is no class of that number.");
            function(rows, code);
        },
        matrix, codes);
}

// Add each class's weight to `totals`, its weighted sum to `sums` and its stored entries' to `stored`.
void csr_class_sums(const CsrParts& matrix, const Codes& codes, Vector<const double> weight, Vector<double> totals,
                    Matrix<double> sums, Matrix<double> stored) {
    require(totals.size() == sums.shape[0] && stored.shape == sums.shape, "One sum for each class and column.");
    with_csr_classes(matrix, codes, weight, sums.shape, [&](const auto& rows, const auto code) {
        for_each_row(rows, [&](index i) {
            const index c = code.data[i];
            const double w = weight.data[i];
            const auto [value, place, size] = rows.row(i);
            double *own = &sums(c, 0), *own_stored = &stored(c, 0);
            totals.data[c] += w;
            for (index e = 0; e < size; ++e) {
                own[place[e]] += w * value[e];
                own_stored[place[e]] += w;
            }
        });
    });
}

// Add the stored entries' part of `class_squares`, and to `left` the sums of their distances from the mean.
//
// The zeros' parts are `(total - stored) * mean**2` and `-(total - stored) * mean`.
void csr_class_squares(const CsrParts& matrix, const Codes& codes, Vector<const double> weight,
                       Matrix<const double> means, Matrix<double> squares, Matrix<double> left) {
    require(squares.shape == means.shape && left.shape == means.shape, "One square for each class and column.");
    with_csr_classes(matrix, codes, weight, means.shape, [&](const auto& rows, const auto code) {
        for_each_row(rows, [&](index i) {
            const index c = code.data[i];
            const double *mean = &means(c, 0), w = weight.data[i];
            const auto [value, place, size] = rows.row(i);
            double *own = &squares(c, 0), *own_left = &left(c, 0);
            for (index e = 0; e < size; ++e) {
                const double distance = value[e] - mean[place[e]];
                own[place[e]] += w * distance * distance;
                own_left[place[e]] += w * distance;
            }
        });
    });
}

// Write `sign * (x - centre) / scale` of every row, and its sign in the columns that the table does not have.
void standardise(const Reals<2>& table, Vector<const double> centre, Vector<const double> scale,
                 Vector<const double> sign, Matrix<double> out) {
    std::visit(
        [&](const auto X) {
            const auto [n, p] = X.shape;
            require(centre.size() == p && scale.size() == p && sign.size() == n && out.shape[0] == n &&
                        out.shape[1] >= p,
                    "The shapes of rows and units do not fit each other.");
            for (index i = 0; i < n; ++i) {
                const double own = sign.data[i];
                double* __restrict const to = out.data + i * out.shape[1];
                for (index j = 0; j < p; ++j) to[j] = own * ((X(i, j) - centre.data[j]) / scale.data[j]);
                for (index j = p; j < out.shape[1]; ++j) to[j] = own;
            }
        },
        table);
}

// Write the mean and the standard deviation of every column; differences keep the digits of small standard deviations.
void mean_and_std(const Reals<2>& table, Vector<double> centre, Vector<double> std_dev) {
    std::visit(
        [&](const auto X) {
            const auto [n, p] = X.shape;
            require(centre.size() == p && std_dev.size() == p, "One mean and deviation for each column.");
            centre.fill(0.0);
            std_dev.fill(0.0);
            if (n == 0) return;
            const double share = 1.0 / static_cast<double>(n);
            for (index i = 0; i < n; ++i)
                for (index j = 0; j < p; ++j) centre.data[j] += (static_cast<double>(X(i, j)) - X(0, j)) * share;
            for (index j = 0; j < p; ++j) centre.data[j] += X(0, j);
            for (index i = 0; i < n; ++i)
                for (index j = 0; j < p; ++j) {
                    const double distance = X(i, j) - centre.data[j];
                    std_dev.data[j] += distance * distance * share;
                }
            for (index j = 0; j < p; ++j) std_dev.data[j] = std::sqrt(std_dev.data[j]);
        },
        table);
}

}  // namespace

void bind_moments(nanobind::module_& module) {
    kernel(module, "class_means", class_means,
           "Add each class's weight to ``totals`` and write its mean to ``means``; classes without rows are left alone."
           "\n\nSums are taken from the first row of the class: differences keep the digits that sums of large values "
           "would round away, and the mean of equal values is that value.");
    kernel(module, "centred_rows", centred_rows,
           "Write ``sqrt(weight) * (x - mean of its class)`` to ``out``, rows in their order.");
    kernel(module, "centred_rows_by_group", centred_rows_by_group,
           "Write the same rows by groups of ``size`` classes: group g starts at ``cursor[g]``, which moves to its end.");
    kernel(module, "class_squares", class_squares,
           "Add each class's weighted squared distance from its mean, column by column, to ``squares``.");
    kernel(module, "csr_class_sums", csr_class_sums,
           "Add each class's weight to ``totals``, its weighted sum to ``sums`` and its stored entries' to ``stored``.");
    kernel(module, "csr_class_squares", csr_class_squares,
           "Add the stored entries' part of `class_squares`, and to ``left`` the sums of their distances from the mean."
           "\n\nThe zeros' parts are ``(total - stored) * mean**2`` and ``-(total - stored) * mean``.");
    kernel(module, "standardise", standardise,
           "Write ``sign * (x - centre) / scale`` of every row, and its sign in the columns that ``X`` does not have.");
    kernel(module, "mean_and_std", mean_and_std,
           "Write the mean and the standard deviation of every column; differences keep the digits of small standard deviations.");
}

}  // namespace discriminant
